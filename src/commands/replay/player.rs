//! `replay --speed`: plays a run in time, on the whole terminal or as lines in a pipe.

use std::collections::{HashSet, VecDeque};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::{Args, Format};
use crate::clock::{self, Time};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::timeline::{Entry, Filter, LiveState, RunData, Timeline};
use crate::ui;
use crate::ui::terminal::{InputEvent, Screen};
use crate::view::{self, EntryLines, PlayerView, TimelineOptions};

/// Interval between two frames.
const FRAME: Duration = Duration::from_millis(50);
/// Maximum number of timeline lines to keep. No terminal has more rows.
const MAX_LINES: usize = 500;
/// Maximum duration of a pause during playback.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// The speed as a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed(f64);

impl Speed {
    /// Parses `10x`, `10`, `0.5x` or `max`.
    ///
    /// # Errors
    /// The text is none of them.
    pub fn parse(text: &str) -> std::result::Result<Speed, String> {
        if text == "max" {
            return Ok(Speed(f64::INFINITY));
        }
        let number: Option<f64> = text.strip_suffix('x').unwrap_or(text).parse().ok();
        let sane = number.filter(|number| (0.01..=1e6).contains(number));
        sane.map(Speed).ok_or_else(|| "expected 10x, 0.5x (0.01 to 1000000) or max".to_owned())
    }

    /// How long to wait for a duration of the run in milliseconds, and whether that was shortened.
    fn wait(self, millis: i64) -> (Duration, bool) {
        let seconds = millis.max(0) as f64 / 1_000.0 / self.0;
        if seconds > MAX_PAUSE.as_secs_f64() {
            return (MAX_PAUSE, true);
        }
        (Duration::from_secs_f64(seconds), false)
    }

    /// The text shown on the screen.
    fn word(self) -> String {
        if self.0.is_finite() { format!("{}x", self.0) } else { "max".to_owned() }
    }
}

/// A run to play.
pub struct Playlist<'a> {
    material: &'a RunData,
    timeline: &'a Timeline,
    /// The part to play.
    filter: &'a Filter,
    speed: Speed,
    options: TimelineOptions,
    is_json: bool,
    /// The indexes of the printed entries.
    printed: HashSet<usize>,
    /// The ends of turns that are followed by an idle.
    idlers: HashSet<usize>,
    lines: EntryLines,
}

