//! Notifications about incidents of running teams.

pub mod deliveries;
pub mod stalled_team;
pub mod test_command;
