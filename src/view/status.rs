//! Text output of `teamkeep status`: as text, and as one line.

use anstyle::Style;
use teamkeep_model::unicode::escape;

use super::describe::{print_unsent, unsent};
use super::document::Document;
use super::line::{DIM, GREEN, RED, YELLOW, bold, dim, plain, styled};
use super::values::{blocked_by, count, lasted, name_style, size, task_style};
use crate::status::{AgentState, Board, Member, Status, StatusLine, StoreStats, TeamStatus, count_states};
use teamkeep_config::Gate;
use teamkeep_history::report::{Incident, Severity};
use teamkeep_model::TaskStatus;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_policy::Pause;

/// Number of incidents of a team that are shown.
const MAX_INCIDENTS: usize = 3;
/// Number of open tasks of a team that are shown, those in progress first.
const MAX_TASKS: usize = 12;

pub fn status(status: &Status, now: Timestamp) -> Document {
    let mut document = Document::default();
    if status.teams.is_empty() {
        let next = if status.record.runs > 0 { "; to see the last run: teamkeep log" } else { "" };
        document.paragraph(format!("no running teams{next}"));
    }
    for shown in &status.teams {
        team(shown, now, &mut document);
    }
    for pause in &status.overrides.pauses {
        let fixed = without_effect(status, pause.gate.as_deref());
        document.line([styled(YELLOW, paused(pause)), dim(fixed)]);
    }
    for name in &status.overrides.shutdowns {
        let fixed = without_effect(status, Some(Gate::PrematureShutdown.name()));
        let until = status.overrides.shutdowns_until.get(name);
        let until = until.map(|until| format!(" until {}", time::moment(*until))).unwrap_or_default();
        document.line([styled(YELLOW, format!("allowed once: shutdown of {name}{until}")), dim(fixed)]);
    }
    // In the middle of work, the size of the store is noise.
    if status.teams.is_empty() {
        document.line([dim(recorded(&status.record))]);
    }
    document
}

/// The reason of the state of an agent that waits for the approval of its plan.
pub const FOR_APPROVAL: &str = "for plan approval";

