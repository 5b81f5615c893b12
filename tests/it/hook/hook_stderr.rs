//! What a hook could not keep, or found odd, is told: on one line, to whoever looks at its stderr.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::unusable_paths::team;
use crate::support::client_files::Lead;
use crate::support::programs::copy_teamkeep;
use crate::support::sandbox::{CommandResult, Sandbox, below, feed};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TEAM: &str = "session-aaaaaaaa";
const STOP: &[u8] = br#"{"hook_event_name":"Stop","session_id":"aaaaaaaa-0000-4000-8000-000000000001"}"#;
/// The user and group that nothing belongs to.
const NOBODY: u32 = 65_534;

/// A Stop hook that a shell starts after these words of it.
fn after(sandbox: &Sandbox, words: &str) -> CommandResult {
    let mut shell = Command::new("/bin/sh");
    sandbox.dress(&mut shell);
    let line = format!("{words}; exec \"$0\" hook stop");
    feed(shell.args(["-c", &line, env!("CARGO_BIN_EXE_teamkeep")]), STOP)
}

#[test]
fn a_snapshot_that_a_full_disk_rejects_is_reported_although_the_event_is_recorded() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let task = json!({"id": "1", "subject": "x".repeat(100_000), "status": "completed"});
    sandbox.write(&format!("tasks/{TEAM}/1.json"), &task);
    // No file can grow beyond 32 KiB: the line fits, the state does not.
    let result = after(&sandbox, "ulimit -f 64");
    assert_eq!(
        (result.code, result.out.as_str(), result.err.lines().count()),
        (Some(1), "", 1),
        "{result:?}"
    );
    assert!(
        result.err.starts_with("teamkeep: cannot store the files of session-aaaaaaaa: failed to "),
        "{}",
        result.err
    );
    assert_eq!(sandbox.log().len(), 2);
    assert_eq!(sandbox.show(&[TEAM])["tasks"]["1"]["status"], "pending", "what was on record is");
    lead.hook("Stop", json!({}));
    assert_eq!(sandbox.show(&[TEAM])["tasks"]["1"], task, "kept when there is room again");
}

#[test]
fn oddities_that_lose_nothing_fail_no_call_and_usual_conditions_are_not_reported() {
    let sandbox = Sandbox::new();
    team(&sandbox);
    std::fs::create_dir(sandbox.client(&format!("tasks/{TEAM}/2.json"))).unwrap();
    // The client is half done with this one.
    sandbox.write(&format!("tasks/{TEAM}/1.json"), "{\"id\": \"1\", \"sub");
    let result = sandbox.feed("stop", STOP, &[]);
    let told = "teamkeep: tasks/session-aaaaaaaa/2.json is a directory and was not followed\n";
    assert_eq!((result.code, result.out.as_str(), result.err.as_str()), (Some(0), "", told));
    assert!(sandbox.diagnostics().contains("1.json was incomplete JSON; it was stored without changes"));
    assert_eq!(sandbox.feed("stop", STOP, &[]).err, "", "once");
}

#[test]
fn a_file_name_that_is_not_utf_8_is_reported_once_and_other_files_are_stored() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let name = std::ffi::OsStr::from_bytes(b"\xff.json");
    if std::fs::write(sandbox.client(&format!("tasks/{TEAM}")).join(name), "{}").is_err() {
        return; // Not every file system has such names.
    }
    lead.task("2", "pending", None);
    let told =
        "teamkeep: tasks/session-aaaaaaaa/\u{fffd}.json is not UTF-8 in its name and was not followed\n";
    assert_eq!(sandbox.feed("stop", STOP, &[]).err, told);
    assert_eq!(sandbox.feed("stop", STOP, &[]).err, "");
    assert_eq!(sandbox.show(&[TEAM])["tasks"]["2"]["status"], "pending");
}

