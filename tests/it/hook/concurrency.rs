//! Many hooks at once, and hooks that are killed while they work: nothing that was recorded is lost, torn or doubled.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use teamkeep_history::{Range, Reader};

use crate::support::client_files::Lead;
use crate::support::sandbox::{Sandbox, feed, lines};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TEAM: &str = "session-aaaaaaaa";

#[test]
fn eight_hooks_at_once_record_every_event_once() {
    let sandbox = Sandbox::new();
    // No call is to give up on a lock because the machine is busy.
    sandbox.configure("[log]\nlock-patience = \"5m\"\nsegment-size = \"4 MiB\"\n");
    let filler = "x".repeat(20_000);
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (sandbox, filler) = (&sandbox, &filler);
            scope.spawn(move || {
                for number in 0..500 {
                    let id = format!("{worker}-{number}");
                    let payload = json!({"hook_event_name": "Stop", "session_id": format!("s{worker}"), "id": id, "filler": filler});
                    let result = feed(&mut sandbox.command(&["hook", "stop"]), payload.to_string().as_bytes());
                    assert_eq!((result.code, result.out.as_str(), result.err.as_str()), (Some(0), "", ""));
                }
            });
        }
    });
    let mut reader = Reader::of(&sandbox.logs().all().unwrap(), Range::default());
    let mut found: HashMap<String, Vec<u32>> = HashMap::new();
    let mut ids = HashSet::new();
    for line in reader.by_ref() {
        let payload: Value = serde_json::from_str(line.recorded.payload.get()).unwrap();
        assert_eq!(payload["filler"], filler.as_str());
        let (worker, number) = payload["id"].as_str().unwrap().split_once('-').unwrap();
        found.entry(worker.to_owned()).or_default().push(number.parse().unwrap());
        assert!(ids.insert(line.recorded.id), "every event has an id of its own");
    }
    assert!(reader.problems.is_empty(), "{:?}", reader.problems);
    assert_eq!(found.len(), 8);
    assert!(found.values().all(|numbers| *numbers == (0..500).collect::<Vec<_>>()), "each once, in order");
    let segments = sandbox.logs().segments();
    assert!(segments.iter().all(|segment| segment.size <= 4 << 20 && !segment.name.is_single()));
}

#[test]
fn a_session_without_a_team_reads_other_teams_only_when_they_change() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, SESSION, "parser-team");
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    std::thread::sleep(Duration::from_millis(120));
    let other = Lead::named(&sandbox, "bbbbbbbb-0000-4000-8000-000000000002", "parser-team");
    other.start("startup");
    lead.task("1", "pending", None);
    other.hook("Stop", json!({}));
    let known = || sandbox.show(&["parser-team"])["tasks"]["1"]["status"].clone();
    assert_eq!(known(), Value::Null, "what others do is theirs");
    other.roster(2_000, &["alice"]);
    other.hook("Stop", json!({}));
    assert_eq!(known(), "pending");
    assert_eq!(sandbox.log().last().unwrap()["team"], "parser-team", "it leads it now");
}

