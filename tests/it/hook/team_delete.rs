//! Before a TeamDelete everything must be kept: what is not kept then is lost.

use std::io::Read;
use std::path::PathBuf;
use std::process::Command;

use chrono::TimeDelta;
use serde_json::{Value, json};
use teamkeep_model::time;

use crate::support::client_files::Lead;
use crate::support::programs::waiting_process;
use crate::support::sandbox::{CommandResult, Sandbox, below, feed, unix_paths};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

fn team(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::named(sandbox, SESSION, "parser-team");
    lead.roster(1_000, &["alice"]);
    lead.task("1", "in_progress", Some("alice"));
    lead.inbox("alice", json!([{"from": "team-lead", "text": "hi", "timestamp": sandbox.last()}]));
    lead
}

fn call(lead: &Lead<'_>) -> String {
    lead.payload("PreToolUse", json!({"tool_name": "TeamDelete", "tool_input": {}, "tool_use_id": "u1"}))
        .to_string()
}

/// A store that cannot be: a directory below a regular file.
fn no_store(sandbox: &Sandbox) -> PathBuf {
    let file = sandbox.home().join("file");
    std::fs::write(&file, "").unwrap();
    file.join("store")
}

fn delete(sandbox: &Sandbox, lead: &Lead<'_>, store: &str) -> CommandResult {
    sandbox.feed("pre-tool-use", call(lead).as_bytes(), &[("TEAMKEEP_HOME", store)])
}

#[test]
fn team_delete_is_blocked_if_the_team_cannot_be_archived() {
    let sandbox = Sandbox::new();
    sandbox.configure("");
    let lead = team(&sandbox);
    let store = no_store(&sandbox);
    let result = delete(&sandbox, &lead, store.to_str().unwrap());
    assert_eq!((result.code, result.out.as_str()), (Some(2), ""));
    let words = unix_paths(&result.err, sandbox.home().parent().unwrap(), "DIR");
    assert_eq!(words.lines().count(), 1, "one line for the model");
    assert!(words.starts_with("teamkeep blocks TeamDelete: the team could not be archived"), "{words}");
    let why = match cfg!(windows) {
        true => "(cannot create the directory ",
        false => "(failed to open file `DIR/home/file/store/locks/team-parser-team`: Not a directory",
    };
    assert!(words.contains(why), "why: {words}");
    assert!(
        words.contains("Ask the user to free disk space or to fix the permissions of DIR/home/file/store"),
        "{words}"
    );
    assert!(
        words.contains("`on-failure = \"warn\"` under [archive] in DIR/teamkeep.toml turns this off"),
        "{words}"
    );
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_the_snapshots_blocks_no_call() {
    let sandbox = Sandbox::new();
    sandbox.configure("");
    let lead = team(&sandbox);
    lead.start("startup");
    let runs = sandbox.keep("runs");
    let run = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let snapshots = run.join("snapshots.jsonl");
    let _ = std::fs::remove_file(&snapshots);
    rustix::fs::mkfifoat(rustix::fs::CWD, &snapshots, rustix::fs::Mode::RWXU).unwrap();
    let result = sandbox.feed("pre-tool-use", call(&lead).as_bytes(), &[]);
    assert_eq!(result.code, Some(0), "{result:?}");
}

#[test]
#[cfg_attr(windows, ignore = "fills the disk with the limits of a shell")]
fn full_disk_blocks_a_team_delete() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let mut shell = Command::new("/bin/sh");
    sandbox.dress(&mut shell);
    shell.args([
        "-c",
        "ulimit -f 0; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_teamkeep"),
        "hook",
        "pre-tool-use",
    ]);
    let result = feed(&mut shell, call(&lead).as_bytes());
    assert_eq!(result.code, Some(2), "{result:?}");
    assert!(result.err.contains("File too large"), "{}", result.err);
}

#[test]
fn a_setting_turns_the_block_into_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.configure("[archive]\non-failure = \"warn\"\n");
    let lead = team(&sandbox);
    let store = no_store(&sandbox);
    let result = delete(&sandbox, &lead, store.to_str().unwrap());
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
    assert!(
        result.err.starts_with("teamkeep: TeamDelete is allowed although the team could not be archived: "),
        "{}",
        result.err
    );
}

