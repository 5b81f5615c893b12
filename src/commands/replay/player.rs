//! `replay --speed`: plays a run in time, on the whole terminal or as lines in a pipe.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::playlist::{Playlist, between, time};
use super::speed::Speed;
use super::{Args, Format};
use crate::clock::Time;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::render::{self, PlayerView};
use crate::timeline::{Filter, LiveState, RunData, Timeline};
use crate::ui;
use crate::ui::terminal::{InputEvent, Screen};

/// Interval between two frames.
const FRAME: Duration = Duration::from_millis(50);
/// Maximum number of timeline lines to keep. No terminal has more rows.
const MAX_KEPT: usize = 500;

/// Plays a run.
///
/// # Errors
/// Stdout cannot be written, or signals cannot be handled.
pub fn play(
    context: &Context,
    args: &Args,
    speed: Speed,
    material: &RunData,
    timeline: &Timeline,
    filter: &Filter,
) -> Result<ExitCode> {
    let json = args.format() == Format::Json;
    let is_page = !json && context.ui.is_terminal() && context.env.term.as_deref() != Some("dumb");
    let mut telling = args.telling(context);
    // On the screen an entry has one line.
    telling.full &= !is_page;
    let score = Playlist::of(material, timeline, filter, telling, json);
    if is_page {
        let (code, last) = page(&score, speed)?;
        // The last screen stays below the prompt.
        let mut out = context.ui.out();
        let shown = last.iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush());
        ui::quiet(shown)?;
        return Ok(code);
    }
    let mut out: Box<dyn Write> = if json { Box::new(context.ui.json()) } else { Box::new(context.ui.out()) };
    ui::quiet(lines(&score, speed, json, &mut out)).map_err(Error::from)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints each entry at its time.
fn lines(score: &Playlist<'_>, speed: Speed, json: bool, out: &mut dyn Write) -> io::Result<()> {
    if !json {
        let head = render::heading(score.material, score.timeline).to_terminal(score.telling.columns);
        out.write_all(head.as_bytes())?;
        out.flush()?;
    }
    let (begun, mut due, mut before) = (Instant::now(), Duration::ZERO, None);
    for (place, entry) in score.steps().filter(|(place, _)| score.told.contains(place)) {
        let Some(now) = time(entry) else { continue };
        let gap = between(before, now);
        let (wait, shortened) = speed.wait(gap);
        before = Some(now);
        due += wait;
        let rest = due.saturating_sub(begun.elapsed());
        if !rest.is_zero() {
            out.flush()?;
            std::thread::sleep(rest);
        }
        if json {
            serde_json::to_writer(&mut *out, entry)?;
            out.write_all(b"\n")?;
            continue;
        }
        if shortened {
            render::pause(gap).write(out, None)?;
        }
        out.write_all(&score.line(place, score.telling.columns))?;
    }
    out.flush()
}

/// A line of the timeline on the screen.
enum Line {
    /// The entry with this index.
    Thing(usize),
    /// A shortened pause, in milliseconds.
    Pause(i64),
}

/// The screen during playback.
struct Player<'a> {
    score: &'a Playlist<'a>,
    speed: Speed,
    screen: Screen,
    board: LiveState,
    story: VecDeque<Line>,
    /// The clock of the run.
    now: Time,
    bounds: (Time, Time),
    /// Played time, without pauses by the user.
    played: Duration,
    paused: bool,
    drawn: Option<Instant>,
}

/// Why playback stops early.
enum StopReason {
    /// The user quit.
    Enough,
    /// A signal.
    Signal(i32),
}

/// Plays on the whole terminal; returns the exit code and the last screen.
fn page(score: &Playlist<'_>, speed: Speed) -> io::Result<(ExitCode, Vec<String>)> {
    let times = || score.steps().filter_map(|(_, entry)| time(entry));
    let Some(first) = times().next() else { return Ok((ExitCode::SUCCESS, Vec::new())) };
    let last = times().last().unwrap_or(first);
    let mut board = LiveState::default();
    let before = score.timeline.entries.iter().take_while(|entry| score.filter.is_before(entry));
    before.for_each(|entry| {
        board.apply(entry);
    });
    let screen = Screen::open()?;
    let mut player = Player {
        score,
        speed,
        screen,
        board,
        story: VecDeque::new(),
        now: first,
        bounds: (first, last),
        played: Duration::ZERO,
        paused: false,
        drawn: None,
    };
    let stopped = player.play()?;
    player.paused = false;
    let last = player.frame(true);
    Ok(match stopped {
        None | Some(StopReason::Enough) => (ExitCode::SUCCESS, last),
        Some(StopReason::Signal(signal)) => {
            (ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)), Vec::new())
        }
    })
}

