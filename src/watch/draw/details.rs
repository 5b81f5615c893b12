//! Details of an incident, an agent, a task or a message, or help, on the whole screen.

use ratatui_core::layout::{Constraint, Layout};
use ratatui_core::terminal::Frame;

use super::alerts::summary;
use super::panel::{self, BOLD, PLAIN, Page, put, short, title};
use super::tasks::is_stuck;
use crate::status::Item;
use crate::view::{DIM, FOR_APPROVAL, RED, bold, dim, incident_cost, moment_since, phrase, size, thousands};
use crate::watch::lists::Subject;
use crate::watch::recording::{Moment, Recording};
use crate::watch::{Mode, WatchState};
use teamkeep_history::report::Incident;
use teamkeep_history::timeline::{Entry, Filter};
use teamkeep_model::time;
use teamkeep_model::words::dollars;

/// Draws the page that the mode names, from its scroll position, which is limited to the end.
pub fn draw(frame: &mut Frame<'_>, recording: &Recording, moment: &Moment, state: &mut WatchState) {
    let area = frame.area();
    let mut page = Page::new(area.width.into());
    let (mode, is_copied) = (&mut state.mode, state.copied.is_some());
    let heading = match &*mode {
        Mode::Details { subject, .. } => write_subject(&mut page, recording, moment, subject),
        _ => help(&mut page),
    };
    let body = title(frame, area, true, [bold(heading)]);
    let [body, foot] = Layout::vertical([Constraint::Fill(1), Constraint::Max(1)]).areas(body);
    let room = usize::from(body.height);
    let (Mode::Details { scroll, .. } | Mode::Help { scroll }) = &mut *mode else { return };
    *scroll = (*scroll).min(page.rows.len().saturating_sub(room));
    let more = page.rows.len() - (*scroll + room).min(page.rows.len());
    for (row, area) in page.rows.into_iter().skip(*scroll).zip(body.rows()) {
        put(frame, area, [row]);
    }
    let copy = match mode {
        Mode::Details { subject: Subject::Incident(_), .. } if is_copied => "copied  ",
        Mode::Details { subject: Subject::Incident(_), .. } => "y: copy the remedy  ",
        _ => "",
    };
    let more = if more == 0 { String::new() } else { format!("{more} more rows below  ") };
    put(frame, foot, [dim(format!("{more}j/k: scroll  !: next incident  {copy}Esc: back"))]);
}

const GROUPS: [(&str, &[(&str, &str)]); 3] = [
    (
        "Board",
        &[
            ("Tab, Shift-Tab", "next and previous panel"),
            ("j, k, arrows", "next and previous row; in the tasks, h and l change the column"),
            ("g, G", "first and last row"),
            ("Enter", "details of the selected incident, agent, task or message"),
            ("!", "next incident"),
            ("y", "copy the remedy of the selected or the worst incident"),
            ("/", "filter agents, tasks and messages by words; Esc clears the filter"),
            (
                "f",
                "follow: to the newest message, and to now or to the end; a past run opens at its worst incident",
            ),
            (
                "mouse",
                "a click selects, a second one opens, the wheel scrolls, and the bar of the time seeks; with Shift, most terminals select text",
            ),
            ("q, Ctrl-C", "quit"),
        ],
    ),
    (
        "Time",
        &[
            ("←, →", "to the previous and next entry of the timeline"),
            ("Shift-←, Shift-→, [, ]", "a minute back and forward"),
            ("0", "to the start of the run"),
            ("space", "play and pause; at the end of a run, play it from its start"),
            ("+, -", "faster and slower; a pause in the run takes at most two seconds"),
        ],
    ),
    (
        "Symbols",
        &[
            ("!", "a failed or stalled agent, or an incident"),
            ("?", "an agent that waits for permission, for approval or for another agent"),
            ("●  ○  ·", "working; idle or joined; left"),
            (
                "after #41",
                "the task waits for task 41; in red if that one is unassigned or its owner is stalled",
            ),
        ],
    ),
];

/// Writes the page of keys, and returns its title.
fn help(page: &mut Page) -> String {
    for (title, keys) in GROUPS {
        page.heading(title);
        keys.iter().for_each(|(key, what)| page.hanging(&format!("  {key:<24}"), what));
    }
    "Keys".to_owned()
}

/// Number of the last entries of an agent that are listed.
const MAX_ENTRIES: usize = 30;

