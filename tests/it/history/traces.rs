//! Recorded runs of the real client, told again: each must tell what really happened in it, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;
use std::sync::OnceLock;

use serde_json::{Value, json};
use teamkeep_history::timeline::state;

use crate::support::reenact::{Files, Trace, local};
use crate::support::sandbox::Sandbox;
use teamkeep_model::time;

pub const V47: (&str, &str) = ("v47-inprocess", "2026-11-20T04:37:57.500Z");
pub const V177: (&str, &str) = ("v177-inprocess", "2026-11-20T04:39:22.700Z");
pub const V328: (&str, &str) = ("v328-inprocess", "2026-11-20T04:40:41.150Z");
pub const PANES: (&str, &str) = ("v328-panes", "2026-11-20T04:41:53.770Z");
pub const NOTASKS: (&str, &str) = ("v328-notasks", "2026-11-20T04:43:10.860Z");
pub const HEADLESS: (&str, &str) = ("v328-headless", "2026-11-20T05:15:34.240Z");
pub const GC: (&str, &str) = ("v328-gc", "2026-11-20T04:54:29.340Z");

/// Every recorded run.
pub const ALL: [(&str, &str); 7] = [V47, V177, V328, PANES, NOTASKS, HEADLESS, GC];

/// What is told of a run that was played.
pub struct PlayedRun {
    pub sandbox: Sandbox,
    pub trace: Trace,
    jobs: usize,
    pub entries: Vec<Value>,
    show: Value,
    team: Value,
}

