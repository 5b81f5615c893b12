//! `log --follow`: prints a running team's timeline as it grows.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::{Args, Format};
use crate::commands::catalog::{self, catalog};
use crate::commands::output::json_line;
use crate::view::{self, EntryLines};
use teamkeep_history::timeline::{
    Entry, Filter, Fingerprint, NewEntries, OpenedRun, RunCatalog, Timeline, merge,
};
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::{Context, quiet};

const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Reading takes only a part of the time: after each read, the command waits this many times as long.
const RESTS: u32 = 4;
/// How long an ended run is followed: a background process is still archiving its transcripts.
const LINGER_TIME: Duration = Duration::from_secs(5);

pub fn follow(context: &Context, args: &Args, run: &str, filter: &Filter) -> Result<ExitCode> {
    let (start, mut ended) = (Instant::now(), None);
    let is_json = args.format() == Format::Json;
    let mut out: Box<dyn Write> =
        if is_json { Box::new(context.ui.json()) } else { Box::new(context.ui.out()) };
    let mut lines: Option<EntryLines> = None;
    let mut new_entries = NewEntries::default();
    let mut snapshot = Snapshot::read(context, run, None)?;
    loop {
        let Snapshot { catalog, opened, timeline, cost, changed, .. } = &snapshot;
        let Some(data) = opened.runs.first() else { return Ok(ExitCode::SUCCESS) };
        let is_first = new_entries.is_new();
        if is_first && let Some(error) = filter.unknown_agent(&timeline.entries, data) {
            // The agent may join.
            context.ui.eprint_line(&format!("{error}, as yet"));
            error.hints.iter().for_each(|hint| context.ui.eprint_line(&format!("hint: {hint}")));
        }
        ended = data.run.ended_at.as_ref().map(|_| ended.unwrap_or_else(Instant::now));
        let is_ended = ended.is_some_and(|since| data.run.finished || since.elapsed() > LINGER_TIME);
        // A process of another user may look gone; as long as entries arrive, the run has not ended.
        let is_last = is_ended || (data.client_gone && changed.elapsed() > LINGER_TIME);
        let due = new_entries.take(&timeline.entries, (!is_last).then(|| start.elapsed()));
        let due = due.into_iter().map(|index| &timeline.entries[index]);
        let options = args.options(context);
        let is_due = |entry: &&Entry| filter.contains(entry, data) && (is_json || options.shows(entry));
        let mut due: Vec<&Entry> = due.filter(is_due).collect();
        if is_first {
            due.drain(..due.len().saturating_sub(args.limit.unwrap_or(usize::MAX)));
        }
        let mut text = Vec::new();
        if is_json {
            due.iter().try_for_each(|entry| json_line(&mut text, entry))?;
        } else {
            if is_first {
                text.extend(view::heading(data, timeline).to_terminal(options.columns).into_bytes());
            }
            let new = || EntryLines::ahead(data.run.started_at, &data.members, options);
            let lines = lines.get_or_insert_with(new);
            lines.options = options;
            due.into_iter().for_each(|entry| text.extend(lines.format(entry.into()).into_bytes()));
        }
        if let Err(error) = out.write_all(&text).and_then(|()| out.flush()) {
            return quiet(Err(error)).map(|()| ExitCode::SUCCESS).map_err(Error::from);
        }
        if is_last {
            context.ui.eprint_line(&view::ending(data, timeline));
            catalog::warn_damaged(context, catalog, opened);
            return Ok(ExitCode::SUCCESS);
        }
        if is_first && context.ui.is_terminal() {
            context.ui.eprint_line("waiting for more events (Ctrl-C to stop)");
        }
        std::thread::sleep(POLL_INTERVAL.max(*cost * RESTS));
        if !snapshot.is_current() {
            snapshot = Snapshot::read(context, run, Some(&snapshot))?;
        }
    }
}

struct Snapshot {
    catalog: RunCatalog,
    opened: OpenedRun,
    timeline: Timeline,
    fingerprint: Fingerprint,
    changed: Instant,
    cost: Duration,
}

impl Snapshot {
    fn read(context: &Context, run: &str, before: Option<&Snapshot>) -> Result<Snapshot> {
        let start = Instant::now();
        let catalog = catalog(context)?;
        let record = catalog.find(run)?;
        // Before reading, so that data that arrives meanwhile is a change.
        let fingerprint = catalog.fingerprint(record);
        let opened = catalog.open_timelines(&[record])?;
        let timeline = opened.runs.first().map(merge).unwrap_or_default();
        let unchanged = before.filter(|before| before.fingerprint == fingerprint);
        let changed = unchanged.map_or(start, |before| before.changed);
        let cost = start.elapsed();
        Ok(Snapshot { catalog, opened, timeline, fingerprint, changed, cost })
    }

    fn is_current(&self) -> bool {
        let fingerprint = self.opened.runs.first().map(|run| self.catalog.fingerprint(&run.run));
        fingerprint.as_ref() == Some(&self.fingerprint)
    }
}
