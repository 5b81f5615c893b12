//! `replay --speed`: plays a run in time, on the whole terminal or as lines in a pipe.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use chrono::TimeDelta;

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
    let is_shown = |entry: &&Entry| filter.contains(entry, run) && (is_json || options.shows(entry));
    let shown: Vec<&Entry> = timeline.entries.iter().filter(is_shown).collect();
    // JSON output has every entry separately.
    let merged = match is_json {
        true => shown.iter().map(|entry| Some((*entry).into())).collect(),
        false => view::merge_idles(&shown),
    };
    let mut merged = shown.iter().zip(merged).peekable();
    let start = timeline.entries.iter().take_while(|entry| filter.is_before(entry)).count();
    let (earlier, part) = timeline.entries.split_at(start);
    let state = LiveState::of(earlier);
    let (mut next_state, mut before, mut steps) = (state.clone(), None, Vec::new());
    for entry in part.iter().take_while(|entry| !filter.is_after(entry)) {
        let shown = merged.next_if(|(next, _)| std::ptr::eq(**next, entry)).and_then(|(_, shown)| shown);
        // A change that is not visible takes no time.
        let is_visible = next_state.apply(entry) && on_screen;
        if shown.is_some() || is_visible {
            let pause = entry.at - before.replace(entry.at).unwrap_or(entry.at);
            steps.push(Step { entry, shown, at: entry.at, pause });
        }
    }
    let lines = EntryLines::of(run.run.started_at, &shown, options);
    let list = Playlist { run, speed, steps, lines };
    if on_screen {
        return list.play_on_screen(context, state);
    }
    let mut out: Box<dyn Write> = if is_json { Box::new(ui.json()) } else { Box::new(ui.out()) };
    let heading = view::heading(run, timeline).to_terminal(options.columns);
    ui::quiet(match is_json {
        true => list.print(&mut out, |out, step| json_line(out, step.entry)),
        false => out.write_all(heading.as_bytes()).and_then(|()| {
            list.print(&mut out, |out, step| out.write_all(list.text(step, &list.lines).as_bytes()))
        }),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// An entry that is played.
struct Step<'a> {
    entry: &'a Entry,
    /// How it is printed; `None` if it only changes the members or tasks on the screen.
    shown: Option<ShownEntry<'a>>,
    at: Timestamp,
    /// The time since the step before.
    pause: TimeDelta,
}

struct Playlist<'a> {
    run: &'a RunData,
    speed: Speed,
    steps: Vec<Step<'a>>,
    lines: EntryLines,
}

impl Playlist<'_> {
    fn print(
        &self,
        out: &mut dyn Write,
        write: impl Fn(&mut dyn Write, &Step<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let (start, mut due) = (Instant::now(), Duration::ZERO);
        for step in &self.steps {
            due += self.speed.wait(step.pause.num_milliseconds()).0;
            let rest = due.saturating_sub(start.elapsed());
            if !rest.is_zero() {
                out.flush()?;
                std::thread::sleep(rest);
            }
            write(out, step)?;
        }
        out.flush()
    }

    /// The note of a shortened pause, and the entry if it is printed.
    fn text(&self, step: &Step<'_>, lines: &EntryLines) -> String {
        let pause = step.pause.num_milliseconds();
        let note = if self.speed.wait(pause).1 { view::pause(pause) } else { String::new() };
        note + &step.shown.map(|shown| lines.format(shown)).unwrap_or_default()
    }

    fn play_on_screen(&self, context: &Context, state: LiveState) -> Result<ExitCode> {
        let Some(first) = self.steps.first() else { return Ok(ExitCode::SUCCESS) };
        let screen = Screen::open()?;
        let mut player = Player { list: self, screen, state, passed: 0, now: first.at, is_paused: false };
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
    screen: Screen,
    state: LiveState,
    /// The number of steps that are on the screen.
    passed: usize,
    now: Timestamp,
    is_paused: bool,
}

impl Player<'_> {
    /// Plays to the end, or until a key or a signal ends it.
    fn play(&mut self) -> io::Result<Option<InputEvent>> {
        // The played time, without pauses by the user, and that of the next step.
        let (mut played, mut due) = (Duration::ZERO, Duration::ZERO);
        let mut drawn: Option<Instant> = None;
        for step in &self.list.steps {
            let (wait, _) = self.list.speed.wait(step.pause.num_milliseconds());
            due += wait;
            let is_late = |drawn: Option<Instant>| drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME);
            while self.is_paused || played < due || is_late(drawn) {
                let rest = due.saturating_sub(played);
                if is_late(drawn) {
                    // The clock advances to the step.
                    let part = if wait.is_zero() { 0.0 } else { rest.as_secs_f64() / wait.as_secs_f64() };
                    let missing = step.pause.num_milliseconds() as f64 * part.min(1.0);
                    self.now = step.at - TimeDelta::milliseconds(missing as i64);
                    self.draw()?;
                    drawn = Some(Instant::now());
                }
                let start = Instant::now();
                // If it is late, it only checks for keys.
                let event = self.screen.wait(if self.is_paused { FRAME } else { rest.min(FRAME) })?;
                if !self.is_paused {
                    played += start.elapsed();
                }
                match event {
                    InputEvent::Key(b'q' | 4) | InputEvent::End(_) => return Ok(Some(event)),
                    InputEvent::Key(b' ') => self.is_paused = !self.is_paused,
                    InputEvent::Key(_) | InputEvent::Nothing => {}
                    InputEvent::Change => drawn = None,
                }
            }
            self.now = step.at;
            self.state.apply(step.entry);
            self.passed += 1;
        }
        self.draw()?;
        Ok(None)
    }

    fn draw(&mut self) -> io::Result<()> {
        let keys = if self.screen.is_typed() { "space pauses, q ends" } else { "" };
        let frame = self.frame(self.screen.size().1, keys);
        self.screen.draw(&frame)
    }

    fn frame(&self, rows: usize, keys: &str) -> Vec<String> {
        let Playlist { run, speed, steps, lines } = self.list;
        let columns = self.screen.size().0;
        let options = TimelineOptions { columns: Some(columns.saturating_sub(1)), ..lines.options };
        let mut lines = lines.clone();
        lines.options = options;
        let printed = steps[..self.passed].iter().rev().map(|step| self.list.text(step, &lines));
        let mut printed: Vec<String> = printed.filter(|text| !text.is_empty()).take(rows).collect();
        printed.reverse();
        let bounds = steps.first().zip(steps.last());
        let (first, last) = bounds.map_or((self.now, self.now), |(first, last)| (first.at, last.at));
        let all = (last - first).num_milliseconds().max(1) as f64;
        let view = PlayerView {
            team: run.run.name().unwrap_or("(no team)"),
            started_at: run.run.started_at,
            now: self.now,
            played: (self.now - first).num_milliseconds() as f64 / all,
            pace: &format!("{}{}", speed.label(), if self.is_paused { ", paused" } else { "" }),
            keys,
            state: &self.state,
            lines: &printed.concat().lines().map(str::to_owned).collect::<Vec<_>>(),
        };
        view::player_screen(&view, (columns, rows))
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
