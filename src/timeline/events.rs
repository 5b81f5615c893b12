//! The events of a run, out of the log.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::voices::lead;
use crate::archive::RunRecord;
use crate::event::{Actor, ActorKind};
use crate::log::{Problems, Range, Reader};
use crate::payload::{Kind, Payload};
use crate::policy::Ruling;

/// One recorded event with its payload opened.
#[derive(Debug)]
pub struct Told {
    /// When the call began, RFC 3339.
    pub at: String,
    /// The event's id.
    pub id: String,
    /// Whether the call belonged to the run when it was made; else it was before its session had one.
    pub in_run: bool,
    /// Which event.
    pub kind: Kind,
    /// The session.
    pub session: Option<String>,
    /// Who, as it was known at the call.
    pub actor: Actor,
    /// What the client said.
    pub payload: Payload,
    /// What the policy said of another event, when this line is its verdict.
    pub ruling: Option<Ruling>,
}

impl Told {
    /// The actor's name, where it was known.
    pub fn who(&self) -> Option<&str> {
        match self.actor.kind {
            ActorKind::Unknown => None,
            ActorKind::Helper => Some(self.actor.shown()),
            _ => self.actor.name.as_deref(),
        }
    }

    /// The name of the actor in the story of a run: before its session had a team the lead was nobody's lead.
    pub fn shown(&self, run: &RunRecord) -> &str {
        if self.actor.kind == ActorKind::Lead { lead(run) } else { self.who().unwrap_or("unknown") }
    }
}

/// Reads the log once and gives each of the wanted runs its events, ordered by time. `all` are all runs on record: an
/// event from before its session had a run belongs to the first run that the session came to have.
///
/// # Errors
/// When the log's directory cannot be listed.
pub fn by_run(
    log: &Path,
    all: &[RunRecord],
    wanted: impl Fn(&str) -> bool,
) -> io::Result<(HashMap<String, Vec<Told>>, Problems)> {
    let mut runs_of: HashMap<&str, Vec<&RunRecord>> = HashMap::new();
    for run in all {
        for session in &run.sessions {
            runs_of.entry(&session.id).or_default().push(run);
        }
    }
    let mut events: HashMap<String, Vec<Told>> = HashMap::new();
    let mut reader = Reader::open(log, Range::default())?;
    for line in reader.by_ref() {
        let recorded = line.recorded;
        let run = match (&recorded.run, &recorded.session) {
            (Some(run), _) => Some(run.clone()),
            (None, Some(session)) => runs_of.get(session.as_str()).and_then(|runs| claim(runs, &recorded.at)),
            (None, None) => None,
        };
        if let Some(run) = run.filter(|run| wanted(run)) {
            let payload = Payload::from_raw(&recorded.payload);
            let kind = Kind::named(&recorded.event);
            events.entry(run).or_default().push(Told {
                at: recorded.at,
                in_run: recorded.run.is_some(),
                id: recorded.id,
                kind,
                session: recorded.session,
                actor: recorded.actor,
                payload,
                ruling: recorded.verdict.as_deref().and_then(Ruling::read),
            });
        }
    }
    for run in all {
        if let Some(events) = events.get_mut(&run.run) {
            events.sort_by(|a, b| a.at.cmp(&b.at));
            forget_earlier_life(events, &run.started_at);
        }
    }
    Ok((events, reader.into_problems()))
}

/// Of what its sessions did before there was a run, a run's story has that they began, and the prompt that led to it;
/// and what subagents were launched for, which may be said before they begin.
fn forget_earlier_life(events: &mut Vec<Told>, started_at: &str) {
    let earlier = |event: &Told| !event.in_run && event.at.as_str() < started_at;
    let prompt = events.iter().rposition(|event| {
        earlier(event) && event.kind == Kind::UserPromptSubmit && event.actor.kind == ActorKind::Lead
    });
    let mut place = 0;
    events.retain(|event| {
        let launches =
            event.kind == Kind::PostToolUse && matches!(event.payload.tool(), Some("Agent" | "Task"));
        let kept = !earlier(event) || launches || event.kind == Kind::SessionStart || Some(place) == prompt;
        place += 1;
        kept
    });
}

/// The run that an event without one belongs to: the next that its session had, else the last.
fn claim(runs: &[&RunRecord], at: &str) -> Option<String> {
    let next = runs.iter().filter(|run| run.started_at.as_str() >= at).min_by_key(|run| &run.started_at);
    let last = || runs.iter().max_by_key(|run| &run.started_at);
    next.or_else(last).map(|run| run.run.clone())
}
