//! Rows as OpenTelemetry data, sent with OTLP over HTTP: every row as a log record, and on request a trace of each run.
//!
//! ```text
//! rows ──▶ records ─┐
//!      └─▶ spans ───┴─▶ Sender ─▶ receiver
//! ```
//!
//! The same rows give the same IDs, so that a receiver can drop duplicates.

mod records;
mod sender;
mod spans;

use serde_json::{Map, Value};
use teamkeep_config::OtlpSignals;
use teamkeep_system::error::{Error, Result};

use crate::part::Part;
use crate::setup::{Setup, headers_file};

pub use records::CONVENTIONS;
pub use sender::{Sender, Signal};

/// A row as it is shipped.
pub type Row = Map<String, Value>;

/// Maximum number of log records or spans in a request.
const MAX_ITEMS: usize = 1_000;
/// Maximum size of the rows whose log records are in a request. A larger row has one of its own.
const MAX_BYTES: usize = 1 << 20;

/// A receiver of rows.
pub struct Receiver {
    sender: Sender,
    signals: OtlpSignals,
    notes: Vec<String>,
}

impl Receiver {
    pub fn new(setup: &Setup, address: &str) -> Result<Receiver> {
        let ship = &setup.context.config.ship;
        let headers = ship.otlp_headers_path(setup.context.env.home.as_deref());
        let headers = headers.map(|path| headers_file(&path, "ship.otlp-headers-file")).transpose()?;
        let sender = Sender::new(address, headers.unwrap_or_default())?;
        Ok(Receiver { sender, signals: ship.otlp_signals, notes: Vec::new() })
    }

    /// Sends the rows and returns the number of bytes that were sent.
    pub async fn send(&mut self, part: &Part<'_>) -> Result<u64> {
        let (resource, identity, mut bytes) = (records::resource(part.identity), part.identity, 0);
        let mut run = spans::RunRows::default();
        let mut rest = part.lines;
        while !rest.is_empty() {
            let (chunk, others) = rest.split_at(chunk_size(rest));
            rest = others;
            let rows = chunk.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let rows = rows.map(serde_json::from_slice::<Row>);
            let rows = rows
                .collect::<std::result::Result<Vec<Row>, _>>()
                .map_err(|error| Error::caused("cannot read a row", error))?;
            if self.signals.has_logs() {
                let records = rows.iter().map(|row| records::record(row, identity)).collect();
                bytes += self.request(Signal::Logs, &records::request(records, &resource)).await?;
            }
            if self.signals.has_traces() {
                let spans: Vec<_> = rows.into_iter().flat_map(|row| run.add(row, identity)).collect();
                for spans in spans.chunks(MAX_ITEMS) {
                    bytes += self.request(Signal::Traces, &spans::request(spans.to_vec(), &resource)).await?;
                }
            }
        }
        Ok(bytes)
    }

    async fn request(&mut self, signal: Signal, request: &[u8]) -> Result<u64> {
        let sent = self.sender.send(signal, request).await?;
        self.notes.extend(sent.note);
        Ok(sent.bytes)
    }

    pub fn take_notes(&mut self) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.notes);
        notes.dedup();
        notes
    }
}

/// The size of the lines for one request; they are at least one.
fn chunk_size(lines: &[u8]) -> usize {
    let mut size = 0;
    for line in lines.split_inclusive(|byte| *byte == b'\n').take(MAX_ITEMS) {
        if size > 0 && size + line.len() > MAX_BYTES {
            break;
        }
        size += line.len();
    }
    size
}
