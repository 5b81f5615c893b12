//! `replay --speed`: plays a run in time, on the whole terminal or as lines in a pipe.

use std::collections::HashMap;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::{Args, Format};
use crate::commands::output::json_line;
use crate::context::Context;
use crate::timeline::{Entry, Filter, LiveState, RunData, Timeline};
use crate::ui;
use crate::ui::terminal::{InputEvent, Screen};
use crate::view::{self, EntryLines, PlayerView, ShownEntry, TimelineOptions};
use teamkeep_core::error::Result;
use teamkeep_core::sys::clock::Timestamp;

const FRAME: Duration = Duration::from_millis(50);
/// Maximum duration of a pause during playback.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// The speed as a factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed(f64);

impl Speed {
    /// Parses `10x`, `10`, `0.5x` or `max`.
    pub fn parse(text: &str) -> std::result::Result<Speed, String> {
        if text == "max" {
            return Ok(Speed(f64::INFINITY));
        }
        let factor: Option<f64> = text.strip_suffix('x').unwrap_or(text).parse().ok();
        let factor = factor.filter(|factor| (0.01..=1e6).contains(factor));
        factor.map(Speed).ok_or_else(|| "expected 10x, 0.5x (0.01 to 1000000) or max".to_owned())
    }

    /// How long to wait for a duration of the run in milliseconds, and whether that was shortened.
    fn wait(self, millis: i64) -> (Duration, bool) {
        let seconds = millis.max(0) as f64 / 1_000.0 / self.0;
        if seconds > MAX_PAUSE.as_secs_f64() {
            return (MAX_PAUSE, true);
        }
        (Duration::from_secs_f64(seconds), false)
    }

    fn label(self) -> String {
        if self.0.is_finite() { format!("{}x", self.0) } else { "max".to_owned() }
    }
}

pub fn play(
    context: &Context,
    args: &Args,
    speed: Speed,
    (run, timeline): (&RunData, &Timeline),
    filter: &Filter,
) -> Result<ExitCode> {
    let ui = &context.ui;
    let is_json = args.format() == Format::Json;
    let on_screen = !is_json && ui.is_terminal() && context.env.term.as_deref() != Some("dumb");
    let mut options = args.options(context);
    // On the screen an entry has one line.
    options.full &= !on_screen;
    let is_shown = |entry: &Entry| filter.contains(entry, run) && (is_json || options.shows(entry));
    let (indexes, shown): (Vec<usize>, Vec<&Entry>) =
        timeline.entries.iter().enumerate().filter(|(_, entry)| is_shown(entry)).unzip();
    // JSON output has every entry separately.
    let printed = match is_json {
        true => shown.iter().map(|entry| Some((*entry).into())).collect(),
        false => view::merge_idles(&shown),
    };
    let printed = indexes.into_iter().zip(printed).filter_map(|(index, entry)| Some((index, entry?)));
    let list = Playlist {
        run,
        timeline,
        filter,
        speed,
        options,
        is_json,
        printed: printed.collect(),
        lines: EntryLines::of(run.run.started_at, &shown, options),
    };
    if on_screen {
        return list.play_on_screen(context);
    }
    let mut out: Box<dyn Write> = if is_json { Box::new(ui.json()) } else { Box::new(ui.out()) };
    ui::quiet(list.print(&mut out))?;
    Ok(ExitCode::SUCCESS)
}

struct Playlist<'a> {
    run: &'a RunData,
    timeline: &'a Timeline,
    filter: &'a Filter,
    speed: Speed,
    options: TimelineOptions,
    is_json: bool,
    /// The printed entries by index.
    printed: HashMap<usize, ShownEntry<'a>>,
    lines: EntryLines,
}

/// An entry, and the wait before it.
struct Step<'a> {
    index: usize,
    entry: &'a Entry,
    /// The times of the entry before and of this one.
    from: Timestamp,
    at: Timestamp,
    wait: Duration,
    is_shortened: bool,
}

