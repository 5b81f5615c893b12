//! Paths that are not as they should be: Claude Code's files, the store, the disk.

#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::access::assert_mode;
use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, Sandbox, below, feed, unix_paths};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TEAM: &str = "session-aaaaaaaa";
pub const STOP: &[u8] = br#"{"hook_event_name":"Stop","session_id":"s1"}"#;

/// A team of one teammate and one task.
pub fn team(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.task("1", "pending", None);
    lead.start("startup");
    lead
}

/// Whether any file of the store holds this text.
fn holds(sandbox: &Sandbox, text: &str) -> bool {
    let has =
        |path: PathBuf| std::fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text));
    below(&sandbox.keep("")).into_iter().any(has)
}

#[cfg(unix)]
#[test]
fn what_is_not_a_file_or_directory_of_a_team_is_reported_not_followed_and_the_rest_is_kept() {
    type Make = fn(&Path, &Path);
    let link: Make = |path, secret| symlink(secret, path).unwrap();
    let directory: Make = |path, _| std::fs::create_dir(path).unwrap();
    let pipe: Make = |path, _| rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
    let file: Make = |path, secret| assert!(std::fs::copy(secret, path).is_ok());
    let rounds = [
        [
            ("teams/TEAM/config.json", link, "is a symlink"),
            ("tasks/TEAM/1.json", pipe, "is not a regular file"),
            ("teams/linked", link, "is a symlink"),
        ],
        [
            ("teams/TEAM/inboxes/alice.json", pipe, "is not a regular file"),
            ("teams/TEAM/config.json", directory, "is a directory"),
            ("tasks/TEAM/1.json", link, "is a symlink"),
        ],
        [
            ("teams/TEAM/inboxes", file, "is not a directory"),
            ("tasks/TEAM/1.json", directory, "is a directory"),
            ("teams/TEAM/config.json", pipe, "is not a regular file"),
        ],
    ];
    for odd in rounds.map(|round| round.map(|(name, make, what)| (name.replace("TEAM", TEAM), make, what))) {
        let sandbox = Sandbox::new();
        let secret = sandbox.home().join("secret");
        std::fs::write(&secret, r#"["my-secret!"]"#).unwrap();
        let lead = team(&sandbox);
        lead.inbox("alice", json!([{"from": "team-lead", "text": "hi", "timestamp": sandbox.last()}]));
        lead.hook("Stop", json!({}));
        for (name, make, _) in &odd {
            let path = sandbox.client(name);
            let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
            make(&path, &secret);
        }
        lead.task("2", "pending", None);
        lead.hook("Stop", json!({}));
        let noted = sandbox.diagnostics();
        for (name, _, what) in &odd {
            assert!(noted.contains(&format!("{name} {what} and was not followed")), "{name}: {noted}");
        }
        assert!(!holds(&sandbox, "my-secret!"), "{odd:?}");
        let shown = sandbox.show(&[TEAM]);
        let statuses = (&shown["tasks"]["1"]["status"], &shown["tasks"]["2"]["status"]);
        assert_eq!(
            statuses,
            (&json!("pending"), &json!("pending")),
            "the last state, and the file beside it"
        );
        assert_eq!(shown["inboxes"]["alice"][0]["text"], "hi");
        assert_eq!(sandbox.teams().iter().filter(|run| run["team"] == TEAM).count(), 1);
    }
}

#[test]
fn file_above_the_size_limit_is_noted_but_not_stored() {
    let sandbox = Sandbox::new();
    sandbox.configure("[archive]\nlargest-file = \"1 KiB\"\n");
    let lead = team(&sandbox);
    sandbox.write(&format!("tasks/{TEAM}/2.json"), json!({"id": "2", "subject": "x".repeat(2_000)}));
    lead.hook("Stop", json!({}));
    let library = sandbox.library();
    let snapshots = library.archive.journal(&library.find(TEAM).unwrap().run).snapshots;
    let change = &snapshots.last().unwrap().changed[0];
    assert_eq!(
        (change.path.as_str(), &change.object, change.size > 2_000),
        ("tasks/session-aaaaaaaa/2.json", &None, true)
    );
    assert!(change.skipped.as_ref().unwrap().contains("larger than 1024 bytes"));
}

/// The hook where no file can grow, as on a full disk.
fn on_a_full_disk(sandbox: &Sandbox, event: &str, stdin: &[u8]) -> CommandResult {
    let mut shell = Command::new("/bin/sh");
    sandbox.dress(&mut shell);
    shell.args(["-c", "ulimit -f 0; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_teamkeep"), "hook", event]);
    feed(&mut shell, stdin)
}

#[test]
#[cfg_attr(windows, ignore = "fills the disk with the limits of a shell")]
fn full_disk_is_reported_and_preserves_recorded_data() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let (log, shown) = (sandbox.log(), sandbox.show(&[TEAM]));
    lead.task("1", "completed", None);
    let result = on_a_full_disk(&sandbox, "stop", STOP);
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
    assert!(
        result.err.starts_with("teamkeep: cannot record the event: failed to write to file "),
        "{}",
        result.err
    );
    assert_eq!(result.err.lines().count(), 1);
    assert_eq!((sandbox.log(), sandbox.show(&[TEAM])), (log, shown));
    assert!(below(&sandbox.keep("")).iter().all(|path| path.extension().is_none_or(|kind| kind != "tmp")));

    lead.hook("Stop", json!({}));
    assert_eq!(sandbox.show(&[TEAM])["tasks"]["1"]["status"], "completed", "kept when there is room again");
    assert_eq!(sandbox.log().len(), 2);
}

