//! Two configuration directories of Claude Code and one store: what happens in one is no evidence about a team in the other.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use teamkeep_system::command::quoted;

use crate::store::run_sandbox::{ONE, TWO, rows};
use crate::support::sandbox::{CommandResult, Sandbox};

const THREE: &str = "cccccccc-0000-4000-8000-000000000003";

/// A session with a team, in one configuration directory.
struct Account<'a> {
    sandbox: &'a Sandbox,
    dir: PathBuf,
    session: &'a str,
    team: String,
}

impl<'a> Account<'a> {
    /// In this directory of the home.
    fn new(sandbox: &'a Sandbox, dir: &str, session: &'a str) -> Account<'a> {
        let dir = sandbox.home().join(dir);
        std::fs::create_dir_all(dir.join("teams")).unwrap();
        Account { sandbox, dir, session, team: format!("session-{}", &session[..8]) }
    }

    fn payload(&self, event: &str, fields: Value) -> Value {
        let transcript = self.dir.join(format!("projects/-home-dev-parser/{}.jsonl", self.session));
        let mut payload =
            json!({"session_id": self.session, "transcript_path": transcript, "hook_event_name": event});
        for (key, value) in fields.as_object().unwrap() {
            payload[key] = value.clone();
        }
        payload
    }

    /// A hook call with this path of the directory.
    fn call_at(&self, path: &Path, event: &str, fields: Value) {
        self.sandbox.hook(self.payload(event, fields), &[("CLAUDE_CONFIG_DIR", path.to_str().unwrap())]);
    }

    fn call(&self, event: &str, fields: Value) {
        self.call_at(&self.dir.clone(), event, fields);
    }

    fn write(&self, path: &str, content: &Value) {
        let path = self.dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.to_string()).unwrap();
    }

    fn roster(&self, created: i64) {
        let config = json!({"name": self.team, "createdAt": created, "leadSessionId": self.session,
            "members": [{"name": "team-lead"}, {"name": "alice"}]});
        self.write(&format!("teams/{}/config.json", self.team), &config);
    }

    fn task(&self, subject: &str) {
        let task = json!({"id": "1", "subject": subject, "status": "pending", "blocks": [], "blockedBy": []});
        self.write(&format!("tasks/{}/1.json", self.team), &task);
    }

    /// The session starts with a team and a task.
    fn begin(&self, created: i64, subject: &str) {
        self.roster(created);
        self.task(subject);
        self.call("SessionStart", json!({"source": "startup"}));
        self.call("UserPromptSubmit", json!({"prompt": "go"}));
    }

    fn erase_team(&self) {
        std::fs::remove_dir_all(self.dir.join("teams").join(&self.team)).unwrap();
    }
}

