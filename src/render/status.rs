//! Text output of `teamkeep status`: as text, as a screen, and as one line.

use anstyle::{AnsiColor, Style};

use super::format::{count, elapsed, name_style, wrap};
use super::styled_line::StyledLine;
use crate::clock::{self, Time};
use crate::enforcement::Pause;
use crate::model::TaskStatus;
use crate::status::{Member, Status, StatusLine, StoreStats, TeamStatus};
use crate::timeline::Activity;
use crate::ui;

/// Formats the status as text.
pub fn status(status: &Status, now: Time, columns: Option<usize>) -> String {
    lines(status, now, columns).concat()
}

/// Formats the status for a terminal of this size. No line is wider than the columns minus one; lines that do not fit
/// are counted.
pub fn status_screen(status: &Status, now: Time, keys: &str, columns: usize, rows: usize) -> Vec<String> {
    let width = Some(columns.saturating_sub(1).max(1));
    let mut shown: Vec<String> =
        lines(status, now, width).iter().flat_map(|line| line.lines().map(str::to_owned)).collect();
    let footer = usize::from(!keys.is_empty() && rows > 4);
    let room = rows.saturating_sub(footer);
    if shown.len() > room {
        let hidden = shown.len() - room.saturating_sub(1);
        shown.truncate(room.saturating_sub(1));
        shown.push(cut(&format!("… {hidden} more lines"), width));
    }
    if footer > 0 {
        shown.resize(room, String::new());
        shown.push(cut(
            &format!("{} {}, {keys}", clock::local(now).format("%H:%M:%S"), clock::offset(now)),
            width,
        ));
    }
    shown.truncate(rows);
    shown.iter_mut().for_each(|line| line.truncate(line.trim_end_matches('\n').len()));
    shown
}

/// A team in one line: `parser-team: 2 working, 1 idle · 3/5 tasks · 1 block`.
pub fn brief(brief: Option<&StatusLine>) -> String {
    let Some(brief) = brief else { return "teamkeep: no team".to_owned() };
    let mut parts: Vec<String> = Vec::new();
    match (brief.working, brief.idle) {
        (0, 0) => parts.push("no agent yet".to_owned()),
        (working, 0) => parts.push(format!("{working} working")),
        (0, idle) => parts.push(format!("{idle} idle")),
        (working, idle) => parts.push(format!("{working} working, {idle} idle")),
    }
    if brief.tasks > 0 {
        parts.push(format!("{}/{} tasks", brief.done, brief.tasks));
    }
    if brief.blind {
        parts.push("task list unknown".to_owned());
    }
    if brief.unreadable {
        parts.push("files unreadable".to_owned());
    }
    if brief.unread > 0 {
        parts.push(format!("{} unread", brief.unread));
    }
    if brief.blocks > 0 {
        parts.push(count(brief.blocks, "block"));
    }
    if brief.escalations > 0 {
        parts.push(format!("{} allowed by the loop guard", brief.escalations));
    }
    if brief.paused {
        parts.push("policy paused".to_owned());
    }
    ui::escape(&format!("{}: {}", brief.team, parts.join(" · "))).into_owned()
}

fn line(pieces: &[(Style, &str, usize)], columns: Option<usize>) -> String {
    let mut cells = StyledLine::default();
    pieces.iter().for_each(|(style, text, width)| cells.add(*style, text, *width));
    let mut out = Vec::new();
    let _ = cells.write(&mut out, columns);
    String::from_utf8_lossy(&out).into_owned()
}

/// One dimmed line that is cut at the width of the screen.
fn cut(text: &str, columns: Option<usize>) -> String {
    let mut cells = StyledLine::default();
    cells.add(Style::new().dimmed(), text, 0);
    let mut out = Vec::new();
    let _ = cells.write_cut(&mut out, columns);
    String::from_utf8_lossy(&out).into_owned()
}

fn lines(status: &Status, now: Time, columns: Option<usize>) -> Vec<String> {
    let page = Page { now, columns };
    let mut lines: Vec<String> = Vec::new();
    if status.teams.is_empty() {
        let next = if status.record.runs > 0 { " To see the last run: teamkeep replay" } else { "" };
        let text = wrap(&format!("No running teams.{next}"), columns);
        lines.extend(text.lines().map(|text| page.line(&[(Style::new(), text, 0)])));
    }
    for team in &status.teams {
        page.team(team, &mut lines);
    }
    lines.extend(status.overrides.pauses.iter().map(|pause| page.pause(pause)));
    for name in &status.overrides.shutdowns {
        lines.push(page.line(&[(
            AnsiColor::Yellow.on_default(),
            &format!("allowed once: shutdown of {name}"),
            0,
        )]));
    }
    lines.push(page.record(&status.record));
    lines
}

/// The states of an agent, in the order of the counts, and how they are shown.
const STATES: [(Activity, &str); 5] = [
    (Activity::Works, "working"),
    (Activity::Idles, "idle"),
    (Activity::Here, "joined"),
    (Activity::Stops, "shutting down"),
    (Activity::Gone, "left"),
];

fn state(member: &Member) -> &'static str {
    STATES.iter().find(|(doing, _)| doing.word() == member.doing).map_or(member.doing, |(_, word)| word)
}

struct Page {
    now: Time,
    columns: Option<usize>,
}

