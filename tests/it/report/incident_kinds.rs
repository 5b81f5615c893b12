//! Each kind of incident from a scene that has it, and a scene beside it that does not.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

pub const SESSION: &str = "6f0a9d24-0000-4000-8000-000000000001";
const MINUTE: i64 = 60_000;

/// A team of a lead and teammates in its process, whose clock is set by minutes.
pub struct Team {
    pub sandbox: Sandbox,
}

impl Team {
    pub fn new(members: &[&str]) -> Team {
        let team = Team { sandbox: Sandbox::new() };
        let lead = team.lead();
        lead.start("startup");
        lead.roster(1, members);
        team.prompt();
        for name in members {
            team.agent(name, "SubagentStart");
        }
        team
    }

    pub fn lead(&self) -> Lead<'_> {
        Lead::of(&self.sandbox, SESSION)
    }

    /// Sets the clock of the next call.
    pub fn at(&self, minute: i64) -> &Team {
        self.sandbox.set_clock(minute * MINUTE);
        self
    }

    pub fn prompt(&self) {
        self.lead().hook("UserPromptSubmit", json!({"prompt": "go on"}));
    }

    pub fn agent(&self, name: &str, event: &str) {
        self.lead().hook(event, json!({"agent_id": format!("a{name}-1"), "agent_type": name}));
    }

    /// A turn of the agent's: it starts, writes to another one, and ends.
    pub fn says(&self, name: &str, to: &str, text: &str) {
        let by = if name == "team-lead" {
            json!({})
        } else {
            json!({"agent_id": format!("a{name}-1"), "agent_type": name})
        };
        let id = format!("toolu_{name}_{}", self.sandbox.millis());
        let input = json!({"to": to, "message": text, "summary": text});
        self.lead().before(&id, "SendMessage", &input, by.clone());
        self.lead().after(&id, "SendMessage", &input, json!({"success": true}), by);
    }

    /// Changes a task, and has a hook call see it.
    pub fn task(&self, id: &str, status: &str, owner: Option<&str>) {
        self.lead().task(id, status, owner);
        match owner {
            Some(name) if name != "team-lead" => self.agent(name, "SubagentStart"),
            _ => self.prompt(),
        }
    }

    /// What the agent read, by its transcript.
    pub fn reads(&self, name: &str, messages: &[(&str, &str)]) {
        let path = format!("projects/-home-dev-parser/{SESSION}/subagents/agent-a{name}-1");
        let meta = json!({"name": name, "agentType": name, "taskKind": "in_process_teammate"});
        self.sandbox.write(&format!("{path}.meta.json"), meta);
        let record = |(from, text): &(&str, &str)| {
            let text = format!("<teammate-message teammate_id=\"{from}\">\n{text}\n</teammate-message>");
            json!({"type": "user", "uuid": format!("{name}-{}-{text}", self.sandbox.millis()),
                "timestamp": self.sandbox.last(), "message": {"role": "user", "content": text}})
        };
        let file = self.sandbox.client(&format!("{path}.jsonl"));
        let known = std::fs::read_to_string(file).unwrap_or_default();
        let new: String = messages.iter().map(|message| format!("{}\n", record(message))).collect();
        self.sandbox.write(&format!("{path}.jsonl"), known + &new);
    }

    pub fn end(&self) {
        self.lead().erase();
        self.lead().end("prompt_input_exit");
    }

    /// The process of Claude Code exits at that minute, after a last hook call.
    pub fn crash(&self, minute: i64) {
        let mut gone = teamkeep_system::os::process::shell("exit 0").spawn().unwrap();
        let pid = gone.id();
        gone.wait().unwrap();
        let lead = Lead { pid: Some(pid), ..self.lead() };
        let path = format!("teams/{}/config.json", lead.team);
        let config = std::fs::read_to_string(self.sandbox.client(&path)).unwrap();
        let mut config: Value = serde_json::from_str(&config).unwrap();
        config["leadProcess"] = json!({"pid": pid});
        self.sandbox.write(&path, config);
        self.at(minute);
        lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    }

    pub fn report(&self) -> Value {
        serde_json::from_str(&self.sandbox.printed(&["report", "--json"])).unwrap()
    }

    pub fn incidents(&self) -> Vec<Value> {
        let report = self.report();
        let incidents = report["incidents"].as_array().unwrap().clone();
        let entries = self.sandbox.replay("latest");
        for incident in &incidents {
            for id in incident["evidence"].as_array().unwrap() {
                assert!(entries.iter().any(|entry| entry["id"] == *id), "{id} is not in the timeline");
            }
        }
        incidents
    }

    /// The kinds and their first agents.
    pub fn kinds(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.incidents().iter().map(|one| (text(&one["kind"]), text(&one["agents"][0]))).collect()
    }

    pub fn only(&self, kind: &str) -> Value {
        let found = self.incidents();
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0]["kind"], kind, "{found:#?}");
        found[0].clone()
    }
}

