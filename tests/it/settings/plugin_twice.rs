//! The plugin's hooks beside those of the settings: each event is recorded once, whoever does it.

use serde_json::{Value, json};

use super::plugin::{ONE, Plugin, SILENCE, all, hooks, install};
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

#[test]
fn settings_and_plugin_record_and_evaluate_each_event_once() {
    let (sandbox, plugin) = (Sandbox::new(), Plugin::new(true));
    install(&sandbox);
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_770_091_200_000, &["bob"]);
    lead.task("1", "in_progress", Some("bob"));
    let events = hooks();
    let mut made = 0;
    // The same again says something else: no payload has a time, and an idle may follow an idle.
    for _ in 0..3 {
        std::thread::scope(|scope| {
            for event in events.keys().filter(|event| *event != "SessionEnd") {
                made += 1;
                let payload = lead.payload(event, json!({"tool_name": "TaskUpdate", "source": "startup"}));
                let (sandbox, plugin) = (&sandbox, &plugin);
                scope.spawn(move || {
                    let [_, by_plugin] = both(sandbox, plugin, &payload);
                    assert_eq!(all(&by_plugin), SILENCE);
                });
            }
        });
    }
    assert_eq!(sandbox.log().len(), made);
    sandbox.unconfigure();
    let input = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}});
    let fields = json!({"tool_name": "SendMessage", "tool_input": input});
    let transcript = sandbox.client(&lead.transcript());
    std::fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    // Each try is a message of its own: refusals of one message count once.
    let mut text = String::new();
    let tries = (0..4).map(|number| {
        let id = format!("toolu_{number}");
        let message = json!({"id": format!("msg_{number}"), "content": [{"type": "tool_use", "id": id}]});
        text.push_str(&format!("{}\n", json!({"type": "assistant", "message": message})));
        std::fs::write(&transcript, &text).unwrap();
        let mut payload = lead.payload("PreToolUse", fields.clone());
        payload["tool_use_id"] = json!(id);
        both(&sandbox, &plugin, &payload).map(|result| result.code)
    });
    let answers: Vec<_> = tries.collect();
    let no = [Some(2), Some(0)];
    assert_eq!(answers, [no, no, no, [Some(0), Some(0)]], "three blocks, and then it is let through");
}

