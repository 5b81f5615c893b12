//! Pauses, allowances and other ways around a gate that an organization has fixed.

use serde_json::{Value, json};

use crate::support::machine::{As, Machine};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const FIXED: &str = "[organization]\nfixed = [\"policy.premature-shutdown\"]\n[policy.premature-shutdown]\nmode = \"block\"\n";

/// A machine with this organization's configuration and a team in which bob has an unfinished task.
fn busy(organization: &str) -> Option<Machine> {
    let machine = Machine::new()?;
    machine.write("teamkeep/teamkeep.toml", organization);
    let write = |path: &str, content: Value| {
        let path = machine.home(".claude").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.to_string()).unwrap();
    };
    let config = json!({"name": "t1", "createdAt": 1, "leadSessionId": SESSION, "members": [{"name": "team-lead"}, {"name": "bob"}]});
    write("teams/t1/config.json", config);
    let task = json!({"id": "2", "subject": "Review", "status": "in_progress", "owner": "bob", "blocks": [], "blockedBy": []});
    write("tasks/t1/2.json", task);
    Some(machine)
}

/// Asks for bob's shutdown.
fn shutdown(machine: &Machine, id: &str) -> (Option<i32>, String) {
    let payload = json!({
        "session_id": SESSION, "hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_use_id": id,
        "cwd": machine.home(""), "tool_input": {"to": "bob", "recipient": "bob", "message": {"type": "shutdown_request"}},
    });
    let result = machine.hook(&payload, &[]);
    (result.code, result.err)
}

/// The recorded overrides.
fn overrides(machine: &Machine) -> Vec<Value> {
    let lines = machine.run(As::User, "log --raw --json --event PolicyOverride").out;
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|event| json!([event["actor"]["name"], event["payload"]])).collect()
}

#[test]
fn a_rejected_pause_of_a_fixed_gate_is_recorded() {
    let Some(machine) = busy(FIXED) else { return };
    for line in ["pause premature-shutdown 1h", "allow bob --force"] {
        let result = machine.run(As::User, line);
        assert_eq!(result.code, Some(1), "{line}");
        let why = "error: pauses and allowances do not apply to premature-shutdown, which the organization has fixed\n\
            hint: the attempt is recorded; see the origin of each value: teamkeep config show\n";
        assert!(result.err.ends_with(why), "{}", result.err);
    }
    let gate = "premature-shutdown";
    assert_eq!(
        overrides(&machine),
        [
            json!(["user", {"override": "pause", "gate": gate, "team": null, "until": "2026-02-03T05:05:06.789Z", "fixed": [gate], "rejected": true, "terminal": false}]),
            json!(["user", {"override": "allow-shutdown", "gate": gate, "team": null, "name": "bob", "until": "2026-02-04T04:05:06.789Z", "fixed": [gate], "rejected": true, "terminal": false}]),
        ]
    );
    let shown = machine.run(As::User, "log --raw --event PolicyOverride").out;
    assert!(shown.contains("pause premature-shutdown until 2026-02-03 05:05:06 UTC rejected: the organization has fixed the gate (no terminal)"), "{shown}");
    let status = machine.run(As::User, "status").out;
    assert!(!status.contains("paused: ") && !status.contains("allowed once: "), "{status}");
    assert_eq!(shutdown(&machine, "u1").0, Some(2));
}

#[test]
fn a_pause_of_all_gates_is_recorded_and_has_no_effect_on_fixed_ones() {
    let Some(machine) = busy(FIXED) else { return };
    let result = machine.run(As::User, "pause 1h");
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(result.err.contains(
        "warning: the pause does not apply to premature-shutdown, which the organization has fixed\n"
    ));
    let payload = json!({"override": "pause", "gate": null, "team": null, "until": "2026-02-03T05:05:06.789Z", "fixed": ["premature-shutdown"], "terminal": false});
    assert_eq!(overrides(&machine), [json!(["user", payload])]);
    let listed = machine.run(As::User, "status").out;
    assert!(listed.contains(
        "paused: every gate and rule until 2026-02-03 05:05:06 UTC (without effect on premature-shutdown: the organization has fixed them)\n"
    ), "{listed}");
    let listed: Value = serde_json::from_str(&machine.run(As::User, "status --json").out).unwrap();
    assert_eq!(listed["fixed"], json!(["premature-shutdown"]));
    let (code, why) = shutdown(&machine, "u1");
    assert_eq!(code, Some(2), "{why}");
}

#[test]
fn a_pause_written_into_the_file_is_recorded_and_has_no_effect() {
    let Some(machine) = busy(FIXED) else { return };
    let store = machine.home(".local/share/teamkeep");
    std::fs::create_dir_all(&store).unwrap();
    let pause = json!({"gate": "premature-shutdown", "team": null, "until": "2026-02-03T05:05:06.000Z"});
    let file = json!({"v": 1, "pauses": [pause], "shutdowns": ["bob"]});
    std::fs::write(store.join("overrides.json"), file.to_string()).unwrap();
    assert_eq!(shutdown(&machine, "u1").0, Some(2));
    let listed = machine.run(As::User, "status").out;
    for line in [
        "paused: premature-shutdown until 2026-02-03 05:05:06 UTC (without effect: the organization has fixed the gate)\n",
        "allowed once: shutdown of bob (without effect: the organization has fixed the gate)\n",
    ] {
        assert!(listed.contains(line), "{listed}");
    }
    let is_found =
        |found: &Value| found[1]["found"] == true && found[1]["fixed"] == json!(["premature-shutdown"]);
    assert!(overrides(&machine).iter().all(is_found), "{:?}", overrides(&machine));
    assert_eq!(overrides(&machine).len(), 2);
}

#[test]
fn pauses_apply_with_the_organization_s_leave_and_are_recorded() {
    let Some(machine) = busy(&FIXED.replacen('\n', "\nallow-pauses = true\n", 1)) else { return };
    let result = machine.run(As::User, "pause premature-shutdown 1h");
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert_eq!(overrides(&machine).len(), 1);
    assert_eq!(overrides(&machine)[0][1].get("fixed"), None);
    assert_eq!(shutdown(&machine, "u1").0, Some(0));
}

#[test]
fn no_file_or_variable_of_a_user_loosens_a_fixed_gate() {
    let Some(machine) = busy(FIXED) else { return };
    let off = "[policy.premature-shutdown]\nmode = \"off\"\nwithout-tasks = \"off\"\nexempt = [\"bob\"]\n";
    for path in [".config/teamkeep/teamkeep.toml", "other/teamkeep.toml", "project/.claude/teamkeep.toml"] {
        let path = machine.home(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, off).unwrap();
    }
    let home = |path: &str| machine.home(path).display().to_string();
    let (config, store, project) = (home("other/teamkeep.toml"), home("other"), home("project"));
    for (index, (name, value)) in [
        ("TEAMKEEP_CONFIG", config.as_str()),
        ("TEAMKEEP_HOME", &store),
        ("CLAUDE_PROJECT_DIR", &project),
        ("A", "1"),
    ]
    .into_iter()
    .enumerate()
    {
        let payload = json!({
            "session_id": SESSION, "hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_use_id": index.to_string(),
            "cwd": project, "tool_input": {"to": "bob", "recipient": "bob", "message": {"type": "shutdown_request"}},
        });
        let result = machine.hook(&payload, &[(name, value)]);
        assert_eq!(result.code, Some(2), "{name}: {}", result.err);
    }
}
