//! Each lost task belongs to one incident: the one that ended the work on it, or on a task that it waits for.

use serde_json::{Value, json};

use super::incident_kinds::Team;
use super::one_source::check;

/// Kind, number of lost tasks, and tasks of each incident.
fn losses(team: &Team) -> Vec<(String, u64, Value)> {
    let report = check(&team.sandbox);
    let row = |one: &Value| {
        let lost = one["cost"]["tasks_lost"].as_u64().unwrap();
        (one["kind"].as_str().unwrap().to_owned(), lost, one["tasks"].clone())
    };
    report["incidents"].as_array().unwrap().iter().map(row).collect()
}

fn row(kind: &str, lost: u64, tasks: &[&str]) -> (String, u64, Value) {
    (kind.to_owned(), lost, json!(tasks))
}

/// A task with an owner that waits for others.
fn waits(team: &Team, id: &str, (status, owner): (&str, Option<&str>), after: &[&str]) {
    let task = json!({"id": id, "subject": format!("Task {id}"), "status": status, "owner": owner, "blockedBy": after});
    team.sandbox.write(&format!("tasks/{}/{id}.json", team.lead().team), task);
}

fn shut_down(team: &Team, name: &str, rest: &[&str]) {
    let by = json!({"agent_id": format!("a{name}-1"), "agent_type": name});
    let request = format!("shutdown-1@{name}");
    let answer = json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": request, "approve": true}});
    team.lead().before("toolu_1", "SendMessage", &answer, by.clone());
    team.lead().after("toolu_1", "SendMessage", &answer, json!({"success": true}), by);
    team.lead().roster(1, rest);
}

#[test]
fn tasks_that_wait_for_the_task_of_a_stalled_agent_are_lost_with_it_and_once() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    team.task("4", "in_progress", Some("bob"));
    waits(&team, "2", ("pending", Some("alice")), &["1"]);
    waits(&team, "3", ("pending", None), &["2"]);
    team.prompt();
    for minute in [10, 20, 30, 40] {
        team.at(minute).says("alice", "team-lead", "Waiting");
    }
    team.task("4", "completed", Some("bob"));
    team.at(70).says("alice", "team-lead", "Still waiting");
    team.at(71).end();
    let found = losses(&team);
    assert_eq!(found, [row("stalled-agent", 3, &["1", "2", "3"])]);
    let stall = &team.report()["incidents"][0];
    let summary = stall["summary"].as_str().unwrap();
    assert!(summary.ends_with("with #1 in progress; #1, #2 and #3 were never completed"), "{summary}");
    assert!(!summary.contains("#4"), "it was completed: {summary}");
}

#[test]
fn task_that_another_agent_took_up_is_lost_by_what_ended_its_work() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    shut_down(&team, "bob", &["alice"]);
    team.lead().task("1", "pending", None);
    team.prompt();
    team.at(3).task("1", "in_progress", Some("alice"));
    team.at(5).end();
    assert_eq!(losses(&team), [row("lost-work", 0, &["1"]), row("unfinished-work", 1, &["1"])]);
}

#[test]
fn task_that_was_only_assigned_again_is_lost_by_the_shutdown() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    shut_down(&team, "bob", &["alice"]);
    team.lead().task("1", "pending", Some("alice"));
    team.prompt();
    team.at(5).end();
    assert_eq!(losses(&team), [row("lost-work", 1, &["1"])]);
}

