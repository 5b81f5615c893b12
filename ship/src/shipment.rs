//! A shipment: the rows of all that a destination lacks, gathered and delivered in parts of bounded size. A part is noted in the state
//! once it is delivered, so a killed shipper sends at most its last part again; the rows of that part are equal but for `shipped_at`.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::part::{Deliver, Part, RoundOutcome, Sent};
use crate::privacy::Texts;
use crate::rows::{Common, EventRow, HostRow, RowSink, Table, day, events, hosts};
use crate::selection::{ExcludedLogs, Exclusion, unsent_runs};
use crate::setup::{Identity, Setup};
use crate::shipped_run::ShippedRun;
use teamkeep_config::{ShipPrivacy, file_hash};
use teamkeep_history::timeline::RunCatalog;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::short_id;
use teamkeep_settings::layer::layers;
use teamkeep_settings::plan;
use teamkeep_store::archive::RunRecord;
use teamkeep_store::log::{Segment, SegmentName};
use teamkeep_store::shipping::{Destination, ShipLock, Shipping, ShippingState};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::process::{self, Outcome, Run};

/// From this size on, a part is delivered. A run is in one part, however large.
const MAX_PART_BYTES: usize = 32 << 20;
/// A machine on which hooks are called ships at least this often, so that it is not taken for a silent one.
const MAX_SILENCE_MS: i64 = 20 * 3_600 * 1_000;

/// A segment or a run that a part has to its end.
enum Covered {
    Segment(Segment),
    Run(Box<RunRecord>),
}

/// The source, the destination and the names of a shipment.
pub struct Shipper<'a> {
    pub setup: &'a Setup,
    /// Without it, nothing is noted as sent: a preview.
    pub lock: Option<&'a ShipLock>,
    pub destination: &'a Destination,
    pub identity: &'a Identity,
    pub excluded: &'a ExcludedLogs,
    pub now: Timestamp,
}

/// The rows that are not delivered yet.
struct Shipment<'a> {
    shipper: &'a Shipper<'a>,
    delivery: &'a mut dyn Deliver,
    /// Before the shipment.
    state: &'a ShippingState,
    common: Common,
    lines: Vec<u8>,
    /// The data in these lines.
    pending: Sent,
    covered: Vec<Covered>,
    /// The head of each log of which there are rows.
    heads: BTreeMap<String, String>,
    /// The size of the segments that could not be read.
    unreadable_bytes: u64,
    sent: Sent,
}

impl RowSink for Shipment<'_> {
    fn table<R>(&mut self, table: &Table<R>, day: &str, rows: impl Iterator<Item = R>) -> Result<()> {
        for row in rows {
            self.pending.rows += 1;
            self.common.write_row(table, day, &row, &mut self.lines)?;
        }
        Ok(())
    }
}

impl Shipper<'_> {
    /// Ships what the destination lacks, and the state of this machine if there was anything, or if the last shipment is long ago.
    pub fn ship(
        &self,
        state: &ShippingState,
        delivery: &mut dyn Deliver,
        round: &mut RoundOutcome,
    ) -> Result<()> {
        let Identity { organization, host, store, .. } = self.identity;
        let common = Common::new(organization, host, store, self.now)?;
        let mut shipment = Shipment {
            shipper: self,
            delivery,
            common,
            lines: Vec::new(),
            pending: Sent::default(),
            covered: Vec::new(),
            state,
            heads: BTreeMap::new(),
            unreadable_bytes: 0,
            sent: Sent::default(),
        };
        let shipped = (shipment.add_events(round))
            .and_then(|()| shipment.add_runs(round))
            .and_then(|()| shipment.finish());
        round.sent += shipment.sent;
        shipped
    }
}