impl<'a> Playlist<'a> {
    /// Prepares a run.
    pub fn new(
        args: &Args,
        speed: Speed,
        (material, timeline): (&'a RunData, &'a Timeline),
        filter: &'a Filter,
        options: TimelineOptions,
    ) -> Playlist<'a> {
        // JSON output has every entry separately.
        let is_json = args.format() == Format::Json;
        let is_shown = |entry: &Entry| filter.contains(entry, material) && (is_json || options.shows(entry));
        let entries = timeline.entries.iter().enumerate();
        let (places, shown): (Vec<usize>, Vec<&Entry>) = entries.filter(|(_, entry)| is_shown(entry)).unzip();
        let (idles, idlers) = if is_json { Default::default() } else { view::idles(&shown) };
        let printed = places.iter().enumerate().filter(|(at, _)| !idles.contains(at));
        Playlist {
            material,
            timeline,
            filter,
            speed,
            is_json,
            printed: printed.map(|(_, place)| *place).collect(),
            idlers: idlers.into_iter().filter_map(|at| places.get(at).copied()).collect(),
            lines: EntryLines::of(&material.run.started_at, &shown, options),
            options,
        }
    }

    /// Plays it.
    ///
    /// # Errors
    /// Stdout cannot be written, or signals cannot be handled.
    pub fn play(mut self, context: &Context) -> Result<ExitCode> {
        let ui = &context.ui;
        if self.is_json || !ui.is_terminal() || context.env.term.as_deref() == Some("dumb") {
            let mut out: Box<dyn Write> = if self.is_json { Box::new(ui.json()) } else { Box::new(ui.out()) };
            ui::quiet(self.print(&mut out)).map_err(Error::from)?;
            return Ok(ExitCode::SUCCESS);
        }
        // On the screen an entry has one line.
        self.options.full = false;
        self.lines.set_options(self.options);
        let (code, last) = self.play_on_screen()?;
        // The last screen stays below the prompt.
        let mut out = ui.out();
        ui::quiet(last.iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush()))?;
        Ok(code)
    }

    /// The entries up to the end of the part; those before its start are applied without waiting.
    fn steps(&self) -> impl Iterator<Item = (usize, &'a Entry)> {
        let (filter, entries) = (self.filter, self.timeline.entries.iter().enumerate());
        entries.filter(|(_, entry)| !filter.is_before(entry)).take_while(|(_, entry)| !filter.is_after(entry))
    }

    /// Prints each entry at its time.
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.is_json {
            let heading = view::heading(self.material, self.timeline).to_terminal(self.options.columns);
            out.write_all(heading.as_bytes())?;
            out.flush()?;
        }
        let (begun, mut due, mut before) = (Instant::now(), Duration::ZERO, None);
        for (place, entry) in self.steps().filter(|(place, _)| self.printed.contains(place)) {
            let Some(now) = time(entry) else { continue };
            let gap = millis_between(before.replace(now), now);
            let (wait, is_shortened) = self.speed.wait(gap);
            due += wait;
            let rest = due.saturating_sub(begun.elapsed());
            if !rest.is_zero() {
                out.flush()?;
                std::thread::sleep(rest);
            }
            if self.is_json {
                serde_json::to_writer(&mut *out, entry)?;
                out.write_all(b"\n")?;
                continue;
            }
            if is_shortened {
                view::pause(gap).write(out, None)?;
            }
            self.lines.write(entry, self.idlers.contains(&place), out)?;
        }
        out.flush()
    }

    /// Plays on the whole terminal; returns the exit code and the last screen.
    fn play_on_screen(&self) -> io::Result<(ExitCode, Vec<String>)> {
        let mut times = self.steps().filter_map(|(_, entry)| time(entry));
        let Some(first) = times.next() else { return Ok((ExitCode::SUCCESS, Vec::new())) };
        let mut player = Player {
            list: self,
            screen: Screen::open()?,
            board: LiveState::default(),
            shown: VecDeque::new(),
            now: first,
            bounds: (first, times.last().unwrap_or(first)),
            played: Duration::ZERO,
            is_paused: false,
            drawn: None,
        };
        for entry in self.timeline.entries.iter().take_while(|entry| self.filter.is_before(entry)) {
            player.board.apply(entry);
        }
        let stop = player.play()?;
        player.is_paused = false;
        Ok(match stop {
            Some(StopReason::Signal(signal)) => {
                (ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)), Vec::new())
            }
            None | Some(StopReason::Quit) => (ExitCode::SUCCESS, player.frame(true)),
        })
    }
}

fn time(entry: &Entry) -> Option<Time> {
    clock::parse(&entry.at)
}

/// Milliseconds between two times; 0 without the first.
fn millis_between(before: Option<Time>, now: Time) -> i64 {
    before.map_or(0, |before| (now - before).num_milliseconds())
}

/// A line of the timeline on the screen.
enum Line {
    /// The entry with this index.
    Entry(usize),
    /// A shortened pause, in milliseconds.
    Pause(i64),
}

/// The screen during playback.
struct Player<'a> {
    list: &'a Playlist<'a>,
    screen: Screen,
    board: LiveState,
    shown: VecDeque<Line>,
    /// The clock of the run.
    now: Time,
    bounds: (Time, Time),
    /// Played time, without pauses by the user.
    played: Duration,
    is_paused: bool,
    drawn: Option<Instant>,
}

/// Why playback stops early.
enum StopReason {
    /// The user quit.
    Quit,
    /// A signal.
    Signal(i32),
}

