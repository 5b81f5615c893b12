//! What the program does for shipping: it starts `teamkeep-ship`, keeps what is not shipped, and reports problems.

pub mod closing;
pub mod command;
pub mod doctor;
pub mod retention;
pub mod ship_sandbox;
#[cfg(unix)]
pub mod starts;
pub mod trace_parent;