/// Writes the page, and returns its title.
fn write_subject(page: &mut Page, recording: &Recording, moment: &Moment, subject: &Subject) -> String {
    match subject {
        Subject::Incident(id) => {
            match recording.incident(id) {
                Some(found) => incident(recording, moment, found, page),
                None => page.line("This incident is no longer in the report."),
            }
            "Incident".to_owned()
        }
        Subject::Agent(name) => {
            agent(recording, moment, name, page);
            format!("Agent {name}")
        }
        Subject::Task(id) => {
            match moment.board.tasks.iter().find(|task| task.id == *id) {
                Some(found) => task(recording, moment, found, page),
                None => page.line("This task does not exist at this time."),
            }
            format!("Task #{id}")
        }
        Subject::Message(place) => {
            let entry = recording.messages.get(*place).map(|place| &recording.entries()[*place]);
            entry.into_iter().for_each(|entry| message(recording, entry, page));
            "Message".to_owned()
        }
    }
}

fn incident(recording: &Recording, moment: &Moment, incident: &Incident, page: &mut Page) {
    let start = recording.data.run.started_at;
    page.row(panel::severity(incident.severity), summary(incident, moment));
    page.line("");
    let rank = if incident.resolved {
        "resolved".to_owned()
    } else {
        format!("severity {}", incident.severity.name())
    };
    page.line(format!("{}, {rank}", incident.kind.name()));
    page.line(format!("from  {}", moment_since(start, incident.from)));
    page.line(match incident.to {
        // A crash is a moment.
        Some(to) if to <= incident.from => format!("until {}", moment_since(start, to)),
        Some(to) => format!("until {} ({})", moment_since(start, to), short(incident.from, to)),
        None => format!("for   {} so far", short(incident.from, moment.at)),
    });
    if !incident.agents.is_empty() {
        page.line(format!("agents: {}", incident.agents.join(", ")));
    }
    if !incident.tasks.is_empty() {
        let tasks: Vec<String> = incident.tasks.iter().map(|id| format!("#{id}")).collect();
        page.line(format!("tasks: {}", tasks.join(", ")));
    }
    if let Some(cost) = incident_cost(incident) {
        page.line(format!("cost: {cost}"));
    }
    if let Some(remedy) = &incident.remedy {
        page.heading("Remedy");
        page.line(format!("  {remedy}"));
    }
    if !incident.chain.is_empty() {
        page.heading("Evidence");
    }
    for step in &incident.chain {
        page.line(format!("  {}  {}", time(step.at), step.what));
    }
}

fn agent(recording: &Recording, moment: &Moment, name: &str, page: &mut Page) {
    let report = &recording.observed.report;
    if let Some(member) = moment.board.members.iter().find(|member| member.name == name) {
        let active = member.active_at.map(|at| format!(", last activity {} ago", short(at, moment.at)));
        let unread = if member.unread > 0 { format!(", {} unread", member.unread) } else { String::new() };
        let (style, _) = panel::state(member.state);
        let reason = if member.awaits_approval { format!(" {FOR_APPROVAL}") } else { String::new() };
        let (word, active) = (member.state.word(), active.unwrap_or_default());
        page.row(style, format!("{word}{reason}{active}{unread}"));
        if let Some(why) = &member.why {
            page.row(style, why.clone());
        }
    }
    if let Some(person) = report.overview.members.iter().find(|person| person.name == name) {
        let about = [person.agent_type.as_deref(), person.model.as_deref()];
        let about: Vec<&str> = about.into_iter().flatten().collect();
        if !about.is_empty() {
            page.line(about.join(", "));
        }
    }
    if let Some(usage) = report.spending.agents.iter().find(|usage| usage.agent == name) {
        let tokens = &usage.tokens;
        let cost = usage.cost.map(|usd| format!(", {}", dollars(usd))).unwrap_or_default();
        let written = tokens.input.saturating_add(tokens.cache_write);
        page.line(format!(
            "{} tokens in, {} out, {} read from the cache{cost} in the whole run",
            thousands(written),
            thousands(tokens.output),
            thousands(tokens.cache_read)
        ));
    }
    incidents(recording, moment, page, |incident| incident.agents.iter().any(|agent| agent == name));
    let own: Vec<&Item> =
        moment.board.tasks.iter().filter(|task| task.owner.as_deref() == Some(name)).collect();
    if !own.is_empty() {
        page.heading("Tasks");
        own.iter().for_each(|task| page.line(format!("  {}", task_line(moment, task))));
    }
    let filter = Filter::between(None, Some(moment.at)).involving(&[name.to_owned()]);
    entries(recording, page, |entry| filter.contains(entry, &recording.data));
}