#[test]
fn broken_store_does_not_block_other_tools() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let store = no_store(&sandbox);
    for tool in ["TaskUpdate", "TeamCreate", "SendMessage"] {
        let payload = lead.payload("PreToolUse", json!({"tool_name": tool, "tool_input": {}})).to_string();
        let result =
            sandbox.feed("pre-tool-use", payload.as_bytes(), &[("TEAMKEEP_HOME", store.to_str().unwrap())]);
        assert_eq!(result.code, Some(1), "{tool}: {result:?}");
    }
}

#[test]
fn a_team_delete_is_allowed_when_everything_is_stored() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.before("u1", "TeamDelete", &json!({}), json!({}));
    sandbox.remove_dir("teams");
    sandbox.remove_dir("tasks");
    let shown = sandbox.show(&["parser-team", "--at", &sandbox.last()]);
    assert_eq!(shown["config"]["name"], "parser-team");
    assert_eq!(
        shown["tasks"]["1"],
        json!({"id": "1", "subject": "Task 1", "status": "in_progress", "owner": "alice"})
    );
    assert_eq!(shown["inboxes"]["alice"][0]["text"], "hi");
    assert_eq!(sandbox.log()[0]["payload"]["tool_name"], "TeamDelete");
}

#[test]
fn contents_that_were_lost_are_written_again_before_a_team_delete() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.start("startup");
    for path in
        below(&sandbox.keep("runs")).iter().filter(|path| path.to_string_lossy().contains("contents."))
    {
        std::fs::remove_file(path).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(80));
    lead.before("u1", "TeamDelete", &json!({}), json!({}));
    sandbox.remove_dir("tasks");
    assert_eq!(sandbox.show(&["parser-team"])["tasks"]["1"]["owner"], "alice");
}

#[test]
fn contents_that_were_emptied_or_changed_are_written_again_before_a_team_delete() {
    for damage in [|_: usize| 0, |length: usize| length] {
        let sandbox = Sandbox::new();
        let lead = team(&sandbox);
        lead.start("startup");
        for path in below(&sandbox.keep("runs")).iter().filter(|path| path.ends_with("contents.data")) {
            let length = std::fs::read(path).unwrap().len();
            std::fs::write(path, " ".repeat(damage(length))).unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(80));
        lead.before("u1", "TeamDelete", &json!({}), json!({}));
        sandbox.remove_dir("tasks");
        assert_eq!(sandbox.show(&["parser-team"])["tasks"]["1"]["owner"], "alice");
    }
}

#[test]
fn a_journal_that_was_lost_is_written_again_before_a_team_delete() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.start("startup");
    let run = sandbox.library().find("latest").unwrap().run.clone();
    std::fs::remove_file(sandbox.keep(&format!("runs/{run}/snapshots.jsonl"))).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(80));
    lead.before("u1", "TeamDelete", &json!({}), json!({}));
    sandbox.remove_dir("tasks");
    assert_eq!(sandbox.show(&["parser-team"])["tasks"]["1"]["owner"], "alice");
}

#[test]
fn unwritable_index_does_not_block_a_team_delete() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.start("startup");
    let index = sandbox.keep("teams/open/team-parser-team.json");
    std::fs::remove_file(&index).unwrap();
    std::fs::create_dir(&index).unwrap();
    lead.task("1", "completed", Some("alice"));
    let result = sandbox.feed("pre-tool-use", call(&lead).as_bytes(), &[]);
    assert_eq!(
        (result.code, result.out.as_str()),
        (Some(0), ""),
        "it is made again from the journal: {result:?}"
    );
    assert!(result.err.contains("cannot write the index: "), "{}", result.err);
    lead.erase();
    assert_eq!(sandbox.show(&["parser-team"])["tasks"]["1"]["status"], "completed");
}

#[cfg(unix)]
#[test]
fn unlistable_teams_block_a_team_delete() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, SESSION, "parser-team");
    std::os::unix::fs::symlink("teams", sandbox.client("teams")).unwrap();
    let result = delete(&sandbox, &lead, sandbox.keep("").to_str().unwrap());
    assert!(
        result.code == Some(2) && result.err.contains("cannot read the directory of teams: "),
        "{result:?}"
    );
    lead.start("startup");
    assert!(
        sandbox.diagnostics().contains("cannot read the directory of teams: "),
        "{}",
        sandbox.diagnostics()
    );
}

