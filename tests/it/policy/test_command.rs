//! `teamkeep policy test`.

use serde_json::{Value, json};
use teamkeep_system::command::quoted;

use super::recorded_cases::{ASKED, BEGAN, everything, file, test, trace};
use crate::support::reenact::Trace;
use crate::support::sandbox::{Sandbox, lines};

/// The gates that decide, by event.
fn decided(lines: &[Value]) -> Vec<(String, String)> {
    let word = |line: &Value| {
        format!("{} {}", line["verdict"]["decision"], line["verdict"]["gate"]).replace('"', "")
    };
    lines.iter().map(|line| (line["of"].as_str().unwrap().to_owned(), word(line))).collect()
}

#[test]
fn testing_a_recorded_run_file_stores_nothing() {
    let sandbox = Sandbox::judging();
    let result = test(&sandbox, &[&trace("v328-inprocess")]);
    assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
    let told: Vec<&str> = result.out.lines().map(|line| line.split('…').next().unwrap()).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    session-1353b3db ea152cffbc8dfe99
        7.6s PreToolUse    bob       unfinished-dependencies warn starting task 2 "Review the parser" (pending, owner bob) before the tasks that it depends on: task 1 "Draft the parser" (in_progress, owner alice) v328-inprocess:26
        9.4s TeammateIdle  bob       idle-with-work warn bob goes idle while owning task 2 "Review the parser" (in_progress, owner bob) v328-inprocess:60
       40.4s PreToolUse    team-lead premature-shutdown block a shutdown request to bob, who still owns task 2 "Review the parser" (in_progress, owner bob) v328-inprocess:81
       41.5s TeammateIdle  carol     idle-with-work warn carol goes idle although this task is unassigned: task 2 "Review the parser" (pending, no owner) v328-inprocess:99
    110 events: 1 blocked, 3 warned
    "#);
    assert!(!sandbox.keep("").exists());
}

#[test]
fn a_premature_shutdown_is_found_in_runs_of_every_version() {
    let sandbox = Sandbox::judging();
    for (name, place) in
        [("v47-inprocess", 77), ("v177-inprocess", 71), ("v328-inprocess", ASKED), ("v328-panes", 69)]
    {
        let found = decided(&lines(&test(&sandbox, &[&trace(name), "--json"]).out));
        let blocks: Vec<_> = found.iter().filter(|(_, word)| word.starts_with("block")).collect();
        assert_eq!(blocks, [&(format!("{name}:{place}"), "block premature-shutdown".to_owned())]);
    }
    for name in ["v328-gc", "v328-headless", "v328-notasks"] {
        let found = decided(&lines(&test(&sandbox, &[&trace(name), "--json"]).out));
        assert!(found.iter().all(|(_, word)| word.starts_with("warn")), "{found:?}");
    }
}

#[test]
fn a_recorded_run_and_its_file_give_the_same_results() {
    let sandbox = Sandbox::new();
    Trace::read("v328-inprocess", BEGAN).play(&sandbox, 1);
    sandbox.unconfigure();
    sandbox.finish();
    let before = everything(&sandbox);
    let by_run = lines(&test(&sandbox, &["latest", "--json"]).out);
    assert_eq!(everything(&sandbox), before, "a test changes nothing");
    let by_file = lines(&test(&sandbox, &[&trace("v328-inprocess"), "--json"]).out);
    let words = |lines: &[Value]| -> Vec<(Value, Value)> {
        lines.iter().map(|line| (line["actor"].clone(), line["verdict"].clone())).collect()
    };
    assert_eq!(words(&by_run), words(&by_file));
    let expected = by_run.iter().filter(|line| line["verdict"]["decision"] == "block").map(|line| {
        let id = line["of"].as_str().unwrap();
        let other = |of: &&Value| *of != id && of.as_str().unwrap().starts_with(&id[..25]);
        assert_eq!(by_run.iter().map(|line| &line["of"]).find(other), None);
        json!({"event": &id[..25], "decision": "block"}).to_string()
    });
    let expected = file(&sandbox, "expected.jsonl", &expected.collect::<Vec<_>>().join("\n"));
    let result = test(&sandbox, &["latest", "--expect", &expected]);
    assert!(result.out.ends_with("1 of 1 expectations met\n"), "{}{}", result.out, result.err);
}