#[test]
fn teammate_that_is_silent_with_work_is_stalled_until_it_goes_on() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    team.at(10).prompt();
    team.at(15);
    assert_eq!(team.incidents(), Vec::<Value>::new(), "fourteen minutes");
    team.says("alice", "bob", "How far are you");
    team.at(31).prompt();
    let now = team.only("stalled-agent");
    assert_eq!((&now["severity"], &now["to"], &now["tasks"]), (&json!("high"), &json!(null), &json!(["1"])));
    assert_eq!(now["cost"]["seconds"].as_u64().unwrap() / 60, 30);
    assert_eq!(now["summary"], "bob has been silent for 30 min with #1 in progress; 1 message waited for it");
    assert_eq!(now["remedy"]["advice"], "Ask bob for #1, or reassign the task");
    let id = now["id"].clone();
    team.agent("bob", "SubagentStop");
    team.at(33).task("1", "completed", Some("bob"));
    team.at(34).end();
    let over = team.only("stalled-agent");
    assert_eq!(
        (&over["severity"], &over["id"], &over["cost"]["tasks_lost"]),
        (&json!("medium"), &id, &json!(0))
    );
}

#[test]
fn silence_without_work_or_of_a_lead_between_its_turns_is_no_stall() {
    let team = Team::new(&["bob"]);
    team.at(1).task("1", "in_progress", Some("team-lead"));
    team.lead().hook("Stop", json!({}));
    team.at(60).prompt();
    team.at(61).task("1", "completed", Some("team-lead"));
    team.at(62).end();
    assert_eq!(team.kinds(), []);
}

#[test]
fn agents_that_are_silent_at_the_same_time_are_one_incident() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).task("1", "in_progress", Some("alice"));
    team.task("2", "in_progress", Some("bob"));
    team.lead().hook("Stop", json!({}));
    team.at(500).agent("alice", "SubagentStop");
    team.agent("bob", "SubagentStop");
    team.lead().task("1", "completed", Some("alice"));
    team.task("2", "completed", Some("bob"));
    team.at(501).end();
    let found = team.only("stalled-agent");
    assert_eq!(found["agents"], json!(["alice", "bob"]));
    assert!(found["summary"].as_str().unwrap().contains("at the same time"), "{found}");
}