impl Page {
    fn line(&self, pieces: &[(Style, &str, usize)]) -> String {
        line(pieces, self.columns)
    }

    /// The age in whole seconds, because tenths would flicker.
    fn ago(&self, at: &str) -> String {
        let lasts = elapsed(at, &clock::stamp(self.now)).unwrap_or_default();
        lasts.split_once('.').map_or(lasts.clone(), |(whole, _)| format!("{whole}s"))
    }

    fn team(&self, team: &TeamStatus, lines: &mut Vec<String>) {
        let (plain, dim) = (Style::new(), Style::new().dimmed());
        let last = team.heard_at.as_deref().map(|at| format!("last event {} ago", self.ago(at)));
        let age = format!("running for {},", self.ago(&team.started_at));
        lines.push(self.line(&[
            (plain.bold(), &team.team, 0),
            (AnsiColor::Green.on_default(), &age, 0),
            (dim, &last.unwrap_or_default(), 0),
        ]));
        let doing: Vec<String> = STATES
            .iter()
            .filter_map(|(doing, word)| {
                Some(format!("{} {word}", Some(team.doing(*doing)).filter(|n| *n > 0)?))
            })
            .collect();
        let width = team.members.iter().map(|member| state(member).len()).max().unwrap_or_default();
        lines.push(self.line(&[(plain, "  Members", 0), (dim, &format!("({})", doing.join(", ")), 0)]));
        for member in &team.members {
            lines.push(self.member(team, member, width));
        }
        if !team.tasks.is_empty() {
            let done = team.tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
            let done = format!("({done} of {} done)", team.tasks.len());
            lines.push(self.line(&[(plain, "  Tasks", 0), (dim, &done, 0)]));
        }
        for task in team.tasks.iter().filter(|task| task.status != TaskStatus::Completed) {
            let owner = task.owner.as_deref().unwrap_or("-");
            let style =
                if task.status == TaskStatus::InProgress { AnsiColor::Blue.on_default() } else { plain };
            lines.push(self.line(&[
                (plain, &format!("    {}", task.id), 6),
                (style, task.status.as_str(), 11),
                (name_style(owner), owner, 8),
                (plain, &task.subject, 0),
            ]));
        }
        if let Some(task) = team.missing_tasks.first() {
            let what = format!(
                "  task list unknown: task {task} is not in any list that the hooks know; the gates cannot see its work"
            );
            lines.push(self.line(&[(AnsiColor::Yellow.on_default(), &what, 0)]));
        }
        if let Some(first) = team.unreadable.first() {
            let more = match team.unreadable.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let what = format!("  cannot read {first}{more}; the gates cannot see it");
            lines.push(self.line(&[(AnsiColor::Yellow.on_default(), &what, 0)]));
        }
        let policy = [(team.blocks, "block"), (team.warnings, "warning")];
        let mut policy: Vec<String> = policy
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| count(*number, what))
            .collect();
        policy.extend(
            (team.escalations > 0).then(|| format!("{} allowed after repeated blocks", team.escalations)),
        );
        if !policy.is_empty() {
            lines.push(self.line(&[
                (plain, "  Policy", 0),
                (AnsiColor::Yellow.on_default(), &format!("({})", policy.join(", ")), 0),
            ]));
        }
    }

    fn member(&self, team: &TeamStatus, member: &Member, width: usize) -> String {
        let style = match member.doing {
            "works" => AnsiColor::Green.on_default(),
            "stops" => AnsiColor::Yellow.on_default(),
            "gone" => Style::new().dimmed(),
            _ => Style::new(),
        };
        let unread =
            team.unread.get(&member.name).map(|unread| format!("{unread} unread")).unwrap_or_default();
        let at = team.tasks.iter().filter(|task| member.tasks.contains(&task.id));
        let at: Vec<String> = at.map(|task| format!("{} {}", task.id, task.subject)).collect();
        let at = if at.is_empty() { String::new() } else { format!("task {}", at.join(", ")) };
        self.line(&[
            (name_style(&member.name), &format!("    {}", member.name), 14),
            (style, state(member), width),
            (Style::new().dimmed(), &self.ago(&member.since), 6),
            (AnsiColor::Yellow.on_default(), &unread, 0),
            (Style::new(), &at, 0),
        ])
    }

    fn pause(&self, pause: &Pause) -> String {
        let gate = pause.gate.as_deref().unwrap_or("every gate");
        let team = pause.team.as_deref().map(|team| format!(" in team {team}")).unwrap_or_default();
        self.line(&[(
            AnsiColor::Yellow.on_default(),
            &format!("paused: {gate}{team} until {}", clock::moment_of(&pause.until)),
            0,
        )])
    }

    fn record(&self, record: &StoreStats) -> String {
        let events = usize::try_from(record.events).unwrap_or(usize::MAX);
        let about = if record.events_counted { "" } else { "about " };
        let more = if record.bytes_counted { "" } else { "more than " };
        let bytes = super::size(usize::try_from(record.bytes).unwrap_or(usize::MAX));
        let told = format!(
            "Recorded: {}, {about}{}, {more}{bytes}",
            count(record.runs, "run"),
            count(events, "event")
        );
        self.line(&[(Style::new().dimmed(), &told, 0)])
    }
}
