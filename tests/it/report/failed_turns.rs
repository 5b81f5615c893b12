//! Turns that failed or that the user interrupted, in every view.

use serde_json::{Value, json};

use crate::support::client_files::{Lead, count, only};
use crate::support::sandbox::Sandbox;
use crate::watch::{Watcher, after, recording};

const SESSION: &str = "7a0b9d24-0000-4000-8000-000000000001";
const MINUTE: i64 = 60_000;
const LIMIT: &str = "You've hit your session limit · resets 9:50am (UTC)";

fn by(name: &str) -> Value {
    json!({"agent_id": format!("a{name}-0123456789abcdef"), "agent_type": name})
}

/// A lead with teammates in its process, each in a turn with its task in progress.
struct Team {
    sandbox: Sandbox,
}

impl Team {
    fn new(members: &[&str]) -> Team {
        let team = Team { sandbox: Sandbox::new() };
        let lead = team.lead();
        lead.start("startup");
        lead.roster(1, members);
        lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
        for (place, name) in members.iter().enumerate() {
            lead.task(&(place + 1).to_string(), "in_progress", Some(name));
            lead.hook("SubagentStart", by(name));
        }
        team
    }

    fn lead(&self) -> Lead<'_> {
        Lead::of(&self.sandbox, SESSION)
    }

    fn at(&self, minute: i64) -> &Team {
        self.sandbox.set_clock(minute * MINUTE);
        self
    }

    fn agent(&self, name: &str, event: &str) {
        self.lead().hook(event, by(name));
    }

    /// A StopFailure as 2.1.332 sends it; of the lead, if no agent is named.
    fn fails(&self, name: &str, error: &str, message: &str) {
        let mut fields = if name == "team-lead" { json!({}) } else { by(name) };
        (fields["error"], fields["last_assistant_message"]) = (json!(error), json!(message));
        self.lead().hook("StopFailure", fields);
    }

    /// The idle notice in the lead's inbox, which a hook call sees.
    fn notice(&self, name: &str, fields: Value) {
        let at = self.sandbox.last();
        let mut notice = json!({"type": "idle_notification", "from": name, "timestamp": at});
        for (key, value) in fields.as_object().unwrap() {
            notice[key] = value.clone();
        }
        let mail = json!([{"from": name, "text": notice.to_string(), "timestamp": at, "read": false}]);
        self.lead().inbox("team-lead", mail);
        self.lead().hook("Notification", json!({"notification_type": "agent_message"}));
        self.lead().inbox("team-lead", json!([]));
    }

    fn reads_failure(&self, name: &str, why: &str) {
        self.notice(name, json!({"idleReason": "failed", "failureReason": why}));
    }

    /// The line that Claude Code writes when the user presses Escape.
    fn is_interrupted(&self, text: &str) {
        self.lead().says("user", json!([{"type": "text", "text": text}]));
    }

    fn end(&self) {
        self.lead().erase();
        self.lead().end("prompt_input_exit");
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.sandbox.printed(args)).unwrap()
    }

    fn member(&self, name: &str) -> Value {
        let status = self.json(&["status", "--json"]);
        let members = status["teams"][0]["members"].as_array().unwrap();
        members.iter().find(|member| member["name"] == name).unwrap().clone()
    }

    /// The state of an agent, and why.
    fn state(&self, name: &str) -> (String, String) {
        let member = self.member(name);
        let text = |key: &str| member[key].as_str().unwrap_or_default().to_owned();
        (text("state"), text("why"))
    }

    fn entries(&self) -> Vec<Value> {
        self.sandbox.replay("latest")
    }

    fn incidents(&self) -> Vec<Value> {
        self.json(&["report", "--json"])["incidents"].as_array().unwrap().clone()
    }

    fn only_incident(&self) -> Value {
        let found = self.incidents();
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0]["kind"], "failed-agent");
        found[0].clone()
    }
}

fn pair(state: &str, why: &str) -> (String, String) {
    (state.to_owned(), why.to_owned())
}

