//! Notifications about incidents of running teams.

#[cfg(unix)]
pub mod deliveries;
pub mod stalled_team;
#[cfg(unix)]
pub mod test_command;
