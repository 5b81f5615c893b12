//! `teamkeep policy explain`: the path of a decision about a payload or a recorded event. It changes nothing: no line, no
//! count.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use super::event;
use super::gate_trace::{self, Answer as Asked};
use super::policy_source::{Source, Wanted};
use crate::archive::{Archive, CaptureScope, Index};
use crate::attribution::{self, CallContext, SessionState};
use crate::backtest::{self, SnapshotCursor};
use crate::clock;
use crate::commands::read_context;
use crate::config::{Gate, Mode};
use crate::context::Context;
use crate::enforcement::{
    Findings, GateState, GateStateStore, OverrideFile, Overrides, evaluate, solo_run, team_state,
};
use crate::error::{Error, Result};
use crate::event::{Actor, SafeName};
use crate::payload::{self, Kind, Payload};
use crate::policy::gates::completion_check;
use crate::policy::{Attempt, Decision, Facts, Guard, Judged, Judgement, Rules, TeamState, Verdict, judge};
use crate::response::Answer;
use crate::ui::escape;
use crate::view::count;

/// Arguments of `teamkeep policy explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Evaluate the payload as the next event of this run
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Explain this recorded event as of its time, instead of a payload on stdin: an ID or a unique prefix of one
    #[arg(long, value_name = "ID", conflicts_with = "run")]
    event: Option<String>,
    #[command(flatten)]
    wanted: Wanted,
}

const EXAMPLES: &str = "Examples:
  teamkeep policy explain --event 01kagq3r1x
  teamkeep log --json --event pre-tool-use -n 1 | teamkeep policy explain
  teamkeep policy explain --run latest < payload.json";

/// How to find a payload.
const HINT: &str = "explain a recorded one: teamkeep policy explain --event ID, with an ID from `teamkeep policy test latest`";

/// The conditions under which a payload is judged.
pub(super) struct ExplainInput {
    pub team: String,
    pub actor: Actor,
    pub actor_by: &'static str,
    pub state: TeamState,
    pub guard: Guard,
    pub as_of: Option<String>,
    pub attempt: Attempt,
    pub overrides: Overrides,
}

