//! The events of a run, out of the log.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use super::voices::lead;
use crate::archive::{Archive, RunRecord};
use crate::event::{Actor, ActorKind, Recorded};
use crate::log::{self, Line, Problems, Range, Reader};
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
    fn new(recorded: Recorded) -> Told {
        let payload = Payload::from_raw(&recorded.payload);
        let kind = Kind::named(&recorded.event);
        Told {
            at: recorded.at,
            in_run: recorded.run.is_some(),
            id: recorded.id,
            kind,
            session: recorded.session,
            actor: recorded.actor,
            payload,
            ruling: recorded.verdict.as_deref().and_then(Ruling::read),
        }
    }

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
/// event from before its session had a run belongs to the first run that the session came to have. What an imported
/// run brought along is read from beside it.
///
/// # Errors
/// When the log's directory cannot be listed.
pub fn by_run(
    log: &Path,
    archive: &Archive,
    all: &[RunRecord],
    wanted: impl Fn(&str) -> bool,
) -> io::Result<(HashMap<String, Vec<Told>>, Problems)> {
    let claims = Claims::new(all);
    let mut events: HashMap<String, Vec<Told>> = HashMap::new();
    let mut problems = Problems::default();
    let mut known: HashSet<String> = HashSet::new();
    for run in all.iter().filter(|run| run.imported.is_some() && wanted(&run.run)) {
        let Some(path) = archive.events_file(&run.run) else { continue };
        let own = events.entry(run.run.clone()).or_default();
        problems.merge(log::each_of(&path, |line| {
            known.insert(line.recorded.id.clone());
            own.push(Told::new(line.recorded));
            Ok(())
        })?);
    }
    let mut reader = Reader::open(log, Range::default())?;
    for line in reader.by_ref() {
        if let Some(run) = claims.run_of(&line.recorded).filter(|run| wanted(run)) {
            if known.contains(&line.recorded.id) {
                continue;
            }
            events.entry(run).or_default().push(Told::new(line.recorded));
        }
    }
    problems.merge(reader.into_problems());
    for run in all {
        if let Some(events) = events.get_mut(&run.run) {
            events.sort_by(|a, b| a.at.cmp(&b.at));
            forget_earlier_life(events, &run.started_at);
        }
    }
    Ok((events, problems))
}

/// Leads over the lines of one run as they stand in the log, those of its sessions' earlier life left out that its
/// story has no use for. One line is in memory at a time.
///
/// # Errors
/// When the log's directory cannot be listed, or what `each` fails with.
pub fn lines_of(
    log: &Path,
    archive: &Archive,
    all: &[RunRecord],
    run: &RunRecord,
    mut each: impl FnMut(&Line) -> io::Result<()>,
) -> io::Result<Problems> {
    let mut known: HashSet<String> = HashSet::new();
    let mut problems = Problems::default();
    if let Some(path) = archive.events_file(&run.run).filter(|_| run.imported.is_some()) {
        problems.merge(log::each_of(&path, |line| {
            known.insert(line.recorded.id.clone());
            each(&line)
        })?);
    }
    let claims = Claims::new(all);
    let belongs = |line: &Line| {
        claims.run_of(&line.recorded).as_deref() == Some(&run.run) && !known.contains(&line.recorded.id)
    };
    let earlier = |line: &Line| line.recorded.run.is_none() && line.recorded.at < run.started_at;
    // The prompt that led to the run is the last of them by time, and, of the same time, by its place.
    let mut prompt: Option<(String, String)> = None;
    let mut first = Reader::open(log, Range::default())?;
    for line in first.by_ref().filter(|line| belongs(line) && earlier(line)) {
        let is_prompt = Kind::named(&line.recorded.event) == Kind::UserPromptSubmit
            && line.recorded.actor.kind == ActorKind::Lead;
        if is_prompt && prompt.as_ref().is_none_or(|(at, _)| *at <= line.recorded.at) {
            prompt = Some((line.recorded.at, line.recorded.id));
        }
    }
    let mut reader = Reader::open(log, Range::default())?;
    for line in reader.by_ref().filter(|line| belongs(line)) {
        let kind = Kind::named(&line.recorded.event);
        let launches = || {
            let payload = Payload::from_raw(&line.recorded.payload);
            kind == Kind::PostToolUse && matches!(payload.tool(), Some("Agent" | "Task"))
        };
        let is_prompt = || prompt.as_ref().is_some_and(|(_, id)| *id == line.recorded.id);
        if !earlier(&line) || kind == Kind::SessionStart || is_prompt() || launches() {
            each(&line)?;
        }
    }
    problems.merge(reader.into_problems());
    Ok(problems)
}

/// Which run an event belongs to.
struct Claims<'a> {
    /// The runs that a session was in, as far as they were recorded here.
    runs_of: HashMap<&'a str, Vec<&'a RunRecord>>,
}

impl<'a> Claims<'a> {
    fn new(all: &'a [RunRecord]) -> Claims<'a> {
        let mut runs_of: HashMap<&str, Vec<&RunRecord>> = HashMap::new();
        for run in all.iter().filter(|run| run.imported.is_none()) {
            for session in &run.sessions {
                runs_of.entry(&session.id).or_default().push(run);
            }
        }
        Claims { runs_of }
    }

    fn run_of(&self, recorded: &Recorded) -> Option<String> {
        match (&recorded.run, &recorded.session) {
            (Some(run), _) => Some(run.clone()),
            (None, Some(session)) => {
                self.runs_of.get(session.as_str()).and_then(|runs| claim(runs, &recorded.at))
            }
            (None, None) => None,
        }
    }
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