#[test]
fn a_teammate_whose_turn_failed_is_failed_in_every_view_with_the_reason() {
    let team = Team::new(&["alice", "bob"]);
    team.fails("alice", "rate_limit", LIMIT);
    team.reads_failure("alice", LIMIT);
    team.agent("bob", "SubagentStop");
    assert_eq!(team.state("alice"), pair("failed", LIMIT));
    assert_eq!(team.member("alice")["doing"], "failed");
    assert_eq!(team.state("bob"), pair("idle", ""));
    let status = team.sandbox.printed(&["status"]);
    assert!(status.contains("(1 failed, 1 working, 1 idle)"), "{status}");
    assert!(status.lines().any(|line| line.contains("alice") && line.contains(LIMIT)), "{status}");
    let entries = team.entries();
    let failed = only(&entries, "turn-failed");
    assert_eq!(
        (&failed["actor"], &failed["summary"], &failed["text"]),
        (&json!("alice"), &json!("rate_limit"), &json!(LIMIT))
    );
    assert_eq!(failed["sources"], json!(["hook", "inbox"]), "one entry of both reports");
    let replay = team.sandbox.printed(&["log"]);
    assert!(replay.contains(&format!("alice     failed: {LIMIT}\n")), "{replay}");
    let brief = team.sandbox.printed(&["brief", "--agent", "team-lead"]);
    assert!(brief.contains("- alice: failed for ") && brief.contains(&format!("; \"{}\"", LIMIT)), "{brief}");
    let incident = team.only_incident();
    assert_eq!(
        (&incident["severity"], &incident["to"], &incident["tasks"]),
        (&json!("high"), &json!(null), &json!(["1"]))
    );
    assert_eq!(incident["summary"], format!("the turn of alice failed with #1 in progress: {LIMIT}"));
    assert_eq!(
        incident["remedy"]["advice"],
        "Wait until the limit resets or select another model, then send alice a message to try again"
    );
    let report = team.json(&["report", "--json"]);
    let turns = report["turns"].as_array().unwrap();
    let alice = turns.iter().find(|turn| turn["agent"] == "alice").unwrap();
    assert_eq!((&alice["ending"], alice["to"].is_string()), (&json!("failed"), true));
    let line = team.sandbox.printed(&["status", "--line"]);
    assert!(line.starts_with("session-7a0b9d24: 1 failed, 1 working, 1 idle · 1 incident"), "{line}");
}

#[test]
fn each_error_has_its_remedy() {
    let team = Team::new(&["alice"]);
    for (error, message, remedy) in [
        (
            "server_error",
            "API Error: 529 Overloaded.",
            "Wait until the API recovers, then send alice a message to try again",
        ),
        (
            "model_not_found",
            "There's an issue with the selected model (x).",
            "Start alice again with an available model",
        ),
        ("billing_error", "Credit balance is too low", "Add credits, then send alice a message to try again"),
        ("unknown", "The connection was closed", "Fix the cause, then send alice a message to try again"),
    ] {
        team.agent("alice", "SubagentStart");
        team.fails("alice", error, message);
        let last = team.incidents().into_iter().find(|one| one["to"].is_null()).unwrap();
        assert_eq!(last["remedy"]["advice"], remedy);
        team.agent("alice", "SubagentStart");
        team.agent("alice", "SubagentStop");
    }
}

#[test]
fn a_failure_that_only_the_notice_reports_is_a_failure() {
    let team = Team::new(&["alice", "bob"]);
    team.agent("bob", "SubagentStop");
    team.reads_failure("alice", "API Error: 529 Overloaded.");
    assert_eq!(team.state("alice"), pair("failed", "API Error: 529 Overloaded."));
    assert_eq!(
        team.only_incident()["remedy"]["advice"],
        "Wait until the API recovers, then send alice a message to try again"
    );
    let entries = team.entries();
    assert_eq!(only(&entries, "turn-failed")["sources"], json!(["inbox"]));
}

