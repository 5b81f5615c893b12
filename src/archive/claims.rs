//! Assigns events to runs.

use std::collections::HashMap;

use super::run::RunRecord;

/// The runs of each session, for events that do not name a run.
#[derive(Debug)]
pub struct Claims<'a> {
    /// The runs of a session that were recorded here.
    runs_of: HashMap<&'a str, Vec<&'a RunRecord>>,
}

impl<'a> Claims<'a> {
    /// Collects the sessions of all runs that were recorded here.
    pub fn new(all: &'a [RunRecord]) -> Claims<'a> {
        let mut runs_of: HashMap<&str, Vec<&RunRecord>> = HashMap::new();
        for run in all.iter().filter(|run| run.imported.is_none()) {
            for session in &run.sessions {
                runs_of.entry(&session.id).or_default().push(run);
            }
        }
        Claims { runs_of }
    }

    /// The run of an event: the one that it names, or else the next run of its session, or else the last one.
    pub fn run_of(&self, run: Option<&str>, session: Option<&str>, at: &str) -> Option<String> {
        run.map(str::to_owned).or_else(|| claim(self.runs_of(session?), at))
    }

    /// The runs that a session took part in.
    pub fn runs_of(&self, session: &str) -> &[&'a RunRecord] {
        self.runs_of.get(session).map(Vec::as_slice).unwrap_or_default()
    }

    /// This run and the runs that share a session with it: an event of such a session may be stored with any of them.
    pub fn related(&self, run: &'a RunRecord) -> Vec<&'a RunRecord> {
        let mut related = vec![run];
        for other in run.sessions.iter().flat_map(|session| self.runs_of(&session.id)) {
            if !related.iter().any(|known| known.run == other.run) {
                related.push(other);
            }
        }
        related
    }
}

/// The run of an event that names none: the next run of its session, or else the last one.
fn claim(runs: &[&RunRecord], at: &str) -> Option<String> {
    let next = runs.iter().filter(|run| run.started_at.as_str() >= at).min_by_key(|run| &run.started_at);
    let last = || runs.iter().max_by_key(|run| &run.started_at);
    next.or_else(last).map(|run| run.run.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{SessionRecord, SessionRole};

    #[test]
    fn an_event_without_a_run_belongs_to_the_next_of_its_session_else_to_the_last() {
        let run = |id: &str, hour: u32, session: &str| RunRecord {
            run: id.to_owned(),
            started_at: format!("2026-02-03T{hour:02}:00:00.000Z"),
            sessions: vec![SessionRecord {
                id: session.to_owned(),
                role: SessionRole::Lead,
                name: None,
                transcript: None,
            }],
            ..RunRecord::default()
        };
        let all = [run("a", 4, "s"), run("b", 6, "s"), run("c", 6, "t")];
        let claims = Claims::new(&all);
        let of = |run, hour: u32| claims.run_of(run, Some("s"), &format!("2026-02-03T{hour:02}:30:00.000Z"));
        assert_eq!(of(None, 3).as_deref(), Some("a"));
        assert_eq!(of(None, 5).as_deref(), Some("b"));
        assert_eq!(of(None, 9).as_deref(), Some("b"));
        assert_eq!(of(Some("z"), 3).as_deref(), Some("z"));
        assert_eq!(claims.run_of(None, Some("u"), ""), None);
        let related: Vec<&str> = claims.related(&all[0]).iter().map(|run| run.run.as_str()).collect();
        assert_eq!(related, ["a", "b"]);
    }
}