#[test]
fn expectations_are_compared_with_the_verdicts() {
    let sandbox = Sandbox::judging();
    let named = trace("v328-inprocess");
    let all = "{\"event\": \"v328-inprocess:81\", \"decision\": \"block\", \"gate\": \"premature-shutdown\"}\n\n\
        {\"event\": \"v328-inprocess:26\", \"decision\": \"warn\"}\n\
        {\"event\": \"v328-inprocess:60\", \"decision\": \"warn\"}\n{\"event\": \"v328-inprocess:99\", \"decision\": \"warn\"}\n\
        {\"event\": \"v328-inprocess:1\", \"decision\": \"allow\"}\n";
    let met = file(&sandbox, "met.jsonl", all);
    let result = test(&sandbox, &[&named, "--expect", &met, "--strict"]);
    assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
    assert!(result.out.ends_with("5 of 5 expectations met\n"), "{}", result.out);
    let prefix = file(
        &sandbox,
        "prefix.jsonl",
        "{\"event\": \"v328-inprocess:10\", \"decision\": \"allow\"}\n{\"event\": \"v328-inprocess\", \"decision\": \"allow\"}\n",
    );
    let result = test(&sandbox, &[&named, "--expect", &prefix]);
    assert_eq!(
        result.err, "error: v328-inprocess: several events match\n",
        "a whole ID is not a prefix of others"
    );
    let unmet = file(
        &sandbox,
        "unmet.json",
        r#"[{"event": "v328-inprocess:81", "decision": "block", "gate": "protect-lead"},
            {"event": "v328-inprocess:26", "decision": "block"}, {"event": "v328-inprocess:999", "decision": "allow"}]"#,
    );
    let result = test(&sandbox, &[&named, "--expect", &unmet]);
    assert_eq!(result.code, Some(1));
    insta::assert_snapshot!(result.err, @r"
    error: v328-inprocess:81: expected: block protect-lead, but found: block premature-shutdown
    error: v328-inprocess:26: expected: block, but found: warn unfinished-dependencies
    error: v328-inprocess:999: no such event
    ");
    let result = test(&sandbox, &[&named, "--expect", &unmet, "--strict"]);
    assert!(
        result.err.contains("v328-inprocess:60: expected no verdict, but found: warn idle-with-work"),
        "{}",
        result.err
    );
    let broken = file(&sandbox, "broken.jsonl", "{\"event\": \"x\", \"decision\": \"explode\"}\n");
    let result = test(&sandbox, &[&named, "--expect", &broken]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.contains("line 1: unknown variant `explode`"), "{}", result.err);
}

#[test]
fn two_policies_are_compared_and_checks_are_not_run() {
    let sandbox = Sandbox::judging();
    let strict = file(
        &sandbox,
        "strict.toml",
        "[policy.idle-with-work]\nmode = \"block\"\n[[policy.completion-check.check]]\nrun = \"touch ran\"\n",
    );
    let args = [&trace("v328-inprocess"), "--against", &strict, "--json"];
    let differences = lines(&test(&sandbox, &args).out);
    let words: Vec<Value> = differences
        .iter()
        .map(|line| {
            json!([line["of"], line["verdict"]["decision"], line["against"]["decision"], line["not_judged"]])
        })
        .collect();
    assert_eq!(
        words,
        [
            json!(["v328-inprocess:42", null, null, "completion-check"]),
            json!(["v328-inprocess:55", null, null, "completion-check"]),
            json!(["v328-inprocess:60", "warn", "block", null]),
            json!(["v328-inprocess:99", "warn", "block", null]),
        ]
    );
    let result = test(&sandbox, &[&trace("v328-inprocess"), "--policy", &strict]);
    assert!(result.out.ends_with("110 events: 3 blocked, 1 warned, 2 not judged\n"), "{}", result.out);
    assert!(!sandbox.home().join("parser/ran").exists());
}

#[test]
fn an_unknown_run_or_file_is_an_error() {
    let sandbox = Sandbox::judging();
    let result = test(&sandbox, &["nowhere.jsonl"]);
    assert_eq!((result.code, result.err.as_str()), (Some(1), "error: no such file: nowhere.jsonl\n"));
    let export = sandbox.home().join("run.tar.gz");
    std::fs::write(&export, [0x1f, 0x8b, 0x08]).unwrap();
    let export = export.to_str().unwrap();
    let result = test(&sandbox, &[export]);
    assert!(
        result.err.ends_with(&format!("hint: import it first: teamkeep import {}\n", quoted(export))),
        "{}",
        result.err
    );
    let invalid = file(&sandbox, "invalid.toml", "x = 1\ny = 1\n");
    let result = test(&sandbox, &["--policy", &invalid]);
    let hint = format!("hint: to list 1 more: teamkeep config check {}\n", quoted(&invalid));
    assert!(result.code == Some(1) && result.err.ends_with(&hint), "{}", result.err);
    let broken = file(&sandbox, "broken.jsonl", "{\"at_ms\": 0, \"payload\": {}}\nnonsense\n");
    let result = test(&sandbox, &[&broken]);
    assert!(result.err.contains("line 2 is not a hook call of a recorded run"), "{}", result.err);
    let outside =
        file(&sandbox, "out.jsonl", "{\"at_ms\": 0, \"write\": {\"../../x\": \"\"}, \"payload\": {}}\n");
    assert!(test(&sandbox, &[&outside]).err.contains("is outside of the scratch directory"));
}
