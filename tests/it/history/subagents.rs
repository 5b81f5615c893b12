//! Plain subagents: those that teammates launch, and those whose role is a member's name. And several agents of one name.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// A message of alice's subagent, whose sender the client calls so, and its copy in the lead's inbox.
fn told(sender: &str) -> Vec<Value> {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, ONE, "parser-team");
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    let helper = json!({"agent_id": "a5987ccde93909e4a", "agent_type": "general-purpose"});
    lead.hook("SubagentStart", helper.clone());
    let input = json!({"to": "team-lead", "summary": "measured", "message": "The helper has measured it"});
    lead.before("t1", "SendMessage", &input, helper.clone());
    lead.inbox(
        "team-lead",
        json!([{"from": sender, "text": "The helper has measured it", "summary": "measured", "timestamp": sandbox.last(), "read": false}]),
    );
    let routing = json!({"sender": sender, "target": "@team-lead", "summary": "measured"});
    lead.after("t1", "SendMessage", &input, json!({"success": true, "routing": routing}), helper.clone());
    lead.hook("SubagentStop", helper);
    let line = sandbox.printed(&["log", "latest", "--kind", "message"]);
    let name = if sender == "alice" { " as alice" } else { "" };
    assert!(line.contains(&format!("general-purpose messaged team-lead{name}: measured\n")), "{line}");
    let messages = sandbox.replay("latest").into_iter().filter(|entry| entry["kind"] == "message");
    messages.map(|entry| json!([entry["actor"], entry["signed_as"], entry["sources"]])).collect()
}

#[test]
fn subagent_message_signed_as_its_teammate_is_attributed_to_the_subagent_and_shown_once() {
    assert_eq!(told("alice"), [json!(["general-purpose", "alice", ["hook", "inbox"]])]);
}

#[test]
fn message_sent_in_the_name_of_a_subagent_is_attributed_to_it() {
    assert_eq!(told("a5987ccde93909e4a"), [json!(["general-purpose", null, ["hook", "inbox"]])]);
}

/// A team of these members in the lead's process, whose transcript names a version of Claude Code.
fn team<'a>(sandbox: &'a Sandbox, version: &str, members: &[&str]) -> Lead<'a> {
    let lead = Lead::of(sandbox, ONE);
    if !version.is_empty() {
        let record = json!({"type": "user", "version": version, "sessionId": ONE});
        sandbox.write(&lead.transcript(), format!("{record}\n"));
    }
    lead.roster(1_000, members);
    lead.start("startup");
    lead
}

fn turn(lead: &Lead<'_>, event: &str, id: &str, role: &str) {
    lead.hook(event, json!({"agent_id": id, "agent_type": role}));
}