#[test]
fn work_of_a_teammate_that_is_shut_down_is_lost_once() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    team.lead().task("2", "pending", None);
    team.says("team-lead", "bob", "Wrap up");
    team.says("bob", "team-lead", "I do");
    let by = json!({"agent_id": "abob-1", "agent_type": "bob"});
    let answer = json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "shutdown-1@bob", "approve": true}});
    team.lead().before("toolu_1", "SendMessage", &answer, by.clone());
    team.lead().after("toolu_1", "SendMessage", &answer, json!({"success": true}), by);
    team.lead().roster(1, &["alice"]);
    team.lead().task("1", "pending", None);
    let waits = json!({"id": "3", "subject": "Task 3", "status": "pending", "blockedBy": ["1"]});
    team.sandbox.write("tasks/session-6f0a9d24/3.json", waits);
    team.prompt();
    team.at(3).task("2", "completed", Some("alice"));
    team.end();
    let lost = team.only("lost-work");
    // With the task that waits for it.
    assert_eq!((&lost["agents"], &lost["tasks"]), (&json!(["bob"]), &json!(["1", "3"])));
    assert_eq!(lost["cost"]["tasks_lost"], 2);
    assert!(lost["summary"].as_str().unwrap().ends_with("; #1 and #3 were never completed"), "{lost}");
    assert!(lost["remedy"]["command"].as_str().unwrap().starts_with("teamkeep restore "), "{lost}");
}

#[test]
fn permission_request_waits_until_the_agent_goes_on() {
    let team = Team::new(&["bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    let request = |minute| {
        let fields = json!({"agent_id": "abob-1", "agent_type": "bob", "tool_name": "Bash"});
        team.at(minute).lead().hook("PermissionRequest", fields);
    };
    request(2);
    team.at(6).agent("bob", "SubagentStop");
    assert_eq!(team.kinds(), [], "four minutes");
    request(10);
    team.at(40).prompt();
    let waits = team.only("waiting-permission");
    assert_eq!((&waits["to"], &waits["severity"]), (&json!(null), &json!("high")));
    assert_eq!(
        waits["summary"],
        "bob has been waiting 30 min for permission to use Bash, with #1 in progress"
    );
}

#[test]
fn permission_request_of_a_pane_is_known_from_the_notice_in_the_session_of_the_lead() {
    let team = Team::new(&["bob"]);
    let notice = |name: &str| {
        let message = format!("{name} needs permission for Bash");
        let fields = json!({"notification_type": "worker_permission_prompt", "message": message});
        team.lead().hook("Notification", fields);
    };
    team.at(10);
    notice("bob");
    notice("no member");
    team.at(40).prompt();
    assert_eq!(
        team.only("waiting-permission")["summary"],
        "bob has been waiting 30 min for permission to use Bash"
    );
}

#[test]
fn plan_waits_until_the_lead_answers() {
    let team = Team::new(&["bob"]);
    let lead = team.lead();
    team.at(2);
    let plan = json!({"type": "plan_approval_request", "from": "bob", "timestamp": "2026-02-03T04:07:06.000Z",
        "planContent": "Tests first", "requestId": "plan-1@bob"});
    let mail = json!([{"from": "bob", "text": plan.to_string(), "timestamp": "2026-02-03T04:07:06.000Z", "read": false}]);
    lead.inbox("team-lead", mail);
    team.prompt();
    team.at(12).prompt();
    let waits = team.only("waiting-approval");
    assert_eq!(waits["agents"], json!(["bob"]));
    assert_eq!(waits["remedy"]["advice"], "Approve or reject bob's plan");
    let answer = json!({"to": "bob", "message": {"type": "plan_approval_response", "request_id": "plan-1@bob", "approve": true}});
    lead.tool("toolu_2", "SendMessage", &answer, json!({"success": true}));
    team.at(90).prompt();
    let waited = team.only("waiting-approval");
    assert_eq!(waited["to"], "2026-02-03T04:17:07.000Z");
}

#[test]
fn message_is_unread_when_its_recipient_reads_it_late_or_never() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).says("alice", "bob", "first");
    team.at(2).agent("bob", "SubagentStart");
    team.reads("bob", &[("alice", "first")]);
    assert_eq!(team.kinds(), [], "read after a minute");
    team.at(3).says("alice", "bob", "second");
    team.at(25).agent("bob", "SubagentStop");
    let late = team.only("unread-message");
    assert_eq!((&late["severity"], &late["agents"]), (&json!("medium"), &json!(["bob", "alice"])));
    team.at(26).agent("bob", "SubagentStart");
    team.reads("bob", &[("alice", "second")]);
    team.at(27).end();
    let read = team.only("unread-message");
    assert_eq!(read["severity"], "low");
    assert!(read["summary"].as_str().unwrap().starts_with("bob read 1 message late"), "{read}");
}

