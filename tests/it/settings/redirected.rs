//! A hook whose environment points elsewhere: at a configuration directory without the team, or at another store than the organization's.

use serde_json::{Value, json};

use crate::support::machine::{As, Machine};
use crate::support::sandbox::CommandResult;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const GATE: &str = "[policy.premature-shutdown]\nmode = \"block\"\n";
const FIXED: &str = "[organization]\nfixed = [\"policy.premature-shutdown\", \"policy.on-error\"]\n";
const BLOCK: &str = "[policy]\non-error = \"block\"\n";

/// A machine with this organization's configuration, and a team in `~/.claude` in which bob has a task in progress.
fn busy(organization: &str) -> Option<Machine> {
    let machine = Machine::new()?;
    if !organization.is_empty() {
        machine.write("teamkeep/teamkeep.toml", organization);
    }
    let config = json!({"name": "t1", "createdAt": 1, "leadSessionId": SESSION, "members": [{"name": "team-lead"}, {"name": "bob"}]});
    write(&machine, ".claude/teams/t1/config.json", &config);
    let task = json!({"id": "2", "subject": "Review", "status": "in_progress", "owner": "bob", "blocks": [], "blockedBy": []});
    write(&machine, ".claude/tasks/t1/2.json", &task);
    std::fs::create_dir_all(machine.home("empty")).unwrap();
    Some(machine)
}

fn write(machine: &Machine, path: &str, content: &Value) {
    let path = machine.home(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content.to_string()).unwrap();
}

/// A call of the session whose transcript is in this directory.
fn call(machine: &Machine, client: &str, mut payload: Value, env: &[(&str, &str)]) -> CommandResult {
    payload["session_id"] = json!(SESSION);
    payload["cwd"] = json!(machine.home(""));
    payload["transcript_path"] = json!(machine.home(client).join(format!("projects/p/{SESSION}.jsonl")));
    machine.hook(&payload, env)
}

fn shutdown() -> Value {
    json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_use_id": "u1",
        "tool_input": {"to": "bob", "recipient": "bob", "message": {"type": "shutdown_request"}}})
}

fn list(id: &str) -> Value {
    json!({"hook_event_name": "PreToolUse", "tool_name": "TaskList", "tool_use_id": id, "tool_input": {}})
}

fn path(machine: &Machine, path: &str) -> String {
    machine.home(path).display().to_string()
}

