//! The steps of one call, in order: look at the files, find out who spoke, append the event, close what has ended.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{ends, finish, learn};
use crate::archive::{Archive, Call, Index, SessionRecord, SessionRole, Subject};
use crate::clock::{self, Clock, Time};
use crate::config::{Config, OnFailure};
use crate::env::Env;
use crate::event::{ActorKind, Event, Id, SafeName};
use crate::identity::{self, Evidence, Memory};
use crate::log::Log;
use crate::paths::Paths;
use crate::payload::{Input, Kind, Payload, parse};
use crate::response::Answer;

/// What records: where things are, and what the user has set.
#[derive(Debug)]
pub struct Recorder {
    /// The environment.
    pub env: Env,
    /// Our directories and the client's.
    pub paths: Paths,
    /// The settings.
    pub config: Config,
    /// The clock.
    pub clock: Clock,
}

/// What came of a call.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What the client is told.
    pub answer: Answer,
    /// What went wrong on the way, for the diagnostics.
    pub notes: Vec<String>,
}

/// A call on its way through the steps.
struct Step {
    kind: Kind,
    at: Time,
    id: Id,
    client: PathBuf,
    session: Option<SafeName>,
    before: Memory,
}

impl Recorder {
    /// The archive.
    pub fn archive(&self) -> Archive {
        Archive::new(self.paths.archive(), self.config.archive.largest_file, self.config.log.lock_patience)
    }

    /// Records one call. `asked` is the event that the command line names.
    pub fn record(&self, input: &Input, asked: Option<&str>) -> Outcome {
        let at = self.clock.now();
        let payload = parse(input);
        let mut outcome = Outcome::default();
        let archive = self.archive();
        let session = payload.session().and_then(SafeName::new);
        let before =
            session.as_ref().map(|session| Memory::load(&self.paths.sessions(), session)).unwrap_or_default();
        let asked_kind = asked.map_or(Kind::Unknown, Kind::named);
        let kind = payload.event_name().map_or(asked_kind, Kind::named);
        let client = self.paths.client_for(payload.transcript()).unwrap_or_default();
        let step = Step { kind, at, id: Id::new(at), client, session, before };
        let evidence = self.evidence(&step, &payload);

        let deletes = kind == Kind::PreToolUse && payload.tool() == Some("TeamDelete");
        let (known, mut vanished) = self.capture(&step, &evidence, &archive, deletes, &mut outcome);
        let resolved = identity::team(&evidence, &known);
        let index = resolved.team.as_ref().and_then(|team| known.get(team));
        let actor = identity::actor(&evidence, index, resolved.name.as_deref());
        let mut memory = learn::learn(&evidence, &resolved, &actor);

        let mut own = resolved.team.clone().filter(|_| resolved.member).map(Subject::Team);
        let mut run = index.map(|index| index.run.clone());
        if resolved.team.is_none() {
            own = self.alone(&step, &evidence, &archive, actor.kind, &mut run);
        }
        let leads = resolved.name.is_none();
        if deletes && !outcome.notes.is_empty() {
            outcome.answer = self.hold_back(resolved.team.as_ref(), &outcome.notes);
        }
        let team = resolved.team.as_ref().map(SafeName::as_str);
        let warning = self.odd(&payload, asked);
        let event = Event {
            v: 1,
            at: &clock::stamp(at),
            id: step.id.as_str(),
            event: payload.event_name().unwrap_or(asked_kind.name()),
            session: payload.session(),
            team,
            actor: &actor,
            run: run.as_deref(),
            warning: warning.as_deref(),
            malformed: payload.malformed.as_ref().map(|why| why.0.as_str()),
            payload: &payload.raw,
        };
        self.append(&event, at, deletes, &mut outcome);

        let mut keep = |result: std::io::Result<()>, what: &str| {
            if let Err(error) = result {
                outcome.notes.push(format!("cannot {what}: {error}"));
            }
        };
        if let (Some(own), Some(session), Some(run)) = (&own, &step.session, &run)
            && memory.run.as_deref() != Some(run)
        {
            let role = if leads { SessionRole::Lead } else { SessionRole::Pane };
            let transcript = evidence.transcript().map(|path| path.display().to_string());
            let part =
                SessionRecord { id: session.to_string(), role, name: resolved.name.clone(), transcript };
            keep(join(&archive, own, part, self.env.client_pid), "note the session in its run");
            memory.run = Some(run.clone());
        }
        keep(ends::reopen(&evidence, &archive, own.as_ref()), "open the run again");
        vanished.retain(|subject| Some(subject) != own.as_ref() || kind != Kind::SessionEnd || !leads);
        let closed = ends::close(&evidence, &archive, own.as_ref(), leads, &vanished, at);
        let ended = closed.as_ref().is_ok_and(|closed| !closed.is_empty());
        keep(closed.map(|_| ()), "close the run");
        if let Some(session) = &step.session {
            let saved =
                memory.save(&step.before, &self.paths.sessions(), session, self.config.log.lock_patience);
            keep(saved, "remember the session");
        }
        if ended || (kind == Kind::SessionStart && finish::unfinished(&archive)) {
            keep(
                finish::finish_later(self.env.client_pid.filter(|_| kind == Kind::SessionEnd)),
                "start the archiving of transcripts",
            );
        }
        if let Some(malformed) = &payload.malformed {
            outcome.answer = Answer::failed(format!(
                "teamkeep: the payload on stdin is no JSON object ({}); it was recorded as it is",
                malformed.0
            ));
        }
        self.watch(&step, &mut outcome.answer);
        outcome
    }

