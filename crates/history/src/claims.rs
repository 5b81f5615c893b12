//! Which run an event without one belongs to.

use std::collections::HashMap;

use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::RunRecord;

/// The runs of each session that were recorded here, for events that do not name a run.
#[derive(Debug)]
pub struct Claims<'a> {
    runs_of: HashMap<&'a str, Vec<&'a RunRecord>>,
}

impl<'a> Claims<'a> {
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
    pub fn run_of(&self, run: Option<&str>, session: Option<&str>, at: Timestamp) -> Option<String> {
        if let Some(run) = run {
            return Some(run.to_owned());
        }
        let runs = self.runs_of(session?);
        let next = runs.iter().filter(|run| run.started_at >= at).min_by_key(|run| run.started_at);
        let last = || runs.iter().max_by_key(|run| run.started_at);
        next.or_else(last).map(|run| run.run.clone())
    }

    /// The runs that a session took part in.
    pub(crate) fn runs_of(&self, session: &str) -> &[&'a RunRecord] {
        self.runs_of.get(session).map(Vec::as_slice).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_model::time;
    use teamkeep_store::archive::{SessionRecord, SessionRole};

    #[test]
    fn an_event_without_a_run_belongs_to_the_next_of_its_session_else_to_the_last() {
        let run = |id: &str, hour: u32, session: &str| RunRecord {
            run: id.to_owned(),
            started_at: time::parse(&format!("2026-02-03T{hour:02}:00:00Z")).unwrap(),
            sessions: vec![SessionRecord::new(session.to_owned(), SessionRole::Lead)],
            ..RunRecord::default()
        };
        let all = [run("a", 4, "s"), run("b", 6, "s"), run("c", 6, "t")];
        let claims = Claims::new(&all);
        let of = |run, hour: u32| {
            claims.run_of(run, Some("s"), time::parse(&format!("2026-02-03T{hour:02}:30:00Z")).unwrap())
        };
        assert_eq!(of(None, 3).as_deref(), Some("a"));
        assert_eq!(of(None, 5).as_deref(), Some("b"));
        assert_eq!(of(None, 9).as_deref(), Some("b"));
        assert_eq!(of(Some("z"), 3).as_deref(), Some("z"));
        assert_eq!(claims.run_of(None, Some("u"), Timestamp::default()), None);
    }
}