/// The decisions on this code.
fn decisions(machine: &Machine, code: &str, env: &[(&str, &str)]) -> Vec<String> {
    let lines = machine.run_with(As::User, "log --raw --json --event Verdict", env).out;
    let verdicts = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["verdict"].clone());
    let wanted = verdicts.filter(|verdict| verdict["code"] == code);
    wanted.map(|verdict| verdict["decision"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_gate_sees_the_team_beside_the_session_s_transcript() {
    let Some(machine) = busy("") else { return };
    let (empty, missing) = (path(&machine, "empty"), path(&machine, "missing"));
    for env in
        [("CLAUDE_CONFIG_DIR", empty.as_str()), ("CLAUDE_CONFIG_DIR", &missing), ("HOME", &empty), ("A", "1")]
    {
        let result = call(&machine, ".claude", shutdown(), &[env]);
        assert_eq!(result.code, Some(2), "{env:?}: {}", result.err);
        assert!(result.err.contains("bob, who still owns task 2"), "{env:?}: {}", result.err);
        let other = call(&machine, ".claude", list("u2"), &[env]);
        assert_eq!((other.code, other.out.as_str(), other.err.as_str()), (Some(0), "", ""), "{env:?}");
    }
}

#[test]
fn the_environment_names_the_directory_where_the_transcript_s_does_not_exist() {
    let Some(machine) = busy("") else { return };
    // A container has the files of the team at another path.
    std::fs::rename(machine.home(".claude"), machine.home("mounted")).unwrap();
    let mounted = path(&machine, "mounted");
    assert_eq!(call(&machine, ".claude", shutdown(), &[("CLAUDE_CONFIG_DIR", &mounted)]).code, Some(2));
    assert_eq!(call(&machine, ".claude", shutdown(), &[]).code, Some(0), "nothing leads to the team");
    std::os::unix::fs::symlink(machine.home("mounted"), machine.home("link")).unwrap();
    let link = path(&machine, "link");
    assert_eq!(call(&machine, "link", shutdown(), &[("CLAUDE_CONFIG_DIR", &mounted)]).code, Some(2));
    assert_eq!(call(&machine, "mounted", shutdown(), &[("CLAUDE_CONFIG_DIR", &link)]).code, Some(2));
    let teams: Value = serde_json::from_str(&machine.run(As::User, "teams --json").out).unwrap();
    assert_eq!(teams.as_array().unwrap().len(), 1, "{teams}");
}

#[test]
fn a_redirected_configuration_directory_is_warned_about_once_in_a_session() {
    let Some(machine) = busy(&format!("{FIXED}{GATE}")) else { return };
    let empty = path(&machine, "empty");
    let env = [("CLAUDE_CONFIG_DIR", empty.as_str())];
    let first = call(&machine, ".claude", list("u1"), &env);
    assert_eq!(first.code, Some(0), "{}", first.err);
    let answer: Value = serde_json::from_str(&first.out).unwrap();
    assert_eq!(
        answer["systemMessage"].as_str().unwrap().replace(&path(&machine, ""), "~/"),
        "Warning: CLAUDE_CONFIG_DIR points to ~/empty, but this session began in ~/.claude, so gates do not see all of its \
         team. To fix it, remove CLAUDE_CONFIG_DIR from `env` in the settings of Claude Code, and restart the session."
    );
    let again = call(&machine, ".claude", list("u2"), &env);
    assert_eq!((again.code, again.out.as_str(), again.err.as_str()), (Some(0), "", ""));
    assert_eq!(call(&machine, ".claude", shutdown(), &env).code, Some(2), "the gate still sees the team");
    assert_eq!(decisions(&machine, "hook-redirected", &[]), ["warn", "allow", "allow"]);
}

#[test]
fn the_organization_blocks_redirected_tools_and_never_the_end_of_a_turn() {
    let Some(machine) = busy(&format!("{FIXED}{BLOCK}{GATE}")) else { return };
    let empty = path(&machine, "empty");
    let redirected = [("CLAUDE_CONFIG_DIR", empty.as_str())];
    let task = |event: &str| json!({"hook_event_name": event, "task_id": "2", "task_subject": "Review", "teammate_name": "bob"});
    for (payload, code) in [
        (list("u1"), 2),
        (task("TaskCreated"), 2),
        (task("TaskCompleted"), 0),
        (json!({"hook_event_name": "TeammateIdle", "teammate_name": "bob"}), 0),
        (json!({"hook_event_name": "Stop"}), 0),
        (json!({"hook_event_name": "SubagentStop", "agent_id": "abob-1", "agent_type": "bob"}), 0),
        (json!({"hook_event_name": "PostToolUse", "tool_name": "TaskList", "tool_input": {}}), 0),
    ] {
        let result = call(&machine, ".claude", payload.clone(), &redirected);
        assert_eq!(result.code, Some(code), "{payload}: {}", result.err);
        assert_eq!(
            result.err.contains("CLAUDE_CONFIG_DIR points to"),
            code == 2,
            "{payload}: {}",
            result.err
        );
        if code == 2 {
            assert!(result.err.contains("ask the user to remove CLAUDE_CONFIG_DIR"), "{}", result.err);
        }
        let usual = call(&machine, ".claude", list("u2"), &[]);
        assert_eq!((usual.code, usual.out.as_str()), (Some(0), ""), "{}", usual.err);
    }
}

#[test]
fn only_a_store_at_the_organization_s_place_is_expected() {
    let organization = |more: &str| format!("{FIXED}store = \"~/.local/share/teamkeep\"\n{more}{GATE}");
    let Some(machine) = busy(&organization(BLOCK)) else { return };
    let (elsewhere, data) = (path(&machine, "elsewhere"), path(&machine, "data"));
    let (usual, link) = (path(&machine, ".local/share/teamkeep"), path(&machine, "link"));
    assert_eq!(call(&machine, ".claude", list("u0"), &[]).code, Some(0));
    std::os::unix::fs::symlink(&usual, &link).unwrap();
    for env in [("TEAMKEEP_HOME", usual.as_str()), ("TEAMKEEP_HOME", &link)] {
        assert_eq!(call(&machine, ".claude", list("u1"), &[env]).code, Some(0), "{env:?}");
    }
    for (env, fix) in [
        (("TEAMKEEP_HOME", elsewhere.as_str()), "unset TEAMKEEP_HOME"),
        (("XDG_DATA_HOME", &data), "unset XDG_DATA_HOME"),
    ] {
        let result = call(&machine, ".claude", list("u2"), &[env]);
        assert_eq!(result.code, Some(2), "{env:?}");
        assert!(result.err.contains("the organization expects"), "{}", result.err);
        assert!(result.err.contains(fix), "{}", result.err);
        let found = machine.run_with(As::Root, "doctor", &[env]).out;
        assert!(found.contains("the organization expects") && found.contains(fix), "{found}");
    }
    assert!(!machine.run(As::Root, "doctor").out.contains("the organization expects"));

    machine.write("teamkeep/teamkeep.toml", &organization(""));
    let env = [("TEAMKEEP_HOME", elsewhere.as_str())];
    let warned = call(&machine, ".claude", list("u3"), &env);
    assert!(warned.code == Some(0) && warned.out.contains("unset TEAMKEEP_HOME"), "{warned:?}");
    assert_eq!(call(&machine, ".claude", list("u4"), &env).out, "");
    assert_eq!(decisions(&machine, "hook-redirected", &env), ["block", "warn", "allow"]);
}

#[test]
fn nothing_is_said_where_no_gate_is_fixed_and_no_team_is_concerned() {
    let Some(machine) = busy(&format!("[organization]\nfixed = [\"privacy\"]\nstore = \"/srv/x\"\n{BLOCK}"))
    else {
        return;
    };
    let empty = path(&machine, "empty");
    let redirected = [("CLAUDE_CONFIG_DIR", empty.as_str()), ("TEAMKEEP_HOME", &empty)];
    let result = call(&machine, ".claude", list("u1"), &redirected);
    assert_eq!((result.code, result.out.as_str(), result.err.as_str()), (Some(0), "", ""));
    machine.write("teamkeep/teamkeep.toml", &format!("{FIXED}{BLOCK}{GATE}"));
    std::fs::remove_dir_all(machine.home(".claude/teams")).unwrap();
    let result = call(&machine, ".claude", list("u2"), &redirected[..1]);
    assert_eq!((result.code, result.out.as_str(), result.err.as_str()), (Some(0), "", ""), "no team");
}

#[test]
fn a_store_that_cannot_be_written_blocks_tools_and_never_the_end_of_a_turn() {
    let Some(machine) = busy(&format!("{FIXED}{BLOCK}{GATE}")) else { return };
    std::fs::write(machine.home("file"), "in the way").unwrap();
    let (file, below) = (path(&machine, "file"), path(&machine, "file/store"));
    let completed = json!({"hook_event_name": "TaskCompleted", "task_id": "2", "task_subject": "Review", "teammate_name": "bob"});
    for store in [file.as_str(), &below, "/proc/teamkeep"] {
        let env = [("TEAMKEEP_HOME", store)];
        let result = call(&machine, ".claude", list("u1"), &env);
        assert_eq!(result.code, Some(2), "{store}: {}", result.err);
        assert!(result.err.contains("`teamkeep doctor` shows the cause"), "{store}: {}", result.err);
        for _ in 0..3 {
            let end = call(&machine, ".claude", completed.clone(), &env);
            assert_ne!(end.code, Some(2), "a teammate that ends its turn would begin again: {}", end.err);
        }
    }
    machine.write("teamkeep/teamkeep.toml", &format!("{FIXED}{GATE}"));
    let result = call(&machine, ".claude", shutdown(), &[("TEAMKEEP_HOME", &file)]);
    assert_ne!(result.code, Some(2));
    assert!(format!("{}{}", result.out, result.err).contains("cannot"), "it is not silent: {result:?}");
}
