//! `teamkeep report`: it agrees with what really happened in the recorded runs, and says so in every form.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::history::traces::{ALL, PlayedRun, play};
use crate::support::access::assert_mode;
use crate::support::client_files::Lead;
use crate::support::reenact::local;
use crate::support::sandbox::{Sandbox, unix_paths};

fn report(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap()
}

fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    value.pointer(path).and_then(Value::as_array).unwrap_or_else(|| panic!("{path} in {value}"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn truth<'a>(told: &'a PlayedRun, part: &str) -> BTreeMap<&'a str, &'a Value> {
    let teams = told.trace.truth[part].as_object().unwrap().values();
    teams.flat_map(|team| team.as_object().unwrap()).map(|(key, value)| (key.as_str(), value)).collect()
}

/// Who said what to whom, in how many characters.
fn mail(told: &PlayedRun, report: &Value) {
    let mut sent: Vec<_> = (told.trace.truth["messages"].as_array().unwrap().iter())
        .map(|message| {
            let result = local(&told.sandbox, text(message, "text"));
            let part = |key| text(message, key).to_owned();
            (part("from"), part("to"), part("kind"), part("summary"), result.chars().count() as u64, result)
        })
        .collect();
    let mut found: Vec<_> = (list(report, "/mail/messages").iter())
        .filter(|message| message["automatic"] == false)
        .map(|message| {
            assert_eq!(
                (&message["refused"], &message["delivered"]),
                (&json!(null), &json!(true)),
                "{message}"
            );
            let part = |key| text(message, key).to_owned();
            let chars = message["chars"].as_u64().unwrap();
            (part("from"), part("to"), part("kind"), part("summary"), chars, part("text"))
        })
        .collect();
    sent.sort();
    found.sort();
    assert_eq!(found, sent);
    for (part, key) in [("/mail/by_sender", "from"), ("/mail/by_pair", "to")] {
        for sum in list(report, part) {
            let own = sent.iter().filter(|(from, to, ..)| {
                from == text(sum, "from") && (key == "from" || to == text(sum, "to"))
            });
            let sums = own.fold((0, 0), |(messages, chars), one| (messages + 1, chars + one.4));
            assert_eq!((sum["messages"].as_u64().unwrap(), sum["chars"].as_u64().unwrap()), sums, "{sum}");
        }
    }
    let all: u64 = list(report, "/mail/by_pair").iter().map(|pair| pair["messages"].as_u64().unwrap()).sum();
    assert_eq!(all as usize, sent.len());
}

/// Every task with each of its states, in order.
fn tasks(told: &PlayedRun, report: &Value) {
    let truth = truth(told, "tasks");
    let ids: BTreeSet<&str> = list(report, "/tasks").iter().map(|task| text(task, "id")).collect();
    assert_eq!(ids, truth.keys().copied().collect());
    for task in list(report, "/tasks") {
        let true_task = truth[text(task, "id")];
        assert_eq!(task["subject"], true_task["subject"]);
        let mut states: Vec<Value> = Vec::new();
        for change in list(task, "/changes") {
            if !change["to"].is_null() {
                states.push(json!([change["to"], change["owner"]]));
            }
        }
        states.dedup();
        // What was never on disk at a hook call is told by the tools, and may stand between what was.
        let mut left = states.iter();
        for state in list(true_task, "/states") {
            assert!(left.any(|told| told == state), "{state} of {task}");
        }
        assert_eq!(
            Some(&task["status"]),
            states
                .last()
                .map(|state| &state[0])
                .filter(|_| { task["removed_at"].is_null() || task["status"] != "deleted" })
                .or(Some(&json!("deleted")))
        );
    }
}

#[test]
fn report_of_each_recorded_run_matches_ground_truth() {
    for run in ALL {
        let told = play(run, 1);
        let report = report(&told.sandbox);
        mail(told, &report);
        tasks(told, &report);
        let members: BTreeSet<&str> =
            list(&report, "/overview/members").iter().map(|member| text(member, "name")).collect();
        assert_eq!(members, truth(told, "members").into_keys().collect());
        let form = |format: &str| told.sandbox.printed(&["report", "--full", "--format", format]);
        let home = |text: String| unix_paths(&text, &told.sandbox.home(), "HOME");
        insta::with_settings!({omit_expression => true}, {
            let summary = told.sandbox.printed(&["report"]);
            insta::assert_snapshot!(format!("{}-summary.txt", run.0), home(summary.clone()));
            assert!(summary.lines().count() <= 40, "{summary}");
            insta::assert_snapshot!(format!("{}.txt", run.0), home(form("text")));
            insta::assert_snapshot!(format!("{}.md", run.0), home(form("markdown")));
        });
    }
}

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

pub fn team(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, SESSION);
    lead.roster(1_000, &["alice", "bob"]);
    lead.start("startup");
    lead
}