/// The agents of `status` that are not the lead, each with its state.
fn states(sandbox: &Sandbox) -> Vec<(String, String)> {
    let status: Value = serde_json::from_str(&sandbox.printed(&["status", "--json"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let members = status["teams"][0]["members"].as_array().unwrap().iter();
    let all = members.map(|member| (text(&member["name"]), text(&member["state"])));
    all.filter(|(name, _)| name != "team-lead").collect()
}

fn pairs(states: &[(String, String)]) -> Vec<(&str, &str)> {
    states.iter().map(|(name, state)| (name.as_str(), state.as_str())).collect()
}

/// The kind of the actor of the last event, and its name.
fn last_actor(sandbox: &Sandbox) -> (String, String) {
    let log = sandbox.log();
    let actor = &log.last().unwrap()["actor"];
    let text = |key: &str| actor[key].as_str().unwrap_or_default().to_owned();
    (text("kind"), text("name"))
}

fn subagent(name: &str) -> (String, String) {
    ("subagent".to_owned(), name.to_owned())
}

const REVIEWER: &str = "areviewer-7dfceaaaef47c69e";
const PLAIN: &str = "a5987ccde93909e4a";
const OTHER: &str = "a0c8d2f1b6e73945a";

#[test]
fn the_end_of_a_subagent_with_a_teammates_name_is_not_the_end_of_the_teammate() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "2.1.332", &["reviewer"]);
    turn(&lead, "SubagentStart", REVIEWER, "reviewer");
    turn(&lead, "SubagentStart", PLAIN, "reviewer");
    turn(&lead, "SubagentStop", PLAIN, "reviewer");
    assert_eq!(pairs(&states(&sandbox)), [("reviewer", "working"), ("reviewer (subagent)", "left")]);
    let shown = sandbox.printed(&["status"]);
    assert!(shown.contains(&format!("\n    {:<19} working ", "reviewer")), "{shown}");
    let brief = sandbox.printed(&["brief"]);
    assert!(brief.contains("- reviewer: working") && !brief.contains("- reviewer: left"), "{brief}");
    turn(&lead, "SubagentStop", REVIEWER, "reviewer");
    assert_eq!(pairs(&states(&sandbox)), [("reviewer", "idle"), ("reviewer (subagent)", "left")]);
    let turns = sandbox.replay("latest").into_iter().filter(|entry| entry["kind"] == "turn-ended");
    let turns: Vec<Value> = turns.map(|entry| json!([entry["actor"], entry["agent"]])).collect();
    assert_eq!(turns, [json!(["reviewer (subagent)", PLAIN]), json!(["reviewer", REVIEWER])]);
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    let agents = report["agents"].as_array().unwrap().iter();
    let agents = agents.map(|agent| json!([agent["name"], agent["kind"], agent["instances"][0]["id"]]));
    assert_eq!(
        agents.skip(1).collect::<Vec<_>>(),
        [json!(["reviewer", "teammate", REVIEWER]), json!(["reviewer (subagent)", "subagent", PLAIN])]
    );
    assert_eq!(report["incidents"], json!([]));
}

#[test]
fn a_subagent_is_recognized_before_the_teammate_of_its_name_has_acted() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "2.1.328", &["reviewer"]);
    turn(&lead, "SubagentStart", PLAIN, "reviewer");
    assert_eq!(last_actor(&sandbox), subagent("reviewer"), "by the version of Claude Code");
    turn(&lead, "SubagentStop", PLAIN, "reviewer");
    assert_eq!(pairs(&states(&sandbox)), [("reviewer", "joined"), ("reviewer (subagent)", "left")]);

    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "", &["alice", "reviewer"]);
    turn(&lead, "SubagentStart", "aalice-7dfceaaaef47c69e", "alice");
    turn(&lead, "SubagentStart", PLAIN, "reviewer");
    assert_eq!(last_actor(&sandbox), subagent("reviewer"), "by the id of another teammate");
}

#[test]
fn a_turn_with_a_new_id_is_of_the_teammate_where_ids_have_no_names() {
    for version in ["", "2.1.177"] {
        let sandbox = Sandbox::new();
        let lead = team(&sandbox, version, &["reviewer"]);
        for id in [PLAIN, OTHER] {
            turn(&lead, "SubagentStart", id, "reviewer");
            assert_eq!(last_actor(&sandbox), ("teammate".to_owned(), "reviewer".to_owned()));
            turn(&lead, "SubagentStop", id, "reviewer");
        }
        assert_eq!(pairs(&states(&sandbox)), [("reviewer", "idle")]);
    }
}

#[test]
fn where_ids_have_no_names_the_response_to_its_launch_shows_that_an_agent_is_a_subagent() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "2.1.177", &["reviewer"]);
    turn(&lead, "SubagentStart", OTHER, "reviewer");
    turn(&lead, "SubagentStart", PLAIN, "reviewer");
    turn(&lead, "SubagentStop", PLAIN, "reviewer");
    let input = json!({"description": "second look", "prompt": "Look again", "subagent_type": "reviewer"});
    lead.tool("t1", "Agent", &input, json!({"status": "completed", "agentId": PLAIN}));
    assert_eq!(pairs(&states(&sandbox)), [("reviewer", "working"), ("reviewer (subagent)", "left")]);
    turn(&lead, "SubagentStop", OTHER, "reviewer");
    assert_eq!(pairs(&states(&sandbox)), [("reviewer", "idle"), ("reviewer (subagent)", "left")]);
}

