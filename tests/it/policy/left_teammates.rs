//! Shutdown requests to names that are not in the team, and teammates that wait for the approval of their plan.

use serde_json::{Value, json};

use super::team_sandbox::{TEAM, Team};

/// alice and bob, who owned a task; bob has left, and the task still names him.
fn left() -> Team {
    let team = Team::new("");
    team.roster(&["alice", "bob"]);
    team.spawn("alice");
    team.spawn("bob");
    team.task(1, "in_progress", "bob", &[]);
    team.event("SubagentStart", Some("bob"), json!({}));
    team.event("SubagentStop", Some("bob"), json!({}));
    team.roster(&["alice"]);
    team
}

/// The codes and reasons of the verdicts.
fn verdicts(team: &Team) -> Vec<(String, String)> {
    let log = team.sandbox.log();
    let verdicts = log.iter().filter(|line| line["event"] == "Verdict").map(|line| &line["verdict"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    verdicts.map(|verdict| (text(&verdict["code"]), text(&verdict["reason"]))).collect()
}

fn is_unknown(team: &Team, name: &str) {
    let found = verdicts(team);
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    assert_eq!(found[0].0, "shutdown-of-absent-teammate", "{name}: {found:?}");
    assert!(found[0].1.contains("Its teammates are alice."), "{name}: {found:?}");
}

#[test]
fn a_request_to_a_teammate_that_left_is_warned_although_it_still_owns_a_task() {
    for name in ["bob", "BOB", "b\u{200b}ob", "ｂｏｂ", "@bob", &format!("bob@{TEAM}")] {
        let team = left();
        assert_eq!(team.ask(name), 0, "{name}");
        is_unknown(&team, name);
    }
}

#[test]
fn an_owner_that_never_was_a_member_is_an_unknown_recipient() {
    for name in ["dave", "qa"] {
        let team = left();
        team.task(2, "pending", name, &[]);
        assert_eq!(team.ask(name), 0);
        is_unknown(&team, name);
    }
}

#[test]
fn a_request_that_claude_code_accepted_does_not_bring_a_teammate_back() {
    // 2.1.177 answers `success: true`, and another state of the work shows the warning again.
    let team = left();
    team.ask("bob");
    team.task(3, "pending", "alice", &[]);
    team.ask("bob");
    let codes: Vec<String> = verdicts(&team).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["shutdown-of-absent-teammate"; 2]);
}

#[test]
fn a_request_to_everyone_and_a_stop_do_not_concern_a_teammate_that_left() {
    let team = left();
    assert_eq!(team.ask("*"), 0);
    assert_eq!(verdicts(&team), []);
    let team = Team::new("");
    team.roster(&["alice", "tester"]);
    team.spawn("alice");
    team.spawn("tester");
    team.task(1, "in_progress", "alice", &[]);
    team.task(2, "in_progress", "tester", &[]);
    let answer = json!({"type": "shutdown_response", "request_id": "shutdown-1@tester", "approve": true});
    team.task(2, "pending", "", &[]);
    team.tool(
        "SendMessage",
        Some("tester"),
        json!({"to": "team-lead", "message": answer}),
        json!({"success": true}),
    );
    team.roster(&["alice"]);
    team.task(2, "in_progress", "tester", &[]);
    assert_eq!(team.pre("TaskStop", None, json!({"task_id": "tester"})), 0);
    assert_eq!(verdicts(&team), [], "its name is not the id of a background task of another one");
}

#[test]
fn a_member_of_the_roster_is_judged_by_its_tasks_as_before() {
    let team = left();
    team.task(2, "in_progress", "alice", &[]);
    assert_eq!(team.ask("alice"), 2);
}

const STRICT: &str =
    "[policy]\nidle-with-work = { mode = \"block\" }\nreport-before-idle = { mode = \"block\" }\n";

/// bob with a task in progress and a plan that the lead has not answered yet.
fn planning() -> Team {
    let team = Team::new(STRICT);
    team.roster(&["bob"]);
    team.spawn("bob");
    team.task(1, "in_progress", "bob", &[]);
    team.event("SubagentStart", Some("bob"), json!({}));
    team.event("SubagentStop", Some("bob"), json!({}));
    team.sandbox.write(&inbox("team-lead"), mail(&[("bob", request("plan-1@bob"), false)]));
    team
}

fn inbox(owner: &str) -> String {
    format!("teams/{TEAM}/inboxes/{owner}.json")
}

fn request(id: &str) -> Value {
    json!({"type": "plan_approval_request", "from": "bob", "requestId": id, "planContent": "Tests first"})
}

fn response(id: &str) -> Value {
    json!({"type": "plan_approval_response", "requestId": id, "approved": true})
}

fn mail(messages: &[(&str, Value, bool)]) -> Value {
    let message = |(from, text, read): &(&str, Value, bool)| json!({"from": from, "text": text.to_string(), "timestamp": "2026-02-03T04:05:06.000Z", "read": read});
    messages.iter().map(message).collect()
}

fn idle(team: &Team) -> Option<i32> {
    team.event("TeammateIdle", Some("bob"), json!({})).code
}

#[test]
fn a_teammate_that_waits_for_the_approval_of_its_plan_may_go_idle() {
    assert_eq!(idle(&planning()), Some(0));
    // 2.1.47 keeps delivered messages.
    let team = planning();
    team.sandbox.write(&inbox("team-lead"), mail(&[("bob", request("plan-1@bob"), true)]));
    assert_eq!(idle(&team), Some(0));
}

#[test]
fn a_teammate_whose_plan_was_answered_is_idle_with_its_work() {
    let team = planning();
    team.sandbox.write(&inbox("bob"), mail(&[("team-lead", response("plan-1@bob"), true)]));
    assert_eq!(idle(&team), Some(2));
    // The answer is to an earlier plan.
    let team = planning();
    let both = [("bob", request("plan-1@bob"), true), ("bob", request("plan-2@bob"), true)];
    team.sandbox.write(&inbox("team-lead"), mail(&both));
    team.sandbox.write(&inbox("bob"), mail(&[("team-lead", response("plan-1@bob"), true)]));
    assert_eq!(idle(&team), Some(0));
}

#[test]
fn the_plan_of_another_teammate_excuses_nobody_else() {
    let team = planning();
    team.sandbox.write(&inbox("team-lead"), mail(&[("alice", request("plan-1@alice"), true)]));
    assert_eq!(idle(&team), Some(2));
    let team = planning();
    team.sandbox.write(&inbox("team-lead"), json!([]));
    assert_eq!(idle(&team), Some(2), "no plan is open");
}
