//! Rounds of shipping: each sends the closed segments of the logs and the ended runs that a destination does not have. A preview of one
//! prints the rows.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Runtime};

use crate::directory::Directory;
use crate::objects::Objects;
use crate::otlp::Receiver;
use crate::part::{Deliver, Part, RoundOutcome};
use crate::selection::ExcludedLogs;
use crate::setup::{Setup, profiles};
use crate::shipment::Shipper;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::one_line;
use teamkeep_store::shipping::{Destination, DestinationKind, Last, ShipLock, Shipping};
use teamkeep_system::error::{Error, Result};

/// Ships until nothing more is requested. Returns the last round; `None` if another process ships.
pub fn ship(setup: &Setup, since: Option<Timestamp>) -> Result<Option<RoundOutcome>> {
    let shipping = Shipping::of(&setup.context.paths);
    let mut last = None;
    loop {
        let Some(lock) = shipping.lock(Duration::ZERO)? else { return Ok(last) };
        let (_, damage) = shipping.read()?;
        if let Some(since) = since {
            lock.update(|state| state.set_since(&setup.context.config.ship, since))?;
        }
        let round = round(setup, &lock);
        let error = match &round {
            Ok(round) => round.errors.first(),
            Err(error) => Some(error),
        };
        let last_round = Last {
            at: setup.context.clock.now(),
            error: error.map(|error| one_line(&error.to_string())),
            failed: error.and_then(Error::action).map(one_line),
        };
        lock.update(|state| state.last = Some(last_round))?;
        let mut round = round?;
        // The first change of the state has replaced it.
        round.notes.extend(damage.map(|damage| {
            format!("the state of shipping was lost: everything is sent again, and the time of --since is forgotten: {damage}")
        }));
        let failed = !round.errors.is_empty();
        last = Some(round);
        drop(lock);
        if failed || !shipping.is_requested() {
            return Ok(last);
        }
    }
}

/// Sends the data that each destination lacks. An unreachable destination does not block the others.
fn round(setup: &Setup, lock: &ShipLock) -> Result<RoundOutcome> {
    lock.begin()?;
    let state = lock.update(|_| ())?;
    let identity = setup.identity(&state)?;
    let mut round = RoundOutcome { errors: close_segments(setup)?, ..RoundOutcome::default() };
    let excluded = ExcludedLogs::of(setup, &mut round)?;
    for destination in &state.configured(&setup.context.config.ship) {
        let now = setup.context.clock.now();
        let shipper =
            Shipper { setup, lock: Some(lock), destination, identity: &identity, excluded: &excluded, now };
        let shipped = Delivery::to(setup, destination).and_then(|mut delivery| {
            let shipped = shipper.ship(&state, &mut delivery, &mut round);
            round.notes.extend(delivery.notes());
            shipped
        });
        round.errors.extend(shipped.err());
    }
    Ok(round)
}

/// Closes the segments that are written to, so that their lines never change after they are sent. Returns the errors: another log can
/// be sent all the same.
fn close_segments(setup: &Setup) -> Result<Vec<Error>> {
    let patience = setup.context.config.log.lock_patience.max(Duration::from_secs(5));
    let mut errors = Vec::new();
    for log in setup.logs().all()? {
        // The segment is sent next time if writers hold the lock as long as that.
        if let Err(error) = log.close(patience) {
            errors.push(Error::caused(format!("the newest events of {} were not sent", log.owner), error));
        }
    }
    Ok(errors)
}

/// Rows are similar: more effort saves little.
const COMPRESSION: Compression = Compression::new(4);

/// How a destination takes rows.
enum Delivery {
    Objects(Runtime, Box<Objects>),
    Directory(Directory),
    Otlp(Runtime, Box<Receiver>),
}