#[test]
fn of_two_subagents_of_one_role_the_first_end_is_not_the_end_of_both() {
    for first in [PLAIN, OTHER] {
        let sandbox = Sandbox::new();
        let lead = team(&sandbox, "", &[]);
        [PLAIN, OTHER].iter().for_each(|id| turn(&lead, "SubagentStart", id, "Explore"));
        turn(&lead, "SubagentStop", first, "Explore");
        assert_eq!(pairs(&states(&sandbox)), [("Explore", "working")]);
        turn(&lead, "SubagentStop", if first == PLAIN { OTHER } else { PLAIN }, "Explore");
        assert_eq!(pairs(&states(&sandbox)), [("Explore", "left")]);
    }
}

#[test]
fn the_stop_of_one_subagent_is_not_the_end_of_another_one_of_its_role() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "", &[]);
    [PLAIN, OTHER].iter().for_each(|id| turn(&lead, "SubagentStart", id, "Explore"));
    let stop = |id: &str| {
        let (call, input) = (format!("toolu_{id}"), json!({"task_id": id}));
        lead.before(&call, "TaskStop", &input, json!({}));
        lead.after(&call, "TaskStop", &input, json!({"task_id": id}), json!({}));
    };
    stop(PLAIN);
    assert_eq!(pairs(&states(&sandbox)), [("Explore", "working")]);
    turn(&lead, "SubagentStop", OTHER, "Explore");
    assert_eq!(pairs(&states(&sandbox)), [("Explore", "left")]);
}

#[test]
fn a_teammate_that_is_spawned_again_under_its_name_continues_with_its_new_id() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "", &["reviewer"]);
    turn(&lead, "SubagentStart", REVIEWER, "reviewer");
    lead.roster(1_000, &[]);
    lead.hook("Notification", json!({}));
    assert_eq!(pairs(&states(&sandbox)), [("reviewer", "left")]);
    lead.roster(1_000, &["reviewer"]);
    turn(&lead, "SubagentStart", "areviewer-0b36fb63472f30f5", "reviewer");
    assert_eq!(pairs(&states(&sandbox)), [("reviewer", "working")]);
    turn(&lead, "SubagentStop", "areviewer-0b36fb63472f30f5", "reviewer");
    assert_eq!(pairs(&states(&sandbox)), [("reviewer", "idle")]);
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    assert_eq!(report["incidents"], json!([]));
}

#[test]
fn a_name_like_an_id_and_the_name_of_the_lead_are_only_labels() {
    let sandbox = Sandbox::new();
    let name = "a-0123456789abcdef";
    let lead = team(&sandbox, "", &[name]);
    turn(&lead, "SubagentStart", &format!("a{name}-7dfceaaaef47c69e"), name);
    turn(&lead, "SubagentStart", PLAIN, name);
    turn(&lead, "SubagentStop", PLAIN, name);
    turn(&lead, "SubagentStart", OTHER, "team-lead");
    assert_eq!(last_actor(&sandbox), subagent("team-lead"));
    turn(&lead, "SubagentStop", OTHER, "team-lead");
    let other = format!("{name} (subagent)");
    let expected = [(name, "working"), (other.as_str(), "left"), ("team-lead (subagent)", "left")];
    assert_eq!(pairs(&states(&sandbox)), expected);
}

#[test]
fn the_tokens_of_a_subagent_with_a_teammates_name_are_its_own() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "2.1.332", &["reviewer"]);
    for (id, note, tokens) in [
        (REVIEWER, json!({"name": "reviewer", "agentType": "reviewer"}), 100),
        (PLAIN, json!({"agentType": "reviewer"}), 7),
    ] {
        let path = format!("projects/-home-dev-parser/{ONE}/subagents/agent-{id}");
        sandbox.write(&format!("{path}.meta.json"), note);
        turn(&lead, "SubagentStart", id, "reviewer");
        let mut line = crate::report::contents::thinks(id, "claude-opus-5", tokens, 0);
        line["timestamp"] = json!(sandbox.last());
        sandbox.write(&format!("{path}.jsonl"), format!("{line}\n"));
        turn(&lead, "SubagentStop", id, "reviewer");
    }
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    let agents = report["spending"]["agents"].as_array().unwrap().iter();
    let spent = agents.map(|agent| json!([agent["agent"], agent["tokens"]["input"]]));
    let spent: Vec<Value> = spent.filter(|agent| agent[0] != "team-lead").collect();
    assert_eq!(spent, [json!(["reviewer", 100]), json!(["reviewer (subagent)", 7])]);
}

