//! `replay --follow`: a run that is alive, told as it goes on.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::{Args, Format, part};
use crate::commands::reading;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::render::{self, Lines, Telling};
use crate::timeline::{Entry, Filter, Fresh, Library, Material, Opened, Pulse, Timeline, merge};
use crate::ui;

/// How often the record is looked at.
const PAUSE: Duration = Duration::from_millis(250);
/// No more than a part of the time is spent reading: after reading for so long, so many times as long is waited.
const RESTS: u32 = 4;
/// How often it is read though nothing changed: whether the client is gone stands in no file.
const CHECKS: Duration = Duration::from_secs(5);
/// How long an ended run is watched for its last lines: a process of its own still archives the transcripts.
const LINGERS: Duration = Duration::from_secs(5);

/// Tells a run until it ends.
///
/// # Errors
/// When the record cannot be read, or stdout cannot be written.
pub fn follow(context: &Context, args: &Args, run: &str, filter: &Filter) -> Result<ExitCode> {
    let began = Instant::now();
    let mut teller = Teller::new(context, args);
    let mut fresh = Fresh::default();
    let mut known: Option<Known> = None;
    let mut ended: Option<Instant> = None;
    loop {
        let is_first = fresh.is_new();
        let now = match known.take() {
            Some(known) if known.is_fresh() => known,
            before => Known::read(context, run, before)?,
        };
        let Known { library, opened, timeline, cost, changed, .. } = &*known.insert(now);
        let Some(material) = opened.runs.first() else { return Ok(ExitCode::SUCCESS) };
        if is_first && !filter.is_empty() {
            hint(context, filter, material, timeline);
        }
        let is_over = material.run.ended_at.is_some();
        let since = is_over.then(|| *ended.get_or_insert_with(Instant::now));
        ended = ended.filter(|_| is_over);
        let is_ended = since.is_some_and(|since| material.run.finished || since.elapsed() > LINGERS);
        // Somebody else's client may be gone for us; as long as something comes the run is not over.
        let is_last = is_ended || (material.client_gone && changed.elapsed() > LINGERS);
        let due = fresh.take(&timeline.entries, began.elapsed(), is_last);
        let due = due.into_iter().map(|place| &timeline.entries[place]);
        let due: Vec<&Entry> = due.filter(|entry| filter.holds(entry, material)).collect();
        if let Err(error) = teller.tell(material, timeline, &due) {
            return ui::quiet(Err(error)).map(|()| ExitCode::SUCCESS).map_err(Error::from);
        }
        if is_last {
            context.ui.say(&render::ending(material, timeline));
            reading::warn(context, library, opened);
            return Ok(ExitCode::SUCCESS);
        }
        teller.wait();
        std::thread::sleep(PAUSE.max(*cost * RESTS));
    }
}

/// The story as it was last read.
struct Known {
    library: Library,
    opened: Opened,
    timeline: Timeline,
    pulse: Pulse,
    read: Instant,
    /// When it was last seen to be another.
    changed: Instant,
    cost: Duration,
}

impl Known {
    fn read(context: &Context, run: &str, before: Option<Known>) -> Result<Known> {
        let start = Instant::now();
        let library = reading::library(context)?;
        let record = library.find(run)?;
        // Before it is read: what comes while it is read is a change.
        let pulse = library.pulse(record);
        let opened = library.open_stories(&[record])?;
        let timeline = opened.runs.first().map(merge).unwrap_or_default();
        let changed = before.filter(|before| before.pulse == pulse).map_or(start, |before| before.changed);
        Ok(Known { library, opened, timeline, pulse, read: Instant::now(), changed, cost: start.elapsed() })
    }

    /// Whether nothing of it can have changed.
    fn is_fresh(&self) -> bool {
        let pulse = self.opened.runs.first().map(|material| self.library.pulse(&material.run));
        self.read.elapsed() < CHECKS && pulse.as_ref() == Some(&self.pulse)
    }
}

/// Says who of those asked for is not in the run yet: somebody may come.
fn hint(context: &Context, filter: &Filter, material: &Material, timeline: &Timeline) {
    if let Err(error) = part::known(filter, material, timeline) {
        context.ui.say(&format!("{error}, as yet"));
        error.hints.iter().for_each(|hint| context.ui.say(&format!("hint: {hint}")));
    }
}

/// Prints what is told, in the form that is asked for.
struct Teller<'a> {
    context: &'a Context,
    out: Box<dyn Write>,
    json: bool,
    telling: Telling,
    lines: Option<Lines>,
    told_to_wait: bool,
}

impl<'a> Teller<'a> {
    fn new(context: &'a Context, args: &Args) -> Teller<'a> {
        let json = args.format() == Format::Json;
        let out: Box<dyn Write> = if json { Box::new(context.ui.json()) } else { Box::new(context.ui.out()) };
        Teller { context, out, json, telling: args.telling(context), lines: None, told_to_wait: false }
    }

    fn tell(&mut self, material: &Material, timeline: &Timeline, due: &[&Entry]) -> io::Result<()> {
        if self.json {
            for entry in due {
                serde_json::to_writer(&mut self.out, entry)?;
                self.out.write_all(b"\n")?;
            }
            return self.out.flush();
        }
        self.telling.columns = self.context.ui.columns();
        let mut text = Vec::new();
        let lines = self.lines.get_or_insert_with(|| {
            text = render::head(material, timeline, self.telling.columns).into_bytes();
            Lines::ahead(&material.run.started_at, material.members.iter(), self.telling)
        });
        lines.set_columns(self.telling.columns);
        due.iter()
            .filter(|entry| self.telling.tells(entry))
            .for_each(|entry| lines.write(entry, false, &mut text));
        self.out.write_all(&text)?;
        self.out.flush()
    }

    /// Says once that more is waited for.
    fn wait(&mut self) {
        if !std::mem::replace(&mut self.told_to_wait, true) && self.context.ui.is_terminal() {
            self.context.ui.say("the run goes on; waiting for more (Ctrl-C ends this)");
        }
    }
}
