//! `privacy.record = "metadata"`: no text is on record, and who, when and what kind is; the policy sees everything.

use std::collections::BTreeSet;
use std::io::Read;

use serde_json::{Value, json};

use super::play::Lead;
use super::reenact::Trace;
use super::stage::{Stage, below};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TEAM: &str = "session-aaaaaaaa";
const VEILED: &str = "[privacy]\nrecord = \"metadata\"\n";

/// All that is on record, as text.
fn everything(stage: &Stage) -> String {
    let files = below(&stage.keep("")).into_iter().filter(|path| path.is_file());
    let text = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    files.map(text).collect()
}

fn stand_in(text: &str) -> String {
    teamkeep::veil::stand_in(text.as_bytes())
}

#[test]
fn of_what_was_said_there_are_sizes_and_hashes_and_of_the_rest_all() {
    let stage = Stage::new();
    stage.configure(VEILED);
    let lead = Lead::of(&stage, SESSION);
    lead.config(1_000, &["alice"], json!({"description": "hush config"}));
    stage.write(
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
    assert_eq!(stage.feed("stop", b"hush no json", &[]).code, Some(1));
    stage.write(&format!("tasks/{TEAM}/2.json"), "{\"subject\": \"hush torn");
    lead.hook("Stop", json!({"last_assistant_message": "hush last"}));
    lead.erase();
    lead.end("other");
    stage.finish();

    let all = everything(&stage);
    assert!(!all.contains("hush"), "{:?}", &all[all.find("hush").unwrap().saturating_sub(300)..][..400]);
    let entries = stage.replay(TEAM);
    let told = |kind: &str| -> Vec<&Value> { entries.iter().filter(|entry| entry["kind"] == kind).collect() };
    assert_eq!(told("turn-started")[0]["text"], stand_in("hush prompt"));
    assert_eq!(told("turn-ended")[0]["text"], stand_in("hush last"));
    let messages = told("message");
    assert_eq!(messages.len(), 1, "the sender's hook and the inbox tell the same: {messages:?}");
    assert_eq!((&messages[0]["to"], &messages[0]["text"]), (&json!("alice"), &json!(stand_in("hush mail"))));
    assert_eq!(messages[0]["sources"], json!(["hook", "inbox"]));
    assert_eq!(told("task-created")[0]["summary"], stand_in("hush task"));
    assert_eq!(stage.teams()[0]["members"], json!(["team-lead", "alice"]));
    assert_eq!(stage.show(&[TEAM])["tasks"]["1"]["status"], "pending");
    let run = &stage.library().runs[0];
    assert!(run.veiled && run.finished && stage.archive().kept(&run.run).is_empty(), "{run:?}");
    assert!(stage.client(&lead.transcript()).exists(), "the client still has it, and it is not told");
    assert_eq!(stage.run(&["verify"]).code, Some(0));
    assert_eq!(stage.run(&["report", TEAM]).code, Some(0));
    let said = stage.run(&["restore", TEAM, "--to", stage.home().join("then").to_str().unwrap()]);
    assert_eq!(said.code, Some(1));
    let cannot = format!("error: cannot restore run {}: its texts were not recorded\n", run.run);
    assert!(said.err.starts_with(&cannot), "{}", said.err);
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
    let (plain, veiled) = (Stage::new(), Stage::new());
    veiled.configure(VEILED);
    let trace = Trace::read(name, began);
    for stage in [&plain, &veiled] {
        trace.play(stage, 1);
        stage.finish();
        std::fs::remove_dir_all(stage.client("projects")).unwrap();
    }
    let mut said = BTreeSet::new();
    texts(&trace.truth, &mut said);
    let all = everything(&veiled);
    // A word may be a name as well.
    let told: Vec<&String> =
        said.iter().filter(|text| text.contains(' ') && all.contains(text.as_str())).collect();
    assert!(told.is_empty() && said.len() > 3, "{told:?}");
    // All that hooks and files tell is told, in the same order, by the same people.
    let skeleton = |stage: &Stage| -> Vec<Value> {
        let entries = stage.replay("latest");
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
fn a_run_of_2_1_328_is_told_without_its_texts() {
    veiled(("v328-inprocess", "2026-11-20T04:40:41.150Z"));
}

#[test]
fn a_run_whose_tasks_the_client_erased_is_told_without_its_texts() {
    veiled(("v328-gc", "2026-11-20T04:54:29.340Z"));
}

#[test]
fn the_policy_sees_the_texts_that_are_not_kept() {
    let stage = Stage::judging();
    stage.write_config(&format!(
        "{VEILED}[[policy.completion-check.check]]\nrun = \"echo hush output; false\"\nsubject = \"*parser*\"\n\
         [[rule]]\nname = \"r\"\naction = \"block\"\nreason = \"no hush here\"\nmatch = {{ \"/tool_input/command\" = \"*hush*\" }}\n"
    ));
    let lead = Lead::of(&stage, SESSION);
    lead.roster(1_000, &["alice"]);
    let task =
        |status: &str| json!({"id": "1", "subject": "hush parser", "status": status, "owner": "alice"});
    stage.write(&format!("tasks/{TEAM}/1.json"), task("in_progress"));
    lead.start("startup");
    let ask = |event: &str, fields: Value| {
        stage.feed(event, lead.payload(&pascal(event), fields).to_string().as_bytes(), &[])
    };
    let said = ask(
        "pre-tool-use",
        json!({"tool_name": "Bash", "tool_use_id": "u", "tool_input": {"command": "say hush"}}),
    );
    assert_eq!((said.code, said.err.contains("no hush here")), (Some(2), true), "{}", said.err);
    let stop = json!({"to": "alice", "message": {"type": "shutdown_request", "reason": "x"}});
    let said =
        ask("pre-tool-use", json!({"tool_name": "SendMessage", "tool_use_id": "v", "tool_input": stop}));
    assert_eq!((said.code, said.err.contains("hush parser")), (Some(2), true), "{}", said.err);
    lead.before("w", "TaskUpdate", &json!({"taskId": "1", "status": "completed"}), json!({}));
    let said =
        ask("task-completed", json!({"task_id": "1", "task_subject": "hush parser", "cwd": stage.home()}));
    assert_eq!(said.code, Some(2), "its check is found by its subject: {}", said.err);
    let verdicts: Vec<Value> = stage.log().into_iter().filter(|event| event["event"] == "Verdict").collect();
    assert_eq!(verdicts.len(), 3);
    for verdict in &verdicts {
        assert!(verdict["verdict"]["reason"].as_str().unwrap().starts_with("[text: "), "{verdict}");
    }
    for path in below(&stage.keep("")).iter().filter(|path| path.is_file()) {
        // The user's own rules as they were understood, and what the check has printed.
        let excepted = path.ends_with("policy/.understood") || path.starts_with(stage.keep("policy/checks"));
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
fn given(stage: &Stage) -> String {
    let path = stage.home().join("run.tar.gz");
    let said = stage.run(&["export", TEAM, "--force", "-o", path.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    let told = stage.told(&["replay", TEAM, "--all", "--full"]);
    let report = stage.told(&["report", TEAM, "--all", "--format", "json"]);
    format!("{}{told}{report}", String::from_utf8_lossy(&bytes))
}

#[test]
fn what_the_client_still_has_is_not_told_once_no_texts_are_wanted() {
    let stage = Stage::new();
    let lead = Lead::of(&stage, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.says("user", delivered("hush before"));
    lead.hook("Stop", json!({}));
    assert!(given(&stage).matches("hush before").count() > 1, "told from the client's transcript");

    stage.configure(VEILED);
    lead.says("user", delivered("hush after"));
    assert!(!given(&stage).contains("hush"), "from the moment on that the configuration says so");
    lead.hook("Stop", json!({}));
    assert!(!given(&stage).contains("hush"));
    assert!(stage.library().runs[0].veiled, "it is on record that texts were not wanted");

    stage.configure("");
    assert!(!given(&stage).contains("hush"), "and what was said meanwhile is not told later either");
    lead.erase();
    lead.end("other");
    stage.finish();
    assert!(!given(&stage).contains("hush"));
    assert!(!everything(&stage).contains("hush"));
}