#[test]
fn a_team_with_an_unsafe_name_is_reported_and_not_deleted() {
    // On Windows the other one is a path.
    for name in [".hidden", "back\\slash"].into_iter().filter(|name| cfg!(unix) || name.starts_with('.')) {
        let sandbox = Sandbox::new();
        let lead = Lead::named(&sandbox, SESSION, name);
        lead.roster(1_000, &["alice"]);
        lead.start("startup");
        assert!(sandbox.diagnostics().contains("not a team name"), "{}", sandbox.diagnostics());
        let result = delete(&sandbox, &lead, sandbox.keep("").to_str().unwrap());
        assert!(result.code == Some(2) && result.err.contains("not a team name"), "{result:?}");
    }
}

#[test]
fn a_file_above_the_size_limit_is_archived_before_a_team_delete() {
    let sandbox = Sandbox::new();
    sandbox.configure("[archive]\nlargest-file = \"1 KiB\"\n");
    let lead = team(&sandbox);
    let text = "x".repeat(2_000);
    lead.inbox("alice", json!([{"from": "team-lead", "text": text, "timestamp": sandbox.last()}]));
    let start = lead.payload("SessionStart", json!({"source": "startup"})).to_string();
    let result = sandbox.feed("session-start", start.as_bytes(), &[]);
    assert!(sandbox.diagnostics().contains("`largest-file`"), "any other call leaves it: {result:?}");
    assert_eq!(sandbox.show(&["parser-team"])["inboxes"]["alice"], Value::Null);
    for _ in 0..2 {
        let result = sandbox.feed("pre-tool-use", call(&lead).as_bytes(), &[]);
        assert_eq!((result.code, result.err.as_str()), (Some(0), ""), "{result:?}");
    }
    lead.erase();
    assert_eq!(sandbox.show(&["parser-team"])["inboxes"]["alice"][0]["text"], text.as_str());
    assert!(sandbox.printed(&["verify"]).contains("no damage found"), "{}", sandbox.printed(&["verify"]));
}

#[test]
fn only_size_and_hash_of_a_large_file_are_stored_in_metadata_only_mode() {
    let sandbox = Sandbox::new();
    sandbox.configure("[archive]\nlargest-file = \"1 KiB\"\n[privacy]\nrecord = \"metadata\"\n");
    let lead = team(&sandbox);
    lead.inbox("alice", json!([{"text": "secret".repeat(500)}]));
    let size = std::fs::read(sandbox.client("teams/parser-team/inboxes/alice.json")).unwrap().len();
    let result = sandbox.feed("pre-tool-use", call(&lead).as_bytes(), &[]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let files = below(&sandbox.keep("runs"));
    let data = files.iter().find(|path| path.ends_with("contents.data")).unwrap();
    let texts = std::fs::read_to_string(data).unwrap();
    assert!(!texts.contains("secret") && texts.contains(&format!("[text: {size} bytes, blake3 ")), "{texts}");
}

#[test]
fn files_that_cannot_be_archived_block_a_team_delete_a_bounded_number_of_times() {
    let sandbox = Sandbox::new();
    sandbox.configure("");
    let lead = team(&sandbox);
    // No object can be as large.
    let inbox = |name: &str| sandbox.client(&format!("teams/parser-team/inboxes/{name}.json"));
    for name in ["alice", "bob"] {
        std::fs::File::create(inbox(name)).unwrap().set_len(3 << 30).unwrap();
    }
    for time in 1..=3 {
        let result = sandbox.feed("pre-tool-use", call(&lead).as_bytes(), &[]);
        assert_eq!(result.code, Some(2), "{time}: {result:?}");
        assert!(
            result.err.contains("Ask the user to raise `largest-file` under [archive] in "),
            "{}",
            result.err
        );
    }
    std::fs::remove_file(inbox("bob")).unwrap();
    for time in 1..=3 {
        let result = sandbox.feed("pre-tool-use", call(&lead).as_bytes(), &[]);
        assert_eq!(result.code, Some(2), "one file less is counted from the start, {time}: {result:?}");
    }
    let result = sandbox.feed("pre-tool-use", call(&lead).as_bytes(), &[]);
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
    assert!(result.err.contains("TeamDelete is allowed after 3 blocks"), "{}", result.err);
    assert!(result.err.contains("inboxes/alice.json"), "{}", result.err);
    let warning = sandbox.log().last().unwrap()["warning"].clone();
    assert!(warning.as_str().unwrap().contains("alice.json is larger than 2 GiB"), "{warning}");
}

#[test]
fn stored_oddities_do_not_block_a_team_delete() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    sandbox.write("tasks/parser-team/2.json", "{\"id\": \"2");
    lead.before("u1", "TeamDelete", &json!({}), json!({}));
    let library = sandbox.library();
    let run = &library.find("latest").unwrap().run;
    let held = library.archive.journal(run).last();
    let kept =
        library.archive.content(run, held["tasks/parser-team/2.json"].object.as_deref().unwrap()).unwrap();
    assert_eq!(kept, b"{\"id\": \"2");
    assert!(sandbox.diagnostics().contains("2.json is not valid JSON"), "{}", sandbox.diagnostics());
}

