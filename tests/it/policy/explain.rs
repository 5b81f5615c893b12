//! `teamkeep policy explain`.

use serde_json::{Value, json};

use super::recorded_cases::{ASKED, BEGAN, everything, explain, file, test};
use super::team_sandbox::Team;
#[cfg(unix)]
use crate::support::machine::{As, Machine};
use crate::support::reenact::{Trace, local};
use crate::support::sandbox::{CommandResult, Sandbox, lines};

#[test]
fn explain_changes_nothing() {
    let sandbox = Sandbox::new();
    let mut played = Trace::read("v328-inprocess", BEGAN);
    let payload = played.steps[ASKED - 1]["payload"].clone();
    played.steps.truncate(ASKED - 1);
    played.play(&sandbox, 1);
    sandbox.unconfigure();
    let payload = local(&sandbox, &payload.to_string());
    let before = everything(&sandbox);
    let result = explain(&sandbox, &payload, &[]);
    assert_eq!((result.code, result.err.as_str()), (Some(0), ""), "{}", result.out);
    insta::assert_snapshot!("explain", result.out);
    let line =
        format!(r#"{{"v":1,"at":"2026-02-03T04:05:06.000Z","event":"PreToolUse","payload":{payload}}}"#);
    assert_eq!(explain(&sandbox, &line, &[]).out, result.out, "a line of the log says the same");
    // By the run's record alone the same is said.
    let by_run = explain(&sandbox, &payload, &["--run", "latest"]);
    let from = |text: &str| text.split("  premature-shutdown").nth(1).unwrap().to_owned();
    assert_eq!(from(&by_run.out), from(&result.out));
    let idle =
        json!({"session_id": "1353b3db-15db-4165-b1fb-ed39ac7e091c", "hook_event_name": "Notification"});
    let result = explain(&sandbox, &idle.to_string(), &[]);
    assert!(result.out.contains("verdict    allow\nresponse   exit 0\n"), "{}", result.out);
    assert_eq!(everything(&sandbox), before, "no line, no count, no lock");
    let result = explain(&sandbox, "nonsense", &[]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.starts_with("error: stdin is not a hook payload: invalid JSON"), "{}", result.err);
}

#[test]
fn json_that_is_not_a_payload_is_an_error() {
    let sandbox = Sandbox::judging();
    let result = explain(&sandbox, r#"{"foo":1}"#, &[]);
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
    let error =
        "error: stdin is not a hook payload: `hook_event_name` is missing\nhint: explain a recorded one: ";
    assert!(result.err.starts_with(error), "{}", result.err);
    let result = explain(&sandbox, r#"{"hook_event_name":"PreToolUs"}"#, &[]);
    assert_eq!(result.err, "warning: unknown event \"PreToolUs\"\nhint: did you mean \"PreToolUse\"?\n");
    let result = explain(&sandbox, r#"{"session_id": "s1", "hook_event_name": "PreToolUse"}"#, &[]);
    assert!(result.out.contains("\nteam       none (no evidence)\nactor      lead ("), "{}", result.out);
}

#[test]
fn the_loop_guard_is_explained_for_what_it_counts() {
    let team = Team::new("");
    team.roster(&["bob"]);
    team.spawn("bob");
    team.task(1, "in_progress", "bob", &[]);
    team.ask("bob");
    let log = team.sandbox.log();
    let verdict = log.iter().find(|line| line["verdict"]["decision"] == "block").unwrap();
    let id = verdict["verdict"]["of"].as_str().unwrap();
    let guard = |policy: &str| {
        let policy = file(&team.sandbox, "policy.toml", policy);
        let result = explain(&team.sandbox, "", &["--event", id, "--policy", &policy]);
        let lines: Vec<String> = result.out.lines().map(str::to_owned).collect();
        lines.into_iter().filter(|line| line.starts_with("loop guard")).collect::<Vec<_>>()
    };
    assert!(guard("[policy]\nmax-blocks = 2")[0].contains(": 1 of 2 blocks counted; after those "));
    assert_eq!(guard("[policy.premature-shutdown]\nmode = \"warn\""), [""; 0]);
    let rule = "[policy.premature-shutdown]\nmode = \"off\"\n[[rule]]\nname = \"no\"\nevents = [\"PreToolUse\"]\n\
                tools = [\"*\"]\naction = \"block\"\nlasting = true\nreason = \"no\"\n";
    assert_eq!(guard(rule), ["loop guard rule no: none: the rule is lasting, so it always blocks"]);
}

#[test]
fn a_recorded_event_is_explained_as_of_its_time() {
    let sandbox = Sandbox::new();
    let played = Trace::read("v328-inprocess", BEGAN);
    let payload = local(&sandbox, &played.steps[ASKED - 1]["payload"].to_string());
    played.play(&sandbox, 1);
    sandbox.unconfigure();
    sandbox.finish();
    let before = everything(&sandbox);
    let tested = lines(&test(&sandbox, &["latest", "--json"]).out);
    let block = tested.iter().find(|line| line["verdict"]["decision"] == "block").unwrap();
    let id = block["of"].as_str().unwrap();
    let result = explain(&sandbox, "", &["--event", id]);
    assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!("explain_event", result.out.replace(id, "ID"));
    assert!(result.out.contains(block["verdict"]["reason"].as_str().unwrap()), "{}", result.out);
    let at_the_end = explain(&sandbox, &payload, &["--run", "latest"]);
    assert!(!at_the_end.out.contains("verdict    block"), "it depends on the time: {}", at_the_end.out);
    // Each event has the verdict that the back-test finds.
    for line in tested.iter().filter(|line| !line["verdict"].is_null()) {
        let result = explain(&sandbox, "", &["--event", line["of"].as_str().unwrap()]).out;
        let word = format!("verdict    {}", line["verdict"]["decision"].as_str().unwrap());
        assert!(result.contains(&word), "{line}: {result}");
    }
    let log = sandbox.log();
    let first = log[0]["id"].as_str().unwrap();
    assert!(explain(&sandbox, "", &["--event", first]).out.contains("recorded   no verdict\n"));
    assert_eq!(explain(&sandbox, "", &["--event", &id[..25]]).out, result.out, "a unique prefix");
    let many = explain(&sandbox, "", &["--event", &id[..2]]);
    assert_eq!((many.code, many.out.as_str()), (Some(1), ""));
    assert!(many.err.starts_with(&format!("error: ambiguous event ID {:?}: ", &id[..2])), "{}", many.err);
    let none = explain(&sandbox, "", &["--event", "nope"]);
    assert_eq!((none.code, none.out.as_str()), (Some(1), ""));
    assert!(none.err.starts_with("error: no event matches \"nope\"\nhint: "), "{}", none.err);
    assert_eq!(everything(&sandbox), before, "nothing is changed");
}

#[test]
fn the_recorded_verdict_is_printed_next_to_the_new_one() {
    let team = Team::new("");
    team.roster(&["bob"]);
    team.spawn("bob");
    team.task(1, "in_progress", "bob", &[]);
    assert_eq!(team.ask("bob"), 2);
    let log = team.sandbox.log();
    let verdict = log.iter().find(|line| line["verdict"]["decision"] == "block").unwrap();
    let off = file(&team.sandbox, "off.toml", "[policy.premature-shutdown]\nmode = \"off\"\n");
    for id in [&verdict["verdict"]["of"], &verdict["id"]] {
        let result = explain(&team.sandbox, "", &["--event", id.as_str().unwrap(), "--policy", &off]);
        assert!(result.out.contains("verdict    allow\n"), "{}{}", result.out, result.err);
        assert!(
            result.out.contains(
                "\nrecorded   block premature-shutdown: a shutdown request to bob, who still owns task 1"
            ),
            "{}",
            result.out
        );
    }
}

/// A team in which bob has an unfinished task.
fn busy(config: &str) -> Team {
    let team = Team::new(config);
    team.roster(&["bob"]);
    // Before the last hook call: explain judges by the last snapshots.
    team.task(1, "in_progress", "bob", &[]);
    team.spawn("bob");
    team
}

/// Asserts that explain predicted the hook's response to the same payload.
fn assert_predicted(explained: &str, hook: &CommandResult) {
    let (_, response) = explained.split_once("\nresponse   ").unwrap();
    let stdout =
        if hook.out.is_empty() { String::new() } else { format!("  stdout  {}\n", hook.out.trim_end()) };
    let stderr = if hook.err.is_empty() { "" } else { "  stderr  the reason of the gate above\n" };
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = format!("exit {}\n{stdout}{stderr}", hook.code.unwrap());
    assert_eq!(words(response), words(&expected), "{explained}");
}

/// Explains a request for bob's shutdown, then calls the hook with it, and returns the verdict of both.
fn asked_and_predicted(team: &Team, id: &str) -> String {
    team.sandbox.think();
    let request = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}});
    let fields = json!({"tool_name": "SendMessage", "tool_input": request, "tool_use_id": id});
    let payload = team.payload("PreToolUse", None, fields.clone());
    let explained = explain(&team.sandbox, &payload.to_string(), &[]).out;
    let hook = team.event("PreToolUse", None, fields);
    assert_predicted(&explained, &hook);
    let (_, verdict) = explained.split_once("\nverdict    ").unwrap();
    format!("{} | {}", verdict.lines().next().unwrap(), hook.out.trim_end())
}

#[test]
fn a_pass_of_the_loop_guard_is_predicted_with_its_message() {
    let team = busy("[policy]\nmax-blocks = 1\n");
    assert_eq!(asked_and_predicted(&team, "1"), "block premature-shutdown | ");
    insta::assert_snapshot!(asked_and_predicted(&team, "2"), @r#"allow after blocks premature-shutdown | {"systemMessage":"teamkeep allowed this action after 1 block (premature-shutdown: a shutdown request to bob, who still owns task 1 \"Subject 1\" (in_progress, owner bob))","hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"teamkeep allowed this action after 1 block (premature-shutdown: a shutdown request to bob, who still owns task 1 \"Subject 1\" (in_progress, owner bob))"}}"#);
}

#[test]
fn an_allowance_lifts_a_block_and_is_not_used_up_by_a_warning() {
    let team = busy("[policy.premature-shutdown]\nmode = \"warn\"\n");
    assert_eq!(team.sandbox.run(&["allow", "bob"]).code, Some(0));
    assert!(asked_and_predicted(&team, "1").starts_with("warn premature-shutdown | {"));
    assert!(team.sandbox.printed(&["status"]).contains("allowed once: shutdown of bob"));
    team.sandbox.write_config("");
    assert_eq!(asked_and_predicted(&team, "2"), "paused premature-shutdown | ");
    assert_eq!(asked_and_predicted(&team, "3"), "block premature-shutdown | ");
}

#[test]
fn a_run_has_the_shutdowns_that_a_gate_allowed() {
    let team = busy("");
    team.sandbox.run(&["allow", "bob"]);
    assert_eq!(team.ask("bob"), 0);
    let input = json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "shutdown-1@bob", "approve": true}});
    let fields = json!({"tool_name": "SendMessage", "tool_input": input, "tool_use_id": "7"});
    let payload = team.payload("PreToolUse", Some("bob"), fields.clone());
    let explained = explain(&team.sandbox, &payload.to_string(), &["--run", "latest"]).out;
    assert_predicted(&explained, &team.event("PreToolUse", Some("bob"), fields));
}

