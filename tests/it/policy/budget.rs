//! Limits on what a team spends, at the hook.

use std::fs;
use std::thread;

use serde_json::{Value, json};

use super::gate_sandbox::{SESSION, busy, pairs, verdicts};
use crate::report::contents::thinks;
use crate::support::sandbox::{CommandResult, Sandbox};

const LIMIT: &str = "[[policy.budget.limit]]\nper = \"run\"\ntokens = 1000\nblock-at = \"100%\"\n";

fn lead_transcript() -> String {
    format!("projects/-home-dev-parser/{SESSION}.jsonl")
}

fn bob_transcript() -> String {
    format!("projects/-home-dev-parser/{SESSION}/subagents/agent-abob-1.jsonl")
}

/// A stage whose lead has a transcript with this many tokens.
fn spent(policy: &str, tokens: u64) -> Sandbox {
    let sandbox = busy(policy);
    sandbox.write(&lead_transcript(), line("m1", tokens));
    calls(&sandbox, "TaskList", json!({}));
    sandbox
}

fn line(id: &str, tokens: u64) -> String {
    thinks(id, "claude-opus-5", tokens, 0).to_string() + "\n"
}

fn append(sandbox: &Sandbox, transcript: &str, text: &str) {
    let before = fs::read_to_string(sandbox.client(transcript)).unwrap_or_default();
    sandbox.write(transcript, before + text);
}

/// A tool call of the lead, two seconds after the last one.
fn calls(sandbox: &Sandbox, tool: &str, input: Value) -> CommandResult {
    sandbox.set_clock(sandbox.millis() + 2_000);
    feed(sandbox, tool, input)
}

fn feed(sandbox: &Sandbox, tool: &str, input: Value) -> CommandResult {
    let call = json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "session_id": SESSION,
        "tool_use_id": format!("toolu_{}", sandbox.millis()), "cwd": sandbox.home(),
        "transcript_path": sandbox.client(&lead_transcript())});
    sandbox.feed("", call.to_string().as_bytes(), &[])
}

fn creates(sandbox: &Sandbox) -> CommandResult {
    calls(sandbox, "TaskCreate", json!({"subject": "More"}))
}

fn spent_log(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.archive().cache_path(&sandbox.library().runs[0].run, "spent.jsonl").unwrap()
}

/// The stored messages.
fn stored(sandbox: &Sandbox) -> Option<String> {
    fs::read_to_string(spent_log(sandbox)).ok()
}

#[test]
fn the_lead_is_warned_once_and_new_work_is_blocked_at_the_limit() {
    let sandbox = spent(LIMIT, 800);
    let warned = creates(&sandbox);
    assert_eq!(warned.code, Some(0));
    let output: Value = serde_json::from_str(&warned.out).unwrap();
    let context = output["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(
        context.starts_with("Warning: the team spent 800 of 1,000 tokens (80%): team-lead 800."),
        "{context}"
    );
    assert_eq!((creates(&sandbox).code, creates(&sandbox).out.as_str()), (Some(0), ""), "once");
    append(&sandbox, &bob_transcript(), &line("m2", 200));
    sandbox.write(&bob_transcript().replace(".jsonl", ".meta.json"), json!({"agentType": "bob"}));
    let blocked = creates(&sandbox);
    assert_eq!(blocked.code, Some(2));
    let reason = "Blocked: creating a task beyond the budget: the team spent 1,000 of 1,000 tokens (100%): team-lead 800, bob 200.";
    assert!(blocked.err.starts_with(reason), "{}", blocked.err);
    assert_eq!(calls(&sandbox, "Agent", json!({"name": "carol"})).code, Some(2));
    let message = json!({"to": "bob", "message": "Any news?"});
    let informed = calls(&sandbox, "SendMessage", message.clone());
    assert!(informed.code == Some(0) && informed.out.contains("From now on new agents"), "{}", informed.out);
    let update = calls(&sandbox, "TaskUpdate", json!({"taskId": "2", "status": "completed"}));
    assert_eq!((update.code, update.out.as_str()), (Some(0), ""));
    assert_eq!(creates(&sandbox).code, Some(2));
    assert_eq!(creates(&sandbox).code, Some(0), "the loop guard");
    let found = verdicts(&sandbox);
    let blocked = ("budget-exhausted", "block");
    assert_eq!(
        pairs(&found),
        [
            ("budget-warning", "warn"),
            blocked,
            blocked,
            ("budget-exhausted", "warn"),
            blocked,
            ("budget-exhausted", "allow")
        ]
    );
}

#[test]
fn each_message_counts_once_however_its_lines_arrive() {
    let sandbox = spent(LIMIT, 100);
    let next = line("m2", 300);
    let (half, rest) = next.split_at(90);
    append(&sandbox, &lead_transcript(), &(line("m1", 150) + "\0{\"usage\"\n[\"usage\"]\n" + half));
    assert_eq!(creates(&sandbox).out, "");
    append(&sandbox, &lead_transcript(), rest);
    append(&sandbox, &bob_transcript(), &(line("m1", 400) + &line("m2", 300)));
    assert_eq!(creates(&sandbox).out, "", "700 tokens");
    assert_eq!(stored(&sandbox).unwrap().matches("\"id\":\"m2\"").count(), 2);
    sandbox.write(&lead_transcript(), line("m3", 150));
    assert!(creates(&sandbox).out.contains("850 of 1,000"), "a transcript that was replaced");
    fs::remove_file(sandbox.client(&lead_transcript())).unwrap();
    append(&sandbox, &bob_transcript(), &line("m4", 150));
    assert!(creates(&sandbox).err.contains("1,000 of 1,000"), "what was spent stays spent");
}

