//! The machines of the fleet, and shippers that are killed.

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::gate::Gate;
use super::long;
use super::support::{Machine, TRACES};

/// The shippers of a machine that are killed after a random time, and after a random number of requests to the collector.
const KILLED_BY_TIME: usize = 4;
const KILLED_BY_REQUESTS: usize = 4;
/// How long a shipper that is to be killed may take for its requests to the collector.
const PATIENCE: Duration = Duration::from_secs(20);

/// So many machines, which have so many generated events together.
pub fn fleet(dir: &Path, count: usize, events: usize) -> Vec<Machine> {
    std::thread::scope(|scope| {
        let recorded: Vec<_> = (0..count)
            .map(|number| {
                let dir = dir.join(format!("m{number}"));
                scope.spawn(move || machine(&dir, number, events / count))
            })
            .collect();
        recorded.into_iter().map(|machine| machine.join().unwrap()).collect()
    })
}

/// A machine with recorded and generated runs.
fn machine(dir: &Path, number: usize, events: usize) -> Machine {
    let machine = Machine::in_dir(dir);
    TRACES.iter().for_each(|trace| machine.record_with(trace, |text| with_own_sessions(text, number)));
    for run in 0..4 {
        long::Long::write(&machine.store(), number * 4 + run + 1, events / 4);
    }
    machine
}

/// All machines configure the same bucket, and the same collector behind their gates.
pub fn configure(machine: &Machine, number: usize, gate: &Gate) {
    machine.configure(&format!(
        "store = \"s3://lake/fleet\"\notlp = \"{}\"\notlp-signals = \"both\"\norganization = \"acme\"\nhost = \"m{number}\"",
        gate.base
    ));
}

/// Gives the sessions of a trace other ids on each machine. Ids of runs, traces and spans depend on them.
fn with_own_sessions(text: String, machine: usize) -> String {
    let marker = "\"session_id\": \"";
    let starts = text.match_indices(marker).map(|(at, _)| text[at + marker.len()..][..8].to_owned());
    let starts: std::collections::BTreeSet<String> = starts.collect();
    starts.into_iter().fold(text, |text, start| {
        let number = u32::from_str_radix(&start, 16).unwrap();
        text.replace(&start, &format!("{:08x}", number.wrapping_add(machine as u32 * 0x0001_0001)))
    })
}

/// Starts shippers and kills some, until one has sent everything.
pub fn ship_with_kills(
    machine: &Machine,
    seed: u64,
    (environment, gate): (&[(&'static str, String)], &Gate),
    killed: &AtomicUsize,
) {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for attempt in 0..200 {
        let mut command = machine.shipper(&["--once"]);
        command.envs(environment.iter().cloned()).stderr(Stdio::null());
        let before = gate.requests();
        let mut child = command.spawn().unwrap();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if attempt < KILLED_BY_TIME + KILLED_BY_REQUESTS {
            if attempt < KILLED_BY_TIME {
                std::thread::sleep(Duration::from_millis(random >> 54));
            } else {
                wait_for_requests(&mut child, gate, before + (random >> 60) as usize);
            }
            killed.fetch_add(usize::from(child.try_wait().unwrap().is_none()), Ordering::Relaxed);
            child.kill().unwrap();
        }
        if child.wait().unwrap().success() {
            return;
        }
    }
    panic!("the shipper of {} never succeeded", machine.dir.display());
}

/// Waits until the machine has made more than so many requests, or the shipper ends.
fn wait_for_requests(child: &mut Child, gate: &Gate, requests: usize) {
    let start = Instant::now();
    while gate.requests() <= requests && child.try_wait().unwrap().is_none() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
}