#[test]
fn tools_of_a_rule_are_recorded_and_evaluated_once_with_the_plugin() {
    for scope in ["user", "project"] {
        let (sandbox, plugin) = (Sandbox::new(), Plugin::new(true));
        sandbox.write_config(
            "[[rule]]\nname = \"mine\"\nevents = [\"PreToolUse\"]\ntools = [\"Bash\", \"mcp__*\"]\naction = \"block\"\nreason = \"no\"\n",
        );
        let lead = Lead::of(&sandbox, ONE);
        let bash = lead.payload("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
        let start = lead.payload("SessionStart", json!({"source": "startup"}));
        let told = plugin.hook(&sandbox, &start).out;
        assert!(
            told.contains("is not evaluated at PreToolUse for Bash, mcp__*") && told.contains("install"),
            "{told}"
        );
        let command = env!("CARGO_BIN_EXE_teamkeep");
        let install = ["install", "--client-version", "2.1.332", "--command", command, "--scope", scope];
        assert_eq!(sandbox.run(&install).code, Some(0));
        let before = sandbox.log().len();
        let [by_settings, by_plugin] = both(&sandbox, &plugin, &bash);
        assert_eq!((by_settings.code, all(&by_plugin)), (Some(2), SILENCE), "{scope}");
        let lines = sandbox.log();
        let events: Vec<_> = lines[before..].iter().map(|line| line["event"].as_str().unwrap()).collect();
        assert_eq!(events, ["PreToolUse", "Verdict"], "{scope}");
        let [by_settings, by_plugin] = both(&sandbox, &plugin, &start);
        assert!(!by_settings.out.contains("systemMessage"), "{}", by_settings.out);
        assert_eq!(all(&by_plugin), SILENCE);
    }
}

#[test]
fn plugin_handles_events_that_the_settings_do_not() {
    let (sandbox, plugin) = (Sandbox::new(), Plugin::new(true));
    let lead = Lead::of(&sandbox, ONE);
    let idle = lead.payload("TeammateIdle", json!({"teammate_name": "bob"}));
    let records = |payload: &Value| {
        let before = sandbox.log().len();
        let result = plugin.hook(&sandbox, payload);
        assert_eq!(result.code, Some(0), "{}", result.err);
        sandbox.log().len() - before
    };
    assert_eq!(records(&idle), 1, "no settings");
    install(&sandbox);
    assert_eq!(records(&idle), 0);
    let installed = std::fs::read_to_string(sandbox.client("settings.json")).unwrap();
    let agent = lead.payload("PreToolUse", json!({"tool_name": "Agent"}));
    assert_eq!(records(&agent), 0);
    sandbox.write("settings.json", installed.replace("|Agent|", "|"));
    assert_eq!(records(&agent), 1, "hooks of an older install have another matcher");
    let gone = installed.replace(env!("CARGO_BIN_EXE_teamkeep"), "/gone/teamkeep");
    sandbox.write("settings.json", gone);
    assert_eq!(records(&idle), 1, "the binary is gone");
    sandbox.write("settings.json", format!("{installed} // mine"));
    assert_eq!(records(&idle), 1, "the client skips this file");
    sandbox.write("settings.json", "{}");
    let project = sandbox.home().join("parser/.claude");
    std::fs::create_dir_all(&project).unwrap();
    for (name, scope) in [("settings.json", "project"), ("settings.local.json", "local")] {
        std::fs::write(project.join(name), &installed).unwrap();
        assert_eq!(records(&idle), 1, "{name}: nobody has installed it here");
        let line = ["install", "--client-version", "2.1.332", "--command", env!("CARGO_BIN_EXE_teamkeep")];
        let mut command = sandbox.command(&line);
        command.args(["--scope", scope]).env("CLAUDE_PROJECT_DIR", sandbox.home().join("parser"));
        let result = feed(&mut command, b"");
        assert!(result.err.starts_with("nothing to do: "), "{}", result.err);
        assert_eq!(records(&idle), 0, "{name}: it is this user's now");
        for fake in [
            installed.replace(env!("CARGO_BIN_EXE_teamkeep"), "/bin/teamkeep"),
            installed.replace("\"type\": \"command\"", "\"type\": \"http\""),
            installed.replace("\"timeout\": 10", "\"timeout\": 0.001"),
            // The client reads nothing of a file that is wrong elsewhere.
            installed.replacen('{', "{\"permissions\": 7,", 1),
        ] {
            std::fs::write(project.join(name), fake).unwrap();
            assert_eq!(records(&idle), 1, "{name}: what is there now never runs");
        }
        std::fs::write(project.join(name), installed.replacen('{', "{\"model\": \"opus\",", 1)).unwrap();
        assert_eq!(records(&idle), 1, "{name}: somebody changed it since");
        let result = feed(&mut command, b"");
        assert!(result.err.starts_with("nothing to do: "), "{}", result.err);
        assert_eq!(records(&idle), 0, "{name}: it was installed anew");
        std::fs::remove_file(project.join(name)).unwrap();
    }
    assert_eq!(records(&idle), 1);
}

#[test]
fn repository_settings_do_not_silence_the_plugin() {
    let (sandbox, plugin) = (Sandbox::new(), Plugin::new(true));
    let lead = Lead::of(&sandbox, ONE);
    let project = sandbox.home().join("parser/.claude");
    std::fs::create_dir_all(&project).unwrap();
    std::os::unix::fs::symlink("/bin/true", sandbox.home().join("teamkeep")).unwrap();
    let idle = lead.payload("TeammateIdle", json!({"teammate_name": "bob"}));
    let fake = sandbox.home().join("teamkeep hook teammate-idle");
    let lines = [
        "~/x/teamkeep hook",
        "$X/teamkeep hook teammate-idle",
        "./teamkeep hook teammate-idle",
        "teamkeep hook teammate-idle",
        fake.to_str().unwrap(),
        concat!(env!("CARGO_BIN_EXE_teamkeep"), " hook teammate-idle"),
    ];
    for (count, line) in lines.iter().enumerate() {
        let hooks = json!({"hooks": {"TeammateIdle": [{"hooks": [{"type": "command", "command": line}]}]}});
        std::fs::write(project.join("settings.json"), hooks.to_string()).unwrap();
        assert_eq!(all(&plugin.hook(&sandbox, &idle)), SILENCE);
        assert_eq!(sandbox.log().len(), count + 1, "{line}");
    }
}

#[test]
fn costly_matchers_of_a_repository_do_not_delay_hooks_or_doctor() {
    let (sandbox, plugin) = (Sandbox::new(), Plugin::new(true));
    let lead = Lead::of(&sandbox, ONE);
    let project = sandbox.home().join("parser/.claude");
    std::fs::create_dir_all(&project).unwrap();
    let run = |args: &[&str]| {
        feed(sandbox.command(args).env("CLAUDE_PROJECT_DIR", sandbox.home().join("parser")), b"")
    };
    let command = env!("CARGO_BIN_EXE_teamkeep");
    let line = ["install", "--client-version", "2.1.332", "--scope", "project", "--command", command];
    assert_eq!(run(&line).code, Some(0));
    let hook =
        json!([{"type": "command", "command": command, "args": ["hook", "pre-tool-use"], "timeout": 10}]);
    let group = |n| json!({"matcher": format!("([ab]{{0,90}}){{0,90}}c{n}x"), "hooks": hook});
    let groups: Vec<Value> = (0..6_000).map(group).collect();
    std::fs::write(project.join("settings.json"), json!({"hooks": {"PreToolUse": groups}}).to_string())
        .unwrap();
    let payload = lead.payload("PreToolUse", json!({"tool_name": "Agent"}));
    assert_eq!(all(&plugin.hook(&sandbox, &payload)), SILENCE);
    assert_eq!(sandbox.log().len(), 1, "the plugin records what no matcher certainly means");
    let told = run(&["doctor", "--verbose"]).out;
    assert!(told.contains("too many matchers to check at PreToolUse: 500"), "{told}");
}
