//! What the mouse does in `watch`, by the place of a text on the screen.

use ratatui_crossterm::crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use teamkeep::watch::{Lists, Mode, Panel, Playback, Subject};

use super::{Watcher, after};
use crate::support::sandbox::Sandbox;

const CLICK: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

impl Watcher {
    /// An event of the mouse at the first letter of a text that the screen shows.
    fn point(&mut self, kind: MouseEventKind, text: &str) {
        let screen = self.screen(140, 40);
        let found = screen.lines().enumerate().find_map(|(row, line)| Some((row, line.find(text)?, line)));
        let (row, start, line) = found.unwrap_or_else(|| panic!("no {text:?} on the screen:\n{screen}"));
        self.point_at(kind, line[..start].chars().count(), row);
    }

    fn point_at(&mut self, kind: MouseEventKind, column: usize, row: usize) {
        let moment = self.moment();
        let lists = Lists::of(&self.recording, &moment, &self.state.filter);
        let (column, row) = (u16::try_from(column).unwrap(), u16::try_from(row).unwrap());
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        self.state.point(event, &self.recording, &lists);
    }
}

#[test]
fn a_click_selects_and_a_second_one_opens() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    let incident = watcher.moment().alerts[0].id.clone();
    let items = [
        ("#5 ", Panel::Tasks, Subject::Task("5".to_owned())),
        ("○ bob", Panel::Agents, Subject::Agent("bob".to_owned())),
        ("! high", Panel::Alerts, Subject::Incident(incident)),
    ];
    for (text, panel, subject) in items {
        watcher.point(CLICK, text);
        assert_eq!((watcher.state.panel, &watcher.state.mode), (panel, &Mode::Board), "{text}");
        watcher.point(CLICK, text);
        assert_eq!(watcher.state.mode, Mode::Details { subject, scroll: 0 });
        watcher.press(&[KeyCode::Esc]);
    }
    watcher.point(CLICK, "Messages ");
    assert_eq!(watcher.state.panel, Panel::Messages, "the title selects the panel");
}

#[test]
fn the_wheel_moves_in_the_panel_below_the_pointer_and_scrolls_a_page() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    watcher.point(MouseEventKind::ScrollDown, "Agents ");
    let names: Vec<String> =
        watcher.moment().board.members.iter().map(|member| member.name.clone()).collect();
    let selected = |watcher: &Watcher| watcher.state.selection.agent.clone();
    assert_eq!(selected(&watcher).as_ref(), names.get(2));
    watcher.point(MouseEventKind::ScrollUp, "Agents ");
    assert_eq!(selected(&watcher).as_ref(), names.first());
    watcher.types("?");
    watcher.drawn(80, 12);
    watcher.point_at(MouseEventKind::ScrollDown, 0, 5);
    assert_eq!(watcher.state.mode, Mode::Help { scroll: 3 });
    watcher.point_at(MouseEventKind::ScrollUp, 0, 5);
    assert_eq!(watcher.state.mode, Mode::Help { scroll: 0 });
    watcher.point_at(CLICK, 0, 5);
    assert_eq!(watcher.state.mode, Mode::Help { scroll: 0 }, "nothing of the board is below a page");
}

#[test]
fn the_bar_of_the_time_seeks() {
    let sandbox = Sandbox::new();
    let mut watcher = Watcher::of_stall(&sandbox);
    watcher.press(&[KeyCode::Char('0')]);
    assert_eq!(watcher.state.player.playback, Playback::Paused(watcher.recording.start()));
    let screen = watcher.screen(140, 40);
    let row = screen.lines().position(|line| line.starts_with('‖')).unwrap();
    watcher.point_at(CLICK, 139, row);
    assert_eq!(watcher.state.player.playback, Playback::End);
    watcher.press(&[KeyCode::Char('0')]);
    watcher.screen(140, 40);
    watcher.point_at(MouseEventKind::Drag(MouseButton::Left), 100, row);
    let Playback::Paused(at) = watcher.state.player.playback else { panic!("the end") };
    assert!(watcher.recording.start() < at && at < after(41), "{at}");
    watcher.point_at(CLICK, 139, 39);
    assert_eq!(watcher.state.player.playback, Playback::Paused(at), "the keys below do nothing");
}