/// Numbers that look random and are the same at each run.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Starts a hook with its payload, and does not wait for it.
fn start(lead: &Lead<'_>, number: u64) -> Child {
    let payload =
        lead.payload("UserPromptSubmit", json!({"prompt": number.to_string(), "filler": "x".repeat(60_000)}));
    let mut command = lead.sandbox.command(&["hook", "user-prompt-submit"]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = piped.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(payload.to_string().as_bytes());
    child
}

/// Everything that a manifest names is there, and is what its hash says. The log is one chain.
fn verify(sandbox: &Sandbox) -> usize {
    let verified = sandbox.run(&["verify", "--json"]);
    let verified: Value = serde_json::from_str(&verified.out).unwrap();
    assert_eq!(verified["whole"], true, "{verified:#}");
    let library = sandbox.library();
    assert_eq!(library.damaged, Vec::<String>::new());
    let mut objects = HashSet::new();
    for run in &library.runs {
        let journal = library.archive.journal(&run.run);
        assert!(journal.snapshots.is_sorted_by(|one, other| one.at <= other.at));
        let changes = journal.snapshots.iter().flat_map(|snapshot| &snapshot.changed);
        for object in changes.filter_map(|change| change.object.clone()) {
            library.archive.content(&run.run, &object).unwrap();
            objects.insert(object);
        }
    }
    objects.len()
}

#[test]
fn a_hook_that_is_killed_loses_at_most_its_own_event() {
    let sandbox = Sandbox::new();
    sandbox.configure("[log]\nlock-patience = \"5m\"\n[archive]\nlongest-look = \"5m\"\n");
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    let mut dice = Dice(1);
    let mut finished = Vec::new();
    for round in 0..60 {
        // Everything is new to the archive, so that the hooks have something to be killed at.
        for id in 0..20 {
            let task =
                json!({"id": id.to_string(), "subject": "x".repeat(5_000), "status": round.to_string()});
            sandbox.write(&format!("tasks/{TEAM}/{id}.json"), task);
        }
        let hooks: Vec<(u64, Child)> =
            (0..3).map(|one| round * 3 + one).map(|n| (n, start(&lead, n))).collect();
        std::thread::sleep(Duration::from_micros(500 + dice.roll(9_500)));
        for (number, mut child) in hooks {
            child.kill().unwrap();
            if child.wait().unwrap().success() {
                finished.push(number);
            }
        }
        // The call after it works, and keeps what the killed ones did not.
        lead.hook("Stop", json!({}));
        let library = sandbox.library();
        let run = &library.find(TEAM).unwrap().run;
        let held = library.archive.journal(run).last();
        for id in 0..20 {
            let path = format!("tasks/{TEAM}/{id}.json");
            let kept = library.archive.content(run, held[&path].object.as_deref().unwrap()).unwrap();
            assert_eq!(kept, std::fs::read(sandbox.client(&path)).unwrap(), "{path} in round {round}");
        }
    }
    assert!(verify(&sandbox) >= 60 * 20);
    let mut reader = Reader::of(&sandbox.logs().all().unwrap(), Range::default());
    let mut events: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in reader.by_ref() {
        let payload: Value = serde_json::from_str(line.recorded.payload.get()).unwrap();
        let prompt = payload["prompt"].as_str().unwrap_or_default().to_owned();
        events.entry(line.recorded.event).or_default().push(prompt);
    }
    assert_eq!(events["Stop"].len(), 60, "every call that was not killed is on record");
    // On a slow machine each of them may have been killed before it came so far.
    let prompted = events.remove("UserPromptSubmit").unwrap_or_default();
    let prompts: HashSet<&String> = prompted.iter().collect();
    assert_eq!(prompts.len(), prompted.len(), "none twice");
    assert!(
        finished.iter().all(|number| prompts.contains(&number.to_string())),
        "what ended well is on record"
    );
    assert!(finished.len() < 180, "some were killed");
    assert!(reader.problems.count <= 180 - finished.len() as u64, "{:?}", reader.problems);
}

#[test]
fn concurrent_hooks_of_one_team_store_every_state_that_they_see() {
    let sandbox = Sandbox::new();
    sandbox.configure("[log]\nlock-patience = \"5m\"\n");
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    let payload = lead.payload("Stop", json!({})).to_string();
    for round in 0..20 {
        sandbox
            .write(&format!("tasks/{TEAM}/1.json"), json!({"id": "1", "status": "pending", "round": round}));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                let (sandbox, payload) = (&sandbox, &payload);
                scope.spawn(move || {
                    let result = feed(&mut sandbox.command(&["hook", "stop"]), payload.as_bytes());
                    assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
                });
            }
        });
    }
    let library = sandbox.library();
    let journal = library.archive.journal(&library.find(TEAM).unwrap().run);
    let path = format!("tasks/{TEAM}/1.json");
    let changes = journal.snapshots.iter().flat_map(|snapshot| &snapshot.changed);
    let objects = changes.filter(|change| change.path == path).filter_map(|change| change.object.as_deref());
    let rounds: Vec<u64> = objects
        .map(|object| {
            let task: Value =
                serde_json::from_slice(&library.archive.content(&journal.run, object).unwrap()).unwrap();
            task["round"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(rounds, (0..20).collect::<Vec<_>>(), "each state once, in order");
    assert_eq!(lines(&sandbox.printed(&["log", "--raw", "--json"])).len(), 121);
    verify(&sandbox);
}
