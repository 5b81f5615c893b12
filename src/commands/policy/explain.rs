//! `teamkeep policy explain`: the path of a decision about a payload or a recorded event. It changes nothing: no line, no
//! count.

use std::path::PathBuf;
use std::process::ExitCode;

use super::explain_input::{ExplainInput, RecordedEvent};
use super::{PolicyOptions, PolicySource};
use crate::backtest;
use crate::commands::output;
use crate::view::{Document, count, plain};
use teamkeep_config::{Gate, Mode};
use teamkeep_hook::attribution::{CallContext, SessionState};
use teamkeep_hook::enforcement::access;
use teamkeep_hook::response::Response;
use teamkeep_model::event::{Recorded, SafeName};
use teamkeep_model::payload::{self, KNOWN, Payload};
use teamkeep_model::{Tool, time};
use teamkeep_policy::gates::{budget, tasks};
use teamkeep_policy::{
    Access, Case, Decision, EvaluationInput, Finding, Guard, JudgedEvent, Lift, Rules, Verdict, evaluate,
    judge,
};
use teamkeep_system::error::{Error, Result, unknown};
use teamkeep_system::process;
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep policy explain --event 01kagq3r1x
  teamkeep log --raw --json --event pre-tool-use -n 1 | teamkeep policy explain
  teamkeep policy explain --run latest < payload.json")]
pub struct Args {
    /// Evaluate the payload as the next event of this run
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Explain this recorded event as of its time, instead of a payload on stdin: an ID or a unique prefix of one
    #[arg(long, value_name = "ID", conflicts_with = "run")]
    event: Option<String>,
    #[command(flatten)]
    policy: PolicyOptions,
}

/// How to find a payload.
const HINT: &str = "explain a recorded one: teamkeep policy explain --event ID, with an ID from `teamkeep policy test latest --json`";

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let document = match &args.event {
        Some(id) => explain_event(context, args, id)?,
        None => explain_payload(context, args)?,
    };
    output::print_document(context, &document)?;
    Ok(ExitCode::SUCCESS)
}

fn explain_event(context: &Context, args: &Args, id: &str) -> Result<Document> {
    let mut found = RecordedEvent::find(context, id)?;
    let recorded = &found.event.clone();
    let payload = Payload::from_raw(&recorded.payload);
    let source = args.policy.read(context, project(context, &payload).as_deref())?;
    let input = found.input(&context.config.report.price, &source);
    let mut document = Document::default();
    row(&mut document, "id", &recorded.id);
    explain(&mut document, &source, &input, backtest::judged_event(recorded, &payload));
    for verdict in found.verdicts() {
        let text =
            format!("{} {}: {}", verdict.word(), verdict.source(), verdict.reason.trim_end_matches('.'));
        row(&mut document, "recorded", text.trim_end());
    }
    if found.verdicts().is_empty() {
        row(&mut document, "recorded", "no verdict");
    }
    Ok(document)
}

fn explain_payload(context: &Context, args: &Args) -> Result<Document> {
    let hook = &context.config.hook;
    let mut input = process::read_stdin(std::io::stdin(), hook.largest_input as usize, hook.stdin_patience);
    if let Some(recorded) = payload_of_log_line(&input.bytes) {
        input.bytes = recorded;
    }
    let payload = payload::parse(&input);
    if let Some(malformed) = &payload.malformed {
        return Err(Error::caused("stdin is not a hook payload", malformed.clone()).hint(HINT));
    }
    let Some(name) = payload.event_name() else {
        return Err(Error::new("stdin is not a hook payload: `hook_event_name` is missing").hint(HINT));
    };
    let known: Vec<&str> = KNOWN.iter().map(|(kind, ..)| kind.name()).collect();
    if !known.contains(&name) {
        context.ui.warn_of(&unknown("event", name, &known));
    }
    let source = args.policy.read(context, project(context, &payload).as_deref())?;
    let kind = payload.kind();
    let state = payload.session().and_then(SafeName::stem);
    let state = state.map(|session| SessionState::load(&context.paths.store, &session));
    let state = state.unwrap_or_default();
    let client = context.paths.client_for(payload.transcript()).unwrap_or_default();
    let call =
        CallContext { payload: &payload, kind, state: &state, client: &client, client_pid: None, pane: None };
    let mut input = match &args.run {
        Some(run) => ExplainInput::of_run(context, &call, run)?,
        None => ExplainInput::now(context, &call),
    };
    if source.policy.budget.is_on() {
        input.read_spending(context);
    }
    let event =
        JudgedEvent { at: context.clock.now(), kind, actor: &input.actor, payload: &payload, access: None };
    let access = access(&source.policy, &event, || input.state.ledger.files.clone());
    let event = JudgedEvent { access: access.as_ref(), ..event };
    let mut document = Document::default();
    explain(&mut document, &source, &input, event);
    Ok(document)
}

