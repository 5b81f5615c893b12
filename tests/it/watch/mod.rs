//! `watch`: what it draws, what its keys do, and how it treats the terminal.

pub mod keys;
pub mod mouse;
pub mod screens;
#[cfg(unix)]
pub mod terminal;

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Color, Style};
use chrono::TimeDelta;
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Cell;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent};
use serde_json::{Value, json};
use teamkeep::status::{Observed, Surroundings};
use teamkeep::watch::{Lists, Moment, Outcome, Recording, WatchState, draw};
use teamkeep_config::Config;
use teamkeep_model::time::Timestamp;
use teamkeep_model::time::{self};
use teamkeep_system::paths::Paths;
use unicode_width::UnicodeWidthStr;

use crate::support::client_files::Lead;
use crate::support::sandbox::{START, Sandbox};

pub const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub const CREATED: i64 = 1_770_091_200_000;

pub fn by(name: &str) -> Value {
    json!({"agent_id": format!("a{name}-1"), "agent_type": name})
}

/// So many minutes after the start.
pub fn after(minutes: i64) -> Timestamp {
    time::parse(START).unwrap() + TimeDelta::minutes(minutes)
}

/// A task with its dependencies.
pub fn task(
    lead: &Lead<'_>,
    id: usize,
    subject: &str,
    (status, owner): (&str, Option<&str>),
    after: &[&str],
) {
    let task = json!({"id": id.to_string(), "subject": subject, "status": status, "owner": owner, "blockedBy": after});
    lead.sandbox.write(&format!("tasks/{}/{id}.json", lead.team), task);
}

/// A message from one agent to another.
pub fn message(lead: &Lead<'_>, id: &str, (from, to): (&str, &str), text: &str) {
    let input = json!({"to": to, "message": text});
    lead.before(id, "SendMessage", &input, by(from));
    lead.after(id, "SendMessage", &input, json!({"success": true}), by(from));
}

/// A team in which mobile goes silent with task 4, on which task 5 depends; bob is idle with two messages that wait.
pub fn stalled(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, SESSION);
    lead.roster(CREATED, &["mobile", "bob", "carol"]);
    lead.start("startup");
    task(&lead, 1, "Design the screens", ("completed", Some("carol")), &[]);
    task(&lead, 4, "Build the mobile app", ("in_progress", Some("mobile")), &[]);
    task(&lead, 5, "Test the mobile app", ("pending", Some("bob")), &["1", "4"]);
    task(&lead, 6, "Write the release notes", ("pending", None), &[]);
    lead.hook("SubagentStart", by("mobile"));
    lead.hook("SubagentStart", by("bob"));
    lead.hook("SubagentStart", by("carol"));
    message(&lead, "u1", ("mobile", "bob"), "I start with the login screen");
    message(&lead, "u2", ("bob", "mobile"), "Ping me when I can test it, 日本語 too");
    sandbox.set_clock(20 * 60_000);
    lead.hook("SubagentStop", by("bob"));
    lead.hook("TeammateIdle", json!({"teammate_name": "bob"}));
    let waiting = |from: &str| json!({"from": from, "text": "hello", "read": false});
    lead.inbox("bob", json!([waiting("carol"), waiting("team-lead")]));
    message(&lead, "u3", ("carol", "mobile"), "Is the app done?");
    sandbox.set_clock(40 * 60_000);
    message(&lead, "u4", ("carol", "team-lead"), "mobile does not answer");
    lead
}

pub fn recording(sandbox: &Sandbox, now: Timestamp) -> Recording {
    let catalog = sandbox.library();
    let mut opened = catalog.open_runs(&[catalog.find("latest").unwrap()]).unwrap();
    let paths = Paths {
        store: sandbox.keep(""),
        config: sandbox.keep("teamkeep.toml"),
        client: Some(sandbox.client("")),
        warning: None,
    };
    let data = opened.runs.pop().unwrap();
    let around = Surroundings { archive: &catalog.archive, paths: &paths, config: &Config::default() };
    let observed = Observed::of(&data, around, now);
    Recording::new(data, observed, 0)
}

/// A board, and who looks at it.
pub struct Watcher {
    pub recording: Recording,
    pub state: WatchState,
    pub now: Timestamp,
}

impl Watcher {
    pub fn new(recording: Recording, now: Timestamp) -> Watcher {
        Watcher { recording, state: WatchState::default(), now }
    }

    pub fn of_stall(sandbox: &Sandbox) -> Watcher {
        stalled(sandbox);
        Watcher::new(recording(sandbox, after(41)), after(41))
    }

    pub fn moment(&self) -> Moment {
        self.recording.moment(self.state.player.playback, self.now)
    }

    pub fn press<K: Copy + Into<KeyEvent>>(&mut self, keys: &[K]) -> Outcome {
        let mut outcome = Outcome::Continue;
        for key in keys {
            let moment = self.moment();
            let lists = Lists::of(&self.recording, &moment, &self.state.filter);
            outcome = self.state.press((*key).into(), &self.recording, &lists, moment.at);
        }
        outcome
    }

    pub fn types(&mut self, text: &str) -> Outcome {
        self.press(&text.chars().map(KeyCode::Char).collect::<Vec<_>>())
    }

    /// The lines as drawn, with their styles.
    pub fn drawn(&mut self, columns: u16, rows: u16) -> Vec<String> {
        let moment = self.moment();
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| draw(frame, &self.recording, &moment, &mut self.state)).unwrap();
        let buffer = terminal.backend().buffer();
        buffer.content.chunks(columns.into()).map(line).collect()
    }

    pub fn screen(&mut self, columns: u16, rows: u16) -> String {
        let lines = self.drawn(columns, rows);
        let lines: Vec<String> = lines.iter().map(|line| strip_str(line).to_string()).collect();
        lines.join("\n")
    }
}

/// A row of cells as a terminal would be told to show it, without spaces at its end.
fn line(cells: &[Cell]) -> String {
    let is_blank = |cell: &Cell| cell.symbol() == " " && cell.modifier.is_empty();
    let end = cells.iter().rposition(|cell| !is_blank(cell)).map_or(0, |last| last + 1);
    let (mut text, mut style, mut place) = (String::new(), Style::new(), 0);
    while let Some(cell) = cells[..end].get(place) {
        let color = |color| AnsiColor::try_from(color).ok().map(Color::Ansi);
        let own = Style::new().fg_color(color(cell.fg)).effects(cell.modifier.into());
        if own != style {
            text += &format!("{style:#}{own}");
            style = own;
        }
        text.push_str(cell.symbol());
        // The cells below a wide character are hidden.
        place += cell.symbol().width().max(1);
    }
    text + &format!("{style:#}")
}