/// A line of a teammate's transcript.
pub fn hears(sandbox: &Sandbox, name: &str, record: &Value) {
    let transcript = format!("projects/-home-dev-parser/{SESSION}/subagents/agent-a{name}-1.jsonl");
    let path = sandbox.client(&transcript);
    let before = std::fs::read_to_string(path).unwrap_or_default();
    sandbox.write(&transcript, format!("{before}{record}\n"));
}

/// A message of the model, as a line of a transcript has it.
pub fn thinks(id: &str, model: &str, input: u64, output: u64) -> Value {
    json!({"type": "assistant", "timestamp": "2026-02-03T04:05:09.000Z", "version": "2.1.328",
        "message": {"id": id, "model": model, "content": [{"type": "text", "text": "hm"}],
            "usage": {"input_tokens": input, "output_tokens": output, "cache_read_input_tokens": 7}}})
}

fn codes(report: &Value) -> Vec<(&str, &str)> {
    list(report, "/observations").iter().map(|one| (text(one, "code"), text(one, "who"))).collect()
}

#[test]
fn lost_items_are_reported_after_the_run_has_ended() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.task("1", "in_progress", Some("bob"));
    for name in ["alice", "bob"] {
        lead.hook("SubagentStart", json!({"agent_id": format!("a{name}-1"), "agent_type": name}));
        hears(&sandbox, name, &thinks(name, "opus", 1, 1));
    }
    let input = json!({"to": "bob", "summary": "news", "message": "the deadline moved"});
    lead.tool("u1", "SendMessage", &input, json!({"success": true}));
    let lost = json!({"to": "nobody", "summary": "hello", "message": "hello?"});
    lead.tool("u2", "SendMessage", &lost, json!({"success": false, "message": "no such teammate"}));
    lead.inbox("alice", json!([{"from": "bob", "text": "hi alice", "timestamp": sandbox.last()}]));
    lead.hook("Stop", json!({}));
    let alive = report(&sandbox);
    assert_eq!(codes(&alive), [], "an incident has the rejected message, and the rest may still come right");
    let unread = |report: &Value| report.pointer("/mail/messages/0/delivered").cloned();
    assert_eq!((alive["overview"]["ended_at"].clone(), unread(&alive)), (json!(null), Some(json!(null))));
    lead.end("prompt_input_exit");
    sandbox.finish();
    let over = report(&sandbox);
    assert_eq!(
        codes(&over),
        [("not-delivered", "unknown"), ("not-delivered", "bob"), ("never-reported", "alice")]
    );
    assert_eq!(unread(&over), Some(json!(false)));
    let told: Vec<&str> = list(&over, "/observations").iter().map(|one| text(one, "what")).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    message from unknown to bob was never read: news
    message from bob to alice was never read
    alice never sent a message
    ");
}

#[test]
fn model_message_is_counted_once_in_the_cost_for_any_source() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let pieces =
        [thinks("m1", "opus-5", 100, 3), thinks("m1", "opus-5", 100, 20), thinks("m2", "opus-5", 1, 1)];
    pieces.iter().for_each(|piece| hears(&sandbox, "bob", piece));
    hears(&sandbox, "bob", &thinks("m3", "<synthetic>", 1_000, 1_000));
    lead.hook("SubagentStart", json!({"agent_id": "abob-1", "agent_type": "bob"}));
    // A fork's transcript begins with what was said before it.
    hears(&sandbox, "alice", &pieces[1]);
    hears(&sandbox, "alice", &thinks("m4", "haiku-4", 10, 10));
    lead.hook("SubagentStart", json!({"agent_id": "aalice-1", "agent_type": "alice"}));
    let spending = |sandbox: &Sandbox| report(sandbox)["spending"].clone();
    let told = spending(&sandbox);
    assert_eq!(
        told["total"],
        json!({"input": 111, "output": 31, "cache_read": 21, "cache_write": 0, "cache_write_1h": 0})
    );
    assert_eq!((&told["cost"], &told["unknown"]), (&json!(null), &json!(["team-lead"])));
    let price = "[[report.price]]\nmodel = \"opus-*\"\ninput = 10_000\noutput = 100_000.5\n";
    sandbox.configure(price);
    let told = spending(&sandbox);
    assert_eq!(told["cost"], json!(null), "there is no price for one of the models");
    sandbox.configure(&format!("{price}[[report.price]]\nmodel = \"*\"\ninput = 1\n"));
    let told = spending(&sandbox);
    let expected = (101.0 * 10_000.0 + 21.0 * 100_000.5 + 10.0) / 1e6;
    assert!((told["cost"].as_f64().unwrap() - expected).abs() < 1e-9, "{told} {expected}");
}