/// A session without a team, from its start to its end, with this environment.
fn visit(sandbox: &Sandbox, env: &[(&str, &str)]) {
    for (event, fields) in [
        ("SessionStart", json!({"source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "hello"})),
        ("Stop", json!({})),
        ("SessionEnd", json!({"reason": "prompt_input_exit"})),
    ] {
        let mut payload = json!({"session_id": THREE, "hook_event_name": event});
        for (key, value) in fields.as_object().unwrap() {
            payload[key] = value.clone();
        }
        sandbox.hook(payload, env);
    }
}

fn subject(sandbox: &Sandbox, run: &Value) -> Value {
    sandbox.show(&[run.as_str().unwrap()])["tasks"]["1"]["subject"].clone()
}

fn restore(sandbox: &Sandbox, more: &[&str]) -> CommandResult {
    sandbox.run(&[&["restore", "latest"], more].concat())
}

#[test]
fn a_session_in_another_directory_ends_no_team() {
    let sandbox = Sandbox::new();
    let work = Account::new(&sandbox, ".claude-work", ONE);
    work.begin(1_000, "Draft");
    let (other, missing) = (sandbox.home().join("other"), sandbox.home().join("missing"));
    std::fs::create_dir_all(other.join(".claude/teams")).unwrap();
    let [other, missing] = [&other, &missing].map(|path| path.to_str().unwrap());
    for env in [&[][..], &[("HOME", other)], &[("CLAUDE_CONFIG_DIR", missing)], &[("HOME", missing)]] {
        visit(&sandbox, env);
        let teams = sandbox.teams();
        assert_eq!((rows(&teams, "ended_at"), teams.len()), (vec![&Value::Null], 1), "{env:?}");
        assert!(sandbox.printed(&["status"]).starts_with("session-aaaaaaaa running"), "{env:?}");
        work.call("Stop", json!({}));
    }
    work.erase_team();
    visit(&sandbox, &[]);
    assert_eq!(rows(&sandbox.teams(), "ended_at"), [&Value::Null], "its own directory was not looked at");
    visit(&sandbox, &[("CLAUDE_CONFIG_DIR", work.dir.to_str().unwrap())]);
    assert_eq!(rows(&sandbox.teams(), "ended_by"), ["disappeared"]);
}

#[test]
fn a_directory_that_is_not_there_is_no_evidence_about_its_teams() {
    let sandbox = Sandbox::new();
    let work = Account::new(&sandbox, ".claude-work", ONE);
    work.begin(1_000, "Draft");
    let moved = sandbox.home().join("moved");
    std::fs::rename(&work.dir, &moved).unwrap();
    visit(&sandbox, &[]);
    visit(&sandbox, &[("CLAUDE_CONFIG_DIR", work.dir.to_str().unwrap())]);
    work.call("Stop", json!({}));
    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "ended_at"), [&Value::Null]);
    assert_eq!(subject(&sandbox, &teams[0]["run"]), "Draft");
    std::fs::rename(&moved, &work.dir).unwrap();
    work.erase_team();
    work.call("SessionEnd", json!({"reason": "other"}));
    assert_eq!(rows(&sandbox.teams(), "ended_by"), ["session-end"]);
}

#[cfg(unix)]
#[test]
fn a_directory_with_several_paths_is_one_directory() {
    let sandbox = Sandbox::new();
    let work = Account::new(&sandbox, ".claude-work", ONE);
    let link = sandbox.home().join("link");
    std::os::unix::fs::symlink(&work.dir, &link).unwrap();
    work.roster(1_000);
    work.task("Draft");
    let paths = [link.clone(), work.dir.clone(), work.dir.join(""), link.join("../.claude-work/.")];
    work.call_at(&link, "SessionStart", json!({"source": "startup"}));
    for (number, path) in paths.iter().enumerate() {
        work.task(&format!("Draft {number}"));
        work.call_at(path, "Stop", json!({}));
        let teams = sandbox.teams();
        assert_eq!(teams.len(), 1, "{path:?}");
        assert_eq!(subject(&sandbox, &teams[0]["run"]), format!("Draft {number}"), "{path:?}");
    }
    work.erase_team();
    visit(&sandbox, &[("CLAUDE_CONFIG_DIR", work.dir.to_str().unwrap())]);
    assert_eq!(rows(&sandbox.teams(), "ended_by"), ["disappeared"]);
}

#[test]
fn the_same_run_at_another_path_is_not_a_second_run() {
    let sandbox = Sandbox::new();
    let work = Account::new(&sandbox, ".claude-work", ONE);
    work.begin(1_000, "Draft");
    // A container has the files of the team at another path.
    let mounted = Account::new(&sandbox, "mounted", ONE);
    mounted.roster(1_000);
    mounted.task("Draft");
    visit(&sandbox, &[("CLAUDE_CONFIG_DIR", mounted.dir.to_str().unwrap())]);
    mounted.call("Stop", json!({}));
    work.call("Stop", json!({}));
    let teams = sandbox.teams();
    assert_eq!((teams.len(), &teams[0]["ended_at"]), (1, &Value::Null));
    assert_eq!(std::fs::read_dir(sandbox.keep("teams/open")).unwrap().count(), 1);
}

/// Two teams named `parser`, each led by its session in its own directory.
fn two_parsers(sandbox: &Sandbox) -> [Account<'_>; 2] {
    let accounts = [(".claude-work", ONE), (".claude", TWO)];
    let accounts = accounts
        .map(|(dir, session)| Account { team: "parser".to_owned(), ..Account::new(sandbox, dir, session) });
    accounts[0].begin(1_000, "Draft");
    accounts[1].begin(2_000, "Review");
    accounts
}

#[test]
fn two_teams_of_one_name_in_two_directories_are_two_runs() {
    let sandbox = Sandbox::new();
    let [work, home] = two_parsers(&sandbox);
    for round in 0..3 {
        for account in [&work, &home] {
            account.task(&format!("{} {round}", account.session));
            account.call("Stop", json!({}));
        }
        visit(&sandbox, &[]);
        let teams = sandbox.teams();
        assert_eq!(rows(&teams, "ended_at"), [&Value::Null; 2], "{round}");
        let subjects: Vec<Value> = rows(&teams, "run").iter().map(|run| subject(&sandbox, run)).collect();
        assert_eq!(subjects, [format!("{ONE} {round}"), format!("{TWO} {round}")]);
    }
    work.erase_team();
    let input = json!({"tool_name": "TeamDelete", "tool_input": {}, "tool_use_id": "u1"});
    let mut after = input.clone();
    after["tool_response"] = json!({"success": true, "team_name": "parser"});
    work.call("PreToolUse", input);
    work.call("PostToolUse", after);
    home.call("Stop", json!({}));
    assert_eq!(rows(&sandbox.teams(), "ended_by"), [&json!("team-delete"), &Value::Null]);
    home.erase_team();
    home.call("SessionEnd", json!({"reason": "other"}));
    assert_eq!(rows(&sandbox.teams(), "ended_by"), ["team-delete", "session-end"]);
    // Until then, its run is not complete.
    work.call("SessionEnd", json!({"reason": "other"}));
    assert_eq!(rows(&sandbox.teams(), "ended_by"), ["team-delete", "session-end"]);
    sandbox.finish();
    assert!(sandbox.printed(&["verify"]).contains("no damage found"));
}

#[test]
fn a_run_continues_after_the_run_that_had_its_name_first_was_pruned() {
    let sandbox = Sandbox::new();
    let [work, home] = two_parsers(&sandbox);
    work.erase_team();
    work.call("SessionEnd", json!({"reason": "other"}));
    sandbox.finish();
    let before = sandbox.teams();
    assert_eq!(rows(&before, "ended_by"), [&json!("session-end"), &Value::Null]);
    assert_eq!(sandbox.run(&["prune", "--keep", "0", "--yes"]).code, Some(0));
    home.task("Review again");
    home.call("Stop", json!({}));
    let after = sandbox.teams();
    assert_eq!(rows(&after, "run"), [&before[1]["run"]], "only the run that had ended was removed");
    assert_eq!(subject(&sandbox, &after[0]["run"]), "Review again");
    work.begin(3_000, "Draft anew");
    assert_eq!(rows(&sandbox.teams(), "ended_at"), [&Value::Null; 2]);
    assert!(sandbox.printed(&["verify"]).contains("no damage found"));
}

#[test]
fn a_session_is_resumed_in_its_directory_after_another_one_was_used() {
    let sandbox = Sandbox::new();
    let work = Account::new(&sandbox, ".claude-work", ONE);
    work.begin(1_000, "Draft");
    work.erase_team();
    work.call("SessionEnd", json!({"reason": "other"}));
    visit(&sandbox, &[]);
    work.call("SessionStart", json!({"source": "resume"}));
    work.roster(2_000);
    work.call("UserPromptSubmit", json!({"prompt": "go on"}));
    visit(&sandbox, &[]);
    work.call("Stop", json!({}));
    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "ended_by"), [&json!("session-end"), &Value::Null]);
    assert_eq!(sandbox.library().runs[1].continues.as_deref(), teams[0]["run"].as_str());
}