#[test]
#[cfg_attr(windows, ignore = "fills the disk with the limits of a shell")]
fn a_loss_is_reported_beside_a_warning_of_the_policy() {
    let sandbox = Sandbox::new();
    sandbox.configure("[policy.premature-shutdown]\nmode = \"warn\"\n");
    let lead = team(&sandbox);
    lead.task("1", "in_progress", Some("alice"));
    lead.hook("Stop", json!({}));
    let input = json!({"to": "alice", "message": {"type": "shutdown_request"}});
    let request = json!({"hook_event_name": "PreToolUse", "session_id": SESSION, "tool_name": "SendMessage",
        "tool_use_id": "toolu_1", "tool_input": input});
    let result = on_a_full_disk(&sandbox, "pre-tool-use", request.to_string().as_bytes());
    // Claude Code reads stdout only after exit code 0.
    assert_eq!(result.code, Some(0), "{result:?}");
    let response: serde_json::Value = serde_json::from_str(&result.out).unwrap();
    let shown = response["systemMessage"].as_str().unwrap();
    assert!(
        shown.contains("a shutdown request to alice") && shown.contains("cannot record the event"),
        "{shown}"
    );
}

#[test]
fn store_creation_failure_is_reported() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.keep("").parent().unwrap().join("file"), "").unwrap();
    let below_file = sandbox.home().parent().unwrap().join("file/store");
    let result = sandbox.feed("stop", STOP, &[("TEAMKEEP_HOME", below_file.to_str().unwrap())]);
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
    let why = if cfg!(windows) { "cannot create the directory " } else { "failed to open file " };
    assert!(result.err.starts_with(&format!("teamkeep: cannot record the event: {why}")), "{}", result.err);
    let shown = unix_paths(&result.err, sandbox.home().parent().unwrap(), "");
    assert!(shown.contains("file/store/sessions") && result.err.lines().count() == 1, "{}", result.err);
}

#[cfg(unix)]
#[test]
fn pipes_and_links_in_place_of_files_of_the_store_do_not_delay_the_hook_and_are_not_followed() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let run = sandbox.library().find(TEAM).unwrap().run.clone();
    for (name, is_pipe) in [
        (format!("teams/open/team-{TEAM}.json"), true),
        (format!("runs/{run}/run.json"), false),
        (format!("sessions/{SESSION}.json"), true),
    ] {
        let path = sandbox.keep(&name);
        std::fs::remove_file(&path).unwrap();
        match is_pipe {
            true => rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap(),
            false => symlink("/nowhere/at/all", &path).unwrap(),
        }
    }
    lead.task("1", "completed", None);
    lead.hook("Stop", json!({}));
    assert_eq!(sandbox.log().len(), 2);
    assert_eq!(sandbox.show(&[TEAM])["tasks"]["1"]["status"], "completed");
    assert_eq!(sandbox.teams()[0]["run"], run.as_str());
}

#[cfg(unix)]
#[test]
fn a_journal_that_is_a_link_is_not_followed() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let run = sandbox.library().find(TEAM).unwrap().run.clone();
    let (path, outside) = (sandbox.keep(&format!("runs/{run}/snapshots.jsonl")), sandbox.home().join("mine"));
    std::fs::write(&outside, "mine").unwrap();
    std::fs::remove_file(&path).unwrap();
    symlink(&outside, &path).unwrap();
    lead.task("1", "completed", None);
    lead.hook("Stop", json!({}));
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "mine");
    assert_eq!(sandbox.log().len(), 2);
    let result = sandbox.run(&["show", TEAM, "--json"]);
    assert!(result.err.contains("snapshots.jsonl"), "the link is told: {}", result.err);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&result.out).unwrap()["tasks"]["1"]["status"],
        "completed"
    );
}

#[test]
fn an_unavailable_lock_does_not_stop_the_hook() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let lock = sandbox.keep(&format!("locks/team-{TEAM}"));
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    lead.task("1", "completed", None);
    lead.hook("Stop", json!({}));
    assert_eq!(sandbox.show(&[TEAM])["tasks"]["1"]["status"], "completed");
    assert!(sandbox.diagnostics().contains("has a separate journal"), "{}", sandbox.diagnostics());
}

#[test]
fn only_the_user_can_access_the_store() {
    let sandbox = Sandbox::new();
    sandbox.configure("[log]\nkeep = 3\n");
    let lead = team(&sandbox);
    sandbox.write(&lead.transcript(), "{}\n");
    lead.hook("SubagentStart", json!({"agent_id": "a1", "agent_type": "alice"}));
    lead.erase();
    lead.end("other");
    sandbox.finish();
    let all = below(&sandbox.keep(""));
    for part in ["diagnostics", "sessions", "runs", "teams/closed", "locks"] {
        assert!(
            all.iter().any(|path| path.starts_with(sandbox.keep(part)) && path.is_file()),
            "{part}: {all:?}"
        );
    }
    for path in all.iter().chain([&sandbox.keep("")]) {
        assert_mode(path, if path.is_dir() { 0o700 } else { 0o600 });
    }
}
