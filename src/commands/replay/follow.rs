//! `replay --follow`: prints a running team's timeline as it grows.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::{Args, Format, filter_args};
use crate::commands::read_context;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::timeline::{
    Entry, Filter, Fingerprint, NewEntries, OpenedRun, RunCatalog, RunData, Timeline, merge,
};
use crate::ui;
use crate::view::{self, EntryLines, TimelineOptions};

/// Interval of checks for changes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Reading takes only a part of the time: after each read, the command waits this many times as long.
const RESTS: u32 = 4;
/// Interval of reads without a change, because no file shows that Claude Code's process is gone.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// How long an ended run is followed: a background process is still archiving its transcripts.
const LINGER_TIME: Duration = Duration::from_secs(5);

/// Follows a run until it ends.
///
/// # Errors
/// The store cannot be read, or stdout cannot be written.
pub fn follow(context: &Context, args: &Args, run: &str, filter: &Filter) -> Result<ExitCode> {
    let began = Instant::now();
    let mut printer = FollowPrinter::new(context, args);
    let mut fresh = NewEntries::default();
    let mut state: Option<FollowState> = None;
    let mut ended: Option<Instant> = None;
    loop {
        let is_first = fresh.is_new();
        let now = match state.take() {
            Some(state) if state.is_fresh() => state,
            before => FollowState::read(context, run, before)?,
        };
        let FollowState { library, opened, timeline, cost, changed, .. } = &*state.insert(now);
        let Some(material) = opened.runs.first() else { return Ok(ExitCode::SUCCESS) };
        if is_first && !filter.is_empty() {
            hint(context, filter, material, timeline);
        }
        let is_over = material.run.ended_at.is_some();
        let since = is_over.then(|| *ended.get_or_insert_with(Instant::now));
        ended = ended.filter(|_| is_over);
        let is_ended = since.is_some_and(|since| material.run.finished || since.elapsed() > LINGER_TIME);
        // A process of another user may look gone; as long as entries arrive, the run has not ended.
        let is_last = is_ended || (material.client_gone && changed.elapsed() > LINGER_TIME);
        let due = fresh.take(&timeline.entries, began.elapsed(), is_last);
        let due = due.into_iter().map(|place| &timeline.entries[place]);
        let due: Vec<&Entry> = due.filter(|entry| filter.contains(entry, material)).collect();
        if let Err(error) = printer.print(material, timeline, &due) {
            return ui::quiet(Err(error)).map(|()| ExitCode::SUCCESS).map_err(Error::from);
        }
        if is_last {
            context.ui.eprint_line(&view::ending(material, timeline));
            read_context::warn(context, library, opened);
            return Ok(ExitCode::SUCCESS);
        }
        printer.announce_wait();
        std::thread::sleep(POLL_INTERVAL.max(*cost * RESTS));
    }
}

/// The timeline as last read.
struct FollowState {
    library: RunCatalog,
    opened: OpenedRun,
    timeline: Timeline,
    fingerprint: Fingerprint,
    read: Instant,
    /// When it last changed.
    changed: Instant,
    cost: Duration,
}

impl FollowState {
    fn read(context: &Context, run: &str, before: Option<FollowState>) -> Result<FollowState> {
        let start = Instant::now();
        let library = read_context::library(context)?;
        let record = library.find(run)?;
        // Before reading, so that data that arrives meanwhile is a change.
        let fingerprint = library.fingerprint(record);
        let opened = library.open_stories(&[record])?;
        let timeline = opened.runs.first().map(merge).unwrap_or_default();
        let changed =
            before.filter(|before| before.fingerprint == fingerprint).map_or(start, |before| before.changed);
        Ok(FollowState {
            library,
            opened,
            timeline,
            fingerprint,
            read: Instant::now(),
            changed,
            cost: start.elapsed(),
        })
    }

    /// Whether nothing can have changed.
    fn is_fresh(&self) -> bool {
        let fingerprint = self.opened.runs.first().map(|material| self.library.fingerprint(&material.run));
        self.read.elapsed() < CHECK_INTERVAL && fingerprint.as_ref() == Some(&self.fingerprint)
    }
}

/// Prints which of the requested agents are not in the run yet: they may join.
fn hint(context: &Context, filter: &Filter, material: &RunData, timeline: &Timeline) {
    if let Err(error) = filter_args::known(filter, material, timeline) {
        context.ui.eprint_line(&format!("{error}, as yet"));
        error.hints.iter().for_each(|hint| context.ui.eprint_line(&format!("hint: {hint}")));
    }
}

/// Prints entries in the requested format.
struct FollowPrinter<'a> {
    context: &'a Context,
    out: Box<dyn Write>,
    json: bool,
    options: TimelineOptions,
    lines: Option<EntryLines>,
    is_wait_announced: bool,
}

impl<'a> FollowPrinter<'a> {
    fn new(context: &'a Context, args: &Args) -> FollowPrinter<'a> {
        let json = args.format() == Format::Json;
        let out: Box<dyn Write> = if json { Box::new(context.ui.json()) } else { Box::new(context.ui.out()) };
        FollowPrinter {
            context,
            out,
            json,
            options: args.options(context),
            lines: None,
            is_wait_announced: false,
        }
    }

    fn print(&mut self, material: &RunData, timeline: &Timeline, due: &[&Entry]) -> io::Result<()> {
        if self.json {
            for entry in due {
                serde_json::to_writer(&mut self.out, entry)?;
                self.out.write_all(b"\n")?;
            }
            return self.out.flush();
        }
        self.options.columns = self.context.ui.columns();
        let mut text = Vec::new();
        let lines = self.lines.get_or_insert_with(|| {
            text = view::heading(material, timeline).to_terminal(self.options.columns).into_bytes();
            EntryLines::ahead(&material.run.started_at, &material.members, self.options)
        });
        lines.set_options(self.options);
        for entry in due.iter().filter(|entry| self.options.shows(entry)) {
            lines.write(entry, false, &mut text)?;
        }
        self.out.write_all(&text)?;
        self.out.flush()
    }

    /// Prints a notice, once, that the command waits for more.
    fn announce_wait(&mut self) {
        if !std::mem::replace(&mut self.is_wait_announced, true) && self.context.ui.is_terminal() {
            self.context.ui.eprint_line("waiting for more events (Ctrl-C to stop)");
        }
    }
}