/// A team in one line: `parser-team: 2 working, 1 idle · 3/5 tasks · 1 block`.
pub fn status_line(team: Option<&StatusLine>) -> String {
    let Some(team) = team else { return "teamkeep: no team".to_owned() };
    let states = states(team.members.values().copied());
    let agents = if states.is_empty() { "no agent yet".to_owned() } else { states };
    let incidents = team.attention.as_ref().map_or(0, |attention| attention.incidents);
    let parts = [
        Some(agents),
        (incidents > 0).then(|| count(incidents, "incident")),
        (team.tasks > 0).then(|| format!("{}/{} tasks", team.done, team.tasks)),
        team.blind.then(|| "task list unknown".to_owned()),
        team.unreadable.then(|| "files unreadable".to_owned()),
        (team.unread > 0).then(|| format!("{} unread", team.unread)),
        (team.blocks > 0).then(|| count(team.blocks, "block")),
        (team.escalations > 0).then(|| format!("{} allowed by the loop guard", team.escalations)),
        team.paused.then(|| "policy paused".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    escape(&format!("{}: {}", team.team, parts.join(" · "))).into_owned()
}

/// The number of agents in each state: `1 stalled, 2 working`.
fn states(states: impl IntoIterator<Item = AgentState>) -> String {
    let counts = count_states(states).into_iter();
    counts.map(|(state, count)| format!("{count} {}", state.word())).collect::<Vec<_>>().join(", ")
}

/// How an agent's state is shown.
fn style(state: AgentState) -> Style {
    match state {
        AgentState::Failed | AgentState::Stalled => RED,
        AgentState::Waiting | AgentState::ShuttingDown => YELLOW,
        AgentState::Working => GREEN,
        AgentState::Idle | AgentState::Joined => Style::new(),
        AgentState::Left => DIM,
    }
}

fn team(team: &TeamStatus, now: Timestamp, document: &mut Document) {
    let running = format!("running for {},", lasted(team.started_at, now));
    let last = team.heard_at.map(|at| format!("last event {} ago", lasted(at, now)));
    document.line([bold(&team.team), styled(GREEN, running), dim(last.unwrap_or_default())]);
    incidents(team, now, document);
    for answer in &team.unsent_answers {
        let what = styled(YELLOW, format!("  ! {}: {}", answer.agent, unsent(answer)));
        document.line([what, dim(format!("→ {}", print_unsent(&team.run, answer)))]);
    }
    board(&team.board, now, document);
    warnings(team, document);
}

/// The worst incidents: those that last before those that are over.
fn incidents(team: &TeamStatus, now: Timestamp, document: &mut Document) {
    let is_over = |incident: &&Incident| team.board.is_over(incident, now);
    let mut sorted: Vec<&Incident> = team.incidents.iter().collect();
    sorted.sort_by_key(is_over);
    for incident in sorted.iter().take(MAX_INCIDENTS) {
        let (style, past) = match (is_over(incident), incident.severity) {
            (true, _) => (DIM, "past: "),
            (false, Severity::High) => (RED, ""),
            (false, _) => (YELLOW, ""),
        };
        let remedy = incident.remedy.as_ref().map(|remedy| format!("→ {remedy}"));
        let summary = styled(style, format!("  ! {past}{}", incident.summary));
        document.line([summary, dim(remedy.unwrap_or_default())]);
    }
    if let Some(more) = sorted.len().checked_sub(MAX_INCIDENTS).filter(|more| *more > 0) {
        document.line([dim(format!("  … {}; to see all: teamkeep watch", count(more, "more incident")))]);
    }
}

/// The members and the open tasks of a team.
fn board(board: &Board, now: Timestamp, document: &mut Document) {
    let Board { members, tasks } = board;
    let counts = states(members.iter().map(|member| member.state));
    document.line([plain("  Members"), dim(format!("({counts})"))]);
    let width = members.iter().map(|member| member.state.word().len()).max().unwrap_or_default();
    let names = members.iter().map(|member| member.name.chars().count()).max().unwrap_or_default();
    let mut members: Vec<&Member> = members.iter().collect();
    members.sort_by_key(|member| member.rank());
    for member in members {
        let unread = if member.unread > 0 { format!("{} unread", member.unread) } else { String::new() };
        let own = tasks.iter().filter(|task| member.tasks.contains(&task.id));
        let own: Vec<String> = own.map(|task| format!("{} {}", task.id, task.subject)).collect();
        let own = (!own.is_empty()).then(|| format!("task {}", own.join(", ")));
        let approval = member.awaits_approval.then(|| FOR_APPROVAL.to_owned());
        let work: Vec<String> = approval.into_iter().chain(own).collect();
        let why = member.why.clone().unwrap_or_default();
        let colon = if work.is_empty() || why.is_empty() { "" } else { ":" };
        document.line([
            styled(name_style(&member.name), format!("    {}", member.name)).width(names.clamp(10, 24) + 4),
            styled(style(member.state), member.state.word()).width(width),
            dim(lasted(member.since, now)).width(11),
            styled(YELLOW, unread),
            plain(work.join(", ") + colon),
            styled(style(member.state), why),
        ]);
    }
    let (done, mut open): (Vec<_>, Vec<_>) =
        tasks.iter().partition(|task| task.status == TaskStatus::Completed);
    if !tasks.is_empty() {
        document.line([plain("  Tasks"), dim(format!("({} of {} done)", done.len(), tasks.len()))]);
    }
    open.sort_by_key(|task| task.status != TaskStatus::InProgress);
    let hidden = open.len().saturating_sub(MAX_TASKS);
    for task in open.into_iter().take(MAX_TASKS) {
        let owner = task.owner.as_deref().unwrap_or("-");
        document.line([
            plain(format!("    {}", task.id)).width(6),
            styled(task_style(task.status.as_str()), task.status.as_str()).width(11),
            styled(name_style(owner), owner).width(8),
            plain(&task.subject),
            dim(blocked_by(&task.blocked_by)),
        ]);
    }
    if hidden > 0 {
        document.line([dim(format!("    … {}; to see all: teamkeep watch", count(hidden, "more task")))]);
    }
}

/// The work that the gates cannot see, and the number of blocks and warnings.
fn warnings(team: &TeamStatus, document: &mut Document) {
    if let Some(task) = team.missing_tasks.first() {
        let what = format!(
            "  task list unknown: task {task} is not in any list that the hooks know; the gates cannot see its work"
        );
        document.line([styled(YELLOW, what)]);
    }
    if let Some((first, more)) = team.unreadable.split_first() {
        let more = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
        document.line([styled(YELLOW, format!("  cannot read {first}{more}; the gates cannot see it"))]);
    }
    let verdicts: Vec<String> = [
        (team.blocks > 0).then(|| count(team.blocks, "block")),
        (team.warnings > 0).then(|| count(team.warnings, "warning")),
        (team.escalations > 0).then(|| format!("{} allowed after repeated blocks", team.escalations)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !verdicts.is_empty() {
        let command = format!("teamkeep log {} --kind verdict", team.team);
        document.line([
            plain("  Policy "),
            styled(YELLOW, format!("{}:", verdicts.join(", "))),
            plain(command),
        ]);
    }
}

/// The fixed gates to which a pause or an allowance of this gate does not apply.
fn without_effect(status: &Status, gate: Option<&str>) -> String {
    let fixed: Vec<&str> =
        status.fixed.iter().copied().filter(|fixed| gate.is_none_or(|gate| gate == *fixed)).collect();
    match (gate, fixed.is_empty()) {
        (_, true) => String::new(),
        (Some(_), _) => "(without effect: the organization has fixed the gate)".to_owned(),
        (None, _) => format!("(without effect on {}: the organization has fixed them)", fixed.join(", ")),
    }
}

fn paused(pause: &Pause) -> String {
    let gate = pause.gate.as_deref().unwrap_or("every gate and rule");
    let team = pause.team.as_deref().map(|team| format!(" in team {team}")).unwrap_or_default();
    format!("paused: {gate}{team} until {}", time::moment(pause.until))
}

fn recorded(store: &StoreStats) -> String {
    let about = if store.events_counted { "" } else { "about " };
    let more = if store.bytes_counted { "" } else { "more than " };
    let (runs, lines) = (count(store.runs, "run"), count(store.events, "log line"));
    format!("Recorded: {runs}, {about}{lines}, {more}{}", size(store.bytes))
}
