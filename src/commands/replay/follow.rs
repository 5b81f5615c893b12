//! `replay --follow`: prints a running team's timeline as it grows.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::{Args, Format};
use crate::commands::catalog::{self, catalog};
use crate::commands::output::json_line;
use crate::context::Context;
use crate::timeline::{
    Entry, Filter, Fingerprint, NewEntries, OpenedRun, RunCatalog, RunData, Timeline, merge,
};
use crate::ui;
use crate::view::{self, EntryLines, TimelineOptions};
use teamkeep_core::error::{Error, Result};

const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Reading takes only a part of the time: after each read, the command waits this many times as long.
const RESTS: u32 = 4;
/// Interval of reads without a change, because no file shows that Claude Code's process is gone.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// How long an ended run is followed: a background process is still archiving its transcripts.
const LINGER_TIME: Duration = Duration::from_secs(5);

pub fn follow(context: &Context, args: &Args, run: &str, filter: &Filter) -> Result<ExitCode> {
    let began = Instant::now();
    let mut printer = FollowPrinter::new(context, args);
    let mut new_entries = NewEntries::default();
    let mut snapshot: Option<Snapshot> = None;
    let mut ended: Option<Instant> = None;
    loop {
        let is_first = new_entries.is_new();
        let read = match snapshot.take() {
            Some(snapshot) if snapshot.is_current() => snapshot,
            before => Snapshot::read(context, run, before)?,
        };
        let Snapshot { catalog, opened, timeline, cost, changed, .. } = &*snapshot.insert(read);
        let Some(run) = opened.runs.first() else { return Ok(ExitCode::SUCCESS) };
        if is_first && let Some(error) = filter.unknown_actor(&timeline.entries, run) {
            // The agent may join.
            context.ui.eprint_line(&format!("{error}, as yet"));
            error.hints.iter().for_each(|hint| context.ui.eprint_line(&format!("hint: {hint}")));
        }
        ended = run.run.ended_at.as_ref().map(|_| ended.unwrap_or_else(Instant::now));
        let is_ended = ended.is_some_and(|since| run.run.finished || since.elapsed() > LINGER_TIME);
        // A process of another user may look gone; as long as entries arrive, the run has not ended.
        let is_last = is_ended || (run.client_gone && changed.elapsed() > LINGER_TIME);
        let due = new_entries.take(&timeline.entries, (!is_last).then(|| began.elapsed()));
        let due = due.into_iter().map(|index| &timeline.entries[index]);
        let due: Vec<&Entry> = due.filter(|entry| filter.contains(entry, run)).collect();
        if let Err(error) = printer.print(run, timeline, &due) {
            return ui::quiet(Err(error)).map(|()| ExitCode::SUCCESS).map_err(Error::from);
        }
        if is_last {
            context.ui.eprint_line(&view::ending(run, timeline));
            catalog::warn_damaged(context, catalog, opened);
            return Ok(ExitCode::SUCCESS);
        }
        if is_first && context.ui.is_terminal() {
            context.ui.eprint_line("waiting for more events (Ctrl-C to stop)");
        }
        std::thread::sleep(POLL_INTERVAL.max(*cost * RESTS));
    }
}

struct Snapshot {
    catalog: RunCatalog,
    opened: OpenedRun,
    timeline: Timeline,
    fingerprint: Fingerprint,
    read: Instant,
    changed: Instant,
    cost: Duration,
}

impl Snapshot {
    fn read(context: &Context, run: &str, before: Option<Snapshot>) -> Result<Snapshot> {
        let start = Instant::now();
        let catalog = catalog(context)?;
        let record = catalog.find(run)?;
        // Before reading, so that data that arrives meanwhile is a change.
        let fingerprint = catalog.fingerprint(record);
        let opened = catalog.open_stories(&[record])?;
        let timeline = opened.runs.first().map(merge).unwrap_or_default();
        let changed =
            before.filter(|before| before.fingerprint == fingerprint).map_or(start, |before| before.changed);
        let (read, cost) = (Instant::now(), start.elapsed());
        Ok(Snapshot { catalog, opened, timeline, fingerprint, read, changed, cost })
    }

    fn is_current(&self) -> bool {
        let fingerprint = self.opened.runs.first().map(|run| self.catalog.fingerprint(&run.run));
        self.read.elapsed() < CHECK_INTERVAL && fingerprint.as_ref() == Some(&self.fingerprint)
    }
}

struct FollowPrinter<'a> {
    context: &'a Context,
    out: Box<dyn Write>,
    is_json: bool,
    options: TimelineOptions,
    lines: Option<EntryLines>,
}

impl<'a> FollowPrinter<'a> {
    fn new(context: &'a Context, args: &Args) -> FollowPrinter<'a> {
        let is_json = args.format() == Format::Json;
        let out: Box<dyn Write> =
            if is_json { Box::new(context.ui.json()) } else { Box::new(context.ui.out()) };
        FollowPrinter { context, out, is_json, options: args.options(context), lines: None }
    }

    fn print(&mut self, run: &RunData, timeline: &Timeline, due: &[&Entry]) -> io::Result<()> {
        if self.is_json {
            due.iter().try_for_each(|entry| json_line(&mut self.out, entry))?;
            return self.out.flush();
        }
        self.options.columns = self.context.ui.columns();
        let mut text = Vec::new();
        let lines = self.lines.get_or_insert_with(|| {
            text = view::heading(run, timeline).to_terminal(self.options.columns).into_bytes();
            EntryLines::ahead(run.run.started_at, &run.members, self.options)
        });
        lines.set_options(self.options);
        for entry in due.iter().filter(|entry| self.options.shows(entry)) {
            lines.write((*entry).into(), &mut text)?;
        }
        self.out.write_all(&text)?;
        self.out.flush()
    }
}