impl Player<'_> {
    fn play(&mut self) -> io::Result<Option<StopReason>> {
        let (mut due, mut before) = (Duration::ZERO, None);
        let score = self.score;
        for (place, entry) in score.steps() {
            let told = score.told.contains(&place);
            let mut board = self.board.clone();
            // A change that is not visible takes no time.
            if !board.apply(entry) && !told {
                continue;
            }
            if let Some(now) = time(entry) {
                let gap = between(before, now);
                let (wait, shortened) = self.speed.wait(gap);
                if let Some(stop) = self.pass(due, wait, before.unwrap_or(now), now)? {
                    return Ok(Some(stop));
                }
                if shortened {
                    self.tell(Line::Pause(gap));
                }
                due += wait;
                (before, self.now) = (Some(now), now);
            }
            self.board = board;
            if told {
                self.tell(Line::Thing(place));
            }
        }
        self.draw()?;
        Ok(None)
    }

    fn tell(&mut self, line: Line) {
        if self.story.len() == MAX_KEPT {
            self.story.pop_front();
        }
        self.story.push_back(line);
    }

    /// Waits during a pause while the clock advances.
    fn pass(
        &mut self,
        due: Duration,
        wait: Duration,
        from: Time,
        to: Time,
    ) -> io::Result<Option<StopReason>> {
        let until = due + wait;
        loop {
            let late = self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME);
            let rest = until.saturating_sub(self.played);
            if !late && rest.is_zero() {
                return Ok(None);
            }
            if !wait.is_zero() {
                let part = 1.0 - rest.as_secs_f64() / wait.as_secs_f64();
                let passed = (to - from).num_milliseconds() as f64 * part.clamp(0.0, 1.0);
                self.now = from + chrono::TimeDelta::milliseconds(passed as i64);
            }
            if late {
                self.draw()?;
            }
            let start = Instant::now();
            // If it is late, it only checks for keys.
            let came = self.screen.wait(if self.paused { FRAME } else { rest.min(FRAME) })?;
            if !self.paused {
                self.played += start.elapsed();
            }
            match came {
                InputEvent::Key(b'q' | 4) => return Ok(Some(StopReason::Enough)),
                InputEvent::End(signal) => return Ok(Some(StopReason::Signal(signal))),
                InputEvent::Key(b' ') => self.paused = !self.paused,
                InputEvent::Key(_) | InputEvent::Nothing => {}
                InputEvent::Change => self.drawn = None,
            }
            if !self.paused && self.played >= until {
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
        let width = Some(columns.saturating_sub(1));
        let lines = self.story.iter().skip(self.story.len().saturating_sub(rows));
        let told = lines.map(|line| match line {
            Line::Thing(place) => self.score.line(*place, width),
            Line::Pause(millis) => render::pause(*millis).cut(columns).into_bytes(),
        });
        let text = told.map(|line| String::from_utf8_lossy(&line).into_owned()).collect::<String>();
        let story: Vec<String> = text.lines().map(str::to_owned).collect();
        let (first, last) = self.bounds;
        let all = (last - first).num_milliseconds().max(1) as f64;
        let pace = if self.paused { format!("{}, paused", self.speed.word()) } else { self.speed.word() };
        let material = self.score.material;
        let keys = self.screen.is_typed() && !is_last;
        let view = PlayerView {
            team: material.run.name().unwrap_or("(no team)"),
            started_at: &material.run.started_at,
            now: self.now,
            played: (self.now - first).num_milliseconds() as f64 / all,
            pace: &pace,
            keys: if keys { "space pauses, q ends" } else { "" },
            board: &self.board,
            lines: &story,
        };
        render::player_screen(&view, columns, rows.saturating_sub(usize::from(is_last)))
    }
}
