//! Checks that recorded data can be shipped and notifications can be sent, if that is configured, and that it was.

use std::path::Path;
use teamkeep_model::words::{count, size};

use chrono::TimeDelta;
use teamkeep_hook::find_shipper;
use teamkeep_store::shipping::{
    Destination, PROGRAM, RemovedUnshipped, Shipping, ShippingState, UnshippedSegments,
};
use teamkeep_system::command::quoted;
use teamkeep_system::fs::{MAX_SECRET_BYTES, read_private};

use super::record::when;
use super::{CheckInput, Diagnosis, bad, ok, warn};
use crate::notify;

/// How long a removal of segments that were not shipped is reported.
const REMOVAL_REPORTED: TimeDelta = TimeDelta::days(30);

pub fn check(input: &CheckInput<'_>) -> Vec<Diagnosis> {
    let ship = &input.policy.config.ship;
    if !ship.is_configured() {
        return vec![ok("shipping is off")];
    }
    let shipping = Shipping::of(input.paths);
    let mut problems = Vec::new();
    if find_shipper(input.env).is_none() {
        let what = format!("[ship] is configured, but {PROGRAM} is neither beside teamkeep nor in PATH");
        problems.push(bad(what).with_fix("./install.sh --with-ship"));
    }
    let home = input.env.home.as_deref();
    let headers = "echo 'Authorization: Bearer TOKEN'";
    let files = [
        ("store-headers-file", ship.store_headers_path(home), headers),
        ("otlp-headers-file", ship.otlp_headers_path(home), headers),
        ("pseudonym-key-file", ship.pseudonym_key_path(home), "head -c 32 /dev/urandom | base64"),
    ];
    problems.extend(files.iter().filter_map(|(key, path, new)| secret_problem(key, path.as_deref()?, new)));
    let state = match shipping.read() {
        Ok((state, None)) => state,
        Ok((state, Some(damage))) => {
            let fix = format!("{} ship --once", input.call);
            problems.push(warn(format!("{damage}; everything is sent again")).with_fix(fix));
            state
        }
        Err(error) => {
            problems.push(bad(format!("cannot read the state of shipping: {error}")));
            return problems;
        }
    };
    problems.extend(last_problem(input, &state));
    problems.extend(backlog_problem(input, &shipping));
    problems.extend(shipping.removed().and_then(|removed| removal_problem(input, &removed)));
    if problems.is_empty() {
        problems.push(ok(summary(input, &state)));
    }
    problems
}

/// The problem with a file. `new` prints the content of a new one.
fn secret_problem(key: &str, path: &Path, new: &str) -> Option<Diagnosis> {
    let error = read_private(path, MAX_SECRET_BYTES).err()?;
    let shown = quoted(&path.to_string_lossy());
    let fix = match path.is_file() {
        true => format!("chmod 600 {shown}"),
        false => format!("(umask 077; {new} > {shown})"),
    };
    Some(bad(format!("cannot use `{key}` under [ship]: {error}")).with_fix(fix))
}

fn last_problem(input: &CheckInput<'_>, state: &ShippingState) -> Option<Diagnosis> {
    let last = state.last.as_ref()?;
    let error = last.error.as_ref()?;
    let what = format!("not everything was shipped {}: {error}", when(last.at, input.now));
    Some(warn(what).with_fix(format!("{} ship --once", input.call)))
}

/// The backlog, once it needs more than half of the room for it.
fn backlog_problem(input: &CheckInput<'_>, shipping: &Shipping) -> Option<Diagnosis> {
    let ship = &input.policy.config.ship;
    let backlog = match UnshippedSegments::find(shipping, ship) {
        Ok(backlog) => backlog,
        Err(error) => return Some(bad(format!("cannot list the segments that are not shipped: {error}"))),
    };
    (backlog.bytes() > ship.keep_unshipped / 2).then(|| {
        let [bytes, room] = [backlog.bytes(), ship.keep_unshipped].map(size);
        let segments = count(backlog.count(), "log segment");
        let what = format!("{segments} ({bytes}) are not shipped; `ship.keep-unshipped` keeps {room}");
        warn(what).with_fix(format!("{} ship --once", input.call))
    })
}

fn removal_problem(input: &CheckInput<'_>, removed: &RemovedUnshipped) -> Option<Diagnosis> {
    (removed.at + REMOVAL_REPORTED > input.now).then(|| {
        let segments = count(usize::try_from(removed.segments).unwrap_or(usize::MAX), "log segment");
        let what = format!(
            "{segments} were removed before they were shipped, the last {}",
            when(removed.at, input.now)
        );
        warn(what).with_fix("set `keep-unshipped` under [ship] to a larger size")
    })
}

fn summary(input: &CheckInput<'_>, state: &ShippingState) -> String {
    let destinations = state.configured(&input.policy.config.ship);
    let names: Vec<&str> = destinations.iter().map(|Destination { address, .. }| address.as_str()).collect();
    let last = match &state.last {
        Some(last) => format!("last shipped {}", when(last.at, input.now)),
        None => "nothing was shipped yet".to_owned(),
    };
    format!("recorded data is shipped to {}; {last}", names.join(" and "))
}

/// Checks that notifications can be sent, if they are configured.
pub fn notifications(input: &CheckInput<'_>) -> Diagnosis {
    let destinations = notify::Destination::all(&input.policy.config.notify, input.env.home.as_deref());
    for destination in &destinations {
        if let Err(error) = destination.check(input.env) {
            let fix = error.hints.first().cloned();
            let fix = fix.unwrap_or_else(|| format!("{} config show", input.call));
            return bad(format!("notifications to {}: {error}", destination.name())).with_fix(fix);
        }
    }
    let names: Vec<String> = destinations.iter().map(notify::Destination::name).collect();
    ok(match names.is_empty() {
        true => "notifications are off".to_owned(),
        false => format!("notifications are sent to {}", names.join(" and ")),
    })
}
