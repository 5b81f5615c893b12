//! Problems with a receiver that accepts only a part of the data.

use std::collections::{BTreeMap, BTreeSet};

use teamkeep_core::error::Result;
use teamkeep_core::store::shipping::{Destination, Shipped};

use crate::otlp::{SendError, SendErrorKind, Signal};
use crate::shipper::{RoundOutcome, Shipper};

#[derive(Debug, Default)]
pub struct ReceiverProblems {
    /// The signals that the receiver has no address for, with the status of its response. They are not sent again in this round.
    unsupported: BTreeMap<Signal, u16>,
    /// The rejections of single requests, by their texts.
    rejections: BTreeMap<String, Rejection>,
}

#[derive(Debug)]
struct Rejection {
    requests: usize,
    first_run: String,
}

impl ReceiverProblems {
    pub fn is_unsupported(&self, signal: Signal) -> bool {
        self.unsupported.contains_key(&signal)
    }

    /// Adds a request of a run that the receiver rejected.
    pub fn add(&mut self, signal: Signal, error: &SendError, run: &str) {
        if let SendErrorKind::Unsupported { status } = error.kind {
            self.unsupported.insert(signal, status);
            return;
        }
        let first = || Rejection { requests: 0, first_run: run.to_owned() };
        self.rejections.entry(error.to_string()).or_insert_with(first).requests += 1;
    }

    /// Notes the rejections of this round.
    pub fn note_rejections(&self, round: &mut RoundOutcome) {
        let notes = self.rejections.iter().map(|(text, Rejection { requests, first_run })| match requests {
            1 => format!("{text} (run {first_run})"),
            _ => format!("{text} ({requests} times, first in run {first_run})"),
        });
        round.notes.extend(notes);
    }

    /// Notes the unsupported signals once, until they are accepted.
    pub fn note_unsupported(
        &self,
        shipper: &Shipper<'_>,
        destination: &Destination,
        shipped: &Shipped,
        round: &mut RoundOutcome,
    ) -> Result<()> {
        let unsupported: BTreeSet<Signal> = self.unsupported.keys().copied().collect();
        if shipped.unsupported == unsupported {
            return Ok(());
        }
        round.notes.extend(self.unsupported_note());
        shipper.lock.update(|state| {
            state.destinations.entry(destination.id.clone()).or_default().unsupported = unsupported;
        })?;
        Ok(())
    }

    fn unsupported_note(&self) -> Option<String> {
        let status = self.unsupported.values().next()?;
        let accepted = Signal::ALL.into_iter().filter(|signal| !self.unsupported.contains_key(signal));
        Some(format!(
            "the OTLP receiver does not accept {} (HTTP status {status}), so only {} were sent; \
             `teamkeep ship status` shows this from now on",
            signal_names(self.unsupported.keys().copied()),
            signal_names(accepted)
        ))
    }
}

/// `logs and metrics`.
pub fn signal_names(signals: impl IntoIterator<Item = Signal>) -> String {
    signals.into_iter().map(Signal::name).collect::<Vec<_>>().join(" and ")
}