/// A recorded run that was played, once for all tests: they read it, and write no file of another test's.
pub fn play((name, began): (&str, &'static str), jobs: usize) -> &'static PlayedRun {
    type Once = OnceLock<(PlayedRun, Child)>;
    static PLAYED: [[Once; 2]; ALL.len()] = [const { [const { OnceLock::new() }; 2] }; ALL.len()];
    let run = ALL.iter().position(|run| run.0 == name).unwrap();
    let (played, _) = PLAYED[run][usize::from(jobs > 1)].get_or_init(|| {
        let played = play_again(Trace::read(name, began), jobs);
        let remover = played.sandbox.remove_at_exit();
        (played, remover)
    });
    assert_eq!(played.jobs, jobs);
    played
}

/// Plays a run for one test: it was altered beforehand, or its store is going to be.
pub fn play_again(trace: Trace, jobs: usize) -> PlayedRun {
    let sandbox = Sandbox::new();
    trace.play(&sandbox, jobs);
    sandbox.finish();
    // What is told is told from the archive: the client removes its transcripts, too.
    std::fs::remove_dir_all(sandbox.client("projects")).unwrap();
    let teams = sandbox.teams();
    assert_eq!(teams.len(), 1, "{teams:?}");
    let (entries, show) = (sandbox.replay("latest"), sandbox.show(&["latest"]));
    assert_eq!(sandbox.log().len(), trace.steps.len());
    PlayedRun { entries, show, team: teams[0].clone(), sandbox, trace, jobs }
}

/// The output of the commands for a run whose hooks ran one of the programs, without the directory of the sandbox.
fn printed(run: (&str, &'static str), jobs: usize, by_command_line: bool) -> [String; 3] {
    let (sandbox, trace) = (Sandbox::new(), Trace::read(run.0, run.1));
    if by_command_line {
        sandbox.hook_by_command_line();
    }
    trace.play(&sandbox, jobs);
    sandbox.finish();
    let root = sandbox.home().parent().unwrap().display().to_string().replace('\\', "/");
    let commands: [&[&str]; 3] = [
        &["log", "latest", "--json"],
        &["show", "latest", "--json"],
        &["report", "latest", "--format", "json"],
    ];
    // Claude Code also spells the directory in a name.
    let dashed = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let spelled: String = root.chars().map(dashed).collect();
    let plain = |printed: String| printed.replace(r"\\", "/");
    commands
        .map(|command| plain(sandbox.printed(command)).replace(&root, "SANDBOX").replace(&spelled, "SANDBOX"))
}

#[test]
fn both_programs_record_every_run_byte_for_byte_alike() {
    for run in ALL {
        assert_eq!(printed(run, 1, false), printed(run, 1, true), "{}", run.0);
    }
}

/// Plays a run and holds what is told of it against the truth.
fn check(run: (&str, &'static str), jobs: usize, ended_by: &str) {
    let told = play(run, jobs);
    told.check(ended_by);
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn is_message(entry: &Value) -> bool {
    let kinds = ["message", "shutdown-requested", "shutdown-approved", "shutdown-rejected"];
    kinds.contains(&text(entry, "kind")) && entry["automatic"] != true
}

/// What identifies a message: from, to, kind, summary, text.
type Message = (String, String, String, String, String);

impl PlayedRun {
    /// Holds what is told against the truth.
    pub fn check(&self, ended_by: &str) {
        self.messages();
        self.members();
        self.tasks();
        self.counts(ended_by);
        let at: Vec<&str> = self.entries.iter().map(|entry| text(entry, "at")).collect();
        assert!(at.is_sorted());
    }

    fn truth(&self, part: &str) -> impl Iterator<Item = (&String, &Value)> {
        let teams = self.trace.truth[part].as_object().unwrap();
        teams.values().flat_map(|team| team.as_object().unwrap())
    }

    /// Every message is told exactly once, and none that was never sent.
    fn messages(&self) {
        let sent = |message: &Value| -> Message {
            let result = local(&self.sandbox, text(message, "text"));
            let kind = match text(message, "kind") {
                "message" => "message",
                "shutdown_request" => "shutdown-requested",
                // In these runs whoever refuses says why, and nobody else says anything.
                "shutdown_response" if result.is_empty() => "shutdown-approved",
                "shutdown_response" => "shutdown-rejected",
                other => panic!("{other}"),
            };
            let part = |key| text(message, key).to_owned();
            (part("from"), part("to"), kind.to_owned(), part("summary"), result)
        };
        let told = |entry: &Value| -> Message {
            let part = |key| text(entry, key).to_owned();
            (part("actor"), part("to"), part("kind"), part("summary"), part("text"))
        };
        let mut sent: Vec<Message> =
            self.trace.truth["messages"].as_array().unwrap().iter().map(sent).collect();
        let mut found: Vec<Message> =
            self.entries.iter().filter(|entry| is_message(entry)).map(told).collect();
        sent.sort();
        found.sort();
        assert_eq!(found, sent);
    }

    /// Every member is shown with its prompt, and joined once.
    fn members(&self) {
        let mut names = BTreeSet::new();
        for (name, prompt) in self.truth("members") {
            names.insert(name.as_str());
            let member = &self.show["members"][name];
            assert!(member.is_object(), "{name} is missing in {}", self.show["members"]);
            assert!(text(member, "prompt").starts_with(prompt.as_str().unwrap()), "{name}: {member}");
            let joined = |entry: &&Value| entry["kind"] == "member-joined" && entry["actor"] == name.as_str();
            assert_eq!(self.entries.iter().filter(joined).count(), 1, "{name}");
        }
        let shown: BTreeSet<&str> =
            self.show["members"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(shown, names);
    }

    /// Every task went through its states, and through no others, and is shown in its last one.
    fn tasks(&self) {
        let mut completed = BTreeSet::new();
        for (id, task) in self.truth("tasks") {
            let states = task["states"].as_array().unwrap();
            let of_task = |entry: &&Value| {
                text(entry, "kind").starts_with("task-")
                    && entry["task"] == id.as_str()
                    && entry["to_status"].is_string()
            };
            let told = self.entries.iter().filter(of_task);
            let told: Vec<Value> = told.map(|entry| json!([entry["to_status"], entry["owner"]])).collect();
            if self.jobs == 1 {
                assert_eq!(&told, states, "task {id}");
            } else {
                assert_eq!(told.last(), states.last(), "task {id}");
                let mut rest = states.iter();
                assert!(told.iter().all(|state| rest.any(|known| known == state)), "task {id}: {told:?}");
            }
            let shown = &self.show["tasks"][id];
            assert_eq!(shown["subject"], task["subject"], "task {id}");
            assert_eq!(&json!([shown["status"], shown["owner"]]), states.last().unwrap(), "task {id}");
            if states.iter().any(|state| state[0] == "completed") {
                completed.insert(id.as_str());
            }
        }
        let told = self.entries.iter().filter(|entry| entry["kind"] == "task-completed");
        let told: Vec<&str> = told.map(|entry| text(entry, "task")).collect();
        assert_eq!(told.len(), completed.len());
        assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), completed);
    }

    /// The list of runs counts what there was, except deleted tasks, and knows what ended it.
    fn counts(&self, ended_by: &str) {
        let members: BTreeSet<&str> = self.truth("members").map(|(name, _)| name.as_str()).collect();
        let listed = self.team["members"].as_array().unwrap();
        assert_eq!(listed.len(), members.len(), "{listed:?}");
        assert!(listed.iter().all(|name| members.contains(name.as_str().unwrap())), "{listed:?}");
        let deleted = self.entries.iter().filter(|entry| entry["kind"] == "task-deleted").count();
        assert_eq!(self.team["tasks"], self.truth("tasks").count() - deleted);
        assert_eq!(self.team["messages"], self.trace.truth["messages"].as_array().unwrap().len());
        assert_eq!(self.team["ended_by"], ended_by);
        assert!(self.team["snapshots"].as_u64().unwrap() > 0 || members.is_empty());
    }
}

#[test]
fn run_of_2_1_47_matches_ground_truth() {
    check(V47, 1, "team-delete");
}

#[test]
fn run_of_2_1_47_matches_ground_truth_with_four_concurrent_hooks() {
    check(V47, 4, "team-delete");
}

#[test]
fn run_of_2_1_177_matches_ground_truth() {
    check(V177, 1, "team-delete");
}

#[test]
fn run_of_2_1_177_matches_ground_truth_with_four_concurrent_hooks() {
    check(V177, 4, "team-delete");
}

#[test]
fn run_of_2_1_328_matches_ground_truth() {
    check(V328, 1, "session-end");
}

#[test]
fn run_of_2_1_328_matches_ground_truth_with_four_concurrent_hooks() {
    check(V328, 4, "session-end");
}

#[test]
fn run_in_split_panes_matches_ground_truth() {
    check(PANES, 1, "session-end");
}

#[test]
fn run_in_split_panes_matches_ground_truth_with_four_concurrent_hooks() {
    check(PANES, 4, "session-end");
}

#[test]
fn run_without_task_tools_matches_ground_truth() {
    check(NOTASKS, 1, "session-end");
}

#[test]
fn run_without_task_tools_matches_ground_truth_with_four_concurrent_hooks() {
    check(NOTASKS, 4, "session-end");
}

#[test]
fn run_with_unlinked_tasks_matches_ground_truth() {
    check(GC, 1, "session-end");
}

#[test]
fn run_with_unlinked_tasks_matches_ground_truth_with_four_concurrent_hooks() {
    check(GC, 4, "session-end");
}

#[test]
fn headless_run_matches_ground_truth() {
    check(HEADLESS, 1, "session-end");
}

#[test]
fn headless_run_matches_ground_truth_with_four_concurrent_hooks() {
    check(HEADLESS, 4, "session-end");
}

/// What the files on disk say, as `show --json` says it.
fn on_disk(files: &Files) -> (Value, BTreeMap<String, Value>, BTreeMap<String, Value>) {
    let (mut config, mut tasks, mut inboxes) = (Value::Null, BTreeMap::new(), BTreeMap::new());
    for (path, text) in files {
        let parts: Vec<&str> = path.split('/').collect();
        let result = || serde_json::from_str::<Value>(text).unwrap();
        match parts.as_slice() {
            ["teams", _, "config.json"] => config = result(),
            // The client writes a file beside its place and renames it: what is half-way is no inbox yet.
            ["teams", _, "inboxes", name] if name.ends_with(".json") => {
                inboxes.insert(name.trim_end_matches(".json").to_owned(), result());
            }
            ["tasks", _, name] if name.ends_with(".json") => {
                tasks.insert(name.trim_end_matches(".json").to_owned(), result());
            }
            _ => {}
        }
    }
    (config, tasks, inboxes)
}

/// Whatever moment is asked for, it is shown as it was on disk.
fn check_moments(run: (&str, &'static str)) {
    let sandbox = Sandbox::new();
    let trace = Trace::read(run.0, run.1);
    let moments = trace.play(&sandbox, 1);
    let library = sandbox.library();
    let opened = library.open_runs(&[library.find("latest").unwrap()]).unwrap();
    for moment in &moments {
        let shown = state(&library.archive, &opened.runs[0], time::parse(&moment.at));
        let shown = serde_json::to_value(shown).unwrap();
        let (config, tasks, inboxes) = on_disk(&moment.files);
        let at = &moment.at;
        // The trackers of 2.1.47 are not tasks.
        let is_task = |task: &Value| task["owner"].is_string() || task["metadata"]["_internal"] != true;
        let tasks: BTreeMap<_, _> = tasks.into_iter().filter(|(_, task)| is_task(task)).collect();
        assert_eq!(shown["config"], config, "config at {at}");
        assert_eq!(shown["tasks"], json!(tasks), "tasks at {at}");
        assert_eq!(shown["inboxes"], json!(inboxes), "inboxes at {at}");
        let members = config["members"].as_array().map_or(0, Vec::len);
        assert_eq!(shown["members"].as_object().unwrap().len(), members, "members at {at}");
    }
    let middle = &moments[moments.len() / 2].at;
    let shown = sandbox.show(&["latest", "--at", middle]);
    let expected =
        serde_json::to_value(state(&library.archive, &opened.runs[0], time::parse(middle))).unwrap();
    assert_eq!(shown, expected, "the command says the same");
}

#[test]
fn every_snapshot_of_2_1_47_matches_the_disk_state() {
    check_moments(V47);
}

#[test]
fn every_snapshot_of_2_1_328_matches_the_disk_state() {
    check_moments(V328);
}

#[test]
fn every_snapshot_with_erased_tasks_matches_the_disk_state() {
    check_moments(GC);
}

#[test]
fn text_replay_and_show_match_the_recorded_run() {
    let told = play(V328, 1);
    insta::assert_snapshot!("replay", told.sandbox.printed(&["log"]));
    insta::assert_snapshot!("teams", told.sandbox.printed(&["teams"]));
}

#[test]
fn agent_filter_shows_entries_by_and_about_the_agent() {
    let told = play(V328, 1);
    let lines = |option: &str| -> Vec<String> {
        told.sandbox
            .printed(&["log", option, "bob"])
            .lines()
            .skip(3)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    let (own, all) = (lines("--agent"), lines("--involving"));
    let has = |lines: &[String], text: &str| lines.iter().any(|line| line.contains(text));
    for text in ["assigned task 2 to bob", "asked bob to shut down", "alice messaged bob"] {
        assert!(has(&all, text) && !has(&own, text), "{text}: {all:#?}");
    }
    assert!(own.iter().all(|line| all.contains(line)), "{own:#?}");
    assert!(!has(&all, "alice messaged team-lead"), "{all:#?}");
}

#[test]
fn completed_dependency_does_not_block_a_task() {
    let told = play(V328, 1);
    let shown = told.sandbox.printed(&["show"]);
    assert!(!shown.contains("blocked by 1"), "{shown}");
}