#[test]
fn a_plain_end_of_the_turn_at_the_same_time_is_the_failed_one() {
    let team = Team::new(&["alice"]);
    team.agent("alice", "SubagentStop");
    team.reads_failure("alice", LIMIT);
    team.lead().hook("TeammateIdle", json!({"teammate_name": "alice"}));
    assert_eq!(team.state("alice"), pair("failed", LIMIT));
    let entries = team.entries();
    assert_eq!((count(&entries, "turn-failed"), count(&entries, "turn-ended")), (1, 0));
}

#[test]
fn a_failure_without_a_notice_and_without_a_message_shows_what_is_known() {
    let team = Team::new(&["alice"]);
    let mut fields = by("alice");
    (fields["error"], fields["error_details"]) = (json!("rate_limit"), json!("429 Too Many Requests"));
    team.lead().hook("StopFailure", fields);
    assert_eq!(team.state("alice"), pair("failed", "429 Too Many Requests"));
    team.reads_failure("alice", LIMIT);
    assert_eq!(team.state("alice"), pair("failed", &format!("{LIMIT} (429 Too Many Requests)")));
    let bare = Team::new(&["alice"]);
    let mut fields = by("alice");
    fields["error"] = json!("server_error");
    bare.lead().hook("StopFailure", fields);
    assert_eq!(bare.state("alice"), pair("failed", "server_error"));
}

#[test]
fn an_agent_that_works_again_is_not_failed_and_the_incident_is_over() {
    let team = Team::new(&["alice"]);
    team.at(1).fails("alice", "server_error", "API Error: 529 Overloaded.");
    team.lead().hook("TeammateIdle", json!({"teammate_name": "alice"}));
    assert_eq!(team.state("alice").0, "failed", "idle after a failure is not plain idle");
    team.at(5).agent("alice", "SubagentStart");
    assert_eq!(team.state("alice"), pair("working", ""));
    team.agent("alice", "SubagentStop");
    assert_eq!(team.state("alice"), pair("idle", ""));
    let incident = team.only_incident();
    assert_eq!((&incident["severity"], &incident["remedy"]), (&json!("medium"), &json!(null)));
    assert_eq!(incident["cost"]["seconds"], 4 * 60);
    let status = team.sandbox.printed(&["status"]);
    assert!(status.contains("! past: the turn of alice failed"), "{status}");
}

#[test]
fn repeated_failures_for_one_cause_are_one_incident() {
    let team = Team::new(&["alice"]);
    for _ in 0..3 {
        team.fails("alice", "rate_limit", LIMIT);
        team.reads_failure("alice", LIMIT);
        team.agent("alice", "SubagentStart");
    }
    team.fails("alice", "rate_limit", LIMIT);
    let incident = team.only_incident();
    assert_eq!(incident["summary"], format!("4 turns of alice in a row failed with #1 in progress: {LIMIT}"));
    assert_eq!(count(&team.entries(), "turn-failed"), 4);
    team.agent("alice", "SubagentStart");
    team.agent("alice", "SubagentStop");
    team.agent("alice", "SubagentStart");
    team.fails("alice", "rate_limit", LIMIT);
    assert_eq!(team.incidents().len(), 2, "it had worked in between");
}

#[test]
fn a_failure_for_another_cause_is_another_incident() {
    let team = Team::new(&["alice"]);
    team.fails("alice", "server_error", "API Error: 529 Overloaded.");
    team.fails("alice", "rate_limit", LIMIT);
    let found = team.incidents();
    let open: Vec<&Value> = found.iter().filter(|one| one["to"].is_null()).collect();
    assert_eq!((found.len(), open.len()), (2, 1), "{found:#?}");
    assert!(open[0]["summary"].as_str().unwrap().ends_with(LIMIT));
}