#[test]
fn team_delete_with_open_tasks_loses_each_of_them_once() {
    let team = Team::new(&["bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    waits(&team, "2", ("pending", None), &["1"]);
    team.task("3", "completed", Some("bob"));
    let lead = team.lead();
    lead.before("u1", "TeamDelete", &json!({}), json!({}));
    lead.erase();
    team.sandbox.remove_dir(&format!("tasks/{}", lead.team));
    lead.after("u1", "TeamDelete", &json!({}), json!({"success": true}), json!({}));
    let report = check(&team.sandbox);
    assert_eq!(report["overview"]["ended_by"], "team-delete");
    assert_eq!(losses(&team), [row("unfinished-work", 2, &["1", "2"])]);
}

#[test]
fn task_that_claude_code_erased_after_its_completion_is_not_lost() {
    let team = Team::new(&["bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    team.task("1", "completed", Some("bob"));
    team.sandbox.remove_dir(&format!("tasks/{}", team.lead().team));
    team.at(2).prompt();
    team.at(3).end();
    assert_eq!(losses(&team), []);
}

#[test]
fn crash_loses_what_no_other_incident_lost() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    team.task("2", "in_progress", Some("alice"));
    waits(&team, "3", ("pending", None), &["2"]);
    shut_down(&team, "bob", &["alice"]);
    team.lead().task("1", "pending", None);
    team.crash(5);
    let found = losses(&team);
    assert_eq!(found, [row("crashed-lead", 2, &["2", "3"]), row("lost-work", 1, &["1"])]);
    let summary = &team.report()["incidents"][0]["summary"];
    assert_eq!(*summary, "Claude Code exited without ending its session, with #2 and #3 unfinished");
}

#[test]
fn ready_task_of_a_busy_owner_is_no_incident_and_of_a_free_one_is_one() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    for id in ["2", "4"] {
        waits(&team, id, ("pending", Some("bob")), &[]);
    }
    waits(&team, "3", ("pending", Some("alice")), &["2"]);
    waits(&team, "5", ("pending", None), &["4"]);
    team.prompt();
    for minute in [10, 20, 30, 40, 50, 60] {
        team.at(minute).says("bob", "team-lead", "At work");
    }
    assert_eq!(losses(&team), []);
    team.task("1", "completed", Some("bob"));
    for minute in [65, 74, 80] {
        team.at(minute).says("bob", "team-lead", "Waiting for nothing");
    }
    assert_eq!(losses(&team), [row("blocked-chain", 0, &["2", "4", "3", "5"])]);
    let chain = &team.report()["incidents"][0];
    assert_eq!(chain["summary"], "#3 and #5 have waited 20 min for #2 and #4, which no agent works on");
    assert_eq!(chain["remedy"]["advice"], "Ask bob to start #2 and #4, or assign them to another teammate");
}

#[test]
fn ready_task_without_an_owner_waits_for_the_first_free_teammate() {
    let team = Team::new(&["alice", "bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    team.task("2", "in_progress", Some("alice"));
    waits(&team, "3", ("pending", None), &[]);
    waits(&team, "4", ("pending", None), &["3"]);
    team.prompt();
    let work = |minutes: &[i64]| {
        for minute in minutes {
            team.at(*minute).says("bob", "team-lead", "At work");
            team.says("alice", "team-lead", "At work");
        }
    };
    work(&[10, 20, 30, 40]);
    assert_eq!(losses(&team), []);
    team.task("2", "completed", Some("alice"));
    work(&[50, 58]);
    let chain = &team.report()["incidents"][0];
    assert_eq!(
        (&chain["kind"], &chain["remedy"]["advice"]),
        (&json!("blocked-chain"), &json!("Assign #3 to a teammate"))
    );
}

#[test]
fn idle_notices_that_still_start_turns_are_not_past() {
    let team = Team::new(&["bob"]);
    let lead = team.lead();
    team.prompt();
    lead.hook("Stop", json!({}));
    let notice = json!({"type": "idle_notification", "from": "bob", "idleReason": "available"});
    let mut known = Vec::new();
    for minute in 1..14 {
        team.at(minute).agent("bob", "SubagentStop");
        lead.says(
            "user",
            json!(format!("<teammate-message teammate_id=\"bob\">\n{notice}\n</teammate-message>")),
        );
        lead.hook("Stop", json!({}));
        let report = check(&team.sandbox);
        known.extend(report["incidents"].as_array().unwrap().first().cloned());
    }
    assert!(known.len() >= 3, "{known:#?}");
    for one in &known {
        assert_eq!((&one["kind"], &one["to"]), (&json!("idle-ping-pong"), &json!(null)));
        assert_eq!(one["id"], known[0]["id"]);
    }
    let status = |sandbox: &crate::support::sandbox::Sandbox| sandbox.printed(&["status"]);
    assert!(!status(&team.sandbox).contains("past: "), "{}", status(&team.sandbox));
    // There was no such turn for `silent`.
    team.at(30).prompt();
    assert!(status(&team.sandbox).contains("past: only idle notices"), "{}", status(&team.sandbox));
}
