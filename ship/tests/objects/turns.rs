//! The table `turns`.

use serde_json::{Value, json};
use teamkeep_history::report::{TaskHistory, Turn};
use teamkeep_model::TraceParent;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_ship::rows::{ClientCall, Common, Row, RunKey, TurnFacts, turns};

use crate::support::{Machine, TRACES};

/// The moment so many seconds after the start.
fn at(seconds: i64) -> Timestamp {
    let start = time::parse("2026-02-03T04:05:06.000Z").unwrap();
    Timestamp::from_millis(start.millis() + seconds * 1_000).unwrap()
}

/// The rows of these turns of a run that ended after a minute.
fn rows(turns_of_run: &Value, tasks: &Value, calls: &[ClientCall]) -> Vec<Value> {
    let found: Vec<Turn> = serde_json::from_value(turns_of_run.clone()).unwrap();
    let tasks: Vec<TaskHistory> = serde_json::from_value(tasks.clone()).unwrap();
    let common = Common::new("acme", "h", "0123456789abcdef", at(99)).unwrap();
    let key = RunKey { run: "r".to_owned(), revision: 1, team: None };
    let row = |facts: &TurnFacts<'_>| {
        let mut line = Vec::new();
        common.write_row(&turns(), "2026-02-03", &Row { key: &key, item: facts }, &mut line).unwrap();
        serde_json::from_slice(&line).unwrap()
    };
    TurnFacts::of(&found, &tasks, calls, at(60)).iter().map(row).collect()
}

fn turn(agent: &str, instance: &str, from: Option<i64>, to: Option<i64>) -> Value {
    json!({"agent": agent, "instance": instance, "from": from.map(at), "to": to.map(at), "for_idlers": false})
}

#[test]
fn a_turn_without_an_end_lasts_to_the_end_of_the_run() {
    let turns = json!([
        turn("alice", "a", Some(10), Some(30)),
        turn("alice", "a", Some(40), None),
        turn("bob", "b", None, Some(20)),
        turn("bob", "b", None, None),
    ]);
    let times =
        rows(&turns, &json!([]), &[]).into_iter().map(|row| (row["time"].clone(), row["ended_at"].clone()));
    let expected =
        [(10, 30), (40, 60), (20, 20), (60, 60)].map(|(from, to)| (json!(at(from)), json!(at(to))));
    assert_eq!(times.collect::<Vec<_>>(), expected);
}

#[test]
fn a_turn_has_the_tasks_that_its_agent_had_in_progress_each_once() {
    let change = |seconds: i64, to: &str, owner: &str| {
        json!({"at": at(seconds), "by": "alice", "kind": "task-changed", "from": null, "to": to, "owner_from": null,
            "owner": owner, "subject": null})
    };
    let task = |id: &str, changes: Vec<Value>| {
        json!({"id": id, "subject": null, "description": null, "status": "pending", "owner": null,
            "removed_at": null, "blocked_by": [], "changes": changes})
    };
    let tasks = json!([
        // Twice in the first turn, and done before the second one.
        task(
            "1",
            vec![
                change(12, "in_progress", "alice@team"),
                change(15, "pending", "alice@team"),
                change(20, "in_progress", "alice"),
                change(30, "completed", "alice"),
            ]
        ),
        // To the end of the run, of another agent in between.
        task(
            "2",
            vec![
                change(5, "in_progress", "bob"),
                change(29, "in_progress", "alice"),
                change(35, "in_progress", "bob"),
                change(55, "in_progress", "alice"),
            ]
        ),
        task("3", vec![change(12, "pending", "alice")]),
    ]);
    let turns = json!([
        turn("alice", "a", Some(10), Some(30)),
        turn("alice", "a", Some(40), Some(50)),
        turn("alice", "a", Some(50), None),
        turn("bob", "b", Some(0), Some(5)),
    ]);
    let found = rows(&turns, &tasks, &[]).into_iter().map(|row| row["task_ids"].clone());
    assert_eq!(found.collect::<Vec<_>>(), [json!(["1", "2"]), json!([]), json!(["2"]), json!([])]);
}

#[test]
fn a_turn_has_the_spans_of_claude_code_in_which_its_agent_called_hooks_until_the_next_one() {
    let text = |span: &str| format!("00-{}-{}-01", "a".repeat(32), span.repeat(16));
    let call = |span: &str, seconds: i64, agent: Option<&str>, session: Option<&str>| ClientCall {
        span: TraceParent::parse(&text(span)).unwrap(),
        at: at(seconds),
        session: session.map(str::to_owned),
        agent: agent.map(str::to_owned),
    };
    let calls = [
        call("1", 2, Some("team-lead"), Some("s")),
        call("2", 10, Some("alice"), Some("s")),
        call("2", 12, Some("alice"), Some("s")),
        call("3", 12, Some("bob"), Some("s")),
        // Without an agent it is of the session's agent.
        call("4", 14, None, Some("a")),
        call("5", 15, None, None),
        call("6", 30, Some("alice"), Some("s")),
        // After the end of a turn, a call is of the agent's last one.
        call("7", 31, Some("alice"), Some("s")),
        call("8", 41, Some("alice"), Some("s")),
    ];
    let turns = json!([
        turn("team-lead", "s", Some(0), Some(5)),
        turn("alice", "a", Some(10), Some(30)),
        turn("alice", "a", Some(40), Some(50)),
    ]);
    let found = rows(&turns, &json!([]), &calls).into_iter().map(|row| row["client_spans"].clone());
    let expected = [vec!["1"], vec!["2", "4", "6", "7"], vec!["8"]];
    let expected = expected.map(|spans| json!(spans.into_iter().map(text).collect::<Vec<_>>()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn turns_of_recorded_runs_are_in_their_runs_and_have_known_tasks() {
    let machine = Machine::new();
    TRACES.iter().for_each(|trace| machine.record(trace));
    machine.configure_lake("");
    machine.ship_all();
    let (runs, tasks) = (machine.rows("runs"), machine.rows("tasks"));
    let mut with_tasks = 0;
    for turn in machine.rows("turns") {
        let run = runs.iter().find(|run| run["run"] == turn["run"]).unwrap();
        let text = |row: &Value, column: &str| row[column].as_str().unwrap().to_owned();
        // The lead can delete the team in its last turn: then the turn ends after the run.
        assert!(text(&turn, "time") <= text(&turn, "ended_at"), "{turn}");
        assert!(text(&turn, "time") <= text(run, "ended_at"), "{turn}");
        for id in turn["task_ids"].as_array().unwrap() {
            assert!(tasks.iter().any(|task| task["run"] == turn["run"] && task["task"] == *id), "{turn}");
            with_tasks += 1;
        }
    }
    assert!(with_tasks > 3, "{with_tasks}");
}