#[test]
fn an_agent_that_was_silent_until_the_user_interrupted_it_was_stalled() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).agent("alice", "SubagentStop");
    team.notice("alice", json!({"idleReason": "interrupted"}));
    team.at(2).agent("alice", "SubagentStart");
    team.at(60).agent("bob", "SubagentStart");
    team.at(100).agent("alice", "SubagentStop");
    team.notice("alice", json!({"idleReason": "interrupted"}));
    let stalled = |one: &Value| one["kind"] == "stalled-agent" && one["agents"][0] == "alice";
    assert!(team.incidents().iter().any(stalled), "{:?}", team.incidents());
}

#[test]
fn a_failed_agent_is_not_stalled_and_its_unread_messages_are_a_symptom() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).fails("alice", "rate_limit", LIMIT);
    team.at(100).agent("bob", "SubagentStop");
    team.at(101).agent("bob", "SubagentStart");
    let kinds: Vec<Value> = team.incidents().iter().map(|one| one["kind"].clone()).collect();
    assert!(
        !team.incidents().iter().any(|one| one["kind"] == "stalled-agent" && one["agents"][0] == "alice"),
        "{kinds:?}"
    );
    assert!(kinds.contains(&json!("failed-agent")), "{kinds:?}");
}

#[test]
fn work_of_a_failed_agent_that_is_never_completed_is_lost_by_the_failure() {
    let team = Team::new(&["alice"]);
    team.at(1).fails("alice", "rate_limit", LIMIT);
    team.lead().hook("Stop", json!({}));
    team.at(30).end();
    let incident = team.only_incident();
    assert_eq!((&incident["severity"], &incident["cost"]["tasks_lost"]), (&json!("high"), &json!(1)));
    assert!(incident["remedy"]["command"].as_str().unwrap().starts_with("teamkeep restore "), "{incident}");
}

#[test]
fn a_failed_agent_that_is_shut_down_has_left() {
    let team = Team::new(&["alice", "bob"]);
    team.fails("alice", "rate_limit", LIMIT);
    team.lead().roster(1, &["bob"]);
    team.lead().task("1", "pending", None);
    team.agent("bob", "SubagentStart");
    assert_eq!(team.state("alice"), pair("left", ""));
    let failed = team.incidents().into_iter().find(|one| one["kind"] == "failed-agent").unwrap();
    assert!(failed["to"].is_string(), "{failed}");
}

#[test]
fn a_failed_agent_that_is_stopped_needs_nothing_any_more() {
    let team = Team::new(&["alice", "bob"]);
    team.fails("alice", "rate_limit", LIMIT);
    let (lead, input) = (team.lead(), json!({"task_id": "alice"}));
    lead.before("toolu_stop", "TaskStop", &input, json!({}));
    lead.roster(1, &["bob"]);
    lead.task("1", "pending", None);
    lead.after("toolu_stop", "TaskStop", &input, json!({"task_id": "alice"}), json!({}));
    assert_eq!(team.state("alice"), pair("left", ""));
    let failed = team.incidents().into_iter().find(|one| one["kind"] == "failed-agent").unwrap();
    let last = failed["chain"].as_array().unwrap().iter().map(|step| step["what"].as_str().unwrap());
    assert!(last.into_iter().any(|what| what.starts_with("alice was stopped by ")), "{failed}");
    assert!(failed["to"].is_string() && !failed["remedy"].to_string().contains("send alice"), "{failed}");
}

#[test]
fn a_failure_of_the_lead_is_its_own_until_the_next_prompt() {
    let team = Team::new(&["alice"]);
    team.fails("team-lead", "server_error", "API Error: 529 Overloaded.");
    assert_eq!(team.state("team-lead"), pair("failed", "API Error: 529 Overloaded."));
    assert_eq!(team.state("alice").0, "working");
    let incident = team.only_incident();
    assert_eq!(
        (&incident["agents"][0], &incident["remedy"]["advice"]),
        (&json!("team-lead"), &json!("Wait until the API recovers, then send a prompt to try again"))
    );
    team.lead().hook("UserPromptSubmit", json!({"prompt": "again"}));
    assert_eq!(team.state("team-lead"), pair("working", ""));
    assert!(team.only_incident()["to"].is_string());
}

