//! The table `hosts`: the state of a machine at each shipment, from which an administrator sees which ones are silent, broken, outdated or
//! changed.

use teamkeep_model::time::Timestamp;

use super::Table;
use super::column::table;

#[derive(Debug, Clone, Default)]
pub struct HostRow {
    pub at: Timestamp,
    pub user: Option<String>,
    pub teamkeep: Option<String>,
    pub policy: Option<String>,
    pub hooks: Vec<String>,
    pub privacy: &'static str,
    pub unreadable_bytes: u64,
    pub lost_bytes: u64,
    pub last_error: Option<String>,
    pub heads: Vec<String>,
    pub runs: usize,
    pub events: usize,
}

pub fn hosts() -> Table<HostRow> {
    table!("hosts", "a shipment of a machine; a large one has a row for each part", |row: &HostRow| {
        Time "time" "time of the shipment" = Some(row.at);
        Text "user_name" "the user who ships, or a pseudonym" = row.user.as_deref();
        Text "teamkeep_version" "version of the program that hooks run, if it is beside `teamkeep-ship`"
            = row.teamkeep.as_deref();
        Text "shipper_version" "version of `teamkeep-ship`" = Some(env!("CARGO_PKG_VERSION"));
        Text "policy" "BLAKE3 hash of the organization's file; null without one" = row.policy.as_deref();
        Texts "hooks" "events of Claude Code whose hooks call teamkeep" = &row.hooks;
        Text "privacy" "value of `ship.privacy`" = Some(row.privacy);
        Integer "unreadable_bytes" "bytes of the logs that could not be read and were not sent"
            = i64::try_from(row.unreadable_bytes).ok();
        Integer "lost_bytes" "bytes of the logs that were removed before they were sent"
            = i64::try_from(row.lost_bytes).ok();
        Text "last_error" "why an earlier shipment failed since the last one that succeeded, without what a server answered"
            = row.last_error.as_deref();
        Texts "heads" "heads of the logs of which it has lines, for `--against` in `teamkeep verify`"
            = &row.heads;
        Integer "runs" "number of runs in it" = i64::try_from(row.runs).ok();
        Integer "events" "number of events in it" = i64::try_from(row.events).ok();
    })
}
