//! `teamkeep policy explain < payload.json`: the path of a decision. It changes nothing: no line, no count.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use super::path::{self, Answer as Asked};
use super::source::{Source, Wanted};
use crate::archive::{Archive, Index, Subject};
use crate::backtest::{self, Past};
use crate::clock;
use crate::commands::reading;
use crate::config::Mode;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::event::{Actor, SafeName};
use crate::gatekeeper::{Desk, Notebook, OverrideFile, go_on, remember, run_alone, team_state, weigh};
use crate::identity::{self, Evidence, Memory};
use crate::payload::{self, Kind, Payload};
use crate::policy::gates::completion_check;
use crate::policy::{Attempt, Decision, Facts, Guard, Judged, Rules, TeamState, Verdict, judge};
use crate::response::Answer;
use crate::ui::escape;

/// Arguments of `teamkeep policy explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Judge the payload as the next event of this run, with the team as it last was
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    wanted: Wanted,
}

const EXAMPLES: &str = "Examples:
  teamkeep log --json --event pre-tool-use -n 1 | teamkeep policy explain
  teamkeep policy explain --run latest < payload.json";

/// Where the payload would be judged: who speaks, in which team, with which state.
struct Scene {
    team: String,
    actor: Actor,
    actor_by: &'static str,
    state: TeamState,
    guard: Guard,
    as_of: Option<String>,
}

/// Runs it.
///
/// # Errors
/// When stdin is no payload, or there is no such run.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let hook = &context.config.hook;
    let mut input = payload::read(std::io::stdin(), hook.largest_input as usize, hook.stdin_patience);
    if let Some(recorded) = recorded(&input.bytes) {
        input.bytes = recorded;
    }
    let payload = payload::parse(&input);
    if let Some(malformed) = &payload.malformed {
        let error = Error::caused("stdin is no payload of a hook", &malformed.0);
        return Err(error.hint("`teamkeep log --json -n 1` prints a line of the log, which is taken as well"));
    }
    let source = args.wanted.read(context, project(context, &payload).as_deref())?;
    let kind = payload.kind();
    let session = payload.session().and_then(SafeName::new);
    let memory = session.map(|session| Memory::load(&context.paths.sessions(), &session)).unwrap_or_default();
    let client = context.paths.client_for(payload.transcript()).unwrap_or_default();
    let evidence =
        Evidence { payload: &payload, kind, memory: &memory, client: &client, client_pid: None, pane: None };
    let scene = match &args.run {
        Some(run) => of_run(context, &evidence, run)?,
        None => at_present(context, &evidence)?,
    };
    let now = clock::stamp(context.clock.now());
    let event =
        Judged { id: "", at: &now, kind, session: payload.session(), actor: &scene.actor, payload: &payload };
    let mut told = introduce(&payload, &scene, &source);
    decide(context, &source, &scene, event, &mut told);
    reading::print(context, &told)?;
    Ok(ExitCode::SUCCESS)
}

/// The payload of a line of the log, if that is what it is.
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

/// The project of the call, as its hook would be told: the client's word for it, else where the call was made.
fn project(context: &Context, payload: &Payload) -> Option<PathBuf> {
    let cwd = || payload.text("cwd").map(PathBuf::from).filter(|cwd| cwd.is_absolute());
    context.env.project.clone().or_else(cwd).or_else(|| context.env.project_dir())
}