#[test]
fn a_failure_of_a_helper_or_of_a_subagent_does_not_end_the_turn_of_the_lead() {
    let team = Team::new(&["alice"]);
    for (id, role) in [("a0123456789abcdef", ""), ("a1123456789abcdef", "Explore")] {
        let fields = json!({"agent_id": id, "agent_type": role, "error": "server_error", "last_assistant_message": "API Error"});
        team.lead().hook("StopFailure", fields);
    }
    assert_eq!(team.state("team-lead"), pair("working", ""));
    assert_eq!(team.incidents(), Vec::<Value>::new());
    let entries = team.entries();
    assert_eq!(count(&entries, "turn-ended"), 0);
    assert_eq!(only(&entries, "turn-failed")["actor"], "Explore", "the helper has no turns");
}

#[test]
fn a_helper_without_an_id_is_not_the_lead() {
    let team = Team::new(&["alice"]);
    team.lead().hook("StopFailure", json!({"agent_type": "", "error": "server_error"}));
    assert_eq!(team.state("team-lead"), pair("working", ""));
    assert_eq!(count(&team.entries(), "turn-failed"), 0);
}

#[test]
fn a_hostile_reason_is_shortened_and_escaped() {
    let team = Team::new(&["alice"]);
    let hostile = format!("\u{1b}[31mlimit\u{202e}\u{7}{}\nsecond line", "x".repeat(1 << 20));
    team.reads_failure("alice", &hostile);
    let (state, why) = team.state("alice");
    assert_eq!((state.as_str(), why.chars().count() <= 201, why.contains("second")), ("failed", true, false));
    for args in [&["status"][..], &["log"], &["brief"], &["report"]] {
        let told = team.sandbox.printed(args);
        assert!(!told.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{args:?}");
        assert!(told.len() < 20_000, "{args:?}: {}", told.len());
    }
}

#[test]
fn a_notice_about_another_agent_makes_no_agent() {
    let team = Team::new(&["alice"]);
    let notice =
        json!({"type": "idle_notification", "from": "mallory", "idleReason": "failed", "failureReason": "x"});
    let mail = json!([{"from": "mallory", "text": notice.to_string(), "read": false}]);
    team.lead().inbox("team-lead", mail);
    team.agent("alice", "SubagentStart");
    let status = team.sandbox.printed(&["status"]);
    assert!(!status.contains("failed"), "{status}");
}

#[test]
fn an_interrupted_teammate_is_idle_by_the_user_and_not_stalled() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).agent("alice", "SubagentStop");
    team.notice("alice", json!({"idleReason": "interrupted"}));
    assert_eq!(team.state("alice"), pair("idle", "interrupted by the user"));
    let entries = team.entries();
    assert_eq!((count(&entries, "turn-interrupted"), count(&entries, "turn-ended")), (1, 0));
    team.at(100).agent("bob", "SubagentStop");
    assert!(!team.incidents().iter().any(|one| one["agents"][0] == "alice"), "{:?}", team.incidents());
    team.agent("alice", "SubagentStart");
    assert_eq!(team.state("alice"), pair("working", ""));
}

