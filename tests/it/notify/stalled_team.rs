//! A team with a stalled agent, and its notifier.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use teamkeep_system::fs::is_locked;

use crate::support::access::set_mode;
use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub const SECRET: &str = "s3cret";

/// The lead; alice, who took task 1 and was then silent for 20 minutes; and bob.
pub fn stalled(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, SESSION);
    lead.roster(1_770_091_200_000, &["alice", "bob"]);
    lead.start("startup");
    lead.task("1", "in_progress", Some("alice"));
    lead.hook("SubagentStart", by("alice"));
    sandbox.set_clock(20 * 60_000);
    lead.hook("Notification", json!({}));
    lead
}

pub fn by(name: &str) -> Value {
    json!({"agent_id": format!("a{name}-1"), "agent_type": name})
}

/// The run of the only team.
pub fn run(sandbox: &Sandbox) -> String {
    sandbox.library().runs.iter().find(|run| run.team.is_some()).unwrap().run.clone()
}

/// The run's incidents in the report.
pub fn incidents(sandbox: &Sandbox) -> Vec<Value> {
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", &run(sandbox), "--json"])).unwrap();
    report["incidents"].as_array().unwrap().clone()
}

/// Configures an address with a secret.
pub fn post_to(sandbox: &Sandbox, url: &str) {
    let secret = sandbox.home().join("secret");
    std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
    set_mode(&secret, 0o600);
    sandbox.configure(&format!("[notify]\nurl = \"{url}\"\nsecret-file = \"~/secret\"\n"));
}

/// A notifier as a hook call starts it, in the foreground.
pub fn notifier(sandbox: &Sandbox) -> Child {
    let mut command = sandbox.command(&["notify", "watch", "--run", &run(sandbox)]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Whether a notifier of the run holds its lock.
pub fn is_watched(sandbox: &Sandbox) -> bool {
    is_locked(&sandbox.keep(&format!("locks/notifications-{}", run(sandbox)))).unwrap()
}

/// Takes the destinations away, and waits until the notifier has noticed.
pub fn stop(sandbox: &Sandbox) {
    sandbox.configure("");
    wait(|| !is_watched(sandbox));
}

#[track_caller]
pub fn wait(is_done: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_done() {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing happened");
        std::thread::sleep(Duration::from_millis(10));
    }
}
