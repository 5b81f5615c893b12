//! Notifications about the incidents of a running team: which ones are sent where, each once, and how.
//!
//! [`Outbox`] remembers the deliveries; [`Destination`] sends: a command, or an address by `curl`. Nothing here runs within a
//! hook call.

mod destination;
mod outbox;

pub use destination::Destination;
pub use outbox::{Batch, Outbox};

use serde::{Deserialize, Serialize};

use teamkeep_history::report::{Incident, IncidentCost, IncidentKind, Remedy, Severity};
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::cut;
use teamkeep_redact::Redactor;
use teamkeep_store::archive::RunRecord;
use teamkeep_system::error::{Error, Result};

/// Maximum length of a text, in characters. The report has it in full.
const MAX_CHARS: usize = 500;
/// Maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 100;
/// Maximum number of agents, of tasks, and of steps of the chain. The report has all of them.
const MAX_ITEMS: usize = 20;

/// The JSON that a destination gets. The format is documented in `docs/guides/watch-a-run.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    pub v: u8,
    pub team: Option<String>,
    pub run: String,
    /// When the incident was found.
    pub at: Timestamp,
    /// Whether it was sent by `config test-notify`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub test: bool,
    pub incident: Incident,
}

impl Notification {
    pub fn of(run: &RunRecord, at: Timestamp, incident: &Incident) -> Notification {
        Notification {
            v: 1,
            team: run.name().map(str::to_owned),
            run: run.run.clone(),
            at,
            test: false,
            incident: incident.clone(),
        }
    }

    /// An example that shows whether a destination works.
    pub fn example(at: Timestamp) -> Notification {
        let incident = Incident {
            id: "0000000000".to_owned(),
            kind: IncidentKind::StalledAgent,
            severity: Severity::Low,
            agents: vec!["example".to_owned()],
            tasks: vec!["1".to_owned()],
            from: at,
            to: None,
            summary: "This is a test notification of teamkeep; no agent is stalled".to_owned(),
            happened: String::new(),
            evidence: Vec::new(),
            chain: Vec::new(),
            cost: IncidentCost::default(),
            resolved: false,
            counted: Vec::new(),
            silences: Vec::new(),
            remedy: None,
        };
        let (team, run) = (Some("example".to_owned()), "0000000000000000".to_owned());
        Notification { v: 1, team, run, at, test: true, incident }
    }

    /// Its JSON with redacted and bounded texts.
    ///
    /// # Errors
    /// A pattern of the user also matches values that are not free text, such as times.
    pub fn body(&self, redactor: &Redactor) -> Result<String> {
        let notification = Notification { incident: last_steps(self.incident.clone()), ..self.clone() };
        let text = serde_json::to_string(&notification).map_err(Error::from_json)?;
        // Redacted before it is cut: no pattern finds half of a secret.
        let redacted: Notification = serde_json::from_str(&redactor.json(&text)).map_err(|error| {
            Error::caused("cannot redact the notification", error).hint(
                "a [[privacy.pattern]] in the configuration also matches required values, such as times; make it narrower",
            )
        })?;
        serde_json::to_string(&Notification { incident: short(redacted.incident), ..redacted })
            .map_err(Error::from_json)
    }
}

/// The incident with its first agents and tasks and its last steps.
fn last_steps(mut incident: Incident) -> Incident {
    incident.agents.truncate(MAX_ITEMS);
    incident.tasks.truncate(MAX_ITEMS);
    incident.chain.drain(..incident.chain.len().saturating_sub(MAX_ITEMS));
    incident.evidence = incident.chain.iter().map(|step| step.id.clone()).collect();
    incident
}

/// The incident with short texts.
fn short(mut incident: Incident) -> Incident {
    for name in incident.agents.iter_mut().chain(&mut incident.tasks) {
        *name = cut(name, MAX_NAME_CHARS);
    }
    for step in &mut incident.chain {
        (step.actor, step.what) = (cut(&step.actor, MAX_NAME_CHARS), cut(&step.what, MAX_CHARS));
    }
    incident.summary = cut(&incident.summary, MAX_CHARS);
    if let Some(remedy) = incident.remedy.as_mut().map(Remedy::text_mut) {
        *remedy = cut(remedy, MAX_CHARS);
    }
    incident
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_config::{INCIDENT_KINDS, Privacy};
    use teamkeep_history::report::Step;
    use teamkeep_model::time;

    fn example() -> Notification {
        Notification::example(time::parse("2026-02-03T04:05:06Z").unwrap())
    }

    fn body(notification: &Notification) -> String {
        notification.body(&Redactor::new(&Privacy::default(), &[]).unwrap()).unwrap()
    }

    #[test]
    fn the_configuration_names_every_kind_of_incident() {
        let names: Vec<String> = IncidentKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names, INCIDENT_KINDS);
    }

    #[test]
    fn a_body_has_the_run_and_the_incident_as_in_the_report() {
        let notification = Notification { test: false, ..example() };
        let value: serde_json::Value = serde_json::from_str(&body(&notification)).unwrap();
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["v", "team", "run", "at", "incident"]);
        assert_eq!(value["incident"], serde_json::to_value(&notification.incident).unwrap());
        let alone = Notification::of(&RunRecord::default(), notification.at, &notification.incident);
        assert!(body(&alone).starts_with("{\"v\":1,\"team\":null,"), "a session without a team");
    }

    #[test]
    fn secrets_are_removed_before_texts_are_cut() {
        let mut notification = example();
        let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        notification.incident.summary = format!("{}{secret} end", " ".repeat(MAX_CHARS - 10));
        notification.incident.remedy = Some(Remedy::Advice("mail alice@example.com".to_owned()));
        let body = body(&notification);
        assert!(!body.contains("ghp_") && !body.contains("alice@"), "{body}");
        assert!(body.contains("…"), "{body}");
    }

    #[test]
    fn a_body_is_bounded_however_long_the_chain_is() {
        let mut notification = example();
        let long = "\u{1}".repeat(2_000);
        let step = |index: usize| Step {
            id: format!("{index:010}"),
            at: notification.at,
            actor: long.clone(),
            what: long.clone(),
        };
        notification.incident.chain = (0..200).map(step).collect();
        notification.incident.agents = vec![long.clone(); 200];
        notification.incident.summary = long;
        let body = body(&notification);
        assert!(body.len() < 100_000, "{}", body.len());
        let read: Notification = serde_json::from_str(&body).unwrap();
        assert_eq!((read.incident.chain.len(), read.incident.agents.len()), (20, 20));
        assert_eq!(
            read.incident.evidence.last().map(String::as_str),
            Some("0000000199"),
            "the last steps stay"
        );
    }

    #[test]
    fn a_pattern_that_matches_required_values_is_an_error() {
        let pattern = teamkeep_config::Pattern { name: "kind".to_owned(), regex: "stalled-agent".to_owned() };
        let privacy = Privacy { pattern: vec![pattern], ..Privacy::default() };
        let error = example().body(&Redactor::new(&privacy, &[]).unwrap()).unwrap_err();
        assert!(error.to_string().starts_with("cannot redact the notification: "), "{error}");
    }
}
