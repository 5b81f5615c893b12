//! Sends ended runs to an OTLP receiver.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use teamkeep_core::error::Result;
use teamkeep_core::store::shipping::{Destination, Part, Shipped};

use crate::otlp::{self, OtlpTarget, Request, RunExport, SendError, SendErrorKind, Sender, Signal};
use crate::patience::Patience;
use crate::receiver_problems::ReceiverProblems;
use crate::setup::{Setup, headers_file};
use crate::shipped_run::ShippedRun;
use crate::shipper::{RoundOutcome, Shipper};
use crate::unsent_runs::{Sending, Unsent, each_run, short_run_id};

pub fn ship(shipper: &Shipper<'_>, destination: &Destination, round: &mut RoundOutcome) -> Result<()> {
    let shipped = shipper.state()?.destinations.remove(&destination.id).unwrap_or_default();
    let mut receiver = Receiver {
        shipper,
        sender: Sender::new(&target(shipper.setup, destination)?)?,
        patience: Patience::default(),
        shipped,
        incomplete: BTreeMap::new(),
        problems: ReceiverProblems::default(),
        refuses_every_size: BTreeMap::new(),
    };
    let mut sent = 0;
    let visited = each_run(shipper, destination, round, |run, previous, _| {
        let sending = receiver.send(run, previous);
        sent += usize::from(matches!(sending, Sending::Sent));
        sending
    });
    receiver.problems.note_rejections(round);
    if sent > 0 {
        receiver.problems.note_unsupported(shipper, destination, &receiver.shipped, round)?;
    }
    receiver.note_parts(destination)?;
    visited
}

fn target(setup: &Setup, destination: &Destination) -> Result<OtlpTarget> {
    let ship = &setup.context.config.ship;
    let headers = ship.otlp_headers_path(setup.context.env.home.as_deref());
    Ok(OtlpTarget {
        base: destination.address.clone(),
        encoding: ship.otlp_encoding,
        headers: headers
            .map(|path| headers_file(&path, "ship.otlp-headers-file"))
            .transpose()?
            .unwrap_or_default(),
    })
}

struct Receiver<'a> {
    shipper: &'a Shipper<'a>,
    sender: Sender,
    patience: Patience,
    /// The data that the receiver had before this round.
    shipped: Shipped,
    /// The signals that it has of runs that this round did not send completely.
    incomplete: BTreeMap<String, Part>,
    problems: ReceiverProblems,
    /// Whether the receiver refuses even an empty request as too large, by signal. Known after the first item that is too large.
    refuses_every_size: BTreeMap<Signal, bool>,
}

/// The next step after a request has failed.
enum Next {
    /// Send its halves.
    Halve([Request; 2]),
    /// Do not send it again.
    GiveUp,
    /// Do not send it again, or the other requests of the run with this signal.
    GiveUpSignal,
    /// Send the signal again in the next round.
    SendLater,
    /// Send the rest of the run in the next round.
    EndRun,
    /// Send the rest of the run, and the other runs, in the next round.
    EndRound,
}