fn task(recording: &Recording, moment: &Moment, task: &Item, page: &mut Page) {
    page.row(BOLD, &task.subject);
    let owner = task.owner.as_deref().unwrap_or("unassigned");
    page.line(format!("{}, {owner}, for {}", task.status.as_str(), short(task.since, moment.at)));
    let find = |id: &String| moment.board.tasks.iter().find(|task| task.id == *id);
    if !task.blocked_by.is_empty() {
        page.heading("Waits for");
    }
    for blocker in task.blocked_by.iter().filter_map(find) {
        let style = if is_stuck(&moment.board, &blocker.id) { RED } else { PLAIN };
        page.row(style, format!("  {}", task_line(moment, blocker)));
    }
    let waiting: Vec<&Item> =
        moment.board.tasks.iter().filter(|other| other.blocked_by.contains(&task.id)).collect();
    if !waiting.is_empty() {
        page.heading("Blocks");
        waiting.iter().for_each(|other| page.line(format!("  {}", task_line(moment, other))));
    }
    incidents(recording, moment, page, |incident| incident.tasks.contains(&task.id));
    let history = recording.observed.report.tasks.iter().find(|history| history.id == task.id);
    if let Some(description) = history.and_then(|history| history.description.as_ref()) {
        page.heading("Description");
        page.text(description);
    }
    let is_own =
        |entry: &Entry| entry.at <= moment.at && entry.task().is_some_and(|change| change.id == task.id);
    entries(recording, page, is_own);
}

fn message(recording: &Recording, entry: &Entry, page: &mut Page) {
    let Some(message) = entry.message() else { return };
    let to = message.to.as_deref().unwrap_or("unknown");
    page.row(BOLD, format!("{} → {to}", entry.actor));
    page.line(format!(
        "{}, {}",
        moment_since(recording.data.run.started_at, entry.at),
        size(message.text.len())
    ));
    if message.word != "message" {
        page.line(&message.word);
    }
    if let Some(refusal) = &message.refusal {
        page.row(panel::severity(teamkeep_history::report::Severity::High), format!("not sent: {refusal}"));
    }
    if !message.heard_by.is_empty() {
        page.row(DIM, format!("read by {}", message.heard_by.join(", ")));
    }
    if let Some(summary) = &message.summary {
        page.heading(summary);
    } else {
        page.line("");
    }
    page.text(&message.text);
}

/// The incidents that concern the subject and have begun.
fn incidents(recording: &Recording, moment: &Moment, page: &mut Page, is_own: impl Fn(&Incident) -> bool) {
    let begun = recording.observed.incidents().iter().filter(|incident| incident.from <= moment.at);
    let own: Vec<&Incident> = begun.filter(|incident| is_own(incident)).collect();
    if !own.is_empty() {
        page.heading("Incidents");
    }
    for incident in own {
        let is_over = moment.board.is_over(incident, moment.at);
        let style = if is_over { PLAIN } else { panel::severity(incident.severity) };
        page.row(style, format!("  {}", summary(incident, moment)));
        if let Some(remedy) = &incident.remedy {
            page.row(DIM, format!("  → {remedy}"));
        }
    }
}

/// The last entries of the timeline that concern the subject.
fn entries(recording: &Recording, page: &mut Page, is_own: impl Fn(&Entry) -> bool) {
    let own: Vec<&Entry> = recording.entries().iter().filter(|entry| is_own(entry)).collect();
    if own.is_empty() {
        return;
    }
    page.heading(match own.len() {
        0..=MAX_ENTRIES => "Timeline".to_owned(),
        all => format!("Timeline (the last {MAX_ENTRIES} of {})", thousands(all)),
    });
    for entry in own.iter().rev().take(MAX_ENTRIES).rev() {
        let (style, words) = phrase((*entry).into());
        page.row(style, format!("  {}  {} {words}", time(entry.at), entry.actor));
    }
}

fn task_line(moment: &Moment, task: &Item) -> String {
    let owner = task.owner.as_deref().unwrap_or("unassigned");
    let since = short(task.since, moment.at);
    format!("#{} {}, {owner}, {since}: {}", task.id, task.status.as_str(), task.subject)
}

fn time(at: teamkeep_model::time::Timestamp) -> String {
    time::local(at).format("%H:%M:%S").to_string()
}
