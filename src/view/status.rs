//! Text output of `teamkeep status`: as text, as a screen, and as one line.

use super::document::Document;
use super::format::{activity_style, count, elapsed, name_style, size, task_style, whole_seconds};
use super::line::{GREEN, Line, YELLOW, bold, dim, plain, styled};
use crate::status::{Member, Status, StatusLine, StoreStats, TeamStatus};
use crate::ui;
use teamkeep_core::enforcement::Pause;
use teamkeep_core::model::TaskStatus;
use teamkeep_core::policy::Activity;
use teamkeep_core::sys::clock::{self, Timestamp};

/// The states of an agent, in the order of the counts, and how they are shown.
const STATES: [(Activity, &str); 5] = [
    (Activity::Works, "working"),
    (Activity::Idles, "idle"),
    (Activity::Here, "joined"),
    (Activity::Stops, "shutting down"),
    (Activity::Gone, "left"),
];

pub fn status(status: &Status, now: Timestamp) -> Document {
    let mut document = Document::default();
    if status.teams.is_empty() {
        let next = if status.record.runs > 0 { " To see the last run: teamkeep replay" } else { "" };
        document.paragraph(format!("No running teams.{next}"));
    }
    for shown in &status.teams {
        team(shown, now, &mut document);
    }
    for pause in &status.overrides.pauses {
        document.line([styled(YELLOW, paused(pause))]);
    }
    for name in &status.overrides.shutdowns {
        document.line([styled(YELLOW, format!("allowed once: shutdown of {name}"))]);
    }
    document.line([dim(recorded(&status.record))]);
    document
}

/// Formats the status for a terminal of this size. No line is wider than the columns minus one; lines that do not fit
/// are counted.
pub fn status_screen(shown: &Status, now: Timestamp, keys: &str, columns: usize, rows: usize) -> Vec<String> {
    let width = columns.saturating_sub(1).max(1);
    let text = status(shown, now).to_terminal(Some(width));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let footer = usize::from(!keys.is_empty() && rows > 4);
    let room = rows.saturating_sub(footer);
    let cut = |text: String| Line::from([dim(text)]).cut(width);
    if lines.len() > room {
        let hidden = lines.len() - room.saturating_sub(1);
        lines.truncate(room.saturating_sub(1));
        lines.push(cut(format!("… {hidden} more lines")));
    }
    if footer > 0 {
        lines.resize(room, String::new());
        let time = clock::local(now).format("%H:%M:%S");
        lines.push(cut(format!("{time} {}, {keys}", clock::offset(now))));
    }
    lines.truncate(rows);
    lines
}

/// A team in one line: `parser-team: 2 working, 1 idle · 3/5 tasks · 1 block`.
pub fn brief(team: Option<&StatusLine>) -> String {
    let Some(team) = team else { return "teamkeep: no team".to_owned() };
    let agents = match (team.working, team.idle) {
        (0, 0) => "no agent yet".to_owned(),
        (working, 0) => format!("{working} working"),
        (0, idle) => format!("{idle} idle"),
        (working, idle) => format!("{working} working, {idle} idle"),
    };
    let parts = [
        Some(agents),
        (team.tasks > 0).then(|| format!("{}/{} tasks", team.done, team.tasks)),
        team.blind.then(|| "task list unknown".to_owned()),
        team.unreadable.then(|| "files unreadable".to_owned()),
        (team.unread > 0).then(|| format!("{} unread", team.unread)),
        (team.blocks > 0).then(|| count(team.blocks, "block")),
        (team.escalations > 0).then(|| format!("{} allowed by the loop guard", team.escalations)),
        team.paused.then(|| "policy paused".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    ui::escape(&format!("{}: {}", team.team, parts.join(" · "))).into_owned()
}

fn state(member: &Member) -> &'static str {
    STATES.iter().find(|(doing, _)| doing.word() == member.doing).map_or(member.doing, |(_, word)| word)
}

fn ago(at: Timestamp, now: Timestamp) -> String {
    whole_seconds(&elapsed(at, now))
}

fn team(team: &TeamStatus, now: Timestamp, document: &mut Document) {
    let age = format!("running for {},", ago(team.started_at, now));
    let last = team.heard_at.map(|at| format!("last event {} ago", ago(at, now)));
    document.line([bold(&team.team), styled(GREEN, age), dim(last.unwrap_or_default())]);
    let counts =
        STATES.iter().map(|(doing, word)| (team.doing(*doing), word)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    document.line([plain("  Members"), dim(format!("({})", counts.join(", ")))]);
    let width = team.members.iter().map(|member| state(member).len()).max().unwrap_or_default();
    for member in &team.members {
        let unread = team.unread.get(&member.name).map(|unread| format!("{unread} unread"));
        let tasks = team.tasks.iter().filter(|task| member.tasks.contains(&task.id));
        let tasks: Vec<String> = tasks.map(|task| format!("{} {}", task.id, task.subject)).collect();
        document.line([
            styled(name_style(&member.name), format!("    {}", member.name)).width(14),
            styled(activity_style(member.doing), state(member)).width(width),
            dim(ago(member.since, now)).width(6),
            styled(YELLOW, unread.unwrap_or_default()),
            plain(if tasks.is_empty() { String::new() } else { format!("task {}", tasks.join(", ")) }),
        ]);
    }
    let (done, open): (Vec<_>, Vec<_>) =
        team.tasks.iter().partition(|task| task.status == TaskStatus::Completed);
    if !team.tasks.is_empty() {
        document.line([plain("  Tasks"), dim(format!("({} of {} done)", done.len(), team.tasks.len()))]);
    }
    for task in open {
        let owner = task.owner.as_deref().unwrap_or("-");
        document.line([
            plain(format!("    {}", task.id)).width(6),
            styled(task_style(task.status.as_str()), task.status.as_str()).width(11),
            styled(name_style(owner), owner).width(8),
            plain(&task.subject),
        ]);
    }
    warnings(team, document);
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
        document.line([plain("  Policy"), styled(YELLOW, format!("({})", verdicts.join(", ")))]);
    }
}

fn paused(pause: &Pause) -> String {
    let gate = pause.gate.as_deref().unwrap_or("every gate");
    let team = pause.team.as_deref().map(|team| format!(" in team {team}")).unwrap_or_default();
    format!("paused: {gate}{team} until {}", clock::moment(pause.until))
}

fn recorded(store: &StoreStats) -> String {
    let about = if store.events_counted { "" } else { "about " };
    let more = if store.bytes_counted { "" } else { "more than " };
    let (runs, events) = (count(store.runs, "run"), count(store.events, "event"));
    format!("Recorded: {runs}, {about}{events}, {more}{}", size(store.bytes))
}
