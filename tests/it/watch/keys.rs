//! What the keys of `watch` do: a state and a key make a state.

use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use teamkeep::watch::{Mode, Outcome, Panel, Playback, Subject};

use super::Watcher;
use crate::history::traces::{V328, play};
use crate::support::sandbox::Sandbox;
use crate::watch::{after, recording};

#[test]
fn tab_moves_through_the_panels_that_have_rows() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    let panels: Vec<Panel> = (0..4)
        .map(|_| {
            watcher.press(&[KeyCode::Tab]);
            watcher.state.panel
        })
        .collect();
    assert_eq!(panels, [Panel::Tasks, Panel::Messages, Panel::Alerts, Panel::Agents]);
    watcher.press(&[KeyCode::BackTab]);
    assert_eq!(watcher.state.panel, Panel::Alerts);
    watcher.press(&[KeyCode::Tab]);
    // A filter can empty a panel.
    watcher.types("/no task is called so");
    watcher.press(&[KeyCode::Enter, KeyCode::Tab]);
    assert_eq!(watcher.state.panel, Panel::Alerts);
}

#[test]
fn the_selection_stays_within_the_panel_and_names_the_item() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    let names: Vec<String> =
        watcher.moment().board.members.iter().map(|member| member.name.clone()).collect();
    assert_eq!(names[0], "mobile", "the worst is first");
    assert!(!watcher.screen(80, 24).contains('▸'), "nothing is selected before the first key");
    watcher.press(&[KeyCode::Char('k')]);
    assert_eq!(watcher.state.selection.agent.as_deref(), Some("mobile"));
    watcher.types("jj");
    assert_eq!(watcher.state.selection.agent.as_deref(), Some(names[2].as_str()));
    watcher.press(&[KeyCode::PageDown, KeyCode::Down]);
    assert_eq!(watcher.state.selection.agent.as_deref(), names.last().map(String::as_str));
    watcher.types("g");
    assert_eq!(watcher.state.selection.agent.as_deref(), Some("mobile"));
}

#[test]
fn the_columns_of_the_task_board_are_reached_with_h_and_l() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    watcher.press(&[KeyCode::Tab, KeyCode::Down]);
    let task = |watcher: &Watcher| watcher.state.selection.task.clone().unwrap();
    assert_eq!(task(&watcher), "4", "the column with work in progress is first");
    watcher.types("h");
    assert_eq!(task(&watcher), "5");
    watcher.types("j");
    assert_eq!(task(&watcher), "6");
    watcher.types("hll");
    assert_eq!(task(&watcher), "1");
    watcher.types("l");
    assert_eq!(task(&watcher), "1");
}

#[test]
fn enter_opens_the_details_of_what_is_selected_and_escape_closes_them() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    watcher.press(&[KeyCode::Enter]);
    let mode = |subject| Mode::Details { subject, scroll: 0 };
    assert_eq!(watcher.state.mode, mode(Subject::Agent("mobile".to_owned())));
    watcher.types("G");
    watcher.drawn(80, 24);
    let Mode::Details { scroll: end, .. } = watcher.state.mode.clone() else { panic!() };
    assert!(end < 100, "the drawn page limits it: {end}");
    watcher.types("jq");
    assert_eq!(watcher.state.mode, Mode::Board, "q closes a page");
    let incident = watcher.moment().alerts[0].id.clone();
    watcher.press(&[KeyCode::Char('!'), KeyCode::Enter]);
    assert_eq!(watcher.state.mode, mode(Subject::Incident(incident)));
    watcher.press(&[KeyCode::Esc]);
    assert_eq!(
        (watcher.types("q"), watcher.press(&[KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)])),
        (Outcome::Quit, Outcome::Quit)
    );
}

#[test]
fn a_filter_selects_agents_tasks_and_messages_but_hides_no_alert() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    watcher.types("/carol");
    assert_eq!(watcher.state.filter, "carol");
    let shown = watcher.screen(100, 30);
    assert!(shown.contains("1 match") && shown.contains("1 that need attention do not"), "{shown}");
    assert!(shown.contains("! high") && !shown.contains("login screen"), "{shown}");
    watcher.press(&[KeyCode::Backspace, KeyCode::Esc]);
    assert_eq!((watcher.state.filter.as_str(), &watcher.state.mode), ("", &Mode::Board));
    watcher.types("/q");
    assert_eq!(watcher.press(&[KeyCode::Enter]), Outcome::Continue);
    assert_eq!(watcher.state.filter, "q");
    watcher.press(&[KeyCode::Esc]);
    assert_eq!(watcher.state.filter, "");
}

#[test]
fn a_run_is_searched_through_by_entry_and_by_minute() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    watcher.press(&[KeyCode::Left]);
    let Playback::Paused(first) = watcher.state.player.playback else { panic!() };
    watcher.press(&[KeyCode::Left, KeyCode::Right]);
    assert_eq!(watcher.state.player.playback, Playback::Paused(first));
    watcher.press(&[KeyCode::Left, KeyCode::Right].map(|code| KeyEvent::new(code, KeyModifiers::SHIFT)));
    assert_eq!(watcher.state.player.playback, Playback::Paused(first));
    watcher.types("0");
    assert_eq!(watcher.moment().board.tasks.len(), 0);
    watcher.press(&[KeyCode::Left, KeyCode::Char('[')]);
    assert_eq!(watcher.state.player.playback, Playback::Paused(watcher.recording.start()));
    watcher.press(&[KeyCode::Char(']'); 60]);
    assert_eq!(watcher.state.player.playback, Playback::End, "there is nothing after the end");
    watcher.press(&[KeyCode::Left, KeyCode::Char('f')]);
    assert_eq!(watcher.state.player.playback, Playback::End);
}

#[test]
fn space_plays_and_pauses_and_signs_change_the_speed() {
    let told = play(V328, 1);
    let mut watcher = Watcher::new(recording(&told.sandbox, after(9_999_999)), after(9_999_999));
    assert!(!watcher.recording.is_running());
    let start = watcher.recording.start();
    watcher.types(" ");
    assert_eq!(watcher.state.player.playback, Playback::Playing(start), "it starts again from its start");
    watcher.types(" ++-");
    assert_eq!(watcher.state.player.playback, Playback::Paused(start));
    assert_eq!(watcher.state.player.speed.label(), "20x");
}

#[test]
fn the_board_of_each_moment_is_what_happened_until_then() {
    let told = play(V328, 1);
    let mut watcher = Watcher::new(recording(&told.sandbox, after(9_999_999)), after(9_999_999));
    let mut seen = 0;
    while watcher.state.player.playback != Playback::Paused(watcher.recording.start()) && seen < 500 {
        let before = watcher.state.player.playback;
        watcher.press(&[KeyCode::Left]);
        let moment = watcher.moment();
        let entries = watcher.recording.entries().iter().filter(|entry| entry.at <= moment.at);
        let messages = entries.filter(|entry| entry.message().is_some() && !entry.is_automatic());
        assert_eq!(moment.messages, messages.count());
        seen += 1;
        if before == watcher.state.player.playback {
            break;
        }
    }
    assert!(seen > 10, "{seen}");
}
