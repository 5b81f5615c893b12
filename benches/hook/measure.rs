//! Measures the median wall time and the peak of resident memory.

use std::fmt;
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::scene::Scene;

/// The hook program to measure: the one of this build, or `TEAMKEEP_BENCH_BINARY`.
pub fn binary() -> PathBuf {
    let other = std::env::var_os("TEAMKEEP_BENCH_BINARY");
    other.map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_teamkeep-hook")), PathBuf::from)
}

/// The program to compare with: a static one that does nothing, in `TEAMKEEP_BENCH_NOOP`, or else `/bin/true`.
pub fn no_op() -> Command {
    let other = std::env::var_os("TEAMKEEP_BENCH_NOOP");
    let mut command = Command::new(other.unwrap_or_else(|| "/bin/true".into()));
    command.env_clear();
    command
}

/// Time from the start of a process with this input on stdin to its exit. The input is a file: writing to a pipe would add
/// the same time to every program, and hide how they differ.
pub fn time(command: &mut Command, stdin: &[u8]) -> Duration {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(stdin).unwrap();
    file.rewind().unwrap();
    command.stdin(Stdio::from(file)).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.spawn().unwrap().wait().unwrap();
    let took = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    took
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// Medians in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    pub hook: f64,
    pub nothing: f64,
}

/// Alternating calls of a scene's hook and of [`no_op`], so that both run under the same load.
pub fn beside_nothing(calls: usize, scene: &mut Scene, prepare: impl Fn(&mut Scene, usize)) -> Pair {
    let (mut hook, mut nothing) = (Vec::new(), Vec::new());
    for call in 0..calls + 10 {
        prepare(scene, call);
        let one = time(&mut scene.hook("post-tool-use"), &scene.payload);
        let other = time(&mut no_op(), &scene.payload);
        // The first calls warm the caches.
        if call >= 10 {
            hook.push(one);
            nothing.push(other);
        }
    }
    Pair { hook: median(hook), nothing: median(nothing) }
}

/// Waits until no other process of this binary runs, at most ten seconds, and until the disk has written everything: the
/// end of a run starts a process in the background, which must not slow down the next call.
fn wait_until_quiet() {
    let binary = binary().canonicalize().unwrap();
    let is_ours = |process: &std::fs::DirEntry| {
        std::fs::read_link(process.path().join("exe")).is_ok_and(|exe| exe == binary)
    };
    let start = Instant::now();
    while std::fs::read_dir("/proc").unwrap().flatten().any(|process| is_ours(&process)) {
        assert!(start.elapsed() < Duration::from_secs(10), "a process of the binary does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("sync").status().unwrap().success());
}

/// One call in each of several scenes: the call changes too much to repeat it in the same scene.
pub fn repeated(times: usize, make: impl Fn() -> Scene, call: impl Fn(&mut Scene) -> Duration) -> Pair {
    let (mut hook, mut nothing) = (Vec::new(), Vec::new());
    // Keep the directories until the end: ext4 avoids recently freed inodes one by one.
    let mut scenes = Vec::new();
    for _ in 0..times {
        let mut scene = make();
        wait_until_quiet();
        hook.push(call(&mut scene));
        nothing.push(time(&mut no_op(), &scene.payload));
        scenes.push(scene);
    }
    Pair { hook: median(hook), nothing: median(nothing) }
}

/// Several calls of another kind in one scene.
pub fn in_turn(calls: usize, scene: &mut Scene, call: impl Fn(&mut Scene) -> Duration) -> Pair {
    let times = (0..calls).map(|_| (call(scene), time(&mut no_op(), &scene.payload)));
    let (hook, nothing) = times.unzip();
    Pair { hook: median(hook), nothing: median(nothing) }
}

/// The peak of resident memory in MiB while hooks run. Polled from outside, because the value of `wait4` includes the
/// parent's memory before the exec.
pub fn memory(scene: &mut Scene, prepare: impl Fn(&mut Scene, usize)) -> f64 {
    let mut peak = 0u64;
    for call in 0..50 {
        prepare(scene, call);
        let mut command = scene.hook("post-tool-use");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(&scene.payload);
        let status = format!("/proc/{}/status", child.id());
        while let Some(size) = std::fs::read_to_string(&status).ok().as_deref().and_then(high_water) {
            peak = peak.max(size);
        }
        child.wait().unwrap();
    }
    peak as f64 / 1024.0
}

/// `VmHWM` in KiB; `None` for a process that has ended.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// A row of the table.
pub struct Row {
    name: &'static str,
    median: String,
    nothing: String,
    value: f64,
    unit: &'static str,
    budget: f64,
}

impl Row {
    /// Compared with [`no_op`].
    pub fn ratio(name: &'static str, pair: &Pair, budget: f64) -> Row {
        Row::of(name, pair, pair.hook / pair.nothing, "×", budget)
    }

    /// Compared with another scene, each relative to [`no_op`].
    pub fn growth(name: &'static str, pair: &Pair, other: &Pair, budget: f64) -> Row {
        Row::of(name, pair, (pair.hook / pair.nothing) / (other.hook / other.nothing), "×", budget)
    }

    /// Milliseconds.
    pub fn limit(name: &'static str, pair: &Pair, budget: f64) -> Row {
        Row::of(name, pair, pair.hook, " ms", budget)
    }

    /// Mebibytes.
    pub fn memory(name: &'static str, value: f64, budget: f64) -> Row {
        let (median, nothing) = (String::new(), String::new());
        Row { name, median, nothing, value, unit: " MiB", budget }
    }

    fn of(name: &'static str, pair: &Pair, value: f64, unit: &'static str, budget: f64) -> Row {
        let millis = |value: f64| format!("{value:.2} ms");
        Row { name, median: millis(pair.hook), nothing: millis(pair.nothing), value, unit, budget }
    }

    pub fn is_ok(&self) -> bool {
        self.value <= self.budget
    }
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, budget) =
            (format!("{:.2}{}", self.value, self.unit), format!("{}{}", self.budget, self.unit));
        let word = if self.is_ok() { "ok" } else { "OVER" };
        let Row { name, median, nothing, .. } = self;
        write!(out, "{name:<60} {median:>10} {nothing:>10} {value:>9} {budget:>8} {word}")
    }
}