#[test]
fn a_response_is_unchanged_although_data_was_lost() {
    let sandbox = Sandbox::new();
    sandbox.configure("[archive]\nlargest-file = \"1 KiB\"\n");
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    sandbox.write(&format!("tasks/{TEAM}/1.json"), json!({"id": "1", "subject": "x".repeat(2_000)}));
    let start = lead.payload("SessionStart", json!({"source": "startup"})).to_string();
    let result = sandbox.feed("session-start", start.as_bytes(), &[]);
    assert!(
        result.err.contains("is larger than 1024 bytes") && result.out.contains("watchPaths"),
        "{result:?}"
    );
    assert_eq!(result.code, Some(0));
}

/// A Stop hook of such a user.
fn by_user(sandbox: &Sandbox, dress: impl Fn(&mut Command)) -> Option<CommandResult> {
    as_user(sandbox, &["hook", "stop"], STOP, dress)
}

/// A command of a user to whom a file can be unreadable, which to root none is: of nobody then. `None` where that user
/// cannot run the program.
pub fn as_user(
    sandbox: &Sandbox,
    args: &[&str],
    stdin: &[u8],
    dress: impl Fn(&mut Command),
) -> Option<CommandResult> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_teamkeep"));
    if rustix::process::getuid().is_root() {
        let binary = sandbox.home().join("teamkeep");
        if !binary.exists() {
            copy_teamkeep(&binary);
        }
        let root = sandbox.home().parent().unwrap().to_path_buf();
        for path in below(&root).into_iter().chain([root]) {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        command = Command::new(binary);
        command.uid(NOBODY).gid(NOBODY);
    }
    sandbox.dress(&mut command);
    dress(&mut command);
    command.args(args);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match piped.spawn() {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
        spawned => spawned.unwrap(),
    };
    // A command that reads nothing may have ended.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    Some(CommandResult::from(child.wait_with_output().unwrap()))
}

