//! The plugin's hooks beside those of the settings: each event is recorded once, whoever does it.

use serde_json::{Value, json};

use super::play::Lead;
use super::plugin::{ONE, Plugin, SILENCE, all, hooks, install};
use super::stage::{Said, Stage, feed, kebab};

#[test]
fn the_plugin_alone_records_what_the_settings_would() {
    let record = |with_plugin: bool| {
        let (stage, plugin) = (Stage::new(), Plugin::new(true));
        let lead = Lead::of(&stage, ONE);
        lead.roster(1_770_091_200_000, &["bob"]);
        let hooks =
            ["SessionStart", "UserPromptSubmit", "SubagentStart", "TeammateIdle", "Stop", "SessionEnd"];
        for event in hooks {
            let payload = lead.payload(event, json!({"source": "startup", "teammate_name": "bob"}));
            let said = match with_plugin {
                true => plugin.hook(&stage, &payload),
                false => stage.feed(&kebab(event), payload.to_string().as_bytes(), &[]),
            };
            assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
            assert_eq!(said.out.contains("watchPaths"), event == "SessionStart");
        }
        let lines = stage.log();
        lines.iter().map(|line| (line["event"].to_string(), line["team"].to_string())).collect::<Vec<_>>()
    };
    assert_eq!(record(true), record(false));
}

/// Both copies of a hook at the same time, as the client runs them.
fn both(stage: &Stage, plugin: &Plugin, payload: &Value) -> [Said; 2] {
    std::thread::scope(|scope| {
        let by_plugin = scope.spawn(|| plugin.hook(stage, payload));
        let event = kebab(payload["hook_event_name"].as_str().unwrap());
        let by_settings = feed(&mut stage.command(&["hook", &event]), payload.to_string().as_bytes());
        [by_settings, by_plugin.join().unwrap()]
    })
}

#[test]
fn with_settings_and_plugin_each_event_is_recorded_and_judged_once() {
    let (stage, plugin) = (Stage::new(), Plugin::new(true));
    install(&stage);
    let lead = Lead::of(&stage, ONE);
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
                let (stage, plugin) = (&stage, &plugin);
                scope.spawn(move || {
                    let [_, by_plugin] = both(stage, plugin, &payload);
                    assert_eq!(all(&by_plugin), SILENCE);
                });
            }
        });
    }
    assert_eq!(stage.log().len(), made);
    stage.unconfigure();
    let input = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}});
    let fields = json!({"tool_name": "SendMessage", "tool_input": input});
    let transcript = stage.client(&lead.transcript());
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
        both(&stage, &plugin, &payload).map(|said| said.code)
    });
    let answers: Vec<_> = tries.collect();
    let no = [Some(2), Some(0)];
    assert_eq!(answers, [no, no, no, [Some(0), Some(0)]], "three blocks, and then it is let through");
}

