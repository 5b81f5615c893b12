//! `shipping.json`: what each destination has.

use crate::archive::RunRecord;
use crate::log::{EventLog, Segment};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use teamkeep_config::Ship;
use teamkeep_model::time::Timestamp;
use teamkeep_system::fs::JsonDocument;
use teamkeep_system::process;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippingState {
    /// Format version: 1.
    pub v: u32,
    /// The system's name of this machine when it first shipped. A later name must not send everything again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(default)]
    pub destinations: BTreeMap<DestinationId, Shipped>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Last>,
}

/// The data that a destination has completely.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shipped {
    /// The lines of the logs that still exist.
    pub logs: BTreeMap<String, ShippedLines>,
    /// The runs, each with its revision: its end in milliseconds since 1970.
    pub runs: BTreeMap<String, i64>,
    /// The time of the last shipment that was delivered to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The time of `--since`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// The lines of one log that a destination has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShippedLines {
    /// The number of the last one.
    pub lines: u64,
    /// The names of the segments of a single line.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub single: BTreeSet<String>,
}

/// The delivery of a run to a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunDelivery {
    /// All data of the run until its end.
    Sent,
    /// Not all, and it is to be sent.
    Unsent,
    /// It is sent after its end.
    NotEnded,
    /// It is never sent: it was imported or began too early, or no session took part in it.
    Excluded,
}

/// The last time that a shipper ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last {
    pub at: Timestamp,
    /// Why not everything was sent, on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The failed action, without its cause, which can have paths and the words of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Default for ShippingState {
    fn default() -> ShippingState {
        ShippingState { v: 1, host: None, destinations: BTreeMap::new(), last: None }
    }
}

impl JsonDocument for ShippingState {
    fn check(&self) -> Result<(), String> {
        match self.v {
            1 => Ok(()),
            v => Err(format!("unknown version {v}; this teamkeep reads version 1")),
        }
    }
}

impl ShippingState {
    /// The name of this machine in the data: the configured one, else the system's when it first shipped.
    pub fn host(&self, ship: &Ship) -> String {
        match &self.host {
            Some(first) => ship.host_name(first),
            None => ship.host_name(&process::host_name()),
        }
    }

    pub fn configured(&self, ship: &Ship) -> Vec<Destination> {
        Destination::all(ship, &self.host(ship))
    }

    /// Stores the time of `--since` for each configured destination.
    pub fn set_since(&mut self, ship: &Ship, since: Timestamp) {
        for destination in self.configured(ship) {
            self.destinations.entry(destination.id).or_default().since = Some(since);
        }
    }

    /// Data that began before this time is not sent: the later of the configured time and that of `--since`.
    pub fn since(&self, destination: &Destination) -> Option<Timestamp> {
        let stored = self.destinations.get(&destination.id).and_then(|shipped| shipped.since);
        stored.max(destination.since)
    }

    /// The delivery of a run to this destination.
    pub fn delivery(&self, destination: &Destination, run: &RunRecord) -> RunDelivery {
        let revision = run.ended_at.map(Timestamp::millis);
        let shipped = self.destinations.get(&destination.id);
        let sent = shipped.and_then(|shipped| shipped.runs.get(&run.run)).copied();
        let is_too_old = || self.since(destination).is_some_and(|since| run.started_at < since);
        if revision.is_some() && sent == revision {
            RunDelivery::Sent
        } else if run.imported.is_some() || run.is_stray() || is_too_old() {
            RunDelivery::Excluded
        } else if revision.is_none() {
            RunDelivery::NotEnded
        } else {
            RunDelivery::Unsent
        }
    }

    /// The segments of these that some destination does not have.
    pub fn unshipped(&self, destinations: &[Destination], segments: &[Segment]) -> Vec<Segment> {
        let lacks = |segment: &&Segment| destinations.iter().any(|one| self.lacks_segment(one, segment));
        segments.iter().filter(lacks).cloned().collect()
    }

    /// Whether a segment is to be sent to a destination.
    pub fn lacks_segment(&self, destination: &Destination, segment: &Segment) -> bool {
        let shipped = self.destinations.get(&destination.id);
        let shipped = shipped.and_then(|shipped| shipped.logs.get(&segment.log.to_string()));
        let has = shipped.is_some_and(|shipped| match segment.name.end() {
            Some(end) => end.count <= shipped.lines,
            None => shipped.single.contains(&segment.name.to_string()),
        });
        !has && self.since(destination).is_none_or(|since| segment.begins() >= since)
    }

