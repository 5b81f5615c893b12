//! The brief names every agent, whatever its size is, and lists as unanswered only what still waits for an answer.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

fn by(name: &str) -> Value {
    match name {
        "team-lead" => json!({}),
        _ => json!({"agent_id": format!("a{name}-1"), "agent_type": name}),
    }
}

/// A team of these agents that all work on their tasks and have written long messages to the lead.
fn team<'a>(sandbox: &'a Sandbox, names: &[String]) -> Lead<'a> {
    let lead = Lead { pid: Some(std::process::id()), ..Lead::of(sandbox, SESSION) };
    // Where Claude Code names the agent of a call, a call without one is the lead's.
    let version = json!({"type": "user", "version": "2.1.330", "sessionId": SESSION});
    sandbox.write(&lead.transcript(), format!("{version}\n"));
    lead.start("startup");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    lead.config(1_000, &names, json!({"leadProcess": {"pid": lead.pid}}));
    for (place, name) in names.iter().enumerate().take(8) {
        lead.task(&(place + 1).to_string(), "in_progress", Some(name));
        lead.hook("SubagentStart", by(name));
        sends(&lead, name, "team-lead", &"This is a long report of what was done. ".repeat(8));
    }
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    lead
}

fn sends(lead: &Lead<'_>, from: &str, to: &str, text: &str) {
    request(lead, from, to, json!(text));
}

fn request(lead: &Lead<'_>, from: &str, to: &str, message: Value) {
    let input = json!({"to": to, "summary": "s", "message": message});
    let id = format!("toolu_{}", lead.sandbox.millis());
    lead.before(&id, "SendMessage", &input, by(from));
    lead.after(&id, "SendMessage", &input, json!({"success": true}), by(from));
}

fn many(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("worker-{number}")).collect()
}

/// The context after a compaction.
fn context(lead: &Lead<'_>) -> String {
    let payload = lead.payload("SessionStart", json!({"source": "compact"})).to_string();
    let pid = std::process::id().to_string();
    let result = lead.sandbox.feed("session-start", payload.as_bytes(), &[("CLAUDE_PID", pid.as_str())]);
    let answer: Value = serde_json::from_str(&result.out).unwrap();
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// The names in the lines of agents, in whichever form.
fn named(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with("Agents")).skip(1);
    let lines = lines.take_while(|line| line.starts_with("- "));
    let names = lines.flat_map(|line| {
        let (first, rest) = line[2..].split_once(": ").unwrap();
        match first.ends_with(')') {
            true => rest.split(", ").map(str::to_owned).collect(),
            false => vec![first.to_owned()],
        }
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn each_agent_has_a_line_before_the_tasks_and_the_messages() {
    for count in [1, 8] {
        let sandbox = Sandbox::new();
        let names = many(count);
        let lead = team(&sandbox, &names);
        let text = context(&lead);
        assert!(text.len() <= 2_048, "{}", text.len());
        assert_eq!(named(&text), names, "{text}");
        for place in 1..=count {
            let line = format!("- worker-{place}: working for ");
            assert!(
                text.lines()
                    .any(|one| one.starts_with(&line) && one.ends_with(&format!("#{place} in progress")))
            );
            assert!(text.contains(&format!("- #{place} \"Task {place}\": in progress")), "{text}");
        }
        let of = |what: &str| text.find(what).unwrap();
        assert!(
            of("Agents:") < of("Unfinished tasks:") && of("Unfinished tasks:") < of("Messages"),
            "{text}"
        );
    }
}

#[test]
fn many_agents_are_named_in_a_line_for_each_state() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, &many(40));
    let text = context(&lead);
    let mut expected = many(40);
    expected.sort();
    assert_eq!(named(&text), expected, "{text}");
    assert!(text.contains("\n- working (8): worker-1, worker-2, "), "{text}");
    assert!(text.contains("\n- joined (32): worker-9, "), "{text}");
    assert!(text.len() <= 2_048 && text.contains("Unfinished tasks:\n- #1 "), "{text}");
    let whole = sandbox.printed(&["brief", "latest"]);
    assert!(whole.contains("\n- worker-40: joined for "), "without a limit each has its line: {whole}");
}

#[test]
fn agents_are_named_at_the_smallest_size_too() {
    let sandbox = Sandbox::new();
    sandbox.configure("[context]\nsize = \"500 B\"\n");
    let lead = team(&sandbox, &many(40));
    let mut expected = many(40);
    expected.sort();
    assert_eq!(named(&context(&lead)), expected);
}

#[test]
fn more_agents_than_any_text_can_name_are_counted() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (1..=400).map(|number| format!("worker-with-a-long-name-{number}")).collect();
    let lead = team(&sandbox, &names);
    let text = context(&lead);
    let line = text.lines().find(|line| line.starts_with("- joined (392): ")).unwrap();
    let (_, more) = line.rsplit_once("; ").unwrap();
    let more: usize = more.strip_suffix(" more, not listed").unwrap().parse().unwrap();
    let listed = line.matches("worker-with").count();
    assert_eq!(listed + more, 392, "{line}");
    assert!(text.len() < 8_000 && listed > 100, "{}", text.len());
}