/// As a hook would find it now, but for a look at the client's files: their last kept states stand.
fn at_present(context: &Context, evidence: &Evidence<'_>) -> Result<Scene> {
    let archive = reading::library(context)?.archive;
    let known = known(evidence, &archive);
    let (resolved, team_by) = identity::team_by(evidence, &known);
    let index = resolved.team.as_ref().and_then(|team| known.get(team));
    let (actor, actor_by) = identity::actor_by(evidence, index, resolved.name.as_deref());
    let session = evidence.payload.session().and_then(SafeName::new);
    let team_run = index.and_then(|index| SafeName::new(&index.run));
    let key = team_run.or_else(|| run_alone(&archive, session.as_ref()?)).or_else(|| session.clone());
    let desk = Desk::new(context.paths.policy(), std::time::Duration::ZERO);
    let mut notebook = Notebook::default();
    if let Some(key) = &key {
        notebook = desk.read(key);
        go_on(&desk, &archive, evidence.payload.session(), key, &mut notebook);
    }
    let Notebook { ledger, guard, .. } = notebook;
    let name = resolved.team.as_ref().map(SafeName::as_str);
    let state = team_state(&archive, None, (name, evidence.payload.session()), index, ledger);
    let as_of = index.map(|index| index.at.clone());
    Ok(Scene { team: team(name, team_by), actor, actor_by, state, guard, as_of })
}

/// As the next event of a run: its files when its directory was last there, its ledger over all its events.
fn of_run(context: &Context, evidence: &Evidence<'_>, run: &str) -> Result<Scene> {
    let library = reading::library(context)?;
    let run = library.find(run)?;
    let (records, _) = backtest::records(&context.paths.log(), &library.archive, Some(&[run]))?;
    let index = run.subject().and_then(|subject| library.archive.index(&subject));
    let (actor, actor_by) = identity::actor_by(evidence, index.as_ref(), evidence.memory.name.as_deref());
    let mut scene = Scene {
        team: team(run.team.as_deref(), "--run names its run"),
        actor,
        actor_by,
        state: TeamState::default(),
        guard: Guard::default(),
        as_of: None,
    };
    if let Some(record) = records.first() {
        let (team, lead) = (run.team.as_deref(), run.lead_session.clone());
        let mut past = Past::new(&library.archive, &record.journal, team, lead.clone());
        for event in &record.events {
            past.use_list(event.session.as_deref(), event.task_list.as_deref());
        }
        past.use_list(lead.as_deref(), last_list(record, lead.as_deref()));
        past.go_to_the_end();
        past.open();
        for recorded in &record.events {
            let payload = Payload::from_raw(&recorded.payload);
            let held_back = backtest::is_held_back(record, recorded);
            remember(&backtest::judged(recorded, &payload), held_back, &[], &[], &mut past.team);
        }
        scene.as_of = record.events.last().map(|event| event.at.clone());
        scene.state = past.team;
    }
    if let Some(run) = SafeName::new(&run.run) {
        scene.guard = Desk::new(context.paths.policy(), std::time::Duration::ZERO).read(&run).guard;
    }
    Ok(scene)
}

/// The task list that a session named last.
fn last_list<'a>(record: &'a backtest::Record, session: Option<&str>) -> Option<&'a str> {
    let last = record.events.iter().rev().find(|event| event.session.as_deref() == session);
    last?.task_list.as_deref()
}

fn known(evidence: &Evidence<'_>, archive: &Archive) -> BTreeMap<SafeName, Index> {
    let concerned = identity::concerned(evidence, archive).subjects.into_iter();
    let indexed = concerned.filter_map(|subject| {
        let index = archive.index(&subject)?;
        match subject {
            Subject::Team(team) => Some((team, index)),
            Subject::Session(_) => None,
        }
    });
    indexed.collect()
}

fn team(name: Option<&str>, by: &str) -> String {
    format!("{} ({by})", name.unwrap_or("none"))
}

fn introduce(payload: &Payload, scene: &Scene, source: &Source) -> String {
    let mut told = String::new();
    let mut say = |what: &str, text: String| {
        let _ = writeln!(told, "{what:<9} {}", escape(&text));
    };
    let tool = payload.tool().map(|tool| format!(" {tool}")).unwrap_or_default();
    say("event", format!("{}{tool}", payload.event_name().unwrap_or("unknown")));
    say("team", scene.team.clone());
    say("actor", format!("{}, {} ({})", scene.actor.shown(), scene.actor.kind.word(), scene.actor_by));
    let (members, tasks) = (scene.state.members.len(), scene.state.tasks.len());
    let as_of =
        scene.as_of.as_deref().map_or_else(|| "nothing on record".to_owned(), |at| format!("as of {at}"));
    say("state", format!("{members} in the roster, {tasks} on the task list; {as_of}"));
    say("policy", source.name.clone());
    told
}

