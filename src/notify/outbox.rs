//! The deliveries of a run: `notifications.json` beside the run's description. Each incident is sent once to each
//! destination, by one process at a time, whose lock the caller holds. It is sent again only if that it was sent could not be
//! stored.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::Destination;
use teamkeep_config::{LeastSeverity, Notify};
use teamkeep_history::report::{Incident, Severity};
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::Archive;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs::{JsonDocument, JsonFile};

const FILE: &str = "notifications.json";
const V: u8 = 1;
/// How long to wait after a failure before what failed is sent again.
const RETRY_INTERVAL: Duration = Duration::from_secs(15);
/// A delivery that still fails this long after its first attempt is given up.
const GIVE_UP_AGE: TimeDelta = TimeDelta::minutes(15);
/// An incident that ended longer ago when it is found is not sent: only a notifier that started late finds it then.
const MAX_AGE: TimeDelta = TimeDelta::hours(1);

/// Whether the user wants notifications about this incident.
fn is_wanted(notify: &Notify, incident: &Incident) -> bool {
    let least = match notify.severity {
        LeastSeverity::High => Severity::High,
        LeastSeverity::Medium => Severity::Medium,
        LeastSeverity::Low => Severity::Low,
    };
    let is_kind = notify.kinds.is_empty() || notify.kinds.contains(&incident.kind.name());
    is_kind && incident.severity <= least && !incident.resolved
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Ledger {
    v: u8,
    /// Destination → incident → its delivery.
    deliveries: BTreeMap<String, BTreeMap<String, Delivery>>,
}

impl JsonDocument for Ledger {
    fn check(&self) -> std::result::Result<(), String> {
        if self.v == V { Ok(()) } else { Err(format!("unknown version {}", self.v)) }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Delivery {
    kind: String,
    /// The agent that caused the incident.
    agent: Option<String>,
    state: State,
    /// The time of the first attempt.
    at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// Not sent: another one of the kind and agent was sent shortly before, or it ended long ago.
    Quiet,
    /// An attempt failed, or was interrupted.
    Pending,
    Sent,
    /// Given up.
    Failed,
}

/// The incidents of an evaluation, and where to send them.
pub struct Batch<'a> {
    pub destinations: &'a [Destination],
    pub incidents: &'a [Incident],
    pub notify: &'a Notify,
    pub now: Timestamp,
    /// The body for an incident.
    pub body: &'a dyn Fn(&Incident) -> Result<String>,
}

#[derive(Debug)]
pub struct Outbox {
    archive: Archive,
    run: String,
    ledger: Ledger,
    /// When the pending deliveries are sent again; `None` if none is pending.
    retry_at: Option<Instant>,
}

impl Outbox {
    /// Reads the deliveries so far.
    ///
    /// # Errors
    /// The file cannot be read: without it, everything would be sent again.
    pub fn open(archive: &Archive, run: &str) -> Result<Outbox> {
        let dir = archive.run_dir(run).ok_or_else(|| Error::not_found(format!("invalid run ID {run:?}")))?;
        let file = JsonFile::<Ledger>::at(dir.join(FILE));
        let read = file.read().and_then(|content| Ok(content?));
        let read = read.map_err(|error| Error::caused("cannot read which notifications were sent", error))?;
        let ledger = read.unwrap_or(Ledger { v: V, ..Ledger::default() });
        Ok(Outbox { archive: archive.clone(), run: run.to_owned(), ledger, retry_at: None })
    }

    /// Sends all that are due and returns the deliveries that are given up.
    ///
    /// # Errors
    /// The file cannot be written: before an attempt, so that the incident is not sent; or after it, so that the next process
    /// sends it again.
    pub fn deliver(&mut self, batch: &Batch<'_>) -> Result<Vec<String>> {
        let is_retry = self.retry_at.is_none_or(|at| at <= Instant::now());
        if is_retry {
            self.retry_at = None;
        }
        let mut problems = Vec::new();
        for destination in batch.destinations {
            for incident in batch.incidents.iter().filter(|incident| is_wanted(batch.notify, incident)) {
                if let Some(delivery) = self.due(&destination.key(), incident, batch, is_retry)? {
                    problems.extend(self.attempt(destination, incident, delivery, batch)?);
                }
            }
        }
        Ok(problems)
    }

    /// When the pending deliveries are sent again; `None` if none is pending.
    pub fn next_retry(&self) -> Option<Instant> {
        self.retry_at
    }

    /// The delivery of an incident, if it is sent now. Pending ones are sent again only at a retry.
    fn due(
        &mut self,
        key: &str,
        incident: &Incident,
        batch: &Batch<'_>,
        is_retry: bool,
    ) -> Result<Option<Delivery>> {
        let now = batch.now;
        let quiet = TimeDelta::from_std(batch.notify.quiet).unwrap_or(TimeDelta::MAX);
        let new = Delivery::new(incident, State::Pending, now);
        let deliveries = self.ledger.deliveries.entry(key.to_owned()).or_default();
        let is_near = |other: &Delivery| {
            other.state == State::Sent
                && other.kind == new.kind
                && other.agent == new.agent
                && (now - other.at).abs() < quiet
        };
        let is_quiet = deliveries.values().any(is_near);
        match deliveries.get(&incident.id) {
            Some(known) => Ok(match known.state {
                State::Sent | State::Failed => None,
                State::Pending => is_retry.then(|| known.clone()),
                State::Quiet => (incident.to.is_none() && !is_quiet).then_some(new),
            }),
            None if incident.to.is_some_and(|to| now - to > MAX_AGE) || is_quiet => {
                deliveries.insert(incident.id.clone(), Delivery { state: State::Quiet, ..new });
                self.save().map(|()| None)
            }
            None => Ok(Some(new)),
        }
    }

    /// Sends an incident. That it is pending is stored before, so that the next process sends it if this one is killed. Returns
    /// the problem if it is given up.
    fn attempt(
        &mut self,
        destination: &Destination,
        incident: &Incident,
        delivery: Delivery,
        batch: &Batch<'_>,
    ) -> Result<Option<String>> {
        let key = destination.key();
        self.put(&key, incident, delivery.clone())?;
        let sent = (batch.body)(incident).and_then(|body| destination.send(&body, batch.now));
        let Err(error) = sent else {
            return self.put(&key, incident, Delivery { state: State::Sent, ..delivery }).map(|()| None);
        };
        if batch.now - delivery.at < GIVE_UP_AGE {
            self.retry_at = Some(Instant::now() + RETRY_INTERVAL);
            return Ok(None);
        }
        let (kind, id, to) = (incident.kind.name(), &incident.id, destination.name());
        let minutes = GIVE_UP_AGE.num_minutes();
        let problem =
            format!("a notification ({kind} {id}) was not delivered to {to} in {minutes} minutes: {error}");
        self.put(&key, incident, Delivery { state: State::Failed, ..delivery })?;
        Ok(Some(problem))
    }

    fn put(&mut self, key: &str, incident: &Incident, delivery: Delivery) -> Result<()> {
        let deliveries = self.ledger.deliveries.entry(key.to_owned()).or_default();
        deliveries.insert(incident.id.clone(), delivery);
        self.save()
    }

    fn save(&self) -> Result<()> {
        let bytes = serde_json::to_vec(&self.ledger).map_err(Error::from_json)?;
        self.archive
            .write_note(&self.run, FILE, &bytes)
            .map_err(|error| Error::caused("cannot store which notifications were sent", error))
    }
}

impl Delivery {
    fn new(incident: &Incident, state: State, at: Timestamp) -> Delivery {
        let (kind, agent) = (incident.kind.name(), incident.agents.first().cloned());
        Delivery { kind, agent, state, at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::Notification;
    use teamkeep_history::report::IncidentKind;
    use teamkeep_model::time;

    struct Scene {
        dir: tempfile::TempDir,
        archive: Archive,
        destination: Destination,
    }

    const RUN: &str = "0123456789abcdef";

    fn scene(script: &str) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::new(dir.path().join("archive"), 1 << 20, Duration::from_secs(60));
        let run = archive.run_dir(RUN).unwrap();
        std::fs::create_dir_all(&run).unwrap();
        std::fs::write(run.join("run.json"), "{}").unwrap();
        let line = format!("{{ cat; }} >> sent; {script}");
        let destination = Destination::Command { line, dir: dir.path().to_path_buf() };
        Scene { dir, archive, destination }
    }

    impl Scene {
        fn open(&self) -> Outbox {
            Outbox::open(&self.archive, RUN).unwrap()
        }

        fn deliver(&self, outbox: &mut Outbox, incidents: &[Incident], minute: i64) -> Vec<String> {
            let notify = Notify::default();
            let batch = Batch {
                destinations: std::slice::from_ref(&self.destination),
                incidents,
                notify: &notify,
                now: now() + TimeDelta::minutes(minute),
                body: &|incident| Ok(incident.id.clone()),
            };
            outbox.deliver(&batch).unwrap()
        }

        fn sent(&self) -> Vec<String> {
            let text = std::fs::read_to_string(self.dir.path().join("sent")).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        }
    }

    fn now() -> Timestamp {
        time::parse("2026-02-03T04:05:06Z").unwrap()
    }

    fn incident(id: &str, agent: &str) -> Incident {
        let severity = Severity::Medium;
        let agents = vec![agent.to_owned()];
        Incident { id: id.to_owned(), severity, agents, ..Notification::example(now()).incident }
    }

    #[cfg_attr(windows, ignore = "needs a POSIX shell")]
    #[test]
    fn an_incident_is_sent_once_even_by_another_process() {
        let scene = scene("true");
        let incidents = [incident("a", "alice"), incident("b", "bob")];
        let mut outbox = scene.open();
        assert_eq!(scene.deliver(&mut outbox, &incidents, 0), [] as [&str; 0]);
        scene.deliver(&mut outbox, &incidents, 60);
        scene.deliver(&mut scene.open(), &incidents, 120);
        assert_eq!(scene.sent(), ["a", "b"]);
        assert_eq!(outbox.next_retry(), None);
    }

    #[cfg_attr(windows, ignore = "needs a POSIX shell")]
    #[test]
    fn a_failed_delivery_is_tried_again_until_it_is_given_up_and_then_reported_once() {
        let scene = scene("exit 7");
        let incidents = [incident("a", "alice")];
        let mut outbox = scene.open();
        assert_eq!(scene.deliver(&mut outbox, &incidents, 0), [] as [&str; 0]);
        assert!(outbox.next_retry().is_some());
        scene.deliver(&mut outbox, &incidents, 1);
        assert_eq!(scene.sent().len(), 1, "not before the interval");
        outbox.retry_at = Some(Instant::now());
        assert_eq!(scene.deliver(&mut outbox, &incidents, 14), [] as [&str; 0]);
        outbox.retry_at = Some(Instant::now());
        let problems = scene.deliver(&mut outbox, &incidents, 15);
        let expected =
            "a notification (stalled-agent a) was not delivered to the command in 15 minutes: exit code 7";
        assert_eq!(problems, [expected]);
        assert_eq!(outbox.next_retry(), None);
        assert_eq!(scene.deliver(&mut scene.open(), &incidents, 60), [] as [&str; 0]);
        assert_eq!(scene.sent().len(), 3);
    }

    #[cfg_attr(windows, ignore = "needs a POSIX shell")]
    #[test]
    fn an_interrupted_delivery_is_repeated_by_the_next_process() {
        let scene = scene("true");
        let incidents = [incident("a", "alice")];
        let pending = r#"{"v":1,"deliveries":{"KEY":{"a":{"kind":"stalled-agent","agent":"alice","state":"pending","at":"2026-02-03T04:05:06.000Z"}}}}"#;
        let pending = pending.replace("KEY", &scene.destination.key());
        std::fs::write(scene.archive.run_dir(RUN).unwrap().join(FILE), pending).unwrap();
        scene.deliver(&mut scene.open(), &incidents, 1);
        scene.deliver(&mut scene.open(), &incidents, 2);
        assert_eq!(scene.sent(), ["a"]);
    }

    #[cfg_attr(windows, ignore = "needs a POSIX shell")]
    #[test]
    fn the_same_kind_and_agent_is_quiet_for_a_while_and_then_sent_if_it_lasts() {
        let scene = scene("true");
        let over = |id: &str| Incident { to: Some(now()), ..incident(id, "alice") };
        let all = [incident("a", "alice"), incident("b", "alice"), over("c"), incident("d", "bob")];
        let mut outbox = scene.open();
        scene.deliver(&mut outbox, &all, 0);
        scene.deliver(&mut scene.open(), &all, 9);
        assert_eq!(scene.sent(), ["a", "d"]);
        scene.deliver(&mut scene.open(), &all, 11);
        scene.deliver(&mut scene.open(), &all, 40);
        assert_eq!(scene.sent(), ["a", "d", "b"], "c was over before the quiet time was");
    }

    #[cfg_attr(windows, ignore = "needs a POSIX shell")]
    #[test]
    fn an_incident_is_not_quiet_beside_one_that_did_not_arrive() {
        let scene = scene("test -e up");
        let all = [incident("a", "alice"), Incident { to: Some(now()), ..incident("b", "alice") }];
        let mut outbox = scene.open();
        scene.deliver(&mut outbox, &all, 0);
        assert_eq!(scene.sent(), ["a", "b"], "both are tried");
        std::fs::write(scene.dir.path().join("up"), "").unwrap();
        outbox.retry_at = Some(Instant::now());
        scene.deliver(&mut outbox, &all, 1);
        assert_eq!(scene.sent(), ["a", "b", "a", "b"]);
        let later = Incident { to: Some(now()), ..incident("c", "alice") };
        scene.deliver(&mut outbox, &[later], 2);
        assert_eq!(scene.sent().len(), 4, "quiet beside those that arrived");
    }

    #[cfg_attr(windows, ignore = "needs a POSIX shell")]
    #[test]
    fn an_incident_that_ended_long_ago_is_not_sent() {
        let scene = scene("true");
        let ended = |id: &str, agent: &str, ago: i64| Incident {
            to: Some(now() - TimeDelta::minutes(ago)),
            ..incident(id, agent)
        };
        scene.deliver(&mut scene.open(), &[ended("a", "alice", 61), ended("b", "bob", 59)], 0);
        assert_eq!(scene.sent(), ["b"]);
    }

    #[test]
    fn kinds_and_severities_are_selected() {
        let notify = |kinds: &[&str], severity| Notify {
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            severity,
            ..Notify::default()
        };
        let includes = |notify: &Notify, severity, kind| {
            is_wanted(notify, &Incident { severity, kind, ..incident("a", "alice") })
        };
        let all = notify(&[], LeastSeverity::Medium);
        assert!(includes(&all, Severity::High, IncidentKind::LostWork));
        assert!(includes(&all, Severity::Medium, IncidentKind::LostWork));
        assert!(!includes(&all, Severity::Low, IncidentKind::LostWork));
        assert!(includes(&notify(&[], LeastSeverity::Low), Severity::Low, IncidentKind::LostWork));
        assert!(!includes(&notify(&[], LeastSeverity::High), Severity::Medium, IncidentKind::LostWork));
        let resolved = Incident { resolved: true, ..incident("a", "alice") };
        assert!(!is_wanted(&all, &resolved), "others have completed the work");
        let some = notify(&["stalled-agent"], LeastSeverity::Low);
        assert!(includes(&some, Severity::Low, IncidentKind::StalledAgent));
        assert!(!includes(&some, Severity::High, IncidentKind::LostWork));
    }

    #[test]
    fn nothing_is_sent_if_it_cannot_be_stored_or_read() {
        let scene = scene("true");
        let run = scene.archive.run_dir(RUN).unwrap();
        let mut outbox = scene.open();
        std::fs::write(run.join(FILE), "{half").unwrap();
        let error = Outbox::open(&scene.archive, RUN).unwrap_err().to_string();
        assert!(error.starts_with("cannot read which notifications were sent: "), "{error}");
        std::fs::remove_dir_all(&run).unwrap();
        let batch = Batch {
            destinations: std::slice::from_ref(&scene.destination),
            incidents: &[incident("a", "alice")],
            notify: &Notify::default(),
            now: now(),
            body: &|_| Ok(String::new()),
        };
        assert!(outbox.deliver(&batch).is_err());
        assert!(scene.sent().is_empty() && !run.exists());
    }
}