/// The payload of a line of the log; `None` for other input.
fn payload_of_log_line(line: &[u8]) -> Option<Vec<u8>> {
    let line: Recorded = serde_json::from_slice(line).ok()?;
    (line.v > 0 && !line.event.is_empty()).then(|| line.payload.get().as_bytes().to_vec())
}

/// The project of the call: from the environment, else the directory in the payload.
fn project(context: &Context, payload: &Payload) -> Option<PathBuf> {
    let cwd = || payload.text("cwd").map(PathBuf::from).filter(|cwd| cwd.is_absolute());
    context.env.project.clone().or_else(cwd).or_else(|| context.env.project_dir())
}

fn row(document: &mut Document, title: &str, text: impl AsRef<str>) {
    document.line([plain(title).width(10), plain(text)]);
}

/// Adds the conditions, evaluates the gates, and applies the loop guard to copies of the counts.
fn explain(document: &mut Document, source: &PolicySource, input: &ExplainInput, event: JudgedEvent<'_>) {
    let name = event.payload.event_name().unwrap_or("unknown");
    let tool = event.payload.tool_name().map(|tool| format!(" {tool}")).unwrap_or_default();
    row(document, "event", format!("{name}{tool}"));
    row(document, "team", &input.team);
    let (actor, kind, by) = (input.actor.shown(), input.actor.kind.name(), input.actor_by);
    let actor = if actor == kind { actor.to_owned() } else { format!("{actor}, {kind}") };
    row(document, "actor", format!("{actor} ({by})"));
    let (members, tasks) =
        (count(input.state.members.len(), "member"), count(input.state.tasks.len(), "task"));
    let as_of = input.as_of.map(|at| format!("as of {}", time::moment(at)));
    let as_of = as_of.unwrap_or_else(|| "nothing recorded".to_owned());
    row(document, "state", format!("{members}, {tasks}; {as_of}"));
    row(document, "policy", &source.name);
    let case = Case::new(event, &input.state);
    let rules = Rules::of(&source.rules);
    let findings = judge(&source.policy, &rules, &case);
    for (name, result) in gate_results(source, &case, &findings) {
        document.line([plain(format!("  {name}")).width(26), plain(result)]);
    }
    if source.policy.budget.is_on() {
        for summary in budget::summaries(&source.policy, &input.state.spending, event.at) {
            row(document, "spent", summary);
        }
    }
    let mut guard = input.guard.clone();
    let max_blocks = source.policy.max_blocks;
    let counted =
        EvaluationInput { event: &event, findings: &findings, policy: &source.policy, rules: &rules };
    let (team, mut overrides) = (input.state.name.as_deref(), input.overrides.clone());
    let evaluation = evaluate(counted, &input.state, &mut guard, |finding| {
        match overrides.lift(finding, &source.policy, team, &input.state.members) {
            Some(Lift::Allowance(name)) => {
                let name = name.to_owned();
                overrides.use_up(&name)
            }
            lift => lift.is_some(),
        }
    });
    for verdict in &evaluation.verdicts {
        let finding = findings.iter().find(|one| one.gate.name() == verdict.gate && one.rule == verdict.rule);
        if let Some(result) = finding.and_then(|finding| guard_result(verdict, finding, &guard, max_blocks)) {
            document.line([plain(format!("loop guard {}: {result}", verdict.source()))]);
        }
    }
    let decisive = evaluation.decisive();
    let verdict = decisive.map(|one| format!("{} {}", one.word(), one.source()));
    row(document, "verdict", verdict.as_deref().unwrap_or("allow"));
    let response = Response::allow().and_verdicts(event.kind, &input.actor, &evaluation);
    row(document, "response", format!("exit {}", response.exit));
    for (stream, output) in [("stdout", &response.stdout), ("stderr", &response.stderr)] {
        let text = output.trim_end();
        match text {
            "" => {}
            _ if decisive.is_some_and(|one| one.text().trim_end() == text) => {
                document
                    .line([plain(format!("  {stream}")).width(10), plain("the reason of the gate above")]);
            }
            _ => document.line([plain(format!("  {stream}")).width(10), plain(text)]),
        }
    }
}

