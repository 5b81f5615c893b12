//! The steps of a hook call in order: capture files, identify actor and run, append the event, close ended runs.

use std::path::PathBuf;
use std::time::Instant;

use super::capture::CapturedTeams;
use super::initial_response::{payload_gaps, payload_warnings};
use super::outcome::Outcome;
use super::{BackgroundMode, run_lifecycle, update_session};
use crate::archive::{Archive, CaptureScope};
use crate::attribution::{self, CallContext, RecentCall, ResolvedTeam, SessionState};
use crate::clock::{self, Clock, Time};
use crate::config::{self, Config, Problem};
use crate::env::Env;
use crate::error::Error;
use crate::event::{Actor, Event, Id, SafeName};
use crate::log::Log;
use crate::metadata_only;
use crate::paths::Paths;
use crate::payload::{Input, Kind, Payload, parse};
use crate::policy::Verdict;
use crate::process::signal_deferral;
use crate::response::Answer;
use crate::team::mailbox;

/// Records hook calls.
#[derive(Debug)]
pub struct Recorder {
    /// The environment variables.
    pub env: Env,
    /// Paths of the store and of Claude Code.
    pub paths: Paths,
    /// The configuration.
    pub config: Config,
    /// Problems in the configuration files.
    pub problems: Vec<Problem>,
    /// The clock.
    pub clock: Clock,
    /// Which process does the remaining work after the end of a run.
    pub finish: BackgroundMode,
}

/// Factor for the time limit before a TeamDelete: files that are not captured then are lost.
const BEFORE_DELETE: u32 = 6;

/// A hook call in progress.
pub(super) struct HookContext {
    pub kind: Kind,
    pub at: Time,
    pub id: Id,
    pub client: PathBuf,
    pub session: Option<SafeName>,
    /// The directory name of the task list that the session names.
    pub list: Option<SafeName>,
    /// Whether a TeamDelete is about to run: files that are not archived before it are lost.
    pub deletes: bool,
    /// Deadline for capturing files, so that the event is recorded before Claude Code's timeout.
    pub until: Option<Instant>,
    pub before: SessionState,
    /// The event that this one repeats: Claude Code announces some tool calls twice.
    pub again: Option<RecentCall>,
    /// The policy's verdicts on that event.
    pub settled: Vec<Verdict>,
}

/// The actor of a call and its run.
pub(super) struct Attribution {
    pub resolved: ResolvedTeam,
    pub actor: Actor,
    pub memory: SessionState,
    /// The session's team or subagent run. The session may also see files of other teams.
    pub own: Option<CaptureScope>,
    pub run: Option<String>,
}

impl Recorder {
    /// The archive.
    pub fn archive(&self) -> Archive {
        let mut archive = Archive::new(
            self.paths.archive(),
            self.config.archive.largest_file,
            self.config.log.lock_patience,
        );
        archive.metadata_only = self.is_metadata_only();
        archive
    }

    /// Whether metadata-only mode is on: texts are recorded as sizes and hashes.
    pub(super) fn is_metadata_only(&self) -> bool {
        self.config.privacy.record == config::RecordMode::Metadata
    }

    /// Records one call. `asked` is the event named on the command line.
    pub fn record(&self, input: &Input, asked: Option<&str>) -> Outcome {
        let payload = parse(input);
        let step = self.build_context(&payload, asked);
        let archive = self.archive();
        let evidence = CallContext {
            payload: &payload,
            kind: step.kind,
            memory: &step.before,
            client: &step.client,
            client_pid: self.env.client_pid,
            pane: self.env.pane.as_deref(),
        };
        let mut outcome = Outcome::default();
        let mut found = self.capture_teams(&step, &evidence, &archive);
        let mut voice = self.attribute(&step, &evidence, &archive, &found);
        self.capture_named_list(&step, &archive, voice.own.as_ref(), &mut found, &mut outcome);
        self.note_missing_list(&step, &payload, &archive, voice.own.as_ref(), &mut found, &mut outcome);
        outcome.answer = self.answer(&step, &payload, &found, &mut voice, &mut outcome);
        outcome.lost = !(found.problems.is_empty() && found.losses.is_empty());
        outcome.notes.extend(found.problems.iter().map(|(_, problem)| problem.clone()));
        outcome.notes.extend(found.losses.iter().map(|(_, loss)| loss.what.clone()));
        outcome.notes.extend(found.notes.iter().cloned());
        outcome.usual.extend(found.usual.iter().cloned());
        if payload.cut {
            outcome.notes.push(
                "the payload is too deep or too large to be parsed completely; its text was recorded"
                    .to_owned(),
            );
        }
        if let Some(problem) = input.problem.as_ref().filter(|_| payload.malformed.is_none()) {
            outcome.notes.push(format!("{problem}; the payload was complete nevertheless"));
        }
        outcome.warnings.extend(payload_gaps(&payload, step.kind, asked));
        // Report permanent conditions only at these events.
        let tells = matches!(step.kind, Kind::SessionStart | Kind::SessionEnd)
            || matches!(payload.tool(), Some("TeamCreate" | "TeamDelete"));
        outcome.notes.extend(found.unseen.iter().filter(|_| tells).map(|unseen| unseen.what.clone()));
        // The first announcement was recorded and has all the data of this one.
        let recorded =
            step.again.is_some() || self.append(&step, &payload, asked, &archive, &voice, &mut outcome);
        // If Claude Code has exited, no one reads the response.
        if !signal_deferral::termination_requested() {
            let judgement = self.judge(&step, &payload, &archive, &found, &voice, &mut outcome);
            if recorded && outcome.answer.exit != 2 {
                update_session::announced(&payload, &step, &judgement, &mut voice.memory);
            }
            self.notify_trust_change(&step, &payload, &mut voice, &mut outcome);
        }
        self.conclude(&step, &evidence, &archive, found, &mut voice, &mut outcome);
        outcome
    }