/// Runs it.
///
/// # Errors
/// When stdin is not a hook payload, or the run or the event does not exist.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let text = match &args.event {
        Some(id) => of_event(context, args, id)?,
        None => of_payload(context, args)?,
    };
    read_context::print(context, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// Explains a recorded event.
fn of_event(context: &Context, args: &Args, id: &str) -> Result<String> {
    let found = event::find(context, id)?;
    let recorded = found.recorded()?;
    let payload = Payload::from_raw(&recorded.payload);
    let source = args.wanted.read(context, project(context, &payload).as_deref())?;
    let scene = found.scene(recorded, &payload, &source);
    let event = backtest::judged(recorded, &payload);
    let mut text = format!("id         {}\n", escape(&recorded.id));
    text.push_str(&introduce(&recorded.event, &payload, &scene, &source));
    decide(context, &source, &scene, event, &mut text);
    text.push_str(&found.verdicts(recorded));
    Ok(text)
}

/// Explains the payload on stdin.
fn of_payload(context: &Context, args: &Args) -> Result<String> {
    let hook = &context.config.hook;
    let mut input = payload::read(std::io::stdin(), hook.largest_input as usize, hook.stdin_patience);
    if let Some(recorded) = recorded(&input.bytes) {
        input.bytes = recorded;
    }
    let payload = payload::parse(&input);
    if let Some(malformed) = &payload.malformed {
        let error = Error::caused("stdin is not a hook payload", malformed.0.clone());
        return Err(error.hint(HINT));
    }
    if payload.event_name().is_none() {
        return Err(Error::new("stdin is not a hook payload: `hook_event_name` is missing").hint(HINT));
    }
    let source = args.wanted.read(context, project(context, &payload).as_deref())?;
    let kind = payload.kind();
    let session = payload.session().and_then(SafeName::stem);
    let state =
        session.map(|session| SessionState::load(&context.paths.sessions(), &session)).unwrap_or_default();
    let client = context.paths.client_for(payload.transcript()).unwrap_or_default();
    let evidence =
        CallContext { payload: &payload, kind, state: &state, client: &client, client_pid: None, pane: None };
    let scene = match &args.run {
        Some(run) => of_run(context, &evidence, run)?,
        None => at_present(context, &evidence)?,
    };
    let now = clock::stamp(context.clock.now());
    let event =
        Judged { id: "", at: &now, kind, session: payload.session(), actor: &scene.actor, payload: &payload };
    let name = payload.event_name().unwrap_or("unknown");
    let mut text = introduce(name, &payload, &scene, &source);
    decide(context, &source, &scene, event, &mut text);
    Ok(text)
}

/// The payload of a line of the log; `None` for other input.
fn recorded(line: &[u8]) -> Option<Vec<u8>> {
    #[derive(serde::Deserialize)]
    struct Line {
        #[serde(rename = "v")]
        _v: u8,
        #[serde(rename = "event")]
        _event: String,
        payload: Box<serde_json::value::RawValue>,
    }
    let line: Line = serde_json::from_slice(line).ok()?;
    Some(line.payload.get().as_bytes().to_vec())
}

/// The project of the call: from the environment, else the directory in the payload.
fn project(context: &Context, payload: &Payload) -> Option<PathBuf> {
    let cwd = || payload.text("cwd").map(PathBuf::from).filter(|cwd| cwd.is_absolute());
    context.env.project.clone().or_else(cwd).or_else(|| context.env.project_dir())
}

/// The conditions of a hook call now, except that the team's files are the last snapshots.
fn at_present(context: &Context, evidence: &CallContext<'_>) -> Result<ExplainInput> {
    let archive = read_context::archive(context);
    let known = known(evidence, &archive);
    let (resolved, team_by) = attribution::team(evidence, &known);
    let index = resolved.team.as_ref().and_then(|team| known.get(team));
    let (actor, actor_by) = attribution::actor(evidence, index, resolved.name.as_deref());
    let session = evidence.payload.session().and_then(SafeName::stem);
    let team_run = index.and_then(|index| SafeName::new(&index.run));
    let key = team_run.or_else(|| solo_run(&archive, session.as_ref()?)).or_else(|| session.clone());
    let store = GateStateStore::new(context.paths.policy(), std::time::Duration::ZERO);
    let mut gate_state = GateState::default();
    if let Some(key) = &key {
        gate_state = store.read(key);
        store.merge_session(&archive, evidence.payload.session(), key, &mut gate_state);
    }
    let GateState { ledger, guard, .. } = gate_state;
    let name = resolved.team.as_ref().map(SafeName::as_str);
    let state = team_state(&archive, None, (name, evidence.payload.session()), index, ledger);
    let as_of = index.map(|index| index.at.clone());
    let team = team(name, team_by);
    let (attempt, overrides) = (Attempt::single(), overrides(context));
    Ok(ExplainInput { team, actor, actor_by, state, guard, as_of, attempt, overrides })
}

/// The conditions after the last event of a run, with its files from when its directory last existed.
fn of_run(context: &Context, evidence: &CallContext<'_>, run: &str) -> Result<ExplainInput> {
    let library = read_context::library(context)?;
    let run = library.find(run)?;
    let (records, _) = backtest::records(&context.paths.log(), &library.archive, Some(&[run]))?;
    let index = run.subject().and_then(|subject| library.archive.index(&subject));
    let (actor, actor_by) = attribution::actor(evidence, index.as_ref(), evidence.state.name.as_deref());
    let mut scene = ExplainInput {
        team: team(run.team.as_deref(), "name its run with --run"),
        actor,
        actor_by,
        state: TeamState::default(),
        guard: Guard::default(),
        as_of: None,
        attempt: Attempt::single(),
        overrides: overrides(context),
    };
    if let Some(record) = records.first() {
        let (team, lead) = (run.team.as_deref(), run.lead_session.clone());
        let mut past = SnapshotCursor::new(&library.archive, &record.journal, team, lead.clone());
        for event in &record.events {
            past.use_list(event.session.as_deref(), event.task_list.as_deref());
        }
        past.use_list(lead.as_deref(), last_list(record, lead.as_deref()));
        past.go_to_the_end();
        past.open();
        for recorded in &record.events {
            let payload = Payload::from_raw(&recorded.payload);
            let judgement = Judgement { blocked: record.was_blocked(recorded), ..Judgement::default() };
            past.team.apply(&backtest::judged(recorded, &payload), &judgement);
        }
        scene.as_of = record.events.last().map(|event| event.at.clone());
        scene.state = past.team;
    }
    if let Some(run) = SafeName::new(&run.run) {
        scene.guard = GateStateStore::new(context.paths.policy(), std::time::Duration::ZERO).read(&run).guard;
    }
    Ok(scene)
}

/// The last task list that a session named.
fn last_list<'a>(record: &'a backtest::Record, session: Option<&str>) -> Option<&'a str> {
    let last = record.events.iter().rev().find(|event| event.session.as_deref() == session);
    last?.task_list.as_deref()
}

fn known(evidence: &CallContext<'_>, archive: &Archive) -> BTreeMap<SafeName, Index> {
    let concerned = attribution::candidate_teams(evidence, archive).subjects.into_iter();
    let indexed = concerned.filter_map(|subject| {
        let index = archive.index(&subject)?;
        match subject {
            CaptureScope::Team(team) => Some((team, index)),
            CaptureScope::Session(_) => None,
        }
    });
    indexed.collect()
}

/// The active pauses and allowances.
fn overrides(context: &Context) -> Overrides {
    OverrideFile::new(&context.paths.policy(), std::time::Duration::ZERO).read()
}