impl Receiver<'_> {
    /// Sends a run. It counts as sent if the receiver accepted a part of it and rejected the rest, which is noted, because sending
    /// it again would not help. A request that is too large is sent in halves. A signal at which the receiver failed is sent again
    /// in the next round, without the others.
    fn send(&mut self, run: &ShippedRun, previous: Option<i64>) -> Sending {
        let had = self.shipped.parts.get(&run.key.run).filter(|part| part.revision == run.key.revision);
        let had = had.map(|part| part.signals.clone()).unwrap_or_default();
        let (mut accepted, mut rejected, mut failed) = (had.clone(), Vec::new(), Vec::new());
        let mut is_round_over = false;
        let mut requests = self.requests(run, previous);
        while let Some(request) = requests.pop_front() {
            let signal = request.signal();
            if self.problems.is_unsupported(signal) || had.contains(&signal) {
                continue;
            }
            let Err(error) = self.send_patiently(&request) else {
                accepted.insert(signal);
                continue;
            };
            if matches!(error.kind, SendErrorKind::Partial { .. }) {
                accepted.insert(signal);
            }
            match self.next(&request, error.kind, !accepted.is_empty()) {
                Next::Halve(halves) => halves.into_iter().rev().for_each(|half| requests.push_front(half)),
                Next::GiveUp => rejected.push((signal, error)),
                Next::GiveUpSignal => {
                    rejected.push((signal, error));
                    requests.retain(|request| request.signal() != signal);
                }
                Next::SendLater => failed.push((signal, error)),
                end @ (Next::EndRun | Next::EndRound) => {
                    failed.push((signal, error));
                    is_round_over = matches!(end, Next::EndRound);
                    break;
                }
            }
        }
        let has_failed = |signal: &Signal| failed.iter().any(|(other, _)| other == signal);
        accepted.retain(|signal| !has_failed(signal));
        let is_partial = !accepted.is_empty();
        // Each item was too large.
        let is_given_up = !is_partial
            && failed.is_empty()
            && !rejected.is_empty()
            && rejected.iter().all(|(_, error)| error.kind == SendErrorKind::TooLarge);
        if is_partial || is_given_up {
            let id = short_run_id(&run.record);
            rejected.iter().for_each(|(signal, error)| self.problems.add(*signal, error, &id));
        }
        // Items that were too large are given up, so they are not sent again either.
        let too_large = rejected.iter().filter(|(_, error)| error.kind == SendErrorKind::TooLarge);
        let too_large = too_large.map(|(signal, _)| *signal).filter(|signal| !has_failed(signal));
        let settled = accepted.into_iter().chain(too_large).collect();
        if let Some((_, error)) = failed.pop() {
            if is_partial {
                let part = Part { revision: run.key.revision, signals: settled };
                self.incomplete.insert(run.key.run.clone(), part);
            }
            let unsent = Unsent { error: error.into_error(), is_partial };
            return if is_round_over { Sending::Stopped(unsent) } else { Sending::Failed(unsent) };
        }
        match rejected.into_iter().next() {
            Some(_) if is_given_up => Sending::GivenUp,
            Some((_, error)) if !is_partial => {
                Sending::Failed(Unsent { error: error.into_error(), is_partial })
            }
            _ => Sending::Sent,
        }
    }

    fn requests(&self, run: &ShippedRun, previous: Option<i64>) -> VecDeque<Request> {
        let identity = &self.shipper.identity;
        let resource = otlp::Resource {
            organization: &identity.organization,
            host: &identity.host,
            user: identity.user.as_deref(),
            service_version: env!("CARGO_PKG_VERSION"),
        };
        let export = RunExport {
            run: &run.record,
            report: &run.report,
            verdicts: &run.verdicts,
            links: &run.links,
            revision: run.key.revision,
            previous,
            privacy: self.shipper.setup.context.config.ship.privacy,
        };
        otlp::requests(&resource, &export).into()
    }

    /// The next step after a request has failed. The cause can be this run: a proxy can drop a large request, or an item can exceed
    /// the limit. An empty request decides.
    fn next(&mut self, request: &Request, kind: SendErrorKind, has_accepted: bool) -> Next {
        let signal = request.signal();
        match kind {
            SendErrorKind::TooLarge => match request.halves() {
                Some(halves) => Next::Halve(halves),
                None if !self.refuses_every_size(signal) => Next::GiveUp,
                None if has_accepted => Next::GiveUpSignal,
                // Otherwise each item of each run would be sent.
                None => Next::EndRound,
            },
            SendErrorKind::Unauthorized | SendErrorKind::Tls | SendErrorKind::Retry { .. } => Next::EndRound,
            SendErrorKind::Lost => match self.send_empty(signal) {
                Err(error) if error.kind.affects_other_requests() => Next::EndRound,
                _ => Next::EndRun,
            },
            SendErrorKind::Failed => Next::SendLater,
            SendErrorKind::Rejected | SendErrorKind::Unsupported { .. } | SendErrorKind::Partial { .. } => {
                Next::GiveUp
            }
        }
    }

    fn refuses_every_size(&mut self, signal: Signal) -> bool {
        if let Some(refuses) = self.refuses_every_size.get(&signal) {
            return *refuses;
        }
        let refuses = self.send_empty(signal).is_err_and(|error| error.kind == SendErrorKind::TooLarge);
        self.refuses_every_size.insert(signal, refuses);
        refuses
    }

    fn send_empty(&self, signal: Signal) -> std::result::Result<(), SendError> {
        self.shipper.runtime.block_on(self.sender.send(&Request::empty(signal)))
    }

    fn note_parts(&mut self, destination: &Destination) -> Result<()> {
        let parts = std::mem::take(&mut self.incomplete);
        if !parts.is_empty() {
            self.shipper.lock.update(|state| {
                state.destinations.entry(destination.id.clone()).or_default().parts.extend(parts);
            })?;
        }
        Ok(())
    }

    fn send_patiently(&mut self, request: &Request) -> std::result::Result<(), SendError> {
        let mut attempts = 0;
        loop {
            let start = Instant::now();
            let error = match self.shipper.runtime.block_on(self.sender.send(request)) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let after = match error.kind {
                SendErrorKind::Retry { after } => after,
                SendErrorKind::Lost => None,
                _ => return Err(error),
            };
            attempts += 1;
            match self.patience.pause(attempts, start.elapsed(), after) {
                Some(pause) => std::thread::sleep(pause),
                None => return Err(error),
            }
        }
    }
}