    /// Notes that a destination has a segment, and those before it in its log.
    pub fn add_segment(&mut self, destination: &Destination, segment: &Segment) {
        let shipped = self.destinations.entry(destination.id.clone()).or_default();
        let lines = shipped.logs.entry(segment.log.to_string()).or_default();
        match segment.name.end() {
            Some(end) => lines.lines = lines.lines.max(end.count),
            None => drop(lines.single.insert(segment.name.to_string())),
        }
    }

    /// Notes that a destination has a run as it ended.
    pub fn add_run(&mut self, destination: &Destination, run: &RunRecord) {
        let Some(ended) = run.ended_at else { return };
        let shipped = self.destinations.entry(destination.id.clone()).or_default();
        shipped.runs.insert(run.run.clone(), ended.millis());
    }

    /// Forgets the logs that were removed, also those that were begun again.
    pub(super) fn forget_removed(&mut self, existing: &[EventLog]) {
        // Without a head the log was damaged, and is not a new one.
        let lines = |log: &EventLog| log.head().map_or(u64::MAX, |head| head.count);
        let existing: BTreeMap<String, u64> =
            existing.iter().map(|log| (log.owner.to_string(), lines(log))).collect();
        for shipped in self.destinations.values_mut() {
            shipped.logs.retain(|log, sent| existing.get(log).is_some_and(|lines| *lines >= sent.lines));
        }
    }
}

// Where data is sent. A destination has an identity: another address, organization or host is another destination.

teamkeep_model::named_enum! {
    /// The kind of a receiver of data.
    pub enum DestinationKind {
        /// An object for each shipment, in an object store.
        ObjectStore = "store",
        /// A file in a directory, which another program reads.
        Directory = "directory",
        /// An OTLP/HTTP receiver.
        Otlp = "otlp",
    }
}

/// The beginning of the BLAKE3 hash of a destination's kind, address, organization and host, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DestinationId(String);

const ID_CHARS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub kind: DestinationKind,
    /// Without a slash at its end.
    pub address: String,
    pub id: DestinationId,
    /// The configured `ship.since`.
    pub since: Option<Timestamp>,
}

impl Destination {
    /// The configured destinations of this host.
    pub fn all(ship: &Ship, host: &str) -> Vec<Destination> {
        let store = ship.store.as_ref().map(|store| (DestinationKind::ObjectStore, store.to_string()));
        let directory = Some(ship.directory.trim_end_matches('/')).filter(|path| !path.is_empty());
        let directory = directory.map(|path| (DestinationKind::Directory, path.to_owned()));
        let otlp = ship.otlp_base().map(|base| (DestinationKind::Otlp, base.to_owned()));
        let destination = |(kind, address): (DestinationKind, String)| {
            let parts = [kind.name(), &address, &ship.organization, host];
            // None of the parts has a line break.
            let mut hash = blake3::hash(parts.join("\n").as_bytes()).to_hex().to_string();
            hash.truncate(ID_CHARS);
            Destination { kind, address, id: DestinationId(hash), since: ship.since }
        };
        store.into_iter().chain(directory).chain(otlp).map(destination).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_config::StoreAddress;

    #[test]
    fn another_address_organization_or_host_is_another_destination() {
        let ship = |store: &str, organization: &str| Ship {
            store: StoreAddress::parse(store).unwrap(),
            otlp: "http://h:4318/".to_owned(),
            organization: organization.to_owned(),
            ..Ship::default()
        };
        let all = Destination::all(&ship("s3://b/p", "acme"), "one");
        assert_eq!((all[0].address.as_str(), all[1].address.as_str()), ("s3://b/p", "http://h:4318"));
        assert_eq!(all, Destination::all(&ship("s3://b/p/", "acme"), "one"));
        assert_ne!(all[0].id, all[1].id);
        for (store, organization, host) in
            [("s3://b/q", "acme", "one"), ("s3://b/p", "other", "one"), ("s3://b/p", "acme", "two")]
        {
            assert_ne!(Destination::all(&ship(store, organization), host)[0].id, all[0].id);
        }
        assert_eq!(Destination::all(&Ship::default(), "one"), []);
    }
}