    fn evidence<'a>(&'a self, step: &'a Step, payload: &'a Payload) -> Evidence<'a> {
        Evidence {
            payload,
            kind: step.kind,
            memory: &step.before,
            client: &step.client,
            client_pid: self.env.client_pid,
            pane: self.env.pane.as_deref(),
        }
    }

    /// Looks at every team that the call can concern.
    fn capture(
        &self,
        step: &Step,
        evidence: &Evidence<'_>,
        archive: &Archive,
        durable: bool,
        outcome: &mut Outcome,
    ) -> (BTreeMap<SafeName, Index>, Vec<Subject>) {
        let call = Call { at: step.at, event: &step.id, durable };
        let (mut known, mut vanished) = (BTreeMap::new(), Vec::new());
        if step.client.as_os_str().is_empty() {
            return (known, vanished);
        }
        for subject in identity::concerned(evidence, archive) {
            let captured = archive.capture(&subject, &step.client, &call);
            outcome.notes.extend(captured.problems);
            if let (Some(team), Some(index)) = (subject.team(), captured.index) {
                known.insert(team.clone(), index);
            }
            if captured.disappeared {
                vanished.push(subject);
            }
        }
        (known, vanished)
    }

    /// A session that has no team but starts subagents is a run of its own, with its task list.
    fn alone(
        &self,
        step: &Step,
        evidence: &Evidence<'_>,
        archive: &Archive,
        speaker: ActorKind,
        run: &mut Option<String>,
    ) -> Option<Subject> {
        let subject = Subject::Session(step.session.clone()?);
        let starts =
            speaker == ActorKind::Subagent && matches!(step.kind, Kind::SubagentStart | Kind::SubagentStop);
        if evidence.is_pane_like() || !(starts || archive.knows(&subject)) {
            return None;
        }
        let call = Call { at: step.at, event: &step.id, durable: false };
        let index = match archive.index(&subject) {
            Some(_) => archive.capture(&subject, &step.client, &call).index?,
            None => archive.begin(&subject, &call).ok()?,
        };
        *run = Some(index.run);
        Some(subject)
    }

    fn append(&self, event: &Event<'_>, at: Time, durable: bool, outcome: &mut Outcome) {
        let log = Log::open(self.paths.log(), &self.config.log).durable(durable);
        let appended =
            event.line().map_err(crate::error::Error::from_json).and_then(|line| log.append(&line, at));
        match appended {
            Ok(appended) => outcome.notes.extend(appended.note),
            Err(error) => {
                outcome.notes.push(error.to_string());
                if outcome.answer.exit == 0 {
                    outcome.answer = Answer::failed(format!("teamkeep: cannot record the event: {error}"));
                }
            }
        }
    }

    /// Before a TeamDelete the capture must be complete: what is not kept now is lost.
    fn hold_back(&self, team: Option<&SafeName>, problems: &[String]) -> Answer {
        if self.config.archive.on_failure == OnFailure::Warn {
            return Answer::failed(format!(
                "teamkeep: TeamDelete goes through although the team is not archived: {}",
                problems.join("; ")
            ));
        }
        let team =
            team.map_or_else(|| "the team".to_owned(), |team| format!("team {team:?}", team = team.as_str()));
        let mut why = problems.join("; ");
        why.truncate(why.floor_char_boundary(300));
        Answer::block(
            Kind::PreToolUse,
            format!(
                "teamkeep holds TeamDelete back: {team} could not be archived, and deleting it now would lose its record ({why}). \
                 Ask the user to free space or mend the permissions of {}, then delete again; `archive.on-failure = \"warn\"` in {} turns this off.\n",
                self.paths.store.display(),
                self.paths.config.display(),
            ),
        )
    }

    /// What is odd about a call that is recorded all the same.
    fn odd(&self, payload: &Payload, asked: Option<&str>) -> Option<String> {
        let mut odd = Vec::new();
        if let (Some(asked), Some(told)) = (asked, payload.event_name())
            && asked != told
            && asked != kebab(told)
        {
            odd.push(format!("called as {asked}, but the payload says {told}"));
        }
        for key in ["session_id", "team_name"] {
            if let Some(name) = payload.text(key).filter(|name| SafeName::new(name).is_none()) {
                odd.push(format!("{key} {name:?} is no safe name"));
            }
        }
        (!odd.is_empty()).then(|| odd.join("; "))
    }

    /// At SessionStart the client is asked to report what changes between two hooks.
    fn watch(&self, step: &Step, answer: &mut Answer) {
        if step.kind == Kind::SessionStart
            && *answer == Answer::allow()
            && self.config.hook.watch
            && step.client.is_absolute()
        {
            let paths: Vec<String> = ["teams", "tasks"]
                .iter()
                .filter_map(|dir| step.client.join(dir).into_os_string().into_string().ok())
                .collect();
            *answer = Answer::watch(&paths);
        }
    }
}

/// `SubagentStop` as `subagent-stop`, for events that this version does not know as well.
fn kebab(name: &str) -> String {
    let mut kebab = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.push(c.to_ascii_lowercase());
    }
    kebab
}

/// Notes a session's part in the run.
fn join(
    archive: &Archive,
    subject: &Subject,
    part: SessionRecord,
    client_pid: Option<u32>,
) -> std::io::Result<()> {
    let further = (part.role == SessionRole::Lead).then(|| part.id.clone());
    archive
        .amend(subject, |index, run| {
            let mut changed = run.join(part);
            // After `/clear` the lead has a new session, and its tasks a further list beside the team's (2.1.328).
            if let Some(session) = further.as_deref().filter(|_| subject.team().is_some())
                && run.lead_session.as_deref().is_some_and(|first| first != session)
            {
                changed |= index.learn_session(session);
            }
            if run.team.is_none() && run.lead_session.is_none() {
                run.lead_session.clone_from(&further);
                run.client_pid = run.client_pid.or(client_pid);
                index.lead_pid = index.lead_pid.or(client_pid);
                changed = true;
            }
            changed
        })
        .map(|_| ())
}