#[test]
fn message_that_an_incident_counts_is_not_an_observation() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).agent("bob", "SubagentStart");
    team.reads("bob", &[]);
    for text in 0..9 {
        team.at(2 + text).says("alice", "bob", &format!("message {text}"));
    }
    team.at(25).says("alice", "bob", "the last one");
    team.at(27).end();
    let never = team.only("unread-message");
    assert_eq!(never["summary"], "9 messages to bob were never read");
    assert_eq!(never["chain"].as_array().unwrap().len(), 5);
    let observations = team.report()["observations"].clone();
    let unread = observations.as_array().unwrap().iter().filter(|one| one["code"] == "not-delivered");
    let unread: Vec<&Value> = unread.map(|one| &one["what"]).collect();
    assert_eq!(unread, ["message from alice to bob was never read: the last one"]);
}

#[test]
fn message_that_waited_for_a_stalled_agent_is_not_an_observation() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).agent("bob", "SubagentStart");
    team.reads("bob", &[]);
    team.task("1", "in_progress", Some("bob"));
    for minute in [10, 20, 27, 28, 29] {
        team.at(minute).says("alice", "bob", &format!("message {minute}"));
    }
    team.at(30).end();
    let stalled = team.only("stalled-agent");
    let summary = stalled["summary"].as_str().unwrap();
    assert!(summary.contains("5 messages waited for it"), "{summary}");
    let observations = team.report()["observations"].clone();
    assert!(
        observations.as_array().unwrap().iter().all(|one| one["code"] != "not-delivered"),
        "{observations}"
    );
}

#[test]
fn message_to_a_name_that_no_agent_has_is_reported_once_for_each_name() {
    let team = Team::new(&["bob"]);
    team.at(1).says("bob", "dave", "Dave, look");
    team.says("team-lead", "dave", "Are you there");
    team.says("team-lead", "bob", "Well done");
    team.reads("bob", &[("team-lead", "Well done")]);
    team.at(2).end();
    let stray = team.only("unknown-recipient");
    assert_eq!(stray["agents"][0], "bob");
    assert_eq!(stray["evidence"].as_array().unwrap().len(), 2);
}

