//! Sends the events: each closed segment of the log as one or more objects. Threads encode while others are sent.

use std::sync::Mutex;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::log::{self, Head, Segment, SegmentName};
use teamkeep_core::store::shipping::{Destination, Shipped};

use crate::objects::{Created, Objects};
use crate::parquet_file::{self, empty};
use crate::segment_events::{Counts, EventFile, encode};
use crate::shipper::{RoundOutcome, Shipper, unshipped_segments};
use crate::tables::{HeadRow, Table, TableVisitor, day, each_table, heads};

/// Each has one segment in memory.
const ENCODERS: usize = 2;
/// How often the state is written. After a crash, data since then is sent again; its objects already exist.
const SAVE_INTERVAL: Duration = Duration::from_secs(2);

/// A file of a segment, or the end of the segment.
enum Encoded {
    File(SegmentName, EventFile),
    End(SegmentName, Result<Counts>),
}

pub fn ship(
    shipper: &Shipper<'_>,
    destination: &Destination,
    objects: &Objects,
    round: &mut RoundOutcome,
) -> Result<()> {
    let state = shipper.state()?;
    let shipped = state.destinations.get(&destination.id);
    let has_any = |shipped: &Shipped| {
        !shipped.segments.is_empty() || !shipped.runs.is_empty() || shipped.head.is_some()
    };
    if !shipped.is_some_and(has_any) {
        each_table(&mut EmptyTables { shipper, objects, round })?;
    }
    let segments = unshipped_segments(shipper.setup, &state, destination)?;
    Sending { shipper, destination, objects }.segments(&segments, round)
}

/// Sends the head of the log's hash chain, unless the destination has it. Some stores answer 403, not 409, for an existing object
/// if the credential can only create.
pub fn ship_head(
    shipper: &Shipper<'_>,
    destination: &Destination,
    objects: &Objects,
    head: &Head,
    round: &mut RoundOutcome,
) -> Result<()> {
    let shipped = shipper.state()?.destinations.remove(&destination.id).unwrap_or_default();
    if shipped.head == Some(head.point()) {
        return Ok(());
    }
    let row = HeadRow {
        at: head.at,
        user: shipper.identity.user.clone(),
        lines: i64::try_from(head.count).unwrap_or(i64::MAX),
        hash: head.hash.to_string(),
    };
    let file = format!("{}-{}.parquet", head.count, head.hash);
    let name = shipper.identity.object_name("heads", &day(head.at), &file);
    let Some(content) = parquet_file::encode(&heads(), [row])? else { return Ok(()) };
    shipper.create(objects, &name, content, round)?;
    shipper.lock.update(|state| {
        state.destinations.entry(destination.id.clone()).or_default().head = Some(head.point());
    })?;
    Ok(())
}

/// Creates an object without rows for each table, so that a query finds a table that has no rows yet.
struct EmptyTables<'a> {
    shipper: &'a Shipper<'a>,
    objects: &'a Objects,
    round: &'a mut RoundOutcome,
}

impl TableVisitor for EmptyTables<'_> {
    type Error = Error;

    fn visit<R>(&mut self, table: &Table<R>) -> Result<()> {
        let name = self.shipper.identity.object_name(table.name, "1970-01-01", "no-rows.parquet");
        self.shipper.create(self.objects, &name, empty(table)?, self.round)
    }
}

struct Sending<'a> {
    shipper: &'a Shipper<'a>,
    destination: &'a Destination,
    objects: &'a Objects,
}

impl Sending<'_> {
    fn segments(&self, segments: &[Segment], round: &mut RoundOutcome) -> Result<()> {
        let texts = self.shipper.setup.texts_of_all()?;
        let log = self.shipper.setup.log();
        let queue = Mutex::new(segments.iter());
        let next = || queue.lock().ok().and_then(|mut queue| queue.next());
        let work = |results: SyncSender<Encoded>| {
            while let Some(segment) = next() {
                let name = &segment.name;
                let send = |file| {
                    let sent = results.send(Encoded::File(name.clone(), file));
                    sent.map_err(|_| Error::new("the shipment has ended"))
                };
                let counts = encode(&log, name, &texts, send);
                if results.send(Encoded::End(name.clone(), counts)).is_err() {
                    // The receiver has failed.
                    return;
                }
            }
        };
        thread::scope(|scope| {
            let (results, encoded) = sync_channel(1);
            for _ in 0..ENCODERS {
                let results = results.clone();
                scope.spawn(move || work(results));
            }
            drop(results);
            let (mut done, mut saved) = (Vec::new(), Instant::now());
            let sent = encoded.into_iter().try_for_each(|one| {
                self.send(one, &mut done, round)?;
                if saved.elapsed() > SAVE_INTERVAL {
                    self.save(&mut done)?;
                    saved = Instant::now();
                }
                Ok(())
            });
            sent.and(self.save(&mut done))
        })
    }

    fn send(&self, encoded: Encoded, done: &mut Vec<SegmentName>, round: &mut RoundOutcome) -> Result<()> {
        match encoded {
            Encoded::File(segment, file) => {
                let day = segment.day().to_string();
                let stem = segment.as_str().trim_end_matches(".jsonl");
                let name = self.shipper.identity.object_name(
                    "events",
                    &day,
                    &format!("{stem}-{}.parquet", file.part),
                );
                self.shipper.create(self.objects, &name, file.content, round)
            }
            Encoded::End(segment, Err(error)) => {
                let error = error.within(format!("segment {segment} was not sent"));
                // Retention removes segments when the limit for unshipped ones is reached.
                match log::list(&self.shipper.setup.log())?.iter().any(|left| left.name == segment) {
                    true => round.errors.push(error),
                    false => round.notes.push(error.to_string()),
                }
                Ok(())
            }
            Encoded::End(segment, Ok(counts)) => {
                round.sent.segments += 1;
                round.sent.events += counts.rows;
                round.sent.damaged += counts.damaged;
                done.push(segment);
                Ok(())
            }
        }
    }

    fn save(&self, done: &mut Vec<SegmentName>) -> Result<()> {
        if !done.is_empty() {
            self.shipper.lock.update(|state| {
                state
                    .destinations
                    .entry(self.destination.id.clone())
                    .or_default()
                    .segments
                    .extend(done.drain(..));
            })?;
        }
        Ok(())
    }
}

impl Shipper<'_> {
    /// Creates an object, and counts it if it was not there.
    pub fn create(
        &self,
        objects: &Objects,
        name: &str,
        content: Vec<u8>,
        round: &mut RoundOutcome,
    ) -> Result<()> {
        let size = content.len() as u64;
        if self.runtime.block_on(objects.create(name, content))? == Created::Now {
            round.sent.objects += 1;
            round.sent.bytes += size;
        }
        Ok(())
    }
}
