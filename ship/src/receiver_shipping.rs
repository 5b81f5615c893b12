//! Sends ended runs to an OTLP receiver.

use std::time::{Duration, Instant};

use teamkeep_core::config::{OtlpEncoding, ShipPrivacy};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::shipping::Destination;

use crate::otlp::{
    self, Encoding, Headers, OtlpTarget, Privacy, RunExport, SendError, SendErrorKind, Sender,
};
use crate::run_data::ShippedRun;
use crate::run_shipping::each_run;
use crate::setup::Setup;
use crate::shipper::{Round, Shipper};

/// How long a request is sent again while the receiver is out of reach or busy. The next round continues.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
const FIRST_WAIT: Duration = Duration::from_millis(500);

pub fn ship(shipper: &Shipper<'_>, destination: &Destination, round: &mut Round) -> Result<()> {
    let receiver = Receiver { shipper, sender: Sender::new(&target(shipper.setup, destination)?)? };
    let (mut refused, mut first) = (0, None);
    each_run(shipper, destination, round, |run, previous, round| {
        let sent = receiver.send(run, previous, round);
        match sent {
            Ok(()) => Ok(true),
            // Another run may be accepted. This one is sent again in the next round.
            Err(error) if error.kind == SendErrorKind::Rejected => {
                refused += 1;
                first.get_or_insert(error);
                Ok(false)
            }
            Err(error) => Err(as_error(error)),
        }
    })?;
    match first {
        Some(error) => {
            Err(as_error(error).within(format!("the receiver accepted nothing of {refused} runs")))
        }
        None => Ok(()),
    }
}

fn target(setup: &Setup, destination: &Destination) -> Result<OtlpTarget> {
    let ship = &setup.context.config.ship;
    let headers = ship.otlp_headers_path(setup.context.env.home.as_deref());
    Ok(OtlpTarget {
        base: destination.address.clone(),
        encoding: match ship.otlp_encoding {
            OtlpEncoding::Protobuf => Encoding::Protobuf,
            OtlpEncoding::Json => Encoding::Json,
        },
        headers: headers.map(|path| Headers::read(&path)).transpose()?.unwrap_or_default(),
    })
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
}

impl Receiver<'_> {
    /// Sends a run. It counts as sent if the receiver accepted a part of it; what it rejected is noted, because sending it again
    /// would not help.
    fn send(
        &self,
        run: &ShippedRun,
        previous: Option<i64>,
        round: &mut Round,
    ) -> std::result::Result<(), SendError> {
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
            privacy: privacy(self.shipper.setup.context.config.ship.privacy),
        };
        let (mut is_accepted, mut rejections) = (false, Vec::new());
        for request in otlp::requests(&resource, &export) {
            match self.send_patiently(&request) {
                Ok(()) => is_accepted = true,
                Err(error) => match error.kind {
                    SendErrorKind::Partial { .. } => {
                        is_accepted = true;
                        rejections.push(error);
                    }
                    SendErrorKind::Rejected => rejections.push(error),
                    SendErrorKind::Retry { .. } => return Err(error),
                },
            }
        }
        if is_accepted || rejections.is_empty() {
            round.notes.extend(rejections.iter().map(ToString::to_string));
            return Ok(());
        }
        Err(rejections.swap_remove(0))
    }

    fn send_patiently(&self, request: &otlp::Request) -> std::result::Result<(), SendError> {
        let (start, mut wait) = (Instant::now(), FIRST_WAIT);
        loop {
            let error = match self.shipper.runtime.block_on(self.sender.send(request)) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let SendErrorKind::Retry { after } = error.kind else { return Err(error) };
            let pause = after.unwrap_or(wait);
            if start.elapsed() + pause > RETRY_TIMEOUT {
                return Err(error);
            }
            std::thread::sleep(pause);
            wait *= 2;
        }
    }
}

fn privacy(privacy: ShipPrivacy) -> Privacy {
    match privacy {
        ShipPrivacy::Full => Privacy::Full,
        ShipPrivacy::Redacted => Privacy::Redacted,
        ShipPrivacy::Metadata => Privacy::Metadata,
    }
}