/// The result of each gate and each rule: its finding, or why it has none. The completion check comes last and is not
/// run.
fn gate_results(source: &PolicySource, case: &Case<'_>, findings: &[Finding]) -> Vec<(String, String)> {
    let PolicySource { policy, rules, .. } = source;
    let event = &case.event;
    // A request to all teammates has a finding for each.
    let first = |is_its: &dyn Fn(&&Finding) -> bool| {
        findings.iter().find(is_its).map_or("no finding".to_owned(), |finding| {
            let decision = if finding.decision == Decision::Block { "block" } else { "warn" };
            format!("{decision}, {}: {}", finding.code, finding.text())
        })
    };
    let tool = event.payload.tool().unwrap_or(Tool::Other);
    let due: Vec<&str> = tasks::due(policy, case).iter().map(|check| check.run.as_str()).collect();
    let of_gate = |gate: Gate| {
        let (kind, tools) = gate.event()?;
        let result = match gate {
            _ if gate.mode(policy) == Some(Mode::Off) => "off".to_owned(),
            Gate::Budget if policy.budget.limit.is_empty() => "no limits defined".to_owned(),
            Gate::CompletionCheck if policy.completion_check.check.is_empty() => {
                "no checks defined".to_owned()
            }
            _ if !kind.includes(event.kind) => "not this event".to_owned(),
            _ if !tools.is_empty() && !tools.contains(&tool) => "not this tool".to_owned(),
            // Of a recorded event, the files and the state of git are gone.
            _ if gate.guards_files() && event.access.is_none() => {
                "not judged: only the hook sees the files".to_owned()
            }
            Gate::CompletionCheck if due.is_empty() => "not a completion, or no check matches".to_owned(),
            Gate::CompletionCheck => format!("not run here; the hook would run: {}", due.join("; ")),
            _ => first(&|finding| finding.gate == gate) + uncertain(gate, event),
        };
        Some((gate.name().to_owned(), result))
    };
    let rules = rules.iter().map(|rule| {
        let result = match event.kind.can_be_blocked() || rule.applies_to(event.kind) {
            true => first(&|finding| finding.rule.as_ref() == Some(&rule.name)),
            false => "not this event".to_owned(),
        };
        (format!("rule {}", rule.name), result)
    });
    let gates = Gate::ALL.into_iter().filter(|gate| *gate != Gate::CompletionCheck).filter_map(of_gate);
    gates.chain(rules).chain(of_gate(Gate::CompletionCheck)).collect()
}

/// The remark on a command in Bash that a gate judges only in part.
fn uncertain(gate: Gate, event: &JudgedEvent<'_>) -> &'static str {
    match event.access {
        Some(Access::Git(git)) if !git.is_complete && gate.guards_files() => {
            " (a part of the command is not judged, and allowed)"
        }
        _ => "",
    }
}

/// The part of the loop guard in a verdict; `None` for a warning that is shown. `guard` has counted the verdict.
fn guard_result(verdict: &Verdict, finding: &Finding, guard: &Guard, max_blocks: u32) -> Option<String> {
    let most = finding.gate.max_blocks(max_blocks);
    Some(match verdict.blocks {
        _ if verdict.paused => "allowed: the gate is paused, or this shutdown was allowed".to_owned(),
        _ if verdict.repeated => "repeated: recorded, but already shown in this state of the work".to_owned(),
        Some(blocks) if verdict.escalated => {
            let times = count(blocks, "time");
            format!("allowed: blocked {times} since a task was last completed (max-blocks)")
        }
        _ if verdict.decision != Decision::Block => return None,
        _ if finding.lasting => "none: the rule is lasting, so it always blocks".to_owned(),
        _ => {
            let blocks = guard.blocks(finding);
            format!(
                "{blocks} of {most} blocks counted; after those it allows the action until another task is completed"
            )
        }
    })
}
