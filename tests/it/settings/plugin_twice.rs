//! The plugin's hooks beside those of the settings: each event is recorded once, whoever does it.

use serde_json::{Value, json};

use super::plugin::{ONE, Plugin, SILENCE, all, hooks};
use crate::policy::gate_sandbox::{SESSION, TEAM, busy};
use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, Sandbox, feed, kebab};

#[test]
fn plugin_records_the_same_events_as_settings_hooks() {
    let record = |with_plugin: bool| {
        let (sandbox, plugin) = (Sandbox::new(), Plugin::new(true));
        let lead = Lead::of(&sandbox, ONE);
        lead.roster(1_770_091_200_000, &["bob"]);
        let hooks =
            ["SessionStart", "UserPromptSubmit", "SubagentStart", "TeammateIdle", "Stop", "SessionEnd"];
        for event in hooks {
            let payload = lead.payload(event, json!({"source": "startup", "teammate_name": "bob"}));
            let result = match with_plugin {
                true => plugin.hook(&sandbox, &payload),
                false => sandbox.feed(&kebab(event), payload.to_string().as_bytes(), &[]),
            };
            assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
            assert_eq!(result.out.contains("watchPaths"), event == "SessionStart");
        }
        let lines = sandbox.log();
        lines.iter().map(|line| (line["event"].to_string(), line["team"].to_string())).collect::<Vec<_>>()
    };
    assert_eq!(record(true), record(false));
}

/// Both copies of a hook at the same time, as the client runs them.
fn both(sandbox: &Sandbox, plugin: &Plugin, payload: &Value) -> [CommandResult; 2] {
    std::thread::scope(|scope| {
        let by_plugin = scope.spawn(|| plugin.hook(sandbox, payload));
        let event = kebab(payload["hook_event_name"].as_str().unwrap());
        let by_settings = feed(&mut sandbox.command(&["hook", &event]), payload.to_string().as_bytes());
        [by_settings, by_plugin.join().unwrap()]
    })
}

/// The exit codes of both, the lower first: only one of them answers.
fn codes(results: &[CommandResult; 2]) -> [Option<i32>; 2] {
    let mut codes = results.each_ref().map(|result| result.code);
    codes.sort_unstable();
    codes
}

#[test]
fn settings_and_plugin_record_and_evaluate_each_event_once() {
    let (sandbox, plugin) = (Sandbox::new(), Plugin::new(true));
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_770_091_200_000, &["bob"]);
    lead.task("1", "in_progress", Some("bob"));
    let events = hooks();
    let mut made = 0;
    // The same again is another event: no payload has a time, and an idle may follow an idle.
    for _ in 0..3 {
        std::thread::scope(|scope| {
            for event in events.keys().filter(|event| *event != "SessionEnd") {
                made += 1;
                let payload = lead.payload(event, json!({"tool_name": "TaskUpdate", "source": "startup"}));
                let (sandbox, plugin) = (&sandbox, &plugin);
                scope.spawn(move || {
                    let results = both(sandbox, plugin, &payload);
                    assert!(results.iter().any(|result| all(result) == SILENCE), "{results:?}");
                });
            }
        });
    }
    assert_eq!(sandbox.log().len(), made);
    sandbox.unconfigure();
    let input = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}});
    let fields = json!({"tool_name": "SendMessage", "tool_input": input});
    // Each try is a message of its own: refusals of one message count once.
    let tries = (0..4).map(|number| {
        sandbox.think();
        let mut payload = lead.payload("PreToolUse", fields.clone());
        payload["tool_use_id"] = json!(format!("toolu_{number}"));
        codes(&both(&sandbox, &plugin, &payload))
    });
    let answers: Vec<_> = tries.collect();
    let no = [Some(0), Some(2)];
    assert_eq!(answers, [no, no, no, [Some(0), Some(0)]], "three blocks, and then it is let through");
}

#[test]
fn a_teammate_that_goes_idle_again_at_once_is_judged_again_as_without_the_plugin() {
    let plugin = Plugin::new(true);
    let judged = |with_plugin: bool| {
        let sandbox = busy("[policy.idle-with-work]\nmode = \"block\"\n");
        let idle = json!({"session_id": SESSION, "cwd": sandbox.home(), "hook_event_name": "TeammateIdle",
            "teammate_name": "bob", "team_name": TEAM, "agent_id": "abob-1", "agent_type": "bob"});
        let call = |_| match with_plugin {
            true => codes(&both(&sandbox, &plugin, &idle))[1],
            false => sandbox.feed("teammate-idle", idle.to_string().as_bytes(), &[]).code,
        };
        let answers: Vec<_> = (0..4).map(call).collect();
        let log = sandbox.log();
        let events = log.iter().map(|line| (line["event"].clone(), line["verdict"]["decision"].clone()));
        (answers, events.collect::<Vec<_>>())
    };
    let (answers, events) = judged(true);
    assert_eq!(answers[0], Some(2));
    assert_eq!(events.iter().filter(|(event, _)| event == "TeammateIdle").count(), 4);
    assert_eq!((answers, events), judged(false));
}

#[test]
fn each_of_both_records_what_the_other_one_does_not() {
    let (sandbox, plugin) = (Sandbox::new(), Plugin::new(true));
    let lead = Lead::of(&sandbox, ONE);
    let idle = lead.payload("TeammateIdle", json!({"teammate_name": "bob"}));
    let by_plugin = || plugin.hook(&sandbox, &idle);
    let by_settings = || sandbox.feed("teammate-idle", idle.to_string().as_bytes(), &[]);
    let recorded = |call: &dyn Fn() -> CommandResult| {
        let before = sandbox.log().len();
        assert_eq!(call().code, Some(0));
        sandbox.log().len() - before
    };
    assert_eq!([recorded(&by_plugin), recorded(&by_plugin)], [1, 1], "an idle may follow an idle");
    assert_eq!(recorded(&by_settings), 0);
    let agent = lead.payload(
        "PreToolUse",
        json!({"tool_name": "Agent", "tool_use_id": "u", "tool_input": {"name": "bob"}}),
    );
    assert_eq!(recorded(&|| plugin.hook(&sandbox, &agent)), 1);
    let other = lead.payload(
        "PreToolUse",
        json!({"tool_name": "Bash", "tool_use_id": "v", "tool_input": {"command": "ls"}}),
    );
    let other = other.to_string();
    assert_eq!(recorded(&|| sandbox.feed("pre-tool-use", other.as_bytes(), &[])), 1);
}

#[test]
fn tools_of_a_rule_are_recorded_and_evaluated_once_with_the_plugin() {
    let (sandbox, plugin) = (Sandbox::new(), Plugin::new(true));
    sandbox.write_config(
        "[[rule]]\nname = \"mine\"\nevents = [\"PreToolUse\"]\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\n",
    );
    let lead = Lead::of(&sandbox, ONE);
    let bash = lead.payload("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    assert_eq!(codes(&both(&sandbox, &plugin, &bash)), [Some(0), Some(2)]);
    let lines = sandbox.log();
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["PreToolUse", "Verdict"]);
}
