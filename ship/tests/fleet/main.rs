//! Many machines ship to one S3 server at once, while shippers are killed and the server is restarted and stopped. The engines
//! then count the same in the bucket as there is in the stores.
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

#[path = "../support/engines.rs"]
mod engines;
#[path = "../../../benches/replay/long.rs"]
mod long;
#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use engines::{Engine, S3, engine, signal};
use serde_json::{Value, json};
use support::{Machine, TRACES};

/// The numbers of machines and of generated events.
fn size() -> (usize, usize) {
    let text = std::env::var("TEAMKEEP_FLEET").unwrap_or_default();
    let mut numbers = text.split_whitespace().map(|word| word.parse().unwrap());
    (numbers.next().unwrap_or(3), numbers.next().unwrap_or(20_000))
}

#[test]
fn what_a_fleet_ships_through_faults_is_complete_and_nothing_is_there_twice() {
    let (Some(weed), Some(python)) = (engine(Engine::Weed), engine(Engine::Python)) else {
        return;
    };
    let (machines, events) = size();
    let scratch = tempfile::tempdir().unwrap();
    let data =
        std::env::var_os("TEAMKEEP_FLEET_DIR").map_or_else(|| scratch.path().join("s3"), PathBuf::from);
    let fleet: Vec<Machine> = (0..machines)
        .map(|number| machine(&scratch.path().join(format!("m{number}")), number, events / machines))
        .collect();
    let expected = expected(&fleet);
    println!("{machines} machines, {} events, {} runs", expected["events"], expected["runs"]);
    let s3 = S3::start(&weed, &data);
    let (done, killed) = (AtomicBool::new(false), AtomicUsize::new(0));
    let environment = s3.environment();
    std::thread::scope(|scope| {
        let shippers: Vec<_> = (fleet.iter().enumerate())
            .map(|(number, machine)| {
                let (environment, killed) = (&environment, &killed);
                scope.spawn(move || ship_with_kills(machine, number as u64, environment, killed))
            })
            .collect();
        let done = &done;
        let chaos = scope.spawn(move || trouble(s3, &data, done));
        shippers.into_iter().for_each(|shipper| shipper.join().unwrap());
        done.store(true, Ordering::Relaxed);
        let (s3, restarts) = chaos.join().unwrap();
        println!(
            "{} shippers killed, the server in trouble {restarts} times",
            killed.load(Ordering::Relaxed)
        );
        let found = found(&python, &s3, scratch.path());
        for engine in ["duckdb", "clickhouse"] {
            assert_eq!(found[engine], expected, "{engine}");
        }
        println!("DuckDB and ClickHouse agree with the stores: {expected}");
    });
}

/// A machine with recorded and generated runs. All configure the same bucket.
fn machine(dir: &Path, number: usize, events: usize) -> Machine {
    let machine = Machine::in_dir(dir);
    TRACES.iter().for_each(|trace| machine.record(trace));
    for run in 0..4 {
        long::Long::write(&machine.store(), number * 4 + run + 1, events / 4);
    }
    machine.configure(&format!("store = \"s3://lake/fleet\"\norganization = \"acme\"\nhost = \"m{number}\""));
    machine
}

/// The values that the engines must find: sums over all reports, and a checksum over the ids of all lines.
fn expected(fleet: &[Machine]) -> Value {
    let mut ids: Vec<String> = Vec::new();
    let (mut runs, mut incidents) = (0, Vec::new());
    let mut sums = [0_i64; 7];
    for (number, machine) in fleet.iter().enumerate() {
        ids.extend(
            machine.log_lines().iter().map(|line| format!("m{number}/{}", line["id"].as_str().unwrap())),
        );
        for report in machine.reports() {
            runs += 1;
            let count = &report.overview.count;
            let tokens: u64 = report.spending.agents.iter().map(|agent| agent.tokens.output).sum();
            let numbers = [
                report.mail.messages.len(),
                report.tasks.len(),
                count.completed,
                count.turns,
                count.events,
                report.tools.total.values().sum(),
                usize::try_from(tokens).unwrap(),
            ];
            sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += i64::try_from(number).unwrap());
            let id = |id: &str| format!("m{number}/{}/{id}", report.overview.run);
            incidents.extend(report.incidents.iter().map(|incident| id(&incident.id)));
        }
    }
    json!({
        "events": ids.len(),
        "event_ids": checksum(ids),
        "runs": runs,
        "messages": sums[0],
        "tasks": sums[1],
        "completed_tasks": sums[2],
        "turns": sums[3],
        "run_events": sums[4],
        "tool_calls": sums[5],
        "output_tokens": sums[6],
        "incidents": incidents.len(),
        "incident_ids": checksum(incidents),
    })
}

/// A hash that both engines can compute: SHA-256 of the sorted texts, joined with commas.
fn checksum(mut texts: Vec<String>) -> String {
    texts.sort();
    let digest = <sha2::Sha256 as sha2::Digest>::digest(texts.join(","));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Starts shippers and kills some, until one has sent everything.
fn ship_with_kills(
    machine: &Machine,
    seed: u64,
    environment: &[(&'static str, String)],
    killed: &AtomicUsize,
) {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for attempt in 0..200 {
        let mut command = machine.shipper(&["--once"]);
        command.envs(environment.iter().cloned()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if attempt < 12 {
            std::thread::sleep(Duration::from_millis(random >> 54));
            killed.fetch_add(usize::from(child.try_wait().unwrap().is_none()), Ordering::Relaxed);
            child.kill().unwrap();
        }
        if child.wait().unwrap().success() {
            return;
        }
    }
    panic!("the shipper of {} never succeeded", machine.dir.display());
}

/// Kills and restarts the server, stops it for a while, and fills its file system if that is a small one.
fn trouble(mut s3: S3, data: &Path, done: &AtomicBool) -> (S3, usize) {
    let mut times = 0;
    let pause = |seconds| {
        (0..seconds * 10).take_while(|_| !done.load(Ordering::Relaxed)).for_each(|_| {
            std::thread::sleep(Duration::from_millis(100));
        });
    };
    while !done.load(Ordering::Relaxed) && times < 6 {
        pause(2);
        match times % 3 {
            0 => s3.restart(),
            1 => {
                signal(s3.pid(), "STOP");
                pause(4);
                signal(s3.pid(), "CONT");
            }
            _ if std::env::var_os("TEAMKEEP_FLEET_DIR").is_some() => fill(data, || pause(5)),
            _ => s3.restart(),
        }
        times += 1;
    }
    (s3, times)
}

/// Leaves no room in the file system for a while.
fn fill(dir: &Path, wait: impl Fn()) {
    let path = dir.join("filler");
    let mut file = std::fs::File::create(&path).unwrap();
    let block = vec![0; 1 << 20];
    while std::io::Write::write_all(&mut file, &block).is_ok() {}
    wait();
    drop(file);
    std::fs::remove_file(path).unwrap();
}

/// The values that the engines find in the bucket.
fn found(python: &Path, s3: &S3, scratch: &Path) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleet/count.py");
    let output = Command::new(python)
        .arg(script)
        .args([s3.endpoint().as_str(), "lake/fleet"])
        .env("HOME", scratch)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}
