//! The answers of teammates, the final texts of their turns: delivered to the lead in idle notices from 2.1.251 on, before
//! that in the teammate's transcript only.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::{START, Sandbox};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const ANSWER: &str = "# Review\n\nThe parser drops a token.";

fn by(name: &str) -> Value {
    json!({"agent_id": format!("a{name}-0123456789abcdef"), "agent_type": name})
}

/// alice and bob in a team of this version of Claude Code.
fn team<'a>(sandbox: &'a Sandbox, version: &str) -> Lead<'a> {
    let lead = Lead::of(sandbox, SESSION);
    let message = json!({"id": "m1", "role": "assistant", "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": "I start a team."}], "usage": {"input_tokens": 10, "output_tokens": 5}});
    let record = json!({"type": "assistant", "version": version, "timestamp": START, "message": message});
    sandbox.write(&lead.transcript(), format!("{record}\n"));
    lead.roster(1_770_091_200_000, &["alice", "bob"]);
    lead.start("startup");
    lead
}

/// A turn of a teammate that ends with this text.
fn turn(lead: &Lead<'_>, name: &str, answer: &str) {
    lead.hook("SubagentStart", by(name));
    let mut end = by(name);
    end["last_assistant_message"] = json!(answer);
    lead.hook("SubagentStop", end);
    lead.hook("TeammateIdle", json!({"teammate_name": name}));
}

/// The notice after a turn in the inbox of the lead, and its delivery, which starts a turn of the lead.
fn notice(lead: &Lead<'_>, name: &str, result: Option<&str>) {
    let at = lead.sandbox.last();
    let mut notice =
        json!({"type": "idle_notification", "from": name, "timestamp": at, "idleReason": "available"});
    if let Some(result) = result {
        notice["result"] = json!(result);
    }
    let text = notice.to_string();
    lead.inbox("team-lead", json!([{"from": name, "text": text, "timestamp": at, "read": false}]));
    lead.hook("Notification", json!({}));
    lead.inbox("team-lead", json!([]));
    lead.says(
        "user",
        json!(format!("<teammate-message teammate_id=\"{name}\">\n{text}\n</teammate-message>")),
    );
    lead.hook("Stop", json!({"last_assistant_message": "I merge it."}));
}

fn status(sandbox: &Sandbox) -> String {
    let told = sandbox.printed(&["status"]);
    let line = told.lines().find(|line| line.contains("no agent received"));
    line.unwrap_or_default().trim().to_owned()
}

fn brief(sandbox: &Sandbox) -> String {
    let told = sandbox.printed(&["brief", "latest"]);
    let line = told.lines().find(|line| line.contains("no agent received"));
    line.unwrap_or_default().to_owned()
}

/// The codes of the observations in the report.
fn problems(sandbox: &Sandbox) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = report["observations"].as_array().unwrap().iter();
    all.map(|one| (text(&one["code"]), text(&one["who"]))).collect()
}

#[test]
fn an_answer_that_no_agent_received_is_in_status_and_brief_with_the_command_that_prints_it() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "2.1.222");
    turn(&lead, "alice", ANSWER);
    let run = sandbox.teams()[0]["run"].as_str().unwrap().to_owned();
    let command = format!("teamkeep log {run} --agent=alice --kind=turn-ended --full");
    let what = "alice: no agent received its final answer (35 characters)";
    assert_eq!(status(&sandbox), format!("! {what} → {command}"));
    let line = format!("- {what} (2 s ago): \"# Review The parser drops a token.\". Full text: `{command}`");
    assert_eq!(brief(&sandbox), line);
    let args: Vec<&str> = command.split(' ').skip(1).collect();
    let printed = sandbox.printed(&args);
    assert!(printed.contains("# Review") && printed.contains("The parser drops a token."), "{printed}");
    // The lead may be resumed and read the facts then.
    lead.end("other");
    sandbox.finish();
    assert!(brief(&sandbox).contains(what), "{}", brief(&sandbox));
    assert!(problems(&sandbox).contains(&("never-reported".to_owned(), "alice".to_owned())));
}