#[test]
fn hook_calls_at_the_same_time_count_a_message_once() {
    let sandbox = spent(LIMIT, 500);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| feed(&sandbox, "TaskCreate", json!({"subject": "More"})));
        }
    });
    append(&sandbox, &lead_transcript(), &line("m2", 300));
    assert!(creates(&sandbox).out.contains("800 of 1,000"));
}

#[test]
fn a_damaged_store_is_read_again_from_the_transcripts() {
    let sandbox = spent(LIMIT, 900);
    assert!(creates(&sandbox).out.contains("900 of 1,000"));
    fs::write(spent_log(&sandbox), "{\"path\":\"x\"}\n\u{0}\n{\"path\":\"").unwrap();
    append(&sandbox, &lead_transcript(), &line("m2", 100));
    assert!(creates(&sandbox).err.contains("1,000 of 1,000"));
}

#[test]
fn dollars_name_the_messages_without_a_price() {
    let limit = "[[policy.budget.limit]]\nper = \"agent\"\nusd = 0.005\n";
    let sandbox = spent(limit, 900);
    append(&sandbox, &lead_transcript(), &(thinks("m2", "other", 5, 5).to_string() + "\n"));
    let warned = creates(&sandbox).out;
    assert!(
        warned.contains("team-lead spent $0.0045 of $0.0050 (90%). Not counted: 1 message without"),
        "{warned}"
    );
}

#[test]
fn without_limits_no_transcript_is_read() {
    for policy in
        ["", "[policy.budget]\nmode = \"warn\"\n", &format!("[policy.budget]\nmode = \"off\"\n{LIMIT}")]
    {
        let sandbox = spent(policy, 5_000);
        let result = creates(&sandbox);
        assert_eq!((result.code, result.out.as_str()), (Some(0), ""), "{policy}");
        assert_eq!(stored(&sandbox), None);
    }
    let sandbox = spent(&format!("{LIMIT}[privacy]\nrecord = \"metadata\"\n"), 5_000);
    assert_eq!(creates(&sandbox).code, Some(0), "metadata-only mode");
}

#[test]
fn a_pause_a_backtest_and_explain_hold() {
    let sandbox = spent(LIMIT, 1_000);
    assert_eq!(sandbox.run(&["pause", "budget", "5m"]).code, Some(0));
    assert_eq!(creates(&sandbox).code, Some(0));
    let call = sandbox.log().into_iter().rfind(|line| line["event"] == "PreToolUse").unwrap();
    let explained = sandbox.printed(&["policy", "explain", "--event", call["id"].as_str().unwrap()]);
    assert!(explained.contains("block, budget-exhausted: Blocked: creating a task"), "{explained}");
    assert!(explained.contains("run: 1,000 of 1,000 tokens (100%)"), "{explained}");
    let higher = sandbox.home().join("higher.toml");
    fs::write(&higher, LIMIT.replace("1000", "5000")).unwrap();
    let tested = sandbox.printed(&["policy", "test", "latest"]);
    assert!(tested.contains("2 events: 1 blocked, 0 warned"), "{tested}");
    let tested = sandbox.printed(&["policy", "test", "latest", "--policy", higher.to_str().unwrap()]);
    assert!(tested.contains("2 events: 0 blocked, 0 warned"), "{tested}");
}

#[test]
fn mistakes_in_a_limit_are_reported() {
    let sandbox = Sandbox::new();
    let check = |keys: &str| {
        sandbox.write_config(&format!("[[policy.budget.limit]]\n{keys}\n"));
        let result = sandbox.run(&["config", "check"]);
        result.out + &result.err
    };
    for (keys, expected) in [
        ("per = \"run\"", "the limit has no amount"),
        ("per = \"run\"\nusd = 0", "the limit has no amount"),
        ("per = \"run\"\nusd = 1\ntokens = 1", "the limit has both `tokens` and `usd`"),
        ("per = \"day\"\nusd = 1", "expected one of \"run\", \"agent\", \"task\", \"hour\""),
        ("usd = 1", "missing key `per`"),
        (
            "per = \"run\"\nusd = 1\nwarn-at = \"90%\"\nblock-at = \"80%\"",
            "`warn-at` (90%) is above `block-at` (80%)",
        ),
        ("per = \"run\"\nusd = 1\nwarn-at = \"never\"", "the limit neither warns nor blocks"),
        ("per = \"run\"\nusd = 1\nwarn-at = 80", "a percentage such as \"80%\""),
        ("per = \"run\"\nusd = 1\nwarn-at = \"80\"", "invalid percentage \"80\""),
        ("per = \"run\"\ntokens = -1", "invalid number -1; expected 0 to "),
        ("per = \"run\"\nusd = -1", "invalid number -1 of US dollars"),
    ] {
        let found = check(keys);
        assert!(found.contains(expected) && found.ends_with("\n1 error\n"), "{keys}: {found}");
    }
    for sound in ["per = \"agent\"\nusd = 2.5", "per = \"hour\"\ntokens = 2_000_000\nblock-at = \"100%\""] {
        let found = check(sound);
        assert!(!found.contains("error") && !found.contains("warning"), "{sound}: {found}");
    }
}