#[test]
fn all_warnings_are_predicted_in_one_message() {
    let rule = |name: &str| {
        format!(
            "[[rule]]\nname = \"{name}\"\ntools = [\"SendMessage\"]\naction = \"warn\"\nreason = \"{name}\"\n"
        )
    };
    let team = busy(&format!("[policy.premature-shutdown]\nmode = \"off\"\n{}{}", rule("one"), rule("two")));
    insta::assert_snapshot!(asked_and_predicted(&team, "1"), @r#"warn rule one | {"systemMessage":"Warning: one\nWarning: two","hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"Warning: one\nWarning: two"}}"#);
}

#[cfg(unix)]
#[test]
fn a_pause_does_not_lift_a_gate_that_the_organization_has_fixed() {
    let Some(machine) = Machine::new() else { return };
    let fixed =
        "[organization]\nfixed = [\"policy.protect-lead\"]\n[policy.protect-lead]\nmode = \"block\"\n";
    machine.write("teamkeep/teamkeep.toml", fixed);
    let config = json!({"name": "t1", "createdAt": 1, "leadSessionId": "s1", "members": [{"name": "team-lead"}, {"name": "bob"}]});
    let path = machine.home(".claude/teams/t1/config.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, config.to_string()).unwrap();
    let call = |tool: &str, input: Value, id: &str| {
        json!({"session_id": "s1", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
            "tool_use_id": id, "cwd": machine.home("")})
    };
    machine.hook(&call("TaskList", json!({}), "1"), &[]);
    assert_eq!(machine.run(As::User, "pause 1h").code, Some(0));
    let request = json!({"to": "team-lead", "message": {"type": "shutdown_request"}});
    let payload = call("SendMessage", request, "2");
    let explained = machine.feed("policy explain", &payload, &[]).out;
    let hook = machine.hook(&payload, &[]);
    assert_eq!(hook.code, Some(2), "{}", hook.err);
    assert!(explained.contains("\nverdict    block protect-lead\n"), "{explained}");
    assert_predicted(&explained, &hook);
}