pub(super) fn team(name: Option<&str>, by: &str) -> String {
    format!("{} ({by})", name.unwrap_or("none"))
}

fn introduce(event: &str, payload: &Payload, scene: &ExplainInput, source: &Source) -> String {
    let mut lines = String::new();
    let mut add = |what: &str, text: String| {
        let _ = writeln!(lines, "{what:<10} {}", escape(&text));
    };
    let tool = payload.tool_name().map(|tool| format!(" {tool}")).unwrap_or_default();
    add("event", format!("{event}{tool}"));
    add("team", scene.team.clone());
    add("actor", format!("{}, {} ({})", scene.actor.shown(), scene.actor.kind.word(), scene.actor_by));
    let (members, tasks) =
        (count(scene.state.members.len(), "member"), count(scene.state.tasks.len(), "task"));
    let as_of = scene
        .as_of
        .as_deref()
        .map_or_else(|| "nothing recorded".to_owned(), |at| format!("as of {}", clock::moment_of(at)));
    add("state", format!("{members}, {tasks}; {as_of}"));
    add("policy", source.name.clone());
    lines
}

/// Evaluates the gates and applies the loop guard to copies of the counts.
fn decide(context: &Context, source: &Source, scene: &ExplainInput, event: Judged<'_>, text: &mut String) {
    let facts = Facts { event, team: &scene.state };
    for (name, asked) in gate_trace::trace_gates(&source.policy, &source.rules, &facts) {
        let said = match asked {
            Asked::Nothing(why) => why.to_owned(),
            Asked::Found(finding) => {
                let decision = if finding.decision == Decision::Block { "block" } else { "warn" };
                format!("{decision}, {}: {}", finding.code, finding.reason)
            }
        };
        let _ = writeln!(text, "  {:<24} {}", escape(&name), escape(&said));
    }
    let settings = &source.policy.completion_check;
    let due: Vec<&str> =
        completion_check::due(&source.policy, &facts).iter().map(|check| check.run.as_str()).collect();
    let checks = match () {
        () if !due.is_empty() => format!("not run here; the hook would run: {}", due.join("; ")),
        () if settings.mode == Mode::Off => "off".to_owned(),
        () if settings.check.is_empty() => "no checks defined".to_owned(),
        () if event.kind != Kind::TaskCompleted => "not this event".to_owned(),
        () => "not a completion, or no check matches".to_owned(),
    };
    let _ = writeln!(text, "  {:<24} {}", "completion-check", escape(&checks));
    let overrides = &scene.overrides;
    let team = scene.state.name.as_deref();
    let now = context.clock.now();
    let findings = judge(&source.policy, &Rules::of(&source.rules), &facts);
    let mut guard = scene.guard.clone();
    let max_blocks = source.policy.max_blocks;
    let counted = Findings { event: &event, findings: &findings, max_blocks, attempt: &scene.attempt };
    let judgement = evaluate(counted, &scene.state, &mut guard, |finding| {
        let allowed = || overrides.allowed_shutdown(&finding.about, &scene.state.members).is_some();
        (finding.gate == Gate::PrematureShutdown && allowed()) || overrides.is_paused(finding.gate, team, now)
    });
    for verdict in &judgement.verdicts {
        let _ = writeln!(text, "loop guard {}: {}", escape(&verdict.source()), guarded(verdict, source));
    }
    let (decisive, answer) = (judgement.decisive(), answer(event.kind, judgement.decisive()));
    let verdict =
        decisive.map_or_else(|| "allow".to_owned(), |one| format!("{} {}", one.word(), one.source()));
    let _ = writeln!(text, "verdict    {}", escape(&verdict));
    let _ = writeln!(text, "response   exit {}", answer.exit);
    for (stream, output) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
        if !output.is_empty() {
            let _ = writeln!(text, "  {stream}  {}", escape(output.trim_end()));
        }
    }
}

fn guarded(verdict: &Verdict, source: &Source) -> String {
    match () {
        () if verdict.paused => "allowed: the gate is paused, or this shutdown was allowed".to_owned(),
        () if verdict.escalated => {
            format!(
                "allowed: blocked {} times since a task was last completed (max-blocks)",
                verdict.blocks.unwrap_or_default()
            )
        }
        () if verdict.repeated => {
            "repeated: recorded, but already shown in this state of the work".to_owned()
        }
        () => {
            let most = source.policy.max_blocks;
            format!("not reached: after {most} blocks it allows the action until another task is completed")
        }
    }
}

/// The response to Claude Code.
fn answer(kind: Kind, verdict: Option<&Verdict>) -> Answer {
    match verdict {
        Some(verdict) if verdict.decision == Decision::Block => Answer::block(kind, verdict.reason.as_str()),
        Some(verdict) if verdict.decision == Decision::Warn && !verdict.repeated => {
            Answer::warn(kind, &verdict.reason)
        }
        _ => Answer::allow(),
    }
}
