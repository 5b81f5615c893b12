//! Many machines ship to one S3 server and to one collector at once, while shippers are killed and the servers are in trouble.
//! In the end the engines count the same in the bucket, and a receiver behind the collector gets the same telemetry, as there is
//! in the stores.
//!
//! Shipping is at least once: if a response was lost, or if the shipper was killed before it noted rows as sent, they come again.
//! In the bucket they are in another object, and one rule selects the rows that count. A receiver gets the same ids with the same content, so
//! that one that knows an id can drop the data. The test does so, and fails if an id has two contents. It compares keys that are in the
//! reports too, such as the id of a task or the time of a message, so that it does not depend on the hashes.
//!
//! The collector ends with SIGTERM, after which it sends on all that it has accepted. A collector that is killed with SIGKILL
//! loses what it has accepted and not sent on; no shipper can know that. Shippers see the same of both: refused connections, and
//! requests without a response. The gate between machine and collector makes the latter, and the answers of a full collector.
//!
//! `TEAMKEEP_FLEET="20 2000000"` sets the number of machines and of events. `TEAMKEEP_FLEET_DIR` is the directory for the data
//! of the server, for example a small file system that the test fills up.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

#[path = "../support/collector.rs"]
mod collector;
#[path = "../support/engines.rs"]
mod engines;
mod expected;
mod gate;
#[path = "../support/http.rs"]
mod http;
#[path = "../../../benches/replay/long.rs"]
mod long;
mod machines;
#[path = "../support/receiver.rs"]
mod receiver;
#[path = "../support/sent.rs"]
mod sent;
#[path = "../support/mod.rs"]
mod support;
mod telemetry;
mod trouble;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use collector::{Collector, Output};
use engines::{Engine, S3, engine};
use gate::{Gate, Trouble};
use receiver::Receiver;
use serde_json::Value;
use telemetry::Received;

/// How long the S3 server may take after a restart until it has all its data.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(60);

/// The numbers of machines and of generated events.
fn size() -> (usize, usize) {
    let text = std::env::var("TEAMKEEP_FLEET").unwrap_or_default();
    let mut numbers = text.split_whitespace().map(|word| word.parse().unwrap());
    (numbers.next().unwrap_or(3), numbers.next().unwrap_or(20_000))
}

#[test]
fn what_a_fleet_ships_through_faults_is_complete_and_nothing_counts_twice() {
    let (Some(weed), Some(rotel), Some(python)) =
        (engine(Engine::Weed), engine(Engine::Rotel), engine(Engine::Python))
    else {
        return;
    };
    let (count, events) = size();
    let scratch = tempfile::tempdir().unwrap();
    let data =
        std::env::var_os("TEAMKEEP_FLEET_DIR").map_or_else(|| scratch.path().join("s3"), PathBuf::from);
    let fleet = machines::fleet(scratch.path(), count, events);
    let (tables, telemetry) = (expected::tables(&fleet), expected::telemetry(&fleet));
    println!("{count} machines, {} events, {} runs", tables["events"], tables["runs"]);
    let start = Instant::now();
    let (s3, receiver) = (S3::start(&weed, &data), Receiver::start());
    let output = Output::Sent(receiver.base.clone());
    let collector = Collector::start(&rotel, &scratch.path().join("rotel"), output);
    let gates = Arc::new(Trouble::default());
    let ways: Vec<Gate> = fleet.iter().map(|_| Gate::open(collector.port(), &gates)).collect();
    let (done, killed, environment) = (AtomicBool::new(false), AtomicUsize::new(0), s3.environment());
    let (s3, mut collector) = std::thread::scope(|scope| {
        let mut shippers = Vec::new();
        for (number, (machine, way)) in fleet.iter().zip(&ways).enumerate() {
            machines::configure(machine, number, way);
            let (environment, killed) = (&environment, &killed);
            let ship = move || machines::ship_with_kills(machine, number as u64, (environment, way), killed);
            shippers.push(scope.spawn(ship));
        }
        let (done, data, gates) = (&done, &data, &gates);
        let s3 = scope.spawn(move || trouble::of_s3(s3, data, count, done));
        let collector = scope.spawn(move || trouble::of_collector(collector, gates, 2 * count, done));
        let ended: Vec<_> = shippers.into_iter().map(|shipper| shipper.join()).collect();
        println!("shipped in {:.1} s", start.elapsed().as_secs_f64());
        done.store(true, Ordering::Relaxed);
        let ((s3, s3_times), (collector, times)) = (s3.join().unwrap(), collector.join().unwrap());
        ended.into_iter().for_each(|result| result.unwrap());
        let [killed, refused, lost] =
            [&killed, &gates.refused, &gates.lost].map(|number| number.load(Ordering::Relaxed));
        println!(
            "{killed} shippers killed; the S3 server in trouble {s3_times} times, the collector {times} times"
        );
        println!("{refused} requests refused by the full collector, {lost} responses lost");
        (s3, collector)
    });
    let found = found(&python, &s3, scratch.path());
    for engine in ["duckdb", "clickhouse"] {
        assert_eq!(found[engine], tables, "{engine}");
    }
    println!("DuckDB and ClickHouse agree with the stores: {tables}");
    collector.stop();
    let received = Received::of(&receiver.requests());
    let (items, distinct) = (received.items, received.distinct);
    println!("the receiver got {items} items, {} of them again", items - distinct);
    let telemetry = telemetry.into_value();
    assert_eq!(received.telemetry.into_value(), telemetry);
    println!("the receiver agrees with the stores: {telemetry}");
}

/// The values that the engines find in the bucket. After a restart, the server first looks for its volumes.
fn found(python: &Path, s3: &S3, scratch: &Path) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleet/count.py");
    let mut command = Command::new(python);
    command.arg(script).args([s3.endpoint().as_str(), "lake/fleet"]).env("HOME", scratch);
    let start = Instant::now();
    loop {
        let output = command.output().unwrap();
        if output.status.success() {
            return serde_json::from_slice(&output.stdout).unwrap();
        }
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(start.elapsed() < RECOVERY_TIMEOUT, "{error}");
        std::thread::sleep(Duration::from_secs(1));
    }
}