#[test]
fn tools_that_only_a_rule_looks_at_are_recorded_and_judged_once_beside_the_plugin() {
    for scope in ["user", "project"] {
        let (stage, plugin) = (Stage::new(), Plugin::new(true));
        stage.write_config(
            "[[rule]]\nname = \"mine\"\nevents = [\"PreToolUse\"]\ntools = [\"Bash\", \"mcp__*\"]\naction = \"block\"\nreason = \"no\"\n",
        );
        let lead = Lead::of(&stage, ONE);
        let bash = lead.payload("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
        let start = lead.payload("SessionStart", json!({"source": "startup"}));
        let told = plugin.hook(&stage, &start).out;
        assert!(
            told.contains("is not evaluated at PreToolUse for Bash, mcp__*") && told.contains("install"),
            "{told}"
        );
        let command = env!("CARGO_BIN_EXE_teamkeep");
        let install = ["install", "--client-version", "2.1.328", "--command", command, "--scope", scope];
        assert_eq!(stage.run(&install).code, Some(0));
        let before = stage.log().len();
        let [by_settings, by_plugin] = both(&stage, &plugin, &bash);
        assert_eq!((by_settings.code, all(&by_plugin)), (Some(2), SILENCE), "{scope}");
        let lines = stage.log();
        let events: Vec<_> = lines[before..].iter().map(|line| line["event"].as_str().unwrap()).collect();
        assert_eq!(events, ["PreToolUse", "Verdict"], "{scope}");
        let [by_settings, by_plugin] = both(&stage, &plugin, &start);
        assert!(!by_settings.out.contains("systemMessage"), "{}", by_settings.out);
        assert_eq!(all(&by_plugin), SILENCE);
    }
}

#[test]
fn what_the_settings_do_not_run_is_the_plugin_s() {
    let (stage, plugin) = (Stage::new(), Plugin::new(true));
    let lead = Lead::of(&stage, ONE);
    let idle = lead.payload("TeammateIdle", json!({"teammate_name": "bob"}));
    let records = |payload: &Value| {
        let before = stage.log().len();
        let said = plugin.hook(&stage, payload);
        assert_eq!(said.code, Some(0), "{}", said.err);
        stage.log().len() - before
    };
    assert_eq!(records(&idle), 1, "no settings");
    install(&stage);
    assert_eq!(records(&idle), 0);
    let installed = std::fs::read_to_string(stage.client("settings.json")).unwrap();
    let agent = lead.payload("PreToolUse", json!({"tool_name": "Agent"}));
    assert_eq!(records(&agent), 0);
    stage.write("settings.json", installed.replace("|Agent|", "|"));
    assert_eq!(records(&agent), 1, "hooks of an older install have another matcher");
    let gone = installed.replace(env!("CARGO_BIN_EXE_teamkeep"), "/gone/teamkeep");
    stage.write("settings.json", gone);
    assert_eq!(records(&idle), 1, "the binary is gone");
    stage.write("settings.json", format!("{installed} // mine"));
    assert_eq!(records(&idle), 1, "the client skips this file");
    stage.write("settings.json", "{}");
    let project = stage.home().join("parser/.claude");
    std::fs::create_dir_all(&project).unwrap();
    for (name, scope) in [("settings.json", "project"), ("settings.local.json", "local")] {
        std::fs::write(project.join(name), &installed).unwrap();
        assert_eq!(records(&idle), 1, "{name}: nobody has installed it here");
        let line = ["install", "--client-version", "2.1.328", "--command", env!("CARGO_BIN_EXE_teamkeep")];
        let mut command = stage.command(&line);
        command.args(["--scope", scope]).env("CLAUDE_PROJECT_DIR", stage.home().join("parser"));
        let said = feed(&mut command, b"");
        assert!(said.err.starts_with("nothing to do: "), "{}", said.err);
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
        let said = feed(&mut command, b"");
        assert!(said.err.starts_with("nothing to do: "), "{}", said.err);
        assert_eq!(records(&idle), 0, "{name}: it was installed anew");
        std::fs::remove_file(project.join(name)).unwrap();
    }
    assert_eq!(records(&idle), 1);
}

#[test]
fn a_repository_s_settings_do_not_silence_the_plugin() {
    let (stage, plugin) = (Stage::new(), Plugin::new(true));
    let lead = Lead::of(&stage, ONE);
    let project = stage.home().join("parser/.claude");
    std::fs::create_dir_all(&project).unwrap();
    std::os::unix::fs::symlink("/bin/true", stage.home().join("teamkeep")).unwrap();
    let idle = lead.payload("TeammateIdle", json!({"teammate_name": "bob"}));
    let fake = stage.home().join("teamkeep hook teammate-idle");
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
        assert_eq!(all(&plugin.hook(&stage, &idle)), SILENCE);
        assert_eq!(stage.log().len(), count + 1, "{line}");
    }
}

#[test]
fn a_repository_s_matchers_keep_neither_a_hook_nor_the_doctor() {
    let (stage, plugin) = (Stage::new(), Plugin::new(true));
    let lead = Lead::of(&stage, ONE);
    let project = stage.home().join("parser/.claude");
    std::fs::create_dir_all(&project).unwrap();
    let run =
        |args: &[&str]| feed(stage.command(args).env("CLAUDE_PROJECT_DIR", stage.home().join("parser")), b"");
    let command = env!("CARGO_BIN_EXE_teamkeep");
    let line = ["install", "--client-version", "2.1.328", "--scope", "project", "--command", command];
    assert_eq!(run(&line).code, Some(0));
    let hook =
        json!([{"type": "command", "command": command, "args": ["hook", "pre-tool-use"], "timeout": 10}]);
    let group = |n| json!({"matcher": format!("([ab]{{0,90}}){{0,90}}c{n}x"), "hooks": hook});
    let groups: Vec<Value> = (0..6_000).map(group).collect();
    std::fs::write(project.join("settings.json"), json!({"hooks": {"PreToolUse": groups}}).to_string())
        .unwrap();
    let payload = lead.payload("PreToolUse", json!({"tool_name": "Agent"}));
    assert_eq!(all(&plugin.hook(&stage, &payload)), SILENCE);
    assert_eq!(stage.log().len(), 1, "the plugin records what no matcher certainly means");
    let told = run(&["doctor", "--verbose"]).out;
    assert!(told.contains("too many matchers to check at PreToolUse: 500"), "{told}");
}