    fn build_context(&self, payload: &Payload, asked: Option<&str>) -> HookContext {
        let at = self.clock.now();
        let session = payload.session().and_then(SafeName::stem);
        let sessions = self.paths.sessions();
        let kind = payload.event_name().or(asked).map_or(Kind::Unknown, Kind::named);
        let deletes = kind == Kind::PreToolUse && payload.tool() == Some("TeamDelete");
        let patience =
            self.config.archive.longest_look.saturating_mul(if deletes { BEFORE_DELETE } else { 1 });
        let before =
            session.as_ref().map(|session| SessionState::load(&sessions, session)).unwrap_or_default();
        let again = before.announced.earlier(payload, kind);
        let known = again.as_ref().and_then(|again| Id::known(&again.event));
        let again = again.filter(|_| known.is_some());
        let verdicts = again.iter().flat_map(|again| again.verdicts.iter().cloned());
        HookContext {
            kind,
            at,
            settled: verdicts.filter_map(|verdict| serde_json::from_value(verdict).ok()).collect(),
            again,
            id: known.unwrap_or_else(|| Id::new(at)),
            client: self.paths.client_for(payload.transcript()).unwrap_or_default(),
            before,
            session,
            list: self.env.task_list.as_deref().and_then(|list| SafeName::new(&mailbox(list))),
            deletes,
            until: Instant::now().checked_add(patience),
        }
    }

    /// Identifies the actor and the run.
    fn attribute(
        &self,
        step: &HookContext,
        evidence: &CallContext<'_>,
        archive: &Archive,
        found: &CapturedTeams,
    ) -> Attribution {
        let resolved = attribution::team(evidence, &found.teams);
        let index = resolved.team.as_ref().and_then(|team| found.teams.get(team));
        let left_behind = index.is_some_and(|index| run_lifecycle::is_left_behind(evidence, archive, index));
        let actor = attribution::actor(evidence, index, resolved.name.as_deref());
        let mut memory = update_session::learn(evidence, &resolved, &actor);
        let is_teamless = resolved.team.is_none() && !attribution::is_undecided(evidence, &found.teams);
        memory.teamless = found.since.filter(|_| is_teamless).or(memory.teamless);
        let mut own = resolved.team.clone().filter(|_| resolved.member).map(CaptureScope::Team);
        let mut run = index.map(|index| index.run.clone());
        if left_behind {
            // The next run of the team becomes the session's.
            (own, run) = (None, None);
        } else if resolved.team.is_none() {
            (own, run) = self.capture_solo(step, evidence, archive, actor.kind).unzip();
        }
        Attribution { resolved, actor, memory, own, run }
    }

    fn answer(
        &self,
        step: &HookContext,
        payload: &Payload,
        found: &CapturedTeams,
        voice: &mut Attribution,
        outcome: &mut Outcome,
    ) -> Answer {
        if let Some(malformed) = &payload.malformed {
            let what = "the payload on stdin is not a JSON object";
            return Answer::failed(format!("teamkeep: {what} ({}); its text was recorded", malformed.0));
        }
        let held = self.block_unarchived_delete(step, found, voice, outcome);
        held.or_else(|| self.watch_paths(step, payload)).unwrap_or_default()
    }

    /// Appends the event; returns whether that succeeded.
    fn append(
        &self,
        step: &HookContext,
        payload: &Payload,
        asked: Option<&str>,
        archive: &Archive,
        voice: &Attribution,
        outcome: &mut Outcome,
    ) -> bool {
        let warning = payload_warnings(payload, asked);
        outcome.warnings.extend(warning.clone());
        let warning =
            [warning, outcome.lost_with_team.clone()].into_iter().flatten().reduce(|a, b| a + "; " + &b);
        let reduced = self
            .is_metadata_only()
            .then(|| metadata_only::payload(&payload.raw, payload.malformed.is_some()));
        let event = Event {
            v: 1,
            at: &clock::stamp(step.at),
            id: step.id.as_str(),
            event: payload.event_name().unwrap_or(if step.kind == Kind::Unknown {
                asked.unwrap_or("Unknown")
            } else {
                step.kind.name()
            }),
            session: payload.session(),
            team: voice.resolved.team.as_ref().map(SafeName::as_str),
            actor: &voice.actor,
            run: voice.run.as_deref(),
            task_list: step.list.as_ref().map(SafeName::as_str),
            warning: warning.as_deref(),
            malformed: payload.malformed.as_ref().map(|why| why.0.as_str()),
            verdict: None,
            payload: reduced.as_deref().unwrap_or(&payload.raw),
        };
        let limits = config::Log { lock_patience: archive.patience(), ..self.config.log.clone() };
        let log = Log::open(self.paths.log(), &limits).durable(step.deletes);
        let start = Instant::now();
        let appended = event.line().map_err(Error::from_json).and_then(|line| log.append(&line, step.at));
        let recorded = appended.is_ok();
        match appended {
            Ok(appended) => {
                if appended.segment.is_single_line() {
                    archive.charge_lock_wait(start);
                }
                outcome.notes.extend(appended.note);
                outcome.usual.extend(appended.usual);
            }
            Err(error) => {
                outcome.notes.push(error.to_string());
                if outcome.answer.exit == 0 {
                    outcome.answer = Answer::failed(format!("teamkeep: cannot record the event: {error}"));
                }
            }
        }
        recorded
    }
}
