//! `privacy.record = "metadata"`: no text is on record, and who, when and what kind is; the policy sees everything.

use std::collections::BTreeSet;
use std::io::Read;

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::reenact::Trace;
use crate::support::sandbox::{Sandbox, below};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TEAM: &str = "session-aaaaaaaa";
const VEILED: &str = "[privacy]\nrecord = \"metadata\"\n";

/// All that is on record, as text.
fn everything(sandbox: &Sandbox) -> String {
    let files = below(&sandbox.keep("")).into_iter().filter(|path| path.is_file());
    let text = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    files.map(text).collect()
}

fn stand_in(text: &str) -> String {
    teamkeep_store::metadata_only::digest_placeholder(text.as_bytes())
}

#[test]
fn metadata_only_mode_stores_sizes_and_hashes_of_texts_and_everything_else() {
    let sandbox = Sandbox::new();
    sandbox.configure(VEILED);
    let lead = Lead::of(&sandbox, SESSION);
    lead.config(1_000, &["alice"], json!({"description": "hush config"}));
    sandbox.write(
        &format!("tasks/{TEAM}/1.json"),
        json!({"id": "1", "subject": "hush task", "status": "pending"}),
    );
    lead.inbox(
        "alice",
        json!([{"from": "team-lead", "text": "hush mail", "timestamp": "2026-02-03T04:05:07.000Z"}]),
    );
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "hush prompt"}));
    lead.says("user", json!("hush transcript"));
    lead.tool("u1", "SendMessage", &json!({"to": "alice", "message": "hush mail"}), json!({"success": true}));
    lead.tool("u2", "Bash", &json!({"command": "hush command"}), json!({"stdout": "hush output"}));
    assert_eq!(sandbox.feed("stop", b"hush no json", &[]).code, Some(1));
    sandbox.write(&format!("tasks/{TEAM}/2.json"), "{\"subject\": \"hush torn");
    lead.hook("Stop", json!({"last_assistant_message": "hush last"}));
    lead.erase();
    lead.end("other");
    sandbox.finish();

    let all = everything(&sandbox);
    assert!(!all.contains("hush"), "{:?}", &all[all.find("hush").unwrap().saturating_sub(300)..][..400]);
    let entries = sandbox.replay(TEAM);
    let told = |kind: &str| -> Vec<&Value> { entries.iter().filter(|entry| entry["kind"] == kind).collect() };
    assert_eq!(told("turn-started")[0]["text"], stand_in("hush prompt"));
    assert_eq!(told("turn-ended")[0]["text"], stand_in("hush last"));
    let messages = told("message");
    assert_eq!(messages.len(), 1, "the sender's hook and the inbox tell the same: {messages:?}");
    assert_eq!((&messages[0]["to"], &messages[0]["text"]), (&json!("alice"), &json!(stand_in("hush mail"))));
    assert_eq!(messages[0]["sources"], json!(["hook", "inbox"]));
    assert_eq!(told("task-created")[0]["summary"], stand_in("hush task"));
    assert_eq!(sandbox.teams()[0]["members"], json!(["team-lead", "alice"]));
    assert_eq!(sandbox.show(&[TEAM])["tasks"]["1"]["status"], "pending");
    let run = &sandbox.library().runs[0];
    assert!(run.metadata_only && run.finished && sandbox.archive().kept(&run.run).is_empty(), "{run:?}");
    assert!(sandbox.client(&lead.transcript()).exists(), "the client still has it, and it is not told");
    assert_eq!(sandbox.run(&["verify"]).code, Some(0));
    assert_eq!(sandbox.run(&["report", TEAM]).code, Some(0));
    let result = sandbox.run(&["restore", TEAM, "--files", sandbox.home().join("then").to_str().unwrap()]);
    assert_eq!(result.code, Some(1));
    let cannot = format!("error: cannot restore run {}: its texts were not recorded\n", run.run);
    assert!(result.err.starts_with(&cannot), "{}", result.err);
}

#[test]
fn in_metadata_only_mode_a_warning_shows_the_size_of_an_answer_and_stores_no_part_of_it() {
    let sandbox = Sandbox::judging();
    sandbox.write_config(VEILED);
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["bob"]);
    lead.start("startup");
    lead.tool("u1", "SendMessage", &json!({"to": "bob", "message": "hush mail"}), json!({"success": true}));
    let bob = json!({"agent_id": "abob-0123456789abcdef", "agent_type": "bob"});
    lead.hook("SubagentStart", bob.clone());
    let mut end = bob;
    end["last_assistant_message"] = json!("hush answer");
    lead.hook("SubagentStop", end);
    let input = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "hush"}});
    let call = json!({"tool_name": "SendMessage", "tool_input": input, "tool_use_id": "u2"});
    let answer = sandbox.feed("", lead.payload("PreToolUse", call).to_string().as_bytes(), &[]).out;
    assert!(answer.contains("The final answer: a text of 11 bytes. "), "{answer}");
    let all = everything(&sandbox);
    assert!(!all.contains("hush"), "{:?}", &all[all.find("hush").unwrap_or_default().saturating_sub(300)..]);
}

/// Texts of a recorded run that must not be on record.
fn texts(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text)
                        if ["text", "summary", "subject", "description", "prompt"]
                            .contains(&key.as_str()) =>
                    {
                        into.insert(text.clone());
                    }
                    other => texts(other, into),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|item| texts(item, into)),
        _ => {}
    }
}