#[test]
fn a_read_only_store_is_reported_and_recorded_data_stays() {
    let sandbox = Sandbox::new();
    let at_home = |command: &mut Command| {
        command.env_remove("TEAMKEEP_HOME");
    };
    let Some(result) = by_user(&sandbox, at_home) else { return };
    assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
    let set = |directory: u32, file: u32| {
        for path in below(&sandbox.home()).into_iter().chain([sandbox.home()]) {
            let mode = if path.is_dir() { directory } else { file };
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    let kept = || -> Vec<Vec<u8>> {
        let logged =
            below(&sandbox.home()).into_iter().filter(|path| path.extension() == Some("jsonl".as_ref()));
        logged.map(|path| std::fs::read(path).unwrap()).collect()
    };
    // There is no room for another day's diagnostics unless the oldest goes, and it cannot.
    let diagnostics = sandbox.home().join(".local/share/teamkeep/diagnostics");
    std::fs::create_dir(&diagnostics).unwrap();
    for day in 1..9 {
        std::fs::write(diagnostics.join(format!("teamkeep.2020-01-0{day}.log")), "").unwrap();
    }
    let before = kept();
    set(0o500, 0o500);
    let result = by_user(&sandbox, at_home).unwrap();
    assert_eq!(
        (result.code, result.out.as_str(), result.err.lines().count()),
        (Some(1), "", 1),
        "{result:?}"
    );
    assert!(
        result.err.starts_with("teamkeep: cannot record the event: failed to open file "),
        "{}",
        result.err
    );
    assert_eq!(kept(), before);
    set(0o700, 0o700);
    assert_eq!(by_user(&sandbox, at_home).unwrap().code, Some(0), "the next call works");
    assert_eq!(kept().concat().iter().filter(|byte| **byte == b'\n').count(), 2);
}

#[test]
fn an_unreadable_file_is_reported_and_stored_once_it_is_readable() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.task("2", "pending", None);
    let path = sandbox.client(&format!("tasks/{TEAM}/2.json"));
    let readable = |mode: u32| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    readable(0o000);
    let Some(result) = by_user(&sandbox, |_| ()) else { return };
    assert_eq!(
        (result.code, result.out.as_str(), result.err.lines().count()),
        (Some(1), "", 1),
        "{result:?}"
    );
    assert!(
        result.err.starts_with("teamkeep: cannot store tasks/session-aaaaaaaa/2.json: failed to open file "),
        "{}",
        result.err
    );
    assert!(sandbox.diagnostics().contains("cannot store tasks/session-aaaaaaaa/2.json: "));
    assert_eq!(sandbox.log().len(), 2, "the event is on record");
    readable(0o600);
    lead.hook("Stop", json!({}));
    assert_eq!(sandbox.show(&[TEAM])["tasks"]["2"]["status"], "pending");
}

#[test]
fn a_complete_payload_is_used_although_the_pipe_stays_open() {
    let sandbox = Sandbox::new();
    sandbox.configure("[hook]\nstdin-patience = \"1s\"\n");
    team(&sandbox);
    let mut command = sandbox.command(&["hook", "stop"]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut held = child.stdin.take().unwrap();
    held.write_all(&[STOP, b"\n"].concat()).unwrap();
    let result = CommandResult::from(child.wait_with_output().unwrap());
    drop(held);
    let told = "teamkeep: stdin did not end within 1000 ms; the payload was complete nevertheless\n";
    assert_eq!((result.code, result.out.as_str(), result.err.as_str()), (Some(0), "", told));
    let event = &sandbox.log()[1];
    assert_eq!((&event["team"], event.get("malformed")), (&json!(TEAM), None));
}

#[test]
fn a_umask_without_the_users_own_rights_does_not_prevent_recording() {
    for mask in ["777", "277", "000"] {
        let sandbox = Sandbox::new();
        let result = after(&sandbox, &format!("umask {mask}"));
        assert_eq!((result.code, result.err.as_str()), (Some(0), ""), "{mask}");
        assert_eq!(sandbox.log().len(), 1);
        for path in below(&sandbox.keep("")) {
            let mode = path.symlink_metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{mask}: {}", path.display());
        }
    }
}

#[test]
fn a_home_that_is_not_an_absolute_path_is_ignored() {
    let (sandbox, tmp) = (Sandbox::new(), tempfile::tempdir().unwrap());
    let mut command = sandbox.command(&["hook", "stop"]);
    command.env_remove("TEAMKEEP_HOME").env("HOME", "here").env("TMPDIR", tmp.path());
    let result = feed(&mut command, STOP);
    assert_eq!((result.code, result.out.as_str()), (Some(0), ""));
    assert!(
        result.err.starts_with("teamkeep: HOME is not an absolute path: recording to "),
        "{}",
        result.err
    );
    let is_empty = |path: &Path| std::fs::read_dir(path).unwrap().next().is_none();
    assert!(is_empty(&sandbox.home().join("parser")) && !is_empty(tmp.path()));
}

#[test]
fn values_of_the_environment_are_never_recorded() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    sandbox.hook(lead.payload("Stop", json!({})), &[("CLAUDE_CODE_MESSAGING_TOKEN", "my-secret!")]);
    let found = below(&sandbox.keep("")).into_iter().filter_map(|path| std::fs::read(path).ok());
    assert!(found.into_iter().all(|bytes| !bytes.windows(10).any(|part| part == b"my-secret!")));
}

#[test]
fn a_part_of_the_store_that_cannot_be_written_is_reported_with_the_command_that_opens_it() {
    for (part, command) in
        [("sessions", ["log", "--raw"]), ("runs", ["list", "--all"]), ("locks", ["allow", "alice"])]
    {
        let sandbox = Sandbox::new();
        team(&sandbox);
        std::fs::create_dir_all(sandbox.keep(part)).unwrap();
        let set = |mode| std::fs::set_permissions(sandbox.keep(part), std::fs::Permissions::from_mode(mode));
        set(0).unwrap();
        let fix = format!("chmod u+rwx {}", sandbox.keep(part).display());
        let Some(result) = as_user(&sandbox, &command, STOP, |_| ()) else { return };
        assert_eq!(result.code, Some(1), "{result:?}");
        assert!(result.err.ends_with(&format!("hint: {fix}\n")), "{part}: {}", result.err);
        let result = by_user(&sandbox, |_| ()).unwrap();
        if part == "sessions" {
            // The event is in the log of its run.
            assert_eq!((result.code, result.err.lines().count()), (Some(0), 1), "{}", result.err);
            assert!(result.err.ends_with(&format!("; hint: {fix}\n")), "{}", result.err);
        }
        set(0o700).unwrap();
    }
}