impl<'a> Playlist<'a> {
    /// The entries of the part that are played.
    fn steps(&self, mut is_played: impl FnMut(usize, &Entry) -> bool) -> Vec<Step<'a>> {
        let mut before = None;
        let part =
            self.timeline.entries.iter().enumerate().filter(|(_, entry)| !self.filter.is_before(entry));
        let part = part.take_while(|(_, entry)| !self.filter.is_after(entry));
        let played = part.filter(|(index, entry)| is_played(*index, entry)).map(|(index, entry)| {
            let at = Some(entry.at).or(before).unwrap_or_default();
            let from = before.replace(at).unwrap_or(at);
            let (wait, is_shortened) = self.speed.wait((at - from).num_milliseconds());
            Step { index, entry, from, at, wait, is_shortened }
        });
        played.collect()
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.is_json {
            let heading = view::heading(self.run, self.timeline).to_terminal(self.options.columns);
            out.write_all(heading.as_bytes())?;
        }
        let (begun, mut due) = (Instant::now(), Duration::ZERO);
        for step in self.steps(|index, _| self.printed.contains_key(&index)) {
            due += step.wait;
            let rest = due.saturating_sub(begun.elapsed());
            if !rest.is_zero() {
                out.flush()?;
                std::thread::sleep(rest);
            }
            match self.is_json {
                true => json_line(out, step.entry)?,
                false => self.write(&step, &self.lines, out)?,
            }
        }
        out.flush()
    }

    /// Writes the note of a shortened pause, and the entry if it is printed.
    fn write(&self, step: &Step<'_>, lines: &EntryLines, out: &mut dyn Write) -> io::Result<()> {
        if step.is_shortened {
            view::pause((step.at - step.from).num_milliseconds()).write(out, None)?;
        }
        if let Some(shown) = self.printed.get(&step.index) {
            lines.write(*shown, out)?;
        }
        Ok(())
    }

    fn play_on_screen(&self, context: &Context) -> Result<ExitCode> {
        let mut board = LiveState::default();
        for entry in self.timeline.entries.iter().take_while(|entry| self.filter.is_before(entry)) {
            board.apply(entry);
        }
        let mut next = board.clone();
        // A change that is not visible takes no time.
        let steps = self.steps(|index, entry| next.apply(entry) || self.printed.contains_key(&index));
        let Some(first) = steps.first() else { return Ok(ExitCode::SUCCESS) };
        let now = first.at;
        let screen = Screen::open()?;
        let (played, is_paused) = (Duration::ZERO, false);
        let mut player =
            Player { list: self, steps, screen, board, passed: 0, now, played, is_paused, drawn: None };
        if let Some(InputEvent::End(signal)) = player.play()? {
            return Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)));
        }
        player.is_paused = false;
        // The last screen stays below the prompt.
        let last = player.frame(player.screen.size().1.saturating_sub(1), "");
        drop(player);
        let mut out = context.ui.out();
        ui::quiet(last.iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush()))?;
        Ok(ExitCode::SUCCESS)
    }
}

struct Player<'a> {
    list: &'a Playlist<'a>,
    steps: Vec<Step<'a>>,
    screen: Screen,
    board: LiveState,
    /// The number of steps that are on the screen.
    passed: usize,
    now: Timestamp,
    /// Played time, without pauses by the user.
    played: Duration,
    is_paused: bool,
    drawn: Option<Instant>,
}

impl Player<'_> {
    /// Plays to the end, or until a key or a signal ends it.
    fn play(&mut self) -> io::Result<Option<InputEvent>> {
        let mut due = Duration::ZERO;
        for index in 0..self.steps.len() {
            due += self.steps[index].wait;
            if let Some(end) = self.wait(due)? {
                return Ok(Some(end));
            }
            self.now = self.steps[index].at;
            self.board.apply(self.steps[index].entry);
            self.passed = index + 1;
        }
        self.draw()?;
        Ok(None)
    }

    /// Waits until this played time, while the clock advances to the next step.
    fn wait(&mut self, until: Duration) -> io::Result<Option<InputEvent>> {
        let Step { from, at, wait, .. } = self.steps[self.passed];
        loop {
            let is_late = self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME);
            let rest = until.saturating_sub(self.played);
            if !is_late && rest.is_zero() {
                return Ok(None);
            }
            if !wait.is_zero() {
                let part = 1.0 - rest.as_secs_f64() / wait.as_secs_f64();
                let passed = (at - from).num_milliseconds() as f64 * part.clamp(0.0, 1.0);
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
                InputEvent::Key(b'q' | 4) | InputEvent::End(_) => return Ok(Some(event)),
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
        let keys = if self.screen.is_typed() { "space pauses, q ends" } else { "" };
        let frame = self.frame(self.screen.size().1, keys);
        self.drawn = Some(Instant::now());
        self.screen.draw(&frame)
    }

    fn frame(&self, rows: usize, keys: &str) -> Vec<String> {
        let (list, columns, mut text) = (self.list, self.screen.size().0, Vec::new());
        let mut lines = list.lines.clone();
        lines.set_options(TimelineOptions { columns: Some(columns.saturating_sub(1)), ..list.options });
        let shown = self.steps[..self.passed].iter().rev();
        let shown =
            shown.filter(|step| step.is_shortened || list.printed.contains_key(&step.index)).take(rows);
        for step in shown.collect::<Vec<_>>().into_iter().rev() {
            // Writing to memory does not fail.
            let _ = list.write(step, &lines, &mut text);
        }
        let text = String::from_utf8_lossy(&text);
        let bounds = self.steps.first().zip(self.steps.last());
        let (first, last) = bounds.map_or((self.now, self.now), |(first, last)| (first.at, last.at));
        let all = (last - first).num_milliseconds().max(1) as f64;
        let view = PlayerView {
            team: list.run.run.name().unwrap_or("(no team)"),
            started_at: list.run.run.started_at,
            now: self.now,
            played: (self.now - first).num_milliseconds() as f64 / all,
            pace: &format!("{}{}", list.speed.label(), if self.is_paused { ", paused" } else { "" }),
            keys,
            board: &self.board,
            lines: &text.lines().map(str::to_owned).collect::<Vec<_>>(),
        };
        view::player_screen(&view, columns, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_read_as_people_write_it() {
        assert_eq!(Speed::parse("10x"), Ok(Speed(10.0)));
        assert_eq!(Speed::parse("0.5").unwrap().label(), "0.5x");
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