fn veiled((name, began): (&str, &'static str)) {
    let (plain, veiled) = (Sandbox::new(), Sandbox::new());
    veiled.configure(VEILED);
    let trace = Trace::read(name, began);
    for sandbox in [&plain, &veiled] {
        trace.play(sandbox, 1);
        sandbox.finish();
        std::fs::remove_dir_all(sandbox.client("projects")).unwrap();
    }
    let mut result = BTreeSet::new();
    texts(&trace.truth, &mut result);
    let all = everything(&veiled);
    // A word may be a name as well.
    let told: Vec<&String> =
        result.iter().filter(|text| text.contains(' ') && all.contains(text.as_str())).collect();
    assert!(told.is_empty() && result.len() > 3, "{told:?}");
    // All that hooks and files tell is told, in the same order, by the same people.
    let skeleton = |sandbox: &Sandbox| -> Vec<Value> {
        let entries = sandbox.replay("latest");
        let seen = |entry: &&Value| {
            entry["sources"].as_array().unwrap().iter().any(|source| source != "transcript")
                && entry["kind"] != "message-refused"
        };
        let keys =
            ["at", "kind", "actor", "to", "task", "from_status", "to_status", "owner", "message", "request"];
        let part = |entry: &Value| keys.iter().map(|key| entry[key].clone()).collect();
        entries.iter().filter(seen).map(part).collect()
    };
    assert_eq!(skeleton(&veiled), skeleton(&plain));
    assert_eq!(veiled.run(&["verify"]).code, Some(0));
}

#[test]
fn a_run_of_2_1_328_is_shown_without_its_texts() {
    veiled(("v328-inprocess", "2026-11-20T04:40:41.150Z"));
}

#[test]
fn a_run_whose_tasks_were_erased_is_shown_without_its_texts() {
    veiled(("v328-gc", "2026-11-20T04:54:29.340Z"));
}

#[test]
fn the_policy_sees_texts_that_are_not_stored() {
    let sandbox = Sandbox::judging();
    sandbox.write_config(&format!(
        "{VEILED}[[policy.completion-check.check]]\nrun = \"echo hush output && exit 1\"\nsubject = \"*parser*\"\n\
         [[rule]]\nname = \"r\"\naction = \"block\"\nreason = \"no hush here\"\nmatch = {{ \"/tool_input/command\" = \"*hush*\" }}\n"
    ));
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    let task =
        |status: &str| json!({"id": "1", "subject": "hush parser", "status": status, "owner": "alice"});
    sandbox.write(&format!("tasks/{TEAM}/1.json"), task("in_progress"));
    lead.start("startup");
    let ask = |event: &str, fields: Value| {
        sandbox.feed(event, lead.payload(&pascal(event), fields).to_string().as_bytes(), &[])
    };
    let result = ask(
        "pre-tool-use",
        json!({"tool_name": "Bash", "tool_use_id": "u", "tool_input": {"command": "say hush"}}),
    );
    assert_eq!((result.code, result.err.contains("no hush here")), (Some(2), true), "{}", result.err);
    let stop = json!({"to": "alice", "message": {"type": "shutdown_request", "reason": "x"}});
    let result =
        ask("pre-tool-use", json!({"tool_name": "SendMessage", "tool_use_id": "v", "tool_input": stop}));
    assert_eq!((result.code, result.err.contains("hush parser")), (Some(2), true), "{}", result.err);
    lead.before("w", "TaskUpdate", &json!({"taskId": "1", "status": "completed"}), json!({}));
    let result =
        ask("task-completed", json!({"task_id": "1", "task_subject": "hush parser", "cwd": sandbox.home()}));
    assert_eq!(result.code, Some(2), "its check is found by its subject: {}", result.err);
    let verdicts: Vec<Value> =
        sandbox.log().into_iter().filter(|event| event["event"] == "Verdict").collect();
    assert_eq!(verdicts.len(), 3);
    for verdict in &verdicts {
        assert!(verdict["verdict"]["reason"].as_str().unwrap().starts_with("[text: "), "{verdict}");
    }
    for path in below(&sandbox.keep("")).iter().filter(|path| path.is_file()) {
        // The user's own rules as they were understood.
        let excepted = path.file_name().unwrap() == "config.json";
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        assert!(excepted || !text.contains("hush"), "{}: {text}", path.display());
    }
}

fn pascal(event: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    event.split('-').map(word).collect()
}

/// A message as the lead's transcript holds it.
fn delivered(text: &str) -> Value {
    json!(format!("<teammate-message teammate_id=\"alice\" color=\"blue\">\n{text}\n</teammate-message>"))
}

/// All that is told and given away of the run.
fn given(sandbox: &Sandbox) -> String {
    let path = sandbox.home().join("run.tar.gz");
    let result = sandbox.run(&["export", TEAM, "--force", "-o", path.to_str().unwrap()]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    let told = sandbox.printed(&["log", TEAM, "--all", "--full"]);
    let report = sandbox.printed(&["report", TEAM, "--all", "--format", "json"]);
    format!("{}{told}{report}", String::from_utf8_lossy(&bytes))
}

#[test]
fn texts_that_claude_code_still_has_are_not_shown_in_metadata_only_mode() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.says("user", delivered("hush before"));
    lead.hook("Stop", json!({}));
    assert!(given(&sandbox).matches("hush before").count() > 1, "told from the client's transcript");

    sandbox.configure(VEILED);
    lead.says("user", delivered("hush after"));
    assert!(!given(&sandbox).contains("hush"), "from the moment on that the configuration says so");
    lead.hook("Stop", json!({}));
    assert!(!given(&sandbox).contains("hush"));
    assert!(sandbox.library().runs[0].metadata_only, "it is on record that texts were not wanted");

    sandbox.configure("");
    assert!(!given(&sandbox).contains("hush"), "and what was said meanwhile is not told later either");
    lead.erase();
    lead.end("other");
    sandbox.finish();
    assert!(!given(&sandbox).contains("hush"));
    assert!(!everything(&sandbox).contains("hush"));
}