#[test]
fn a_name_of_several_agents_works_until_the_last_of_them_ends() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, "2.1.177", &["worker"]);
    let ids = [PLAIN, OTHER, "a00c0ffee00000002"];
    ids.iter().for_each(|id| turn(&lead, "SubagentStart", id, "worker"));
    ids.iter()
        .for_each(|id| lead.before(id, "Read", &json!({}), json!({"agent_id": id, "agent_type": "worker"})));
    for id in &ids[..2] {
        turn(&lead, "SubagentStop", id, "worker");
        lead.hook("TeammateIdle", json!({"teammate_name": "worker"}));
        assert_eq!(pairs(&states(&sandbox)), [("worker", "working")]);
    }
    turn(&lead, "SubagentStop", ids[2], "worker");
    lead.hook("TeammateIdle", json!({"teammate_name": "worker"}));
    assert_eq!(pairs(&states(&sandbox)), [("worker", "idle")]);
    let shown = sandbox.printed(&["log", "latest", "--kind", "turn-ended"]);
    for id in ids {
        assert!(shown.contains(&format!("worker ended the turn ({id})")), "{shown}");
    }
}

#[test]
fn subagents_have_the_names_that_they_were_launched_with() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.start("startup");
    for (name, id) in [("alice", "ad8121e491b731a98"), ("bob", "a37ce21c63a4b4919")] {
        let input =
            json!({"name": name, "description": "Parse", "subagent_type": "general-purpose", "prompt": "go"});
        lead.before(name, "Agent", &input, json!({}));
        turn(&lead, "SubagentStart", id, "general-purpose");
        lead.after(
            name,
            "Agent",
            &input,
            json!({"isAsync": true, "status": "async_launched", "agentId": id}),
            json!({}),
        );
    }
    let alice = json!({"agent_id": "ad8121e491b731a98", "agent_type": "general-purpose"});
    let input = json!({"to": "bob", "summary": "ready", "message": "parser.rs is ready"});
    lead.before("m1", "SendMessage", &input, alice.clone());
    let queued = json!({"success": true, "message": "Message queued for delivery to bob", "pin": {"id": "a37ce21c63a4b4919", "name": "bob"}});
    lead.after("m1", "SendMessage", &input, queued, alice);
    turn(&lead, "SubagentStop", "ad8121e491b731a98", "general-purpose");
    turn(&lead, "SubagentStop", "a37ce21c63a4b4919", "general-purpose");
    lead.end("other");
    let printed = sandbox.printed(&["log", "latest"]);
    for line in ["alice started a turn: Parse", "alice messaged bob: ready", "bob   ended the turn"] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    let report: Value =
        serde_json::from_str(&sandbox.printed(&["report", "latest", "--format", "json"])).unwrap();
    assert_eq!(report["incidents"], json!([]), "bob is known");
}

#[test]
fn the_lead_created_the_tasks_of_the_prompt_that_led_to_the_run() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.start("startup");
    for (prompt, task) in [("Read the code", "1"), ("Write the parser", "2")] {
        lead.hook("UserPromptSubmit", json!({"prompt": prompt}));
        let path = format!("tasks/{ONE}/{task}.json");
        sandbox.write(
            &path,
            json!({"id": task, "subject": prompt, "status": "pending", "blocks": [], "blockedBy": []}),
        );
        lead.hook("TaskCreated", json!({"task_id": task, "task_subject": prompt}));
        if task == "1" {
            std::fs::remove_file(sandbox.client(&path)).unwrap();
        }
    }
    turn(&lead, "SubagentStart", "ad8121e491b731a98", "general-purpose");
    turn(&lead, "SubagentStop", "ad8121e491b731a98", "general-purpose");
    lead.end("other");
    let entries = sandbox.replay("latest").into_iter().filter(|entry| entry["kind"] == "task-created");
    let created: Vec<Value> = entries.map(|entry| json!([entry["actor"], entry["task"]])).collect();
    assert_eq!(created, [json!(["lead", "2"])]);
}