#[test]
fn task_that_is_started_again_was_not_completed() {
    let team = Team::new(&["bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    team.at(2).task("1", "completed", Some("bob"));
    team.at(5).task("1", "in_progress", Some("bob"));
    team.at(6).task("1", "completed", Some("bob"));
    team.end();
    let found = team.only("false-completion");
    assert_eq!(found["tasks"], json!(["1"]));
}

#[test]
fn tasks_wait_for_one_that_no_agent_works_on_and_for_each_other() {
    let team = Team::new(&["bob"]);
    let list = |id: &str, status: &str, blocked_by: &[&str]| {
        let task =
            json!({"id": id, "subject": format!("Task {id}"), "status": status, "blockedBy": blocked_by});
        team.sandbox.write(&format!("tasks/{}/{id}.json", team.lead().team), task);
    };
    team.at(1);
    list("1", "pending", &[]);
    list("2", "pending", &["1"]);
    list("3", "pending", &["2"]);
    team.prompt();
    team.at(10);
    assert_eq!(team.kinds(), []);
    team.at(30).prompt();
    let chain = team.only("blocked-chain");
    assert_eq!(chain["tasks"], json!(["1", "2", "3"]));
    list("1", "completed", &[]);
    list("2", "pending", &["3"]);
    team.prompt();
    let cycle = team.only("blocked-chain");
    assert_eq!((&cycle["tasks"], &cycle["severity"]), (&json!(["2", "3"]), &json!("high")));
}

#[test]
fn tasks_that_claude_code_deletes_are_one_incident() {
    let team = Team::new(&["bob"]);
    team.at(1).task("1", "pending", None);
    team.task("2", "pending", None);
    assert_eq!(team.kinds(), []);
    team.sandbox.remove_dir(&format!("tasks/{}", team.lead().team));
    team.at(2).prompt();
    let deleted = team.only("tasks-deleted");
    assert_eq!((&deleted["tasks"], &deleted["severity"]), (&json!(["1", "2"]), &json!("high")));
    assert_eq!(deleted["summary"], "Claude Code deleted #1 and #2 before they were completed");
}

#[test]
fn verdict_without_tasks_counts_the_messages() {
    let team = Team::new(&["bob"]);
    team.at(1).says("team-lead", "bob", "Hello");
    let sentence = |report: Value| report["verdict"]["sentence"].as_str().unwrap().to_owned();
    assert!(sentence(team.report()).starts_with("1 message in "), "{}", sentence(team.report()));
}

#[test]
fn run_that_ends_before_its_tasks_is_reported_with_all_of_them() {
    let team = Team::new(&["bob"]);
    team.at(1).task("1", "pending", None);
    team.task("2", "completed", Some("bob"));
    team.at(2).end();
    let open = team.only("unfinished-work");
    assert_eq!((&open["tasks"], &open["cost"]["tasks_lost"]), (&json!(["1"]), &json!(1)));
}

#[test]
fn crash_of_the_client_explains_its_unfinished_tasks() {
    let team = Team::new(&["bob"]);
    let mut gone = teamkeep_system::os::process::shell("exit 0").spawn().unwrap();
    let pid = gone.id();
    gone.wait().unwrap();
    team.at(1).task("1", "in_progress", Some("bob"));
    let lead = Lead { pid: Some(pid), ..team.lead() };
    lead.config(1, &["bob"], json!({"leadProcess": {"pid": pid}}));
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    team.at(600);
    let crash = team.only("crashed-lead");
    assert_eq!((&crash["tasks"], &crash["severity"]), (&json!(["1"]), &json!("high")));
}

#[test]
fn teammate_under_a_second_name_is_a_duplicate_only_while_both_work() {
    let team = Team::new(&["bob"]);
    let config = |names: &[&str]| {
        let member = |name: &&str| json!({"name": name, "agentId": format!("{name}@x"), "prompt": "Review the parser"});
        let members: Vec<Value> = names.iter().map(member).collect();
        team.lead().config(1, &[], json!({"members": members}));
        team.prompt();
    };
    config(&["bob"]);
    team.at(1).agent("bob", "SubagentStart");
    config(&["bob", "bob-2"]);
    assert_eq!(team.kinds(), []);
    team.at(3).agent("bob-2", "SubagentStart");
    team.agent("bob", "SubagentStop");
    team.at(9).end();
    let twice = team.only("duplicate-agents");
    assert_eq!(twice["agents"], json!(["bob-2", "bob"]));
}

/// A turn of bob's agent with this id starts or ends.
fn turn_of_bob(team: &Team, minute: i64, event: &str, id: &str) {
    team.at(minute).lead().hook(event, json!({"agent_id": id, "agent_type": "bob"}));
}

/// A team with bob, of a version of Claude Code that gives each turn a new id.
fn with_bob() -> Team {
    let team = Team::new(&[]);
    team.lead().roster(1, &["bob"]);
    team.prompt();
    team
}

const FIRST: &str = "a00c0ffee00000000";
const SECOND: &str = "a01c0ffee00000001";

#[test]
fn agents_of_one_name_are_duplicates_while_their_turns_overlap() {
    let team = with_bob();
    turn_of_bob(&team, 1, "SubagentStart", FIRST);
    turn_of_bob(&team, 2, "SubagentStart", SECOND);
    for (minute, id, tokens) in [(3, FIRST, 900), (4, SECOND, 70)] {
        team.at(minute).prompt();
        let mut line = super::contents::thinks(id, "claude-opus-5", tokens, 0);
        line["timestamp"] = json!(team.sandbox.last());
        let path = format!("projects/-home-dev-parser/{SESSION}/subagents/agent-{id}.jsonl");
        team.sandbox.write(&path, format!("{line}\n"));
    }
    turn_of_bob(&team, 5, "SubagentStop", FIRST);
    turn_of_bob(&team, 7, "SubagentStop", SECOND);
    team.at(8).end();
    let twice = team.only("duplicate-agents");
    assert_eq!(twice["agents"], json!(["bob"]));
    assert_eq!(
        twice["summary"],
        format!("2 agents named bob ran at the same time for 3 min; started later: {SECOND}")
    );
    assert_eq!((&twice["severity"], &twice["cost"]["tokens"]), (&json!("medium"), &json!(70)));
    let steps: Vec<&Value> = twice["chain"].as_array().unwrap().iter().map(|step| &step["what"]).collect();
    let started = |id: &str| json!(format!("bob ({id}) started a turn"));
    assert_eq!(steps, [&started(FIRST), &started(SECOND)]);
}

#[test]
fn turns_with_new_ids_that_follow_each_other_are_no_duplicates() {
    let team = with_bob();
    for (minute, id) in [(1, FIRST), (2, SECOND), (3, "a02c0ffee00000002")] {
        turn_of_bob(&team, minute, "SubagentStart", id);
        turn_of_bob(&team, minute + 1, "SubagentStop", id);
    }
    assert_eq!(team.kinds(), []);
    // The end of this turn is not reported: it was interrupted.
    turn_of_bob(&team, 5, "SubagentStart", "a03c0ffee00000003");
    turn_of_bob(&team, 9, "SubagentStart", "a04c0ffee00000004");
    turn_of_bob(&team, 11, "SubagentStop", "a04c0ffee00000004");
    assert_eq!(team.kinds(), []);
    team.at(12).end();
    assert_eq!(team.kinds(), []);
}

#[test]
fn two_spawns_of_one_name_are_duplicates_until_one_of_them_ends() {
    let team = Team::new(&["bob"]);
    turn_of_bob(&team, 3, "SubagentStart", "abob-2");
    let works = |minute, id: &str| {
        let by = json!({"agent_id": id, "agent_type": "bob"});
        team.at(minute).lead().before(&format!("toolu_{minute}"), "Read", &json!({}), by);
    };
    assert_eq!(team.kinds(), [], "the first agent may have been replaced");
    works(4, "abob-1");
    works(5, "abob-2");
    let now = team.only("duplicate-agents");
    assert_eq!(now["to"], json!(null));
    assert_eq!(
        now["remedy"]["advice"],
        "Stop the later agents by id (TaskStop), then check what they changed"
    );
    turn_of_bob(&team, 6, "SubagentStop", "abob-2");
    team.at(9).prompt();
    let over = team.only("duplicate-agents");
    assert_eq!((&over["id"], over["cost"]["seconds"].as_u64().unwrap() / 60), (&now["id"], 3));
    assert_eq!(over["remedy"]["advice"], "Check the work of bob: its agents can have changed the same files");
}

#[test]
fn subagents_of_one_role_are_no_duplicates_even_if_it_is_a_teammates_name() {
    let team = Team::new(&["bob"]);
    for id in [FIRST, SECOND] {
        turn_of_bob(&team, 1, "SubagentStart", id);
    }
    for id in [FIRST, SECOND, "abob-1"] {
        turn_of_bob(&team, 4, "SubagentStop", id);
    }
    team.at(5).end();
    assert_eq!(team.kinds(), []);
}