/// Asks the gates and settles what they find, on copies.
fn decide(context: &Context, source: &Source, scene: &Scene, event: Judged<'_>, told: &mut String) {
    let facts = Facts { event, team: &scene.state };
    for (name, asked) in path::ask(&source.policy, &source.rules, &facts) {
        let said = match asked {
            Asked::Nothing(why) => why.to_owned(),
            Asked::Found(finding) => {
                let decision = if finding.decision == Decision::Block { "block" } else { "warn" };
                format!("{decision}, {}: {}", finding.code, finding.reason)
            }
        };
        let _ = writeln!(told, "  {:<24} {}", escape(&name), escape(&said));
    }
    let settings = &source.policy.completion_check;
    let due: Vec<&str> =
        completion_check::due(&source.policy, &facts).iter().map(|check| check.run.as_str()).collect();
    let checks = match () {
        () if !due.is_empty() => format!("not asked here; the hook would run: {}", due.join("; ")),
        () if settings.mode == Mode::Off || settings.check.is_empty() => "off".to_owned(),
        () if event.kind != Kind::TaskCompleted => "not this event".to_owned(),
        () => "nothing is being completed (a turn's end looks alike), or no check is meant".to_owned(),
    };
    let _ = writeln!(told, "  {:<24} {}", "completion-check", escape(&checks));
    let overrides = OverrideFile::new(&context.paths.policy(), std::time::Duration::ZERO).read();
    let team = scene.state.name.as_deref();
    let now = context.clock.now();
    let findings = judge(&source.policy, &Rules::of(&source.rules), &facts);
    let mut guard = scene.guard.clone();
    guard.look(&scene.state);
    let judgement = weigh(
        &findings,
        &scene.state.key(),
        &mut guard,
        source.policy.max_blocks,
        &Attempt::single(),
        |finding| {
            let allowed = || overrides.shutdown_of(&finding.about, &scene.state.members).is_some();
            (finding.gate == "premature-shutdown" && allowed())
                || overrides.is_paused(finding.gate, team, now)
        },
    );
    for verdict in &judgement.verdicts {
        let _ = writeln!(told, "guard     {}: {}", escape(&verdict.source()), guarded(verdict, source));
    }
    let (decisive, answer) = (judgement.decisive(), answer(event.kind, judgement.decisive()));
    let verdict =
        decisive.map_or_else(|| "allow".to_owned(), |one| format!("{} {}", one.word(), one.source()));
    let _ = writeln!(told, "verdict   {}", escape(&verdict));
    let _ = writeln!(told, "answer    exit {}", answer.exit);
    for (stream, text) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
        if !text.is_empty() {
            let _ = writeln!(told, "  {stream}  {}", escape(text.trim_end()));
        }
    }
}

fn guarded(verdict: &Verdict, source: &Source) -> String {
    match () {
        () if verdict.paused => "let through: a human paused the gate or allowed the occasion".to_owned(),
        () if verdict.escalated => {
            format!(
                "let through: blocked often enough in this state of the work (max-blocks = {})",
                source.policy.max_blocks
            )
        }
        () if verdict.repeated => {
            "told before in this state of the work: recorded, not told again".to_owned()
        }
        () => "nothing lets it through".to_owned(),
    }
}

/// How the verdict is spelled for the client.
fn answer(kind: Kind, verdict: Option<&Verdict>) -> Answer {
    match verdict {
        Some(verdict) if verdict.decision == Decision::Block => Answer::block(kind, verdict.reason.as_str()),
        Some(verdict) if verdict.decision == Decision::Warn && !verdict.repeated => {
            Answer::warn(kind, &verdict.reason)
        }
        _ => Answer::allow(),
    }
}