#[cfg(unix)]
#[test]
fn problem_of_another_team_does_not_block_a_team_delete() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.start("startup");
    sandbox.write("elsewhere/config.json", "{}");
    std::os::unix::fs::symlink(sandbox.client("elsewhere"), sandbox.client("teams/other")).unwrap();
    std::fs::create_dir_all(sandbox.keep("locks/team-other")).unwrap();
    let result = delete(&sandbox, &lead, sandbox.keep("").to_str().unwrap());
    assert!(
        result.code == Some(0) && result.err.starts_with("teamkeep: teams/other is a symlink"),
        "{result:?}"
    );
    assert_eq!(sandbox.log().last().unwrap()["payload"]["tool_input"], Value::Object(Default::default()));
}

/// A session that continues after its team was deleted, and whose transcript was archived then.
fn deleted_team(sandbox: &Sandbox, pid: Option<u32>) -> Lead<'_> {
    let lead = Lead { pid, ..team(sandbox) };
    lead.start("startup");
    lead.says("user", json!("Delete the team."));
    let (tool, input) = ("TeamDelete", json!({}));
    lead.before("u1", tool, &input, json!({}));
    lead.erase();
    lead.after("u1", tool, &input, json!({"success": true, "team_name": "parser-team"}), json!({}));
    sandbox.wait(|| archived(sandbox).is_none() || sandbox.runs("finish"));
    assert!(archived(sandbox).unwrap().contains("Delete the team."));
    lead
}

/// The archived transcript of the first run.
fn archived(sandbox: &Sandbox) -> Option<String> {
    let run = sandbox.library().runs[0].run.clone();
    let stored = sandbox.archive().kept(&run).into_values().next()?;
    let mut text = String::new();
    sandbox.archive().open_content(&run, &stored.object).unwrap().read_to_string(&mut text).unwrap();
    Some(text)
}

#[test]
fn what_the_lead_writes_after_a_team_delete_is_archived_when_its_session_ends() {
    for is_process_known in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.configure("");
        let mut client = is_process_known.then(|| waiting_process().spawn().unwrap());
        let lead = deleted_team(&sandbox, client.as_ref().map(std::process::Child::id));
        assert!(sandbox.is_unfinished(), "the session continues");
        lead.says("assistant", json!("The team found three defects."));
        if let Some(client) = &mut client {
            client.kill().unwrap();
            client.wait().unwrap();
        }
        lead.end("prompt_input_exit");
        sandbox.finish();
        assert!(archived(&sandbox).unwrap().contains("three defects"));
        assert!(sandbox.library().runs[0].finished);
    }
}

#[test]
fn the_end_of_another_session_does_not_complete_the_run_of_a_deleted_team() {
    let sandbox = Sandbox::new();
    sandbox.configure("");
    let lead = deleted_team(&sandbox, None);
    let other = Lead::named(&sandbox, "bbbbbbbb-0000-4000-8000-000000000002", "other-team");
    other.roster(2_000, &["bob"]);
    other.start("startup");
    other.end("prompt_input_exit");
    let is_finished = |team: &str| {
        let library = sandbox.library();
        library.runs.iter().any(|run| run.team.as_deref() == Some(team) && run.finished)
    };
    sandbox.wait(|| !is_finished("other-team"));
    assert!(!is_finished("parser-team"), "its session continues");
    lead.says("assistant", json!("The team found three defects."));
    lead.end("prompt_input_exit");
    sandbox.finish();
    assert!(archived(&sandbox).unwrap().contains("three defects"));
}

#[test]
fn the_run_of_a_deleted_team_whose_session_was_killed_is_completed_a_day_later() {
    let sandbox = Sandbox::new();
    sandbox.configure("");
    deleted_team(&sandbox, None);
    let payload = json!({"session_id": "s2", "hook_event_name": "SessionStart", "source": "startup"});
    let later = (time::parse(&sandbox.last()).unwrap() + TimeDelta::hours(25)).to_string();
    sandbox.feed("session-start", payload.to_string().as_bytes(), &[("TEAMKEEP_NOW", &later)]);
    sandbox.finish();
    assert!(sandbox.library().runs[0].finished);
}