impl Player<'_> {
    fn play(&mut self) -> io::Result<Option<StopReason>> {
        let (mut due, mut before) = (Duration::ZERO, None);
        for (place, entry) in self.list.steps() {
            let is_printed = self.list.printed.contains(&place);
            let mut board = self.board.clone();
            // A change that is not visible takes no time.
            if !board.apply(entry) && !is_printed {
                continue;
            }
            if let Some(now) = time(entry) {
                let gap = millis_between(before, now);
                let (wait, is_shortened) = self.list.speed.wait(gap);
                if let Some(stop) = self.wait(due, wait, before.unwrap_or(now), now)? {
                    return Ok(Some(stop));
                }
                if is_shortened {
                    self.push(Line::Pause(gap));
                }
                due += wait;
                (before, self.now) = (Some(now), now);
            }
            self.board = board;
            if is_printed {
                self.push(Line::Entry(place));
            }
        }
        self.draw()?;
        Ok(None)
    }

    fn push(&mut self, line: Line) {
        if self.shown.len() == MAX_LINES {
            self.shown.pop_front();
        }
        self.shown.push_back(line);
    }

    /// Waits during a pause while the clock advances.
    fn wait(
        &mut self,
        due: Duration,
        wait: Duration,
        from: Time,
        to: Time,
    ) -> io::Result<Option<StopReason>> {
        let until = due + wait;
        loop {
            let is_late = self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME);
            let rest = until.saturating_sub(self.played);
            if !is_late && rest.is_zero() {
                return Ok(None);
            }
            if !wait.is_zero() {
                let part = 1.0 - rest.as_secs_f64() / wait.as_secs_f64();
                let passed = (to - from).num_milliseconds() as f64 * part.clamp(0.0, 1.0);
                self.now = from + chrono::TimeDelta::milliseconds(passed as i64);
            }
            if is_late {
                self.draw()?;
            }
            let start = Instant::now();
            // If it is late, it only checks for keys.
            let event = self.screen.wait(if self.is_paused { FRAME } else { rest.min(FRAME) })?;
            if !self.is_paused {
                self.played += start.elapsed();
            }
            match event {
                InputEvent::Key(b'q' | 4) => return Ok(Some(StopReason::Quit)),
                InputEvent::End(signal) => return Ok(Some(StopReason::Signal(signal))),
                InputEvent::Key(b' ') => self.is_paused = !self.is_paused,
                InputEvent::Key(_) | InputEvent::Nothing => {}
                InputEvent::Change => self.drawn = None,
            }
            if !self.is_paused && self.played >= until {
                return Ok(None);
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        let frame = self.frame(false);
        self.drawn = Some(Instant::now());
        self.screen.draw(&frame)
    }

    fn frame(&self, is_last: bool) -> Vec<String> {
        let (columns, rows) = self.screen.size();
        let (list, mut text) = (self.list, Vec::new());
        let mut lines = list.lines.clone();
        lines.set_options(TimelineOptions { columns: Some(columns.saturating_sub(1)), ..list.options });
        for line in self.shown.iter().skip(self.shown.len().saturating_sub(rows)) {
            // Writing to memory does not fail.
            let _ = match line {
                Line::Entry(place) => {
                    lines.write(&list.timeline.entries[*place], list.idlers.contains(place), &mut text)
                }
                Line::Pause(millis) => view::pause(*millis).write(&mut text, None),
            };
        }
        let text = String::from_utf8_lossy(&text);
        let (first, last) = self.bounds;
        let all = (last - first).num_milliseconds().max(1) as f64;
        let has_keys = self.screen.is_typed() && !is_last;
        let view = PlayerView {
            team: list.material.run.name().unwrap_or("(no team)"),
            started_at: &list.material.run.started_at,
            now: self.now,
            played: (self.now - first).num_milliseconds() as f64 / all,
            pace: &format!("{}{}", list.speed.word(), if self.is_paused { ", paused" } else { "" }),
            keys: if has_keys { "space pauses, q ends" } else { "" },
            board: &self.board,
            lines: &text.lines().map(str::to_owned).collect::<Vec<_>>(),
        };
        view::player_screen(&view, columns, rows.saturating_sub(usize::from(is_last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_read_as_people_write_it() {
        assert_eq!(Speed::parse("10x"), Ok(Speed(10.0)));
        assert_eq!(Speed::parse("0.5").unwrap().word(), "0.5x");
        assert_eq!(Speed::parse("max").unwrap().wait(1_000_000), (Duration::ZERO, false));
        for bad in ["", "x", "0", "-1x", "NaN", "inf", "1e9", "fast", "10xx"] {
            assert!(Speed::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_long_pause_is_shortened() {
        let speed = Speed::parse("10x").unwrap();
        assert_eq!(speed.wait(20_000), (MAX_PAUSE, false));
        assert_eq!(speed.wait(20_001), (MAX_PAUSE, true));
        assert_eq!(speed.wait(500), (Duration::from_millis(50), false));
        assert_eq!(speed.wait(-5), (Duration::ZERO, false));
    }
}