#[test]
fn project_cannot_set_prices_and_an_invalid_price_is_reported() {
    let sandbox = Sandbox::new();
    team(&sandbox);
    let project = sandbox.home().join("parser/.claude");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("teamkeep.toml"), "[[report.price]]\nmodel = \"*\"\ninput = 1\n").unwrap();
    let result = sandbox.run(&["config", "check"]);
    assert!(
        result.out.contains("`report.price[0].input` cannot be set by a project's file"),
        "{}",
        result.out
    );
    std::fs::remove_file(project.join("teamkeep.toml")).unwrap();
    sandbox.configure("[[report.price]]\nmodel = \"*\"\ninput = -1\n");
    let result = sandbox.run(&["report"]);
    let told = [
        "invalid number -1 of US dollars; expected 0 to 1000000",
        "hint: until it is fixed, the defaults are used",
    ];
    assert!(told.iter().all(|words| result.err.contains(words)), "{}", result.err);
    assert_eq!(
        (result.code, result.out.starts_with("session-aaaaaaaa")),
        (Some(0), true),
        "the record is told"
    );
    let result = sandbox.run(&["report", "--redact"]);
    assert_eq!(
        (result.code, result.err.contains("invalid number -1 of US dollars; expected 0 to 1000000")),
        (Some(1), true),
        "{}",
        result.err
    );
}

#[test]
fn report_is_written_to_a_new_private_file() {
    let sandbox = Sandbox::new();
    team(&sandbox);
    let file = sandbox.home().join("report.md");
    let path = file.to_str().unwrap();
    // The name of the file has the format.
    let args = ["report", "-o", path];
    assert_eq!(sandbox.printed(&args), "");
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("# session-aaaaaaaa "));
    assert_mode(&file, 0o600);
    std::fs::write(&file, "mine").unwrap();
    let result = sandbox.run(&args);
    assert_eq!(result.code, Some(1));
    assert!(result.err.contains("it already exists\nhint: use --force to overwrite"), "{}", result.err);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    sandbox.printed(&[&args[..], &["--force"]].concat());
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("# session"));
    #[cfg(unix)]
    {
        let link = sandbox.home().join("link.md");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        sandbox.printed(&["report", "--format", "text", "-o", link.to_str().unwrap(), "--force"]);
        assert!(link.is_symlink() && std::fs::read_to_string(&file).unwrap().starts_with("session"));
    }
    // A bare name lies in the current directory; a directory that is not there is not made.
    assert_eq!(sandbox.printed(&["report", "-o", "here.txt"]), "");
    assert!(sandbox.home().join("parser/here.txt").is_file());
    let result = sandbox.run(&["report", "-o", "none/here.txt"]);
    assert_eq!(
        (result.code, result.err.contains("the directory none does not exist")),
        (Some(1), true),
        "{}",
        result.err
    );
    let result = sandbox.run(&["report", "-o", sandbox.home().to_str().unwrap(), "--force"]);
    assert_eq!((result.code, result.err.contains("is a directory")), (Some(64), true), "{}", result.err);
}

#[test]
fn redacted_report_shows_the_amount_of_redacted_text_only() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let key = format!("sk-{}", "a1B2c3D4e5".repeat(4));
    let path = sandbox.home().join("parser/src").display().to_string();
    let text = format!("use {key}, ask bob@example.org, look at {path} and PROJ-17");
    let input = json!({"to": "bob", "summary": key, "message": text});
    lead.tool("u1", "SendMessage", &input, json!({"success": true}));
    sandbox.configure("[[privacy.pattern]]\nname = \"ticket\"\nregex = \"PROJ-[0-9]+\"\n");
    for format in ["text", "markdown", "json"] {
        let told = sandbox.printed(&["report", "--redact", "--format", format]);
        for secret in [&key, "bob@example.org", "PROJ-17", &sandbox.home().display().to_string()] {
            assert!(!told.contains(secret), "{format}: {secret}");
        }
    }
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--redact", "--json"])).unwrap();
    let counts = json!({"api-key": 2, "email": 1, "home": 1, "ticket": 1});
    assert_eq!(report["redacted"], counts);
    assert!(
        sandbox.printed(&["report", "--redact"]).contains("redacted: api-key 2, email 1, home 1, ticket 1\n")
    );
    let plain: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    assert_eq!(
        (&plain["redacted"], plain.pointer("/mail/messages/0/text")),
        (&Value::Null, Some(&json!(text)))
    );
    sandbox.configure("[[privacy.pattern]]\nname = \"all\"\nregex = \".+\"\n");
    let result = sandbox.run(&["report", "--redact"]);
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
    assert!(
        result.err.contains("cannot redact the report") && result.err.contains("make it narrower"),
        "{}",
        result.err
    );
}
