//! Sends ended runs to an OTLP receiver.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::Instant;

use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::shipping::{Destination, Part, Shipped};

use crate::otlp::{self, Headers, OtlpTarget, Request, RunExport, SendError, SendErrorKind, Sender};
use crate::patience::Patience;
use crate::receiver_problems::ReceiverProblems;
use crate::setup::{Setup, secret_file};
use crate::shipped_run::ShippedRun;
use crate::shipper::{RoundOutcome, Shipper};
use crate::unsent_runs::{Sending, each_run, short};

pub fn ship(shipper: &Shipper<'_>, destination: &Destination, round: &mut RoundOutcome) -> Result<()> {
    let shipped = shipper.state()?.destinations.remove(&destination.id).unwrap_or_default();
    let mut receiver = Receiver {
        shipper,
        sender: Sender::new(&target(shipper.setup, destination)?)?,
        patience: Patience::default(),
        shipped,
        incomplete: BTreeMap::new(),
        problems: ReceiverProblems::default(),
    };
    let mut sent = 0;
    let visited =
        each_run(shipper, destination, round, |run, previous, _| match receiver.send(run, previous) {
            Ok(()) => {
                sent += 1;
                Ok(Sending::Sent)
            }
            Err(error) if receiver.affects_other_runs(error.kind) => Err(as_error(error)),
            // This run is sent again in the next round.
            Err(error) => Ok(Sending::Failed(as_error(error))),
        });
    if sent > 0 {
        receiver.problems.note(shipper, destination, &receiver.shipped, round)?;
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
        headers: headers.map(|path| read_headers(&path)).transpose()?.unwrap_or_default(),
    })
}

fn read_headers(path: &Path) -> Result<Headers> {
    let failed = |error: Error| error.within("cannot use `ship.otlp-headers-file`");
    let text = String::from_utf8(secret_file(path).map_err(failed)?);
    let text = text.map_err(|_| failed(Error::new("it is not UTF-8")))?;
    Headers::parse(&text).map_err(failed)
}

fn as_error(error: SendError) -> Error {
    let hint = error.hint;
    let error = Error::new(error.to_string());
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
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
}

impl Receiver<'_> {
    /// Sends a run. It counts as sent if the receiver accepted a part of it and rejected the rest, which is noted, because sending
    /// it again would not help. A request that is too large is sent in halves. A signal at which the receiver failed is sent again
    /// in the next round, without the others.
    fn send(&mut self, run: &ShippedRun, previous: Option<i64>) -> std::result::Result<(), SendError> {
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
        let had = self.shipped.parts.get(&run.key.run).filter(|part| part.revision == run.key.revision);
        let had = had.map(|part| part.signals.clone()).unwrap_or_default();
        let (mut accepted, mut errors, mut failed) = (had.clone(), Vec::new(), Vec::new());
        let mut requests: VecDeque<Request> = otlp::requests(&resource, &export).into();
        while let Some(request) = requests.pop_front() {
            let signal = request.signal();
            if self.problems.is_unsupported(signal) || had.contains(&signal) {
                continue;
            }
            let Err(error) = self.send_patiently(&request) else {
                accepted.insert(signal);
                continue;
            };
            match error.kind {
                SendErrorKind::TooLarge if let Some(halves) = request.halves() => {
                    halves.into_iter().rev().for_each(|half| requests.push_front(half));
                }
                // Otherwise each item of each run would be sent.
                SendErrorKind::TooLarge if accepted.is_empty() && self.affects_other_runs(error.kind) => {
                    failed.push((signal, error));
                    break;
                }
                kind if kind.affects_other_requests() => {
                    failed.push((signal, error));
                    break;
                }
                SendErrorKind::Failed => failed.push((signal, error)),
                kind => {
                    if matches!(kind, SendErrorKind::Partial { .. }) {
                        accepted.insert(signal);
                    }
                    errors.push((signal, error));
                }
            }
        }
        accepted.retain(|signal| failed.iter().all(|(other, _)| other != signal));
        if let Some((_, error)) = failed.pop() {
            let part = Part { revision: run.key.revision, signals: accepted };
            if !part.signals.is_empty() {
                self.incomplete.insert(run.key.run.clone(), part);
            }
            return Err(error);
        }
        if accepted.is_empty() && !errors.is_empty() {
            return Err(errors.swap_remove(0).1);
        }
        let id = short(&run.record);
        errors.iter().for_each(|(signal, error)| self.problems.add(*signal, error, &id));
        Ok(())
    }

    /// Whether other runs would fail in the same way now. The run itself can be the reason that there was no response: a proxy can
    /// cut off a large request, or have an item that is too large. So an empty request decides.
    fn affects_other_runs(&self, kind: SendErrorKind) -> bool {
        let probe = || self.shipper.runtime.block_on(self.sender.send(&Request::empty()));
        match kind {
            SendErrorKind::Unauthorized | SendErrorKind::Tls | SendErrorKind::Retry { .. } => true,
            SendErrorKind::TooLarge => probe().is_err_and(|error| error.kind == kind),
            SendErrorKind::Lost => probe().is_err_and(|error| error.kind.affects_other_requests()),
            _ => false,
        }
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