#[test]
fn long_and_foreign_names_are_named_whole() {
    let sandbox = Sandbox::new();
    let names = ["研究员".to_owned(), "x".repeat(64), "my agent".to_owned()];
    let lead = team(&sandbox, &names);
    let text = context(&lead);
    for name in ["\"研究员\"", &"x".repeat(64), "\"my agent\""] {
        assert!(text.contains(&format!("\n- {name}: working for ")), "{name}: {text}");
    }
}

#[test]
fn a_reader_that_left_reads_who_is_there() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, &many(3));
    lead.roster(1_000, &["worker-2", "worker-3"]);
    lead.hook("Stop", json!({}));
    let text = sandbox.printed(&["brief", "latest", "--agent", "worker-1"]);
    assert_eq!(named(&text), ["team-lead", "worker-2", "worker-3"], "{text}");
    assert!(sandbox.printed(&["brief", "latest"]).contains("\n- worker-1: left"));
}

#[test]
fn ten_thousand_tasks_leave_the_facts_complete() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, &many(3));
    let dir = sandbox.client(&format!("tasks/{}", lead.team));
    for id in 4..=10_000 {
        let status = if id % 2 == 0 { "completed" } else { "pending" };
        let mut task = json!({"id": id.to_string(), "subject": format!("Task {id}"), "status": status, "blocks": [],
            "blockedBy": [(id - 1).to_string()]});
        // One half is a chain, and the other half are independent tasks of busy agents.
        if id > 5_000 {
            (task["owner"], task["blockedBy"]) = (json!(format!("worker-{}", id % 3 + 1)), json!([]));
        }
        std::fs::write(dir.join(format!("{id}.json")), task.to_string()).unwrap();
    }
    // A hook call stores as many new files as it has time for.
    let args = ["brief", "latest", "--after", "compact", "--agent=team-lead", "--max-bytes", "2048"];
    let (mut text, mut known) = (String::new(), 0);
    while known < 10_000 {
        (0..5).for_each(|_| lead.hook("UserPromptSubmit", json!({"prompt": "go"})));
        text = sandbox.printed(&args);
        let (before, _) = text.split_once(" tasks completed.").unwrap();
        let now: usize = before.rsplit(' ').next().unwrap().replace(',', "").parse().unwrap();
        assert!(now > known, "{text}");
        known = now;
    }
    assert_eq!(named(&text), many(3), "{text}");
    assert!(text.contains(" of 10,000 tasks completed."), "{text}");
    for fact in
        ["- #1 \"Task 1\": in progress for ", "- #5001 \"Task 5001\": pending for ", "Left out for brevity; "]
    {
        assert!(text.contains(fact), "{fact}: {text}");
    }
    assert!(text.len() <= 2_048);
}

/// Who wrote the unanswered messages of the lead.
fn unanswered(sandbox: &Sandbox) -> Vec<String> {
    let brief: Value = serde_json::from_str(&sandbox.printed(&["brief", "latest", "--json"])).unwrap();
    let from = brief["unanswered"].as_array().unwrap().iter();
    let mut from: Vec<String> = from.map(|one| one["from"].as_str().unwrap().to_owned()).collect();
    from.sort();
    from
}

#[test]
fn a_shutdown_request_answers_the_messages_of_its_recipient() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, &many(3));
    assert_eq!(unanswered(&sandbox), many(3));
    request(&lead, "team-lead", "worker-2", json!({"type": "shutdown_request", "reason": "done"}));
    assert_eq!(unanswered(&sandbox), ["worker-1", "worker-3"]);
}

#[test]
fn a_message_to_everyone_answers_all_and_is_not_an_answer_to_its_sender() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, &many(3));
    sends(&lead, "worker-1", "*", "Hello all");
    assert_eq!(unanswered(&sandbox), many(3));
    sends(&lead, "team-lead", "worker-3", "Which format?");
    sends(&lead, "team-lead", "*", "Thanks, go on");
    assert_eq!(unanswered(&sandbox), ["team-lead"], "the question to worker-3");
    sends(&lead, "worker-3", "*", "JSON");
    assert_eq!(unanswered(&sandbox), Vec::<String>::new());
}

#[test]
fn a_message_of_an_agent_that_left_is_not_unanswered_after_a_new_spawn_either() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, &many(3));
    lead.roster(1_000, &["worker-2", "worker-3"]);
    lead.hook("Stop", json!({}));
    assert_eq!(unanswered(&sandbox), ["worker-2", "worker-3"]);
    lead.roster(1_000, &["worker-1", "worker-2", "worker-3"]);
    lead.hook("SubagentStart", by("worker-1"));
    assert_eq!(unanswered(&sandbox), ["worker-2", "worker-3"]);
    sends(&lead, "worker-1", "team-lead", "Here again");
    assert_eq!(unanswered(&sandbox), many(3));
}
