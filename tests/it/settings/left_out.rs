//! Errors in a user's or a project's file beside an organization's: the file is left out, and nothing else changes.

use serde_json::{Value, json};

use crate::support::machine::{As, Machine};
use crate::support::sandbox::CommandResult;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const ORGANIZATION: &str = "[organization]\nfixed = [\"policy.premature-shutdown\", \"policy.on-error\"]\n[policy]\non-error = \"block\"\n\
    [policy.premature-shutdown]\nmode = \"block\"\n";
const USER: &str = ".config/teamkeep/teamkeep.toml";
const PROJECT: &str = "project/.claude/teamkeep.toml";
/// Each makes the whole file unusable.
const BROKEN: [&str; 6] = [
    "[policy\n",
    "[polcy]\nmode = 1\n",
    "[policy]\non-error = \"block\"\nmax-blocs = 1\n",
    "[policy]\non-error = \"block\"\nmax-blocks = \"x\"\n",
    "[policy]\non-error = \"block\"\non-error = \"block\"\n",
    "[[rule]]\nname = \"r\"\naction = \"block\"\nmatch = { \"/a\" = \"/(/\" }\nreason = \"no\"\n",
];

fn machine(organization: &str) -> Option<Machine> {
    let machine = Machine::new()?;
    machine.write("teamkeep/teamkeep.toml", organization);
    let config = json!({"name": "t1", "createdAt": 1, "leadSessionId": SESSION, "members": [{"name": "team-lead"}, {"name": "bob"}]});
    write(&machine, ".claude/teams/t1/config.json", config.to_string());
    let task = json!({"id": "2", "subject": "Review", "status": "in_progress", "owner": "bob", "blocks": [], "blockedBy": []});
    write(&machine, ".claude/tasks/t1/2.json", task.to_string());
    Some(machine)
}

fn write(machine: &Machine, path: &str, content: impl AsRef<[u8]>) {
    let path = machine.home(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn call(machine: &Machine, mut payload: Value, env: &[(&str, &str)]) -> CommandResult {
    payload["session_id"] = json!(SESSION);
    let project = machine.home("project").display().to_string();
    machine.hook(&payload, &[&[("CLAUDE_PROJECT_DIR", project.as_str())], env].concat())
}

fn tool(machine: &Machine, env: &[(&str, &str)]) -> CommandResult {
    call(machine, json!({"hook_event_name": "PreToolUse", "tool_name": "TaskList", "tool_input": {}}), env)
}

fn shutdown(machine: &Machine) -> CommandResult {
    let input = json!({"to": "bob", "recipient": "bob", "message": {"type": "shutdown_request"}});
    call(
        machine,
        json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_input": input}),
        &[],
    )
}

#[test]
fn an_error_in_another_file_blocks_no_tool_and_loosens_no_gate() {
    for file in [USER, PROJECT] {
        for text in BROKEN {
            let Some(machine) = machine(ORGANIZATION) else { return };
            // The last valid content of the file does not decide, either.
            write(&machine, file, "[policy]\non-error = \"block\"\n");
            assert_eq!(tool(&machine, &[]).code, Some(0));
            write(&machine, file, text);
            let result = tool(&machine, &[]);
            assert_eq!((result.code, result.out.as_str()), (Some(0), ""), "{file} {text}: {}", result.err);
            assert_eq!(shutdown(&machine).code, Some(2), "{file} {text}");
        }
    }
}

#[test]
fn a_user_s_file_that_cannot_be_read_blocks_no_tool() {
    let make: [fn(&std::path::Path); 2] = [
        |path| std::fs::create_dir(path).unwrap(),
        |path| std::os::unix::fs::symlink("nowhere", path).unwrap(),
    ];
    for (index, make) in make.into_iter().enumerate() {
        let Some(machine) = machine(ORGANIZATION) else { return };
        std::fs::create_dir_all(machine.home(".config/teamkeep")).unwrap();
        make(&machine.home(USER));
        assert_eq!(tool(&machine, &[]).code, Some(0), "{index}");
        assert_eq!(shutdown(&machine).code, Some(2), "{index}");
    }
    let Some(machine) = machine(ORGANIZATION) else { return };
    for named in ["/nowhere/teamkeep.toml", "teamkeep.toml"] {
        assert_eq!(tool(&machine, &[("TEAMKEEP_CONFIG", named)]).code, Some(0), "{named}");
    }
}

#[test]
fn it_is_reported_when_the_session_starts_by_doctor_and_by_config_check() {
    let Some(machine) = machine(ORGANIZATION) else { return };
    write(&machine, USER, "[policy]\nmax-blocs = 1\n");
    let start = call(&machine, json!({"hook_event_name": "SessionStart", "source": "startup"}), &[]);
    let answer: Value = serde_json::from_str(&start.out).unwrap();
    let shown = answer["systemMessage"].as_str().unwrap();
    assert!(shown.contains("ignoring an invalid policy file: unknown-key at "), "{shown}");
    assert_eq!(shown.matches("teamkeep.toml").count(), 1, "{shown}");
    let file = machine.home(USER).display().to_string();
    let doctor = machine.run(As::User, "doctor").out;
    assert!(doctor.contains(&format!("{file}:2:1: unknown key `max-blocs`")), "{doctor}");
    let check = machine.run(As::User, "config check");
    assert_eq!(check.code, Some(1));
    assert!(check.out.starts_with("error[unknown-key]"), "{}", check.out);
    let shown = machine.run(As::User, "config show policy");
    assert!(shown.out.contains("/etc/teamkeep/teamkeep.toml:4"), "{shown:?}");
}

#[test]
fn an_error_in_the_organization_s_file_still_follows_its_last_valid_content() {
    let Some(machine) = machine(ORGANIZATION) else { return };
    write(&machine, USER, "[polcy]\n");
    assert_eq!(tool(&machine, &[]).code, Some(0));
    machine.write("teamkeep/teamkeep.toml", "[polity]\n");
    assert_eq!(tool(&machine, &[]).code, Some(0), "its last valid content has no objection");
    assert_eq!(shutdown(&machine).code, Some(2));
    std::fs::remove_dir_all(machine.home(".local/share/teamkeep")).unwrap();
    machine.write("teamkeep/teamkeep.toml", &format!("{ORGANIZATION}[polity]\n"));
    let result = tool(&machine, &[]);
    assert_eq!(result.code, Some(2), "it was never valid: {}", result.err);
    assert!(result.err.contains("/etc/teamkeep/teamkeep.toml"), "{}", result.err);
    machine.write("teamkeep/teamkeep.toml", ORGANIZATION);
    assert_eq!(tool(&machine, &[]).code, Some(0));
}