impl Shipment<'_> {
    fn add_events(&mut self, round: &mut RoundOutcome) -> Result<()> {
        let texts = self.shipper.setup.texts_of_all()?;
        let mut failed = None;
        for segment in self.shipper.segments(self.state)? {
            // The state has only the number of the last line of a log that was sent.
            if failed.as_ref() == Some(&segment.log) {
                self.unreadable_bytes += segment.size;
                continue;
            }
            if let Some(exclusion) = self.shipper.excluded.get(&segment.log.to_string()) {
                self.leave_out(exclusion, Covered::Segment(segment));
                continue;
            }
            let begin = (self.lines.len(), self.pending, self.sent.rows);
            let mut days: (i64, String) = (i64::MIN, String::new());
            let read = read_rows(&segment, &texts, |table, row| {
                let at = row.at();
                // The same day as the row before, mostly.
                if at.millis().div_euclid(DAY_MS) != days.0 {
                    days = (at.millis().div_euclid(DAY_MS), day(at));
                }
                self.pending.rows += 1;
                self.common.write_row(table, &days.1, row, &mut self.lines)?;
                self.deliver_if_large()
            });
            match read {
                Ok(counts) => {
                    self.pending.events += counts.rows;
                    self.pending.damaged += counts.damaged;
                    if let Some(end) = segment.name.end() {
                        self.heads.insert(segment.log.to_string(), format!("{}:{end}", segment.log));
                    }
                    self.covered.push(Covered::Segment(segment));
                }
                Err(ReadError::Gone(error)) => round.notes.push(error.to_string()),
                Err(ReadError::Failed(error)) => {
                    // Unless they are delivered in part, they are not repeated in each round.
                    if self.sent.rows == begin.2 {
                        self.lines.truncate(begin.0);
                        self.pending = begin.1;
                    }
                    round.errors.push(error);
                    self.unreadable_bytes += segment.size;
                    failed = Some(segment.log);
                }
                Err(ReadError::Stopped(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Adds the ended runs. One that cannot be read does not block the others.
    fn add_runs(&mut self, round: &mut RoundOutcome) -> Result<()> {
        let catalog = self.shipper.setup.catalog();
        round.errors.extend(catalog.listing_error());
        for run in unsent_runs(&catalog, self.state, self.shipper.destination) {
            self.deliver_if_large()?;
            if let Some(exclusion) = self.shipper.excluded.get(&run.run) {
                self.leave_out(exclusion, Covered::Run(Box::new(run.clone())));
                continue;
            }
            let begin = (self.lines.len(), self.pending);
            if let Err(error) = self.add_run(&catalog, run) {
                self.lines.truncate(begin.0);
                self.pending = begin.1;
                let id = short_id(&run.run, &[]);
                round.errors.push(error.within(format!("run {id} was not sent")));
            }
        }
        Ok(())
    }

    /// Data of an excluded project counts as sent. If that is unknown, it waits.
    fn leave_out(&mut self, exclusion: Exclusion, data: Covered) {
        if exclusion == Exclusion::Excluded {
            self.covered.push(data);
        }
    }

    fn add_run(&mut self, catalog: &RunCatalog, run: &RunRecord) -> Result<()> {
        let (setup, identity) = (self.shipper.setup, self.shipper.identity);
        for data in catalog.open_runs(&[run])?.runs {
            let texts: Texts = setup.texts(&setup.homes_of(&data.run))?;
            ShippedRun::of(&data, &setup.context.config, &texts, identity)?.rows(identity, self)?;
            self.pending.runs += 1;
            // As the state compares it: `data` has the end without jumps of the clock.
            self.covered.push(Covered::Run(Box::new(run.clone())));
        }
        if catalog.archive.run_dir(&run.run).is_none_or(|dir| !dir.is_dir()) {
            self.covered.pop();
            return Err(Error::new("it was deleted meanwhile"));
        }
        Ok(())
    }

    /// Delivers the rest, or only the row of this machine if the last shipment is long ago.
    fn finish(&mut self) -> Result<()> {
        let shipped = self.state.destinations.get(&self.shipper.destination.id);
        let last = shipped.and_then(|shipped| shipped.at).map_or(i64::MIN, Timestamp::millis);
        let is_silent = self.shipper.now.millis().saturating_sub(last) > MAX_SILENCE_MS;
        self.deliver(self.sent.rows == 0 && is_silent)?;
        if self.sent.rows == 0 {
            return Ok(());
        }
        self.shipper.note(|state, destination| {
            state.destinations.entry(destination.id.clone()).or_default().at = Some(self.shipper.now);
        })
    }

    /// Adds the row of this machine, the last of a part, with the heads of the logs of which the part has the last lines.
    fn add_host(&mut self) -> Result<()> {
        let context = &self.shipper.setup.context;
        let policy = context.policy_files().organization.as_deref().and_then(file_hash);
        let last = self.state.last.as_ref().filter(|last| last.error.is_some());
        let row = HostRow {
            at: self.shipper.now,
            user: self.shipper.identity.user.clone(),
            teamkeep: hook_version(),
            policy: policy.map(|hash| hash.to_hex().to_string()),
            hooks: plan::events(&layers(&context.env, &context.paths)).into_iter().collect(),
            privacy: match context.config.ship.privacy {
                ShipPrivacy::Full => "full",
                ShipPrivacy::Redacted => "redacted",
                ShipPrivacy::Metadata => "metadata",
            },
            unreadable_bytes: self.unreadable_bytes,
            lost_bytes: Shipping::of(&context.paths).removed().map_or(0, |removed| removed.bytes),
            last_error: last.map(|last| last.failed.clone().unwrap_or_else(|| "unknown".to_owned())),
            heads: std::mem::take(&mut self.heads).into_values().collect(),
            runs: self.pending.runs,
            events: self.pending.events,
        };
        self.table(&hosts(), &day(self.shipper.now), [row].into_iter())
    }

    fn deliver_if_large(&mut self) -> Result<()> {
        if self.lines.len() < MAX_PART_BYTES { Ok(()) } else { self.deliver(false) }
    }

    /// Delivers a part, and notes the data in it. `without_data`: also if it has only the row of this machine.
    fn deliver(&mut self, without_data: bool) -> Result<()> {
        if self.pending.rows > 0 || without_data {
            self.add_host()?;
            let part = Part { lines: &self.lines, at: self.shipper.now, identity: self.shipper.identity };
            self.pending.bytes = self.delivery.deliver(&part)?;
        }
        self.sent += std::mem::take(&mut self.pending);
        self.lines.clear();
        let covered = std::mem::take(&mut self.covered);
        if covered.is_empty() {
            return Ok(());
        }
        self.shipper.note(|state, destination| {
            covered.iter().for_each(|covered| match covered {
                Covered::Segment(segment) => state.add_segment(destination, segment),
                Covered::Run(run) => state.add_run(destination, run),
            });
        })
    }
}

const DAY_MS: i64 = 86_400_000;

impl Shipper<'_> {
    /// The segments that the destination lacks, the oldest of each log first. A preview has also those that are written to.
    fn segments(&self, state: &ShippingState) -> Result<Vec<Segment>> {
        let shipping = Shipping::of(&self.setup.context.paths);
        let mut segments = match self.lock {
            Some(_) => shipping.closed_segments()?,
            None => self.setup.logs().segments(),
        };
        segments
            .retain(|one| one.name != SegmentName::Imported && state.lacks_segment(self.destination, one));
        Ok(segments)
    }

    fn note(&self, change: impl FnOnce(&mut ShippingState, &Destination)) -> Result<()> {
        if let Some(lock) = self.lock {
            lock.update(|state| change(state, self.destination))?;
        }
        Ok(())
    }
}

const HOOK_PROGRAM: &str = "teamkeep-hook";
/// It needs a millisecond.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_VERSION_BYTES: usize = 200;

/// The version of the program that hooks run, which is beside this one.
fn hook_version() -> Option<String> {
    let program: PathBuf = std::env::current_exe().ok()?.with_file_name(HOOK_PROGRAM);
    let mut command = process::program(program.to_str()?);
    command.arg("--version").current_dir("/");
    let run = Run { until_closed: true, ..Run::new(command, VERSION_TIMEOUT) };
    let (Outcome::Ended(status), out) = run.collect(MAX_VERSION_BYTES).ok()? else { return None };
    let out = String::from_utf8(out).ok().filter(|_| status.success())?;
    out.split_whitespace().nth(1).map(str::to_owned)
}

/// How many lines of a segment are rows, and how many are damaged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    rows: usize,
    damaged: usize,
}

/// Why the rows of a segment were not read to its end.
enum ReadError {
    /// It was removed by retention, or with its run.
    Gone(Error),
    Failed(Error),
    /// `each` failed.
    Stopped(Error),
}

/// Visits the rows of a segment, in order. A line that is not an event counts as damaged.
fn read_rows(
    segment: &Segment,
    texts: &Texts,
    mut each: impl for<'a> FnMut(&Table<EventRow<'a>>, &EventRow<'a>) -> Result<()>,
) -> std::result::Result<Counts, ReadError> {
    let log = segment.log.to_string();
    let failed = |error: io::Error| {
        let is_gone = error.kind() == io::ErrorKind::NotFound;
        let error = Error::caused(format!("{} of {} was not sent", segment.name, segment.log), error);
        if is_gone { ReadError::Gone(error) } else { ReadError::Failed(error) }
    };
    let mut counts = Counts::default();
    for line in segment.open().map_err(failed)? {
        let line = line.map_err(failed)?.bytes;
        match line.as_deref().and_then(|line| EventRow::parse(line, &log, texts)) {
            Some(row) => {
                counts.rows += 1;
                each(&events(), &row).map_err(ReadError::Stopped)?;
            }
            None => counts.damaged += usize::from(line.is_none_or(|line| !line.is_empty())),
        }
    }
    Ok(counts)
}
