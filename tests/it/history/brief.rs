//! The facts of `brief` are those of `show` at the same time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::traces::{ALL, GC, HEADLESS, V328, play};

/// The unfinished tasks with owner and status.
fn open<'a>(tasks: impl Iterator<Item = (&'a str, &'a Value)>) -> BTreeMap<&'a str, (Value, Value)> {
    let unfinished = tasks.filter(|(_, task)| task["status"] != "completed");
    unfinished.map(|(id, task)| (id, (task["status"].clone(), task["owner"].clone()))).collect()
}

#[test]
fn brief_has_the_tasks_and_the_members_of_every_recorded_run_at_any_time() {
    let mut seen = 0;
    for run in ALL {
        let told = play(run, 1);
        let overview = told.sandbox.printed(&["report", "--json"]);
        let overview: Value = serde_json::from_str(&overview).unwrap();
        let duration = overview["overview"]["duration_ms"].as_u64().unwrap();
        if overview["overview"]["team"].is_null() {
            continue;
        }
        for part in 1..8 {
            let at = format!("+{}s", duration * part / 8_000);
            let brief = told.sandbox.printed(&["brief", "latest", "--at", &at, "--json"]);
            let brief: Value = serde_json::from_str(&brief).unwrap();
            let show = told.sandbox.show(&["latest", "--at", &at]);
            let own = brief["open"].as_array().unwrap().iter();
            let own = open(own.map(|task| (task["id"].as_str().unwrap(), task)));
            let shown = show["tasks"].as_object().unwrap().iter();
            assert_eq!(own, open(shown.map(|(id, task)| (id.as_str(), task))), "{} at {at}", run.0);
            seen += own.len();
            let here: BTreeSet<&str> = (brief["agents"].as_array().unwrap().iter())
                .filter(|agent| agent["state"] != "left")
                .map(|agent| agent["name"].as_str().unwrap())
                .chain(["team-lead"])
                .collect();
            let members: BTreeSet<&str> =
                show["members"].as_object().unwrap().keys().map(String::as_str).collect();
            assert!(members.is_subset(&here), "{} at {at}: {members:?} {here:?}", run.0);
        }
    }
    assert!(seen > 20, "{seen}");
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

#[test]
fn brief_for_an_agent_has_its_messages_and_its_blocks() {
    let told = play(V328, 1);
    let brief = |args: &[&str]| told.sandbox.printed(&[&["brief", "latest"], args].concat());
    let json: Value = serde_json::from_str(&brief(&["--json"])).unwrap();
    assert_eq!(
        (&json["v"], &json["for"], &json["is_running"]),
        (&json!(1), &json!("team-lead"), &json!(false))
    );
    let agents = json["agents"].as_array().unwrap().iter();
    let agents: Vec<_> = agents.map(|agent| (text(agent, "name"), text(agent, "state"))).collect();
    assert_eq!(agents, [("alice", "left"), ("bob", "left"), ("carol", "left"), ("Explore", "left")]);
    let prompt = brief(&["--prompt"]);
    assert!(
        prompt.starts_with("Continue the work of an earlier agent team.\n\nFacts about the agent team"),
        "{prompt}"
    );
    assert!(prompt.contains("Its agents are gone, and messages do not reach them."), "{prompt}");
    assert!(prompt.contains("- #2 \"Review the parser\": pending"), "{prompt}");
    assert!(prompt.contains("teamkeep restore "), "{prompt}");
    assert!(brief(&["--max-bytes", "1000"]).len() <= 1_000);
    let result = told.sandbox.run(&["brief", "latest", "--agent", "dave"]);
    assert_eq!((result.code, result.err.contains("agents: team-lead, ")), (Some(1), true), "{}", result.err);
}

#[test]
fn after_the_end_the_facts_are_those_of_the_end_and_before_the_start_there_are_none() {
    let told = play(V328, 1);
    let facts = |args: &[&str]| {
        let result = told.sandbox.run(&[&["brief", "latest", "--json"], args].concat());
        serde_json::from_str::<Value>(&result.out).unwrap()
    };
    let end = facts(&[]);
    assert_eq!(facts(&["--at", "+20h"]), end);
    let result = told.sandbox.run(&["brief", "latest", "--at=-5m"]);
    assert_eq!(result.code, Some(64));
    assert!(result.err.starts_with("error: invalid time \"-5m\": the run starts at "), "{}", result.err);
    let prompt = told.sandbox.printed(&["brief", "latest", "--prompt", "--at", "+40s"]);
    let at = facts(&["--at", "+40s"])["at"].as_str().unwrap().to_owned();
    assert!(prompt.contains(&format!(" --at={at} --yes")), "{prompt}");
    assert!(prompt.starts_with("Continue the work of an earlier agent team.\n"), "{prompt}");
}

#[test]
fn a_deleted_task_does_not_count_and_one_that_claude_code_removed_does() {
    let told = play(GC, 1);
    let json = |args: &[&str]| serde_json::from_str::<Value>(&told.sandbox.printed(args)).unwrap();
    let brief = json(&["brief", "latest", "--json"]);
    assert_eq!((&brief["completed"], &brief["tasks"]), (&json!(2), &json!(2)));
    let count = json(&["report", "latest", "--json"])["overview"]["count"].clone();
    assert_eq!((&count["completed"], &count["tasks"]), (&json!(2), &json!(2)));
    assert_eq!(told.sandbox.teams()[0]["tasks"], json!(2));
    let duration = json(&["report", "latest", "--json"])["overview"]["duration_ms"].as_u64().unwrap();
    let last = json(&["brief", "latest", "--json", "--at", &format!("+{}s", duration / 1_000)]);
    assert_eq!((&last["completed"], &last["tasks"]), (&json!(2), &json!(2)), "before the session ends");
    assert!(!last.to_string().contains("task-erased"), "{last}");
}

#[test]
fn a_session_without_a_team_has_no_brief() {
    let told = play(HEADLESS, 1);
    assert!(told.sandbox.teams()[0]["team"].is_null());
    let result = told.sandbox.run(&["brief", "latest"]);
    assert_eq!((result.code, result.err.contains(" has no team\nhint: ")), (Some(1), true), "{}", result.err);
}
