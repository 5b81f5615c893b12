//! Sends the events: each closed segment of a log as one or more objects. Threads encode while others are sent.

use std::io;
use std::sync::Mutex;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::log::Segment;
use teamkeep_core::store::shipping::Destination;
use teamkeep_core::sys::clock::Timestamp;

use crate::objects::{Created, Objects};
use crate::parquet_file::empty;
use crate::segment_events::{Counts, EventFile, encode};
use crate::shipper::{RoundOutcome, Shipper, unshipped_segments};
use crate::tables::{Table, TableVisitor, day, each_table};

/// Each has one segment in memory.
const ENCODERS: usize = 2;
/// How often the state is written. After a crash, data since then is sent again; its objects already exist.
const SAVE_INTERVAL: Duration = Duration::from_secs(2);

/// A file of a segment with the day of the segment, or the end of the segment.
enum Encoded<'a> {
    File(&'a Segment, String, EventFile),
    End(&'a Segment, Result<Counts>),
}

pub fn ship(
    shipper: &Shipper<'_>,
    destination: &Destination,
    objects: &Objects,
    round: &mut RoundOutcome,
) -> Result<()> {
    let mut state = shipper.state()?;
    // Some stores answer 403, not 409, for an existing object if the credential can only create.
    if !state.destinations.get(&destination.id).is_some_and(|shipped| shipped.has_tables) {
        each_table(&mut EmptyTables { shipper, objects, round })?;
        state = shipper.lock.update(|state| {
            state.destinations.entry(destination.id.clone()).or_default().has_tables = true;
        })?;
    }
    let segments = unshipped_segments(shipper.setup, &state, destination)?;
    Sending { shipper, destination, objects }.segments(&segments, round)
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
        // The segments of one log are sent one after the other: the state has only the number of the last line that was sent.
        let queue = Mutex::new(segments.chunk_by(|one, next| one.log == next.log));
        let next = || queue.lock().ok().and_then(|mut queue| queue.next());
        let work = |results: SyncSender<_>| {
            while let Some(log) = next() {
                for segment in log {
                    // A first line that cannot be read has no time.
                    let day = day(segment.begins().max(Timestamp::default()));
                    let send = |file| {
                        let sent = results.send(Encoded::File(segment, day.clone(), file));
                        sent.map_err(|_| Error::new("the shipment has ended"))
                    };
                    let counts = encode(segment, &texts, send);
                    let is_whole = counts.is_ok();
                    if results.send(Encoded::End(segment, counts)).is_err() {
                        // The receiver has failed.
                        return;
                    }
                    if !is_whole {
                        break;
                    }
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

    fn send<'a>(
        &self,
        encoded: Encoded<'a>,
        done: &mut Vec<&'a Segment>,
        round: &mut RoundOutcome,
    ) -> Result<()> {
        match encoded {
            Encoded::File(segment, day, file) => {
                let name = segment.name.to_string();
                let stem = name.trim_start_matches("events-").trim_end_matches(".jsonl");
                let file_name = format!("{}-{stem}-{}.parquet", segment.log, file.part);
                let name = self.shipper.identity.object_name("events", &day, &file_name);
                self.shipper.create(self.objects, &name, file.content, round)
            }
            Encoded::End(segment, Err(error)) => {
                let error = error.within(format!("{} of {} was not sent", segment.name, segment.log));
                // It was removed by retention, or with its run.
                match segment.bytes() {
                    Err(gone) if gone.kind() == io::ErrorKind::NotFound => {
                        round.notes.push(error.to_string());
                    }
                    _ => round.errors.push(error),
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

    fn save(&self, done: &mut Vec<&Segment>) -> Result<()> {
        if !done.is_empty() {
            self.shipper.lock.update(|state| {
                done.drain(..).for_each(|segment| state.add_segment(self.destination, segment));
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