#[test]
fn the_turn_of_the_lead_ends_where_the_user_interrupted_it() {
    for text in ["[Request interrupted by user]", "[Request interrupted by user for tool use]"] {
        let team = Team::new(&["alice"]);
        team.lead().task("2", "in_progress", Some("team-lead"));
        team.agent("alice", "SubagentStart");
        team.at(1).is_interrupted(text);
        team.agent("alice", "SubagentStop");
        assert_eq!(team.state("team-lead"), pair("idle", "interrupted by the user"));
        let entries = team.entries();
        let interrupted = only(&entries, "turn-interrupted");
        assert_eq!(
            (&interrupted["actor"], &interrupted["sources"]),
            (&json!("team-lead"), &json!(["transcript"]))
        );
        team.at(200).agent("alice", "SubagentStart");
        let stalled = |one: &Value| one["kind"] == "stalled-agent" && one["agents"][0] == "team-lead";
        assert!(!team.incidents().iter().any(stalled), "{:?}", team.incidents());
        let turns = team.json(&["report", "--json"])["turns"].clone();
        let lead = turns.as_array().unwrap().iter().find(|turn| turn["agent"] == "team-lead").unwrap();
        assert_eq!((&lead["ending"], lead["to"].is_string()), (&json!("interrupted"), true));
        let replay = team.sandbox.printed(&["log"]);
        assert!(replay.contains("team-lead was interrupted by the user\n"), "{replay}");
        team.lead().hook("UserPromptSubmit", json!({"prompt": "another way"}));
        assert_eq!(team.state("team-lead"), pair("working", ""));
    }
}

#[test]
fn an_interruption_right_after_the_next_prompt_does_not_change_the_turn_before() {
    let team = Team::new(&["alice"]);
    team.lead().hook("Stop", json!({"last_assistant_message": "done"}));
    team.lead().hook("UserPromptSubmit", json!({"prompt": "more"}));
    team.is_interrupted("[Request interrupted by user]");
    team.agent("alice", "SubagentStop");
    assert_eq!(team.state("team-lead"), pair("idle", "interrupted by the user"));
    let entries = team.entries();
    assert_eq!((count(&entries, "turn-interrupted"), count(&entries, "turn-ended")), (1, 2));
}

#[test]
fn a_quoted_interruption_ends_no_turn() {
    let team = Team::new(&["alice"]);
    let text = "[Request interrupted by user]";
    let lead = team.lead();
    lead.says("user", json!(format!("Why does it print {text}?")));
    lead.says("user", json!([{"type": "tool_result", "tool_use_id": "t", "content": text}]));
    lead.says("assistant", json!([{"type": "text", "text": text}]));
    team.agent("alice", "SubagentStart");
    assert_eq!(team.state("team-lead"), pair("working", ""));
    assert_eq!(count(&team.entries(), "turn-interrupted"), 0);
}

#[test]
fn the_notification_that_claude_code_waits_ends_a_turn_that_nothing_else_ended() {
    let team = Team::new(&["alice"]);
    team.at(2).lead().hook("Notification", json!({"notification_type": "idle_prompt"}));
    assert_eq!(team.state("team-lead"), pair("idle", ""));
    assert_eq!(only(&team.entries(), "turn-ended")["actor"], "team-lead");
    team.at(3).lead().hook("Notification", json!({"notification_type": "idle_prompt"}));
    assert_eq!(count(&team.entries(), "turn-ended"), 1, "it has ended already");
    let other = Team::new(&["alice"]);
    other.at(1).is_interrupted("[Request interrupted by user]");
    other.at(2).lead().hook("Notification", json!({"notification_type": "idle_prompt"}));
    assert_eq!(other.state("team-lead"), pair("idle", "interrupted by the user"));
    assert_eq!(count(&other.entries(), "turn-ended"), 0);
    let asked = Team::new(&["alice"]);
    asked.at(2).lead().hook("Notification", json!({"notification_type": "permission_prompt"}));
    assert_eq!(asked.state("team-lead").0, "working");
}

#[test]
fn in_metadata_only_mode_a_failure_has_the_word_of_its_error() {
    let sandbox = Sandbox::new();
    sandbox.configure("[privacy]\nrecord = \"metadata\"\n");
    let lead = Lead::of(&sandbox, SESSION);
    lead.start("startup");
    lead.roster(1, &["alice"]);
    lead.hook("SubagentStart", by("alice"));
    let mut fields = by("alice");
    (fields["error"], fields["last_assistant_message"]) = (json!("rate_limit"), json!(LIMIT));
    lead.hook("StopFailure", fields);
    let status = sandbox.printed(&["status"]);
    assert!(status.contains("rate_limit") && !status.contains("session limit"), "{status}");
}