impl Delivery {
    /// Makes no request.
    fn to(setup: &Setup, destination: &Destination) -> Result<Delivery> {
        let runtime = || Builder::new_current_thread().enable_all().build();
        Ok(match destination.kind {
            DestinationKind::ObjectStore => {
                let objects = Objects::open(&destination.address, &profiles(&setup.context))?;
                Delivery::Objects(runtime()?, Box::new(objects))
            }
            DestinationKind::Directory => Delivery::Directory(Directory::of(setup)?),
            DestinationKind::Otlp => {
                Delivery::Otlp(runtime()?, Box::new(Receiver::new(setup, &destination.address)?))
            }
        })
    }

    /// Problems with rows that the destination took only in part.
    fn notes(&mut self) -> Vec<String> {
        match self {
            Delivery::Otlp(_, receiver) => receiver.take_notes(),
            _ => Vec::new(),
        }
    }
}

impl Deliver for Delivery {
    fn deliver(&mut self, part: &Part<'_>) -> Result<u64> {
        match self {
            Delivery::Objects(runtime, objects) => {
                let mut content = GzEncoder::new(Vec::new(), COMPRESSION);
                content.write_all(part.lines)?;
                let content = content.finish()?;
                let size = content.len() as u64;
                runtime.block_on(objects.create(&part.object_name(), content))?;
                Ok(size)
            }
            Delivery::Directory(directory) => directory.append(part.lines, part.at),
            Delivery::Otlp(runtime, receiver) => runtime.block_on(receiver.send(part)),
        }
    }
}

/// Prints each row, or counts them and keeps the first one of each table.
struct Preview<W> {
    out: W,
    prints_rows: bool,
    tables: BTreeMap<String, (usize, Map<String, Value>)>,
}

impl<W: Write> Deliver for Preview<W> {
    fn deliver(&mut self, part: &Part<'_>) -> Result<u64> {
        if self.prints_rows {
            self.out.write_all(part.lines)?;
            return Ok(0);
        }
        for line in part.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let row: Map<String, Value> = serde_json::from_slice(line).map_err(Error::from_json)?;
            let table = row.get("table").and_then(Value::as_str).unwrap_or_default().to_owned();
            self.tables.entry(table).or_insert_with(|| (0, row)).0 += 1;
        }
        Ok(0)
    }
}

impl<W: Write> Preview<W> {
    fn print_tables(&mut self) -> Result<()> {
        for (table, (rows, first)) in std::mem::take(&mut self.tables) {
            writeln!(self.out, "\n{table}: {rows} rows, the first one:")?;
            serde_json::to_writer_pretty(&mut self.out, &first).map_err(Error::from_json)?;
            writeln!(self.out)?;
        }
        Ok(())
    }
}

/// `teamkeep ship --dry-run`: prints the rows for each destination without sending them, with `json` each one in a line. Data
/// that began before `since` is left out.
pub fn preview(setup: &Setup, since: Option<Timestamp>, json: bool) -> Result<()> {
    let ship = &setup.context.config.ship;
    let (mut state, _) = Shipping::of(&setup.context.paths).read()?;
    if let Some(since) = since {
        state.set_since(ship, since);
    }
    let identity = setup.identity(&state)?;
    let mut round = RoundOutcome::default();
    let excluded = ExcludedLogs::of(setup, &mut round)?;
    let mut preview = Preview { out: setup.context.ui.json(), prints_rows: json, tables: BTreeMap::new() };
    for destination in &state.configured(ship) {
        if !json {
            let (kind, address) = (destination.kind.name(), &destination.address);
            let (organization, host) = (&identity.organization, &identity.host);
            writeln!(preview.out, "{kind} {address} (org={organization} host={host})")?;
        }
        let now = setup.context.clock.now();
        let shipper =
            Shipper { setup, lock: None, destination, identity: &identity, excluded: &excluded, now };
        shipper.ship(&state, &mut preview, &mut round)?;
        preview.print_tables()?;
    }
    preview.out.flush()?;
    round.notes.iter().for_each(|note| setup.context.ui.warn(note));
    round.errors.iter().for_each(|error| setup.context.ui.report(error));
    Ok(())
}
