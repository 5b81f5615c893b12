//! `teamkeep report`: it agrees with what really happened in the recorded runs, and says so in every form.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::reenact::local;
use super::stage::Stage;
use super::traces::{ALL, Told, play};

fn report(stage: &Stage) -> Value {
    serde_json::from_str(&stage.told(&["report", "--json"])).unwrap()
}

fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    value.pointer(path).and_then(Value::as_array).unwrap_or_else(|| panic!("{path} in {value}"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn truth<'a>(told: &'a Told, part: &str) -> BTreeMap<&'a str, &'a Value> {
    let teams = told.trace.truth[part].as_object().unwrap().values();
    teams.flat_map(|team| team.as_object().unwrap()).map(|(key, value)| (key.as_str(), value)).collect()
}

/// Who said what to whom, in how many characters.
fn mail(told: &Told, report: &Value) {
    let mut sent: Vec<_> = (told.trace.truth["messages"].as_array().unwrap().iter())
        .map(|message| {
            let said = local(&told.stage, text(message, "text"));
            let part = |key| text(message, key).to_owned();
            (part("from"), part("to"), part("kind"), part("summary"), said.chars().count() as u64, said)
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
fn tasks(told: &Told, report: &Value) {
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
fn the_report_of_each_recorded_run_agrees_with_what_happened() {
    for run in ALL {
        let told = play(run, 1);
        let report = report(&told.stage);
        mail(&told, &report);
        tasks(&told, &report);
        let members: BTreeSet<&str> =
            list(&report, "/overview/members").iter().map(|member| text(member, "name")).collect();
        assert_eq!(members, truth(&told, "members").into_keys().collect());
        let form = |format: &str| told.stage.told(&["report", "--format", format]);
        let home = told.stage.home().display().to_string();
        insta::with_settings!({omit_expression => true}, {
            insta::assert_snapshot!(format!("{}.txt", run.0), form("text").replace(&home, "HOME"));
            insta::assert_snapshot!(format!("{}.md", run.0), form("markdown").replace(&home, "HOME"));
        });
    }
}