#[test]
fn a_running_run_without_a_recorded_directory_gets_that_of_its_next_call() {
    let sandbox = Sandbox::new();
    let work = Account::new(&sandbox, ".claude-work", ONE);
    work.begin(1_000, "Draft");
    let index = sandbox.keep("teams/open/team-session-aaaaaaaa.json");
    let read = || serde_json::from_slice::<Value>(&std::fs::read(&index).unwrap()).unwrap();
    let mut old = read();
    let dir = old.as_object_mut().unwrap().remove("config_dir").unwrap();
    std::fs::write(&index, old.to_string()).unwrap();
    work.task("Draft 2");
    work.call("Stop", json!({}));
    visit(&sandbox, &[]);
    assert_eq!(read()["config_dir"], dir);
    assert_eq!(rows(&sandbox.teams(), "ended_at"), [&Value::Null]);
}

#[test]
fn restore_writes_tasks_where_the_run_was() {
    let sandbox = Sandbox::new();
    let work = Account::new(&sandbox, ".claude-work", ONE);
    work.begin(1_000, "Draft");
    work.erase_team();
    work.call("SessionEnd", json!({"reason": "other"}));
    sandbox.finish();
    let result = restore(&sandbox, &["--tasks", TWO, "--yes"]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert!(work.dir.join("tasks/session-bbbbbbbb/1.json").exists());
    assert!(!sandbox.client("tasks").exists());
    let (path, start) = (work.dir.to_str().unwrap(), format!("claude --session-id {TWO}"));
    let hint = match cfg!(windows) {
        true => format!("$env:CLAUDE_CONFIG_DIR = '{path}'; {start}; Remove-Item Env:CLAUDE_CONFIG_DIR"),
        false => format!("CLAUDE_CONFIG_DIR={} {start}", quoted(path)),
    };
    assert!(result.err.contains(&hint), "{}", result.err);

    let inside = work.dir.join("then");
    let result = restore(&sandbox, &["--files", inside.to_str().unwrap()]);
    assert!(result.err.contains("inside Claude Code's directory"), "{}", result.err);

    std::fs::rename(&work.dir, sandbox.home().join("moved")).unwrap();
    let result = restore(&sandbox, &["--tasks", TWO, "--yes"]);
    assert_eq!(result.code, Some(1), "{result:?}");
    assert!(
        result.err.contains("it does not exist here") && result.err.contains("--files DIR"),
        "{}",
        result.err
    );
    let to = sandbox.home().join("then");
    assert_eq!(restore(&sandbox, &["--files", to.to_str().unwrap()]).code, Some(0));
}
