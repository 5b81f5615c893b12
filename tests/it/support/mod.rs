//! What the tests share: a sandbox for the program, the files of Claude Code, recorded runs, a browser, a terminal.

pub mod access;
pub mod altered;
pub mod big_run;
pub mod browser;
pub mod client_files;
pub mod install_home;
#[cfg(unix)]
pub mod machine;
pub mod programs;
pub mod receiver;
pub mod reenact;
pub mod sandbox;
pub mod scratch;
#[cfg(unix)]
pub mod terminal;