/// Something that ends the time in which an answer is shown.
type Happens = fn(&Lead<'_>);

#[test]
fn an_answer_is_shown_until_a_message_a_new_instruction_or_the_end_of_the_membership() {
    let ends: [(&str, Happens); 6] = [
        ("a message", |lead| {
            let input = json!({"to": "team-lead", "message": "The parser drops a token."});
            lead.before("u1", "SendMessage", &input, by("alice"));
            lead.after("u1", "SendMessage", &input, json!({"success": true}), by("alice"));
        }),
        ("an instruction", |lead| {
            let input = json!({"to": "alice", "message": "Send me the review."});
            lead.tool("u1", "SendMessage", &input, json!({"success": true}));
        }),
        ("a shutdown request", |lead| {
            let input = json!({"to": "alice", "message": {"type": "shutdown_request", "reason": "done"}});
            lead.tool("u1", "SendMessage", &input, json!({"success": true}));
        }),
        ("a task", |lead| {
            lead.task("1", "pending", Some("alice"));
            let input = json!({"taskId": "1", "owner": "alice"});
            lead.tool("u1", "TaskUpdate", &input, json!({"success": true}));
        }),
        ("its departure", |lead| {
            lead.roster(1_770_091_200_000, &["bob"]);
            lead.hook("Notification", json!({}));
        }),
        ("a stop", |lead| {
            let input = json!({"task_id": "alice"});
            lead.before("u1", "TaskStop", &input, json!({}));
            lead.roster(1_770_091_200_000, &["bob"]);
            lead.after("u1", "TaskStop", &input, json!({"task_id": "alice"}), json!({}));
        }),
    ];
    for (end, happens) in ends {
        let sandbox = Sandbox::new();
        let lead = team(&sandbox, "2.1.177");
        turn(&lead, "alice", ANSWER);
        // An agent that has reported may end later turns with a word.
        turn(&lead, "bob", "");
        assert!(!status(&sandbox).is_empty() && !brief(&sandbox).is_empty(), "before {end}");
        happens(&lead);
        assert_eq!((status(&sandbox), brief(&sandbox)), (String::new(), String::new()), "after {end}");
    }
}

#[test]
fn after_a_message_the_final_texts_of_turns_are_no_lost_answers() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "2.1.177");
    let input = json!({"to": "team-lead", "message": "The parser drops a token."});
    lead.before("u1", "SendMessage", &input, by("alice"));
    lead.after("u1", "SendMessage", &input, json!({"success": true}), by("alice"));
    turn(&lead, "alice", "Done.");
    turn(&lead, "bob", " \n");
    assert_eq!((status(&sandbox), brief(&sandbox)), (String::new(), String::new()));
}

#[test]
fn answers_of_a_current_client_are_delivered_even_before_a_notice_is_seen() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "2.1.251");
    turn(&lead, "alice", ANSWER);
    assert_eq!((status(&sandbox), brief(&sandbox)), (String::new(), String::new()));
    // Seen with a notice, whatever the transcript's first version is: a session can be resumed by a newer client.
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "2.1.222");
    turn(&lead, "alice", ANSWER);
    notice(&lead, "alice", Some(ANSWER));
    assert_eq!((status(&sandbox), brief(&sandbox)), (String::new(), String::new()));
}

#[test]
fn a_delivered_answer_is_a_report_and_the_turn_that_it_starts_is_not_useless() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "2.1.330");
    for _ in 0..12 {
        turn(&lead, "alice", ANSWER);
        notice(&lead, "alice", Some(ANSWER));
    }
    for (name, result) in [("bob", None), ("bob", Some("")), ("bob", Some(" \n"))] {
        turn(&lead, name, "");
        notice(&lead, name, result);
    }
    lead.end("other");
    sandbox.finish();
    let problems = problems(&sandbox);
    let of =
        |code: &str| problems.iter().filter(|(one, _)| one == code).map(|(_, who)| who.as_str()).collect();
    let never: Vec<&str> = of("never-reported");
    assert_eq!(never, ["bob"]);
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    let turns = report["turns"].as_array().unwrap().iter();
    let useless = turns.filter(|turn| turn["for_idlers"] == true).count();
    assert_eq!(useless, 3, "notices without an answer are idle notices");
    let rows = report["mail"]["messages"].as_array().unwrap().iter();
    assert_eq!(rows.filter(|row| row["answer"] == ANSWER).count(), 12);
    assert_eq!(report["incidents"], json!([]));
}

#[test]
fn replay_shows_a_delivered_answer_as_such_and_its_text_once() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "2.1.330");
    turn(&lead, "alice", ANSWER);
    notice(&lead, "alice", Some(ANSWER));
    // The hook of this end of a turn was interrupted.
    notice(&lead, "bob", Some("The lexer\nis good."));
    notice(&lead, "bob", None);
    let told = sandbox.printed(&["log", "-a"]);
    let notices: Vec<&str> =
        told.lines().filter_map(|line| Some(line.split_once("automatic: ")?.1.trim())).collect();
    assert_eq!(
        notices,
        [
            "alice is idle; team-lead received its answer (35 characters)",
            "bob is idle; team-lead received its answer: The lexer",
            "bob is idle"
        ]
    );
    let told = sandbox.printed(&["log", "-a", "--full"]);
    assert_eq!(told.matches("The parser drops a token.").count(), 1, "{told}");
    assert_eq!(told.matches("is good.").count(), 1, "{told}");
    let entries = sandbox.replay("latest");
    let answers: Vec<&Value> = entries.iter().filter(|entry| entry["answer"].is_string()).collect();
    assert_eq!(answers.len(), 2);
    assert_eq!((&answers[0]["answer"], &answers[0]["automatic"]), (&json!(ANSWER), &json!(true)));
}

#[test]
fn in_metadata_only_mode_the_version_is_unknown_and_answers_count_as_delivered() {
    let sandbox = Sandbox::new();
    sandbox.configure("[privacy]\nrecord = \"metadata\"\n");
    let lead = team(&sandbox, "2.1.222");
    turn(&lead, "alice", "hush hush");
    assert_eq!((status(&sandbox), brief(&sandbox)), (String::new(), String::new()));
    let told = [sandbox.printed(&["status", "--json"]), sandbox.printed(&["brief", "latest"])].concat();
    assert!(!told.contains("hush"), "{told}");
}