#[test]
fn a_teammate_in_a_pane_fails_in_its_own_session_until_it_ends_a_turn() {
    let team = Team { sandbox: Sandbox::new() };
    let (sandbox, pane) = (&team.sandbox, "8a0b9d24-0000-4000-8000-000000000002");
    let cwd = sandbox.home().join("parser");
    let member = |name: &str, pane: &str| json!({"agentId": format!("{name}@session-7a0b9d24"), "name": name, "joinedAt": 2, "tmuxPaneId": pane, "cwd": cwd});
    let config = json!({"name": "session-7a0b9d24", "createdAt": 1_000, "leadSessionId": SESSION,
        "members": [member("team-lead", "leader"), member("alice", "%1")]});
    sandbox.write("teams/session-7a0b9d24/config.json", config);
    let record = json!({"type": "progress", "teamName": "session-7a0b9d24", "agentName": "alice", "version": "2.1.332"});
    sandbox.write(&format!("projects/parser/{pane}.jsonl"), format!("{record}\n"));
    team.lead().start("startup");
    let call = |event: &str, more: Value| {
        let mut payload = json!({"session_id": pane, "cwd": cwd, "hook_event_name": event, "agent_type": "general-purpose",
            "transcript_path": sandbox.client(&format!("projects/parser/{pane}.jsonl"))});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        sandbox.hook(payload, &[("TMUX_PANE", "%1")]);
    };
    call("SessionStart", json!({"source": "startup"}));
    for _ in 0..2 {
        call(
            "StopFailure",
            json!({"error": "server_error", "last_assistant_message": "API Error: 529 Overloaded."}),
        );
    }
    assert_eq!(team.state("alice"), pair("failed", "API Error: 529 Overloaded."));
    assert_ne!(team.state("team-lead").0, "failed");
    assert_eq!(team.only_incident()["agents"], json!(["alice"]));
    // A message starts the next turn, and no hook reports that.
    call("Stop", json!({"last_assistant_message": "I work again."}));
    assert_eq!(team.state("alice"), pair("idle", ""));
    assert!(team.only_incident()["to"].is_string());
}

#[test]
fn a_failed_agent_is_first_in_watch_with_the_reason() {
    let team = Team::new(&["alice", "bob"]);
    team.fails("bob", "rate_limit", LIMIT);
    let mut watcher = Watcher::new(recording(&team.sandbox, after(1)), after(1));
    let screen = watcher.screen(110, 24);
    let agents = screen.split("Agents").nth(1).unwrap();
    let first = agents.lines().nth(1).unwrap();
    assert!(first.contains("#2 ") && first.contains(&format!(": {LIMIT}")), "{screen}");
    assert!(first.contains("! bob") && first.contains("failed") && first.contains(LIMIT), "{screen}");
}

#[test]
fn tasks_that_wait_for_a_task_of_a_failed_agent_are_no_second_incident() {
    let team = Team::new(&["alice", "bob"]);
    let list = |id: &str, owner: &str, blocked_by: &[&str]| {
        let task = json!({"id": id, "subject": format!("Task {id}"), "status": "pending", "owner": owner,
            "blockedBy": blocked_by});
        team.sandbox.write(&format!("tasks/{}/{id}.json", team.lead().team), task);
    };
    list("3", "bob", &[]);
    list("4", "alice", &["3"]);
    team.lead().hook("Stop", json!({}));
    team.at(1).fails("bob", "rate_limit", LIMIT);
    team.at(60).lead().hook("UserPromptSubmit", json!({"prompt": "go on"}));
    let report = team.json(&["report", "--json"]);
    let all = report["incidents"].as_array().unwrap().iter();
    let of_bob = all.filter(|one| one["agents"].as_array().unwrap().contains(&json!("bob")));
    let kinds: Vec<&str> = of_bob.map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["failed-agent"], "{report:#}");
}
