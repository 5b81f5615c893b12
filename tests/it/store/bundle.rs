//! `teamkeep export` and `import`: what is carried away, and what becomes of it on another machine.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::bundle_sandbox::{SESSION, TEAM, ended, export, file, import, outputs, unpacked};
use crate::support::access::assert_mode;
use crate::support::client_files::Lead;
use crate::support::programs::waiting_process;
use crate::support::sandbox::{ContentDamage, Sandbox, below, feed};

#[test]
fn an_export_is_private_reproducible_and_overwritten_only_with_force() {
    let sandbox = ended("go");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    assert_mode(&path, 0o600);
    let first = std::fs::read(&path).unwrap();
    let result = sandbox.run(&["export", TEAM, "-o", path.to_str().unwrap()]);
    let taken = format!(
        "error: cannot write {}: it already exists\nhint: use --force to overwrite, or choose another file\n",
        path.display()
    );
    assert_eq!((result.code, result.err), (Some(1), taken));
    export(&sandbox, TEAM, "run.tar.gz", &["--force"]);
    assert_eq!(std::fs::read(&path).unwrap(), first);
    let piped = sandbox.command(&["export", TEAM, "-o", "-"]).output().unwrap();
    assert_eq!(piped.stdout, first);
    let elsewhere = Sandbox::new();
    let result = feed(&mut elsewhere.command(&["import", "-"]), &piped.stdout);
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert_eq!(outputs(&elsewhere), outputs(&sandbox));
    assert_eq!(sandbox.run(&["export", TEAM, "-o", "/"]).code, Some(1));
    assert_eq!(sandbox.run(&["export", TEAM]).code, Some(64));
    let left = std::fs::read_dir(sandbox.home()).unwrap().flatten();
    assert!(left.into_iter().all(|file| !file.file_name().to_string_lossy().ends_with(".tmp")));
}

#[test]
fn a_bundle_has_the_files_of_the_run_and_each_content_under_its_hash() {
    let sandbox = ended("go");
    let entries = unpacked(&export(&sandbox, TEAM, "run.tar.gz", &[]));
    let (objects, others): (Vec<_>, Vec<_>) =
        entries.iter().partition(|(name, _)| name.starts_with("objects/"));
    let others: Vec<&String> = others.into_iter().map(|(name, _)| name).collect();
    assert_eq!(others, ["events.jsonl", "run.json", "snapshots.jsonl", "transcripts.json"]);
    assert!(objects.len() > 3);
    for (name, bytes) in objects {
        assert_eq!(*name, format!("objects/{}", blake3::hash(bytes).to_hex()));
    }
    let run: Value = serde_json::from_slice(&entries["run.json"]).unwrap();
    assert_eq!((&run["v"], &run["team"], run["imported"].get("redacted")), (&json!(1), &json!(TEAM), None));
}

#[test]
fn import_and_report_count_the_same_events() {
    let sandbox = Sandbox::new();
    sandbox.unconfigure();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.task("1", "in_progress", Some("alice"));
    lead.start("startup");
    let input = json!({"to": "alice", "message": {"type": "shutdown_request", "reason": "done"}});
    let payload = lead.payload("PreToolUse", json!({"tool_name": "SendMessage", "tool_input": input}));
    assert_eq!(sandbox.feed("pre-tool-use", payload.to_string().as_bytes(), &[]).code, Some(2));
    lead.erase();
    lead.end("other");
    sandbox.finish();
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let other = Sandbox::new();
    let result = import(&other, &path);
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", TEAM, "--json"])).unwrap();
    let log = sandbox.log();
    let verdicts = log.iter().filter(|line| line["event"] == "Verdict").count();
    let events = report["overview"]["count"]["events"].as_u64().unwrap();
    assert!(verdicts > 0 && events > 0, "{log:?}");
    let verdicts = if verdicts == 1 { "1 verdict".to_owned() } else { format!("{verdicts} verdicts") };
    assert!(result.err.contains(&format!(": {events} events, {verdicts}")), "{}", result.err);
}

#[test]
fn import_changes_nothing_of_a_run_that_exists() {
    let (one, two) = (ended("go"), ended("go on"));
    let path = export(&one, TEAM, "run.tar.gz", &[]);
    for sandbox in [&one, &two] {
        let (before, files) = (outputs(sandbox), below(&sandbox.keep("runs")));
        let result = import(sandbox, &path);
        assert_eq!(result.code, Some(1));
        assert!(result.err.contains(" already exists\nhint: nothing was changed; "), "{}", result.err);
        assert_eq!((outputs(sandbox), below(&sandbox.keep("runs"))), (before, files));
    }
}

#[test]
fn a_damaged_run_is_replaced_by_an_import_after_its_directory_was_moved_away() {
    let sandbox = ended("go");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let before = sandbox.printed(&["log", TEAM, "--json"]);
    let run = sandbox.teams()[0]["run"].as_str().unwrap().to_owned();
    let task = sandbox.last_content(&format!("tasks/{TEAM}/1.json"));
    sandbox.damage_content(&task, ContentDamage::Lost);
    let found = sandbox.run(&["verify"]);
    assert!(found.code == Some(1) && found.out.contains("move its directory away"), "{}", found.out);
    std::fs::rename(sandbox.keep(&format!("runs/{run}")), sandbox.home().join("away")).unwrap();
    assert_eq!(import(&sandbox, &path).code, Some(0));
    assert_eq!(sandbox.run(&["verify"]).code, Some(0));
    assert_eq!(sandbox.printed(&["log", TEAM, "--json"]), before);
    let again = export(&sandbox, TEAM, "again.tar.gz", &[]);
    assert_eq!(std::fs::read(again).unwrap(), std::fs::read(&path).unwrap());
}

#[test]
fn a_killed_import_leaves_nothing_that_is_shown_and_the_next_one_removes_the_rest() {
    let one = ended("go");
    let path = export(&one, TEAM, "run.tar.gz", &[]);
    for delay in 0..10 {
        let sandbox = Sandbox::new();
        let mut child = sandbox.command(&["import", path.to_str().unwrap()]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay * 3));
        child.kill().unwrap();
        child.wait().unwrap();
        let is_there = !sandbox.teams().is_empty();
        assert_eq!(sandbox.run(&["verify"]).code, Some(0));
        assert_eq!(import(&sandbox, &path).code, Some(i32::from(is_there)));
        assert_eq!(outputs(&sandbox), outputs(&one));
        assert!(!sandbox.keep("tmp/import").exists());
    }
}

#[test]
fn a_run_that_is_deleted_meanwhile_is_neither_exported_nor_made_again() {
    let sandbox = ended("go");
    let catalog = sandbox.library();
    let run = &catalog.runs[0];
    let dir = sandbox.archive().run_dir(&run.run).unwrap();
    std::fs::rename(&dir, sandbox.keep("tmp")).unwrap();
    let exported = teamkeep::bundle::export(&catalog, run, None, Vec::new(), &mut |_| ());
    let error = exported.unwrap_err().to_string();
    assert!(error.contains(" was deleted meanwhile"), "{error}");
    let mut record = run.clone();
    record.finished = false;
    assert!(sandbox.archive().keep_transcripts(&record).is_err());
    assert!(!dir.exists());
}

#[test]
fn another_run_of_a_team_is_imported_beside_it() {
    let one = ended("go");
    let path = export(&one, TEAM, "run.tar.gz", &[]);
    let third = Sandbox::new();
    let lead = Lead::named(&third, "cccccccc-0000-4000-8000-000000000003", TEAM);
    lead.roster(9_000, &["bob"]);
    lead.start("startup");
    let result = import(&third, &path);
    assert_eq!(result.code, Some(0));
    assert!(
        result.err.contains("another run has the team name session-aaaaaaaa: refer to this one by its ID"),
        "{}",
        result.err
    );
    assert_eq!(third.teams().len(), 2);
}

#[test]
fn an_imported_run_does_not_change_hook_calls_and_the_log() {
    let one = ended("go");
    let path = export(&one, TEAM, "run.tar.gz", &[]);
    let two = Sandbox::new();
    assert_eq!(import(&two, &path).code, Some(0));
    assert!(
        !two.keep("log").exists() && !two.keep("teams/open").exists() && !two.keep("teams/closed").exists()
    );
    let lead = Lead::of(&two, "dddddddd-0000-4000-8000-000000000004");
    lead.roster(5_000, &["bob"]);
    lead.start("startup");
    let imported = one.printed(&["log", TEAM, "--json"]);
    assert_eq!(two.printed(&["log", TEAM, "--json"]), imported);
    assert_eq!(two.log().len(), 1);
    assert_eq!(
        two.replay("session-dddddddd").iter().filter(|entry| entry["kind"] == "session-started").count(),
        1
    );
    // It is no run of this machine: nothing of this machine's files is told as its own.
    two.write(&Lead::of(&two, SESSION).transcript(), "{\"type\":\"user\"}\n");
    assert_eq!(two.printed(&["log", TEAM, "--json"]), imported);
}

#[test]
fn an_export_has_only_its_part_of_a_session_with_several_runs() {
    let here = Sandbox::new();
    let lead = Lead::of(&here, SESSION);
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "long before the team"}));
    lead.hook("UserPromptSubmit", json!({"prompt": "make a team"}));
    lead.roster(1_000, &["alice"]);
    lead.hook("Stop", json!({}));
    lead.says("user", json!("first"));
    lead.erase();
    lead.end("other");
    here.finish();
    lead.roster(1_770_091_520_000, &["bob"]);
    here.set_clock(20_000);
    lead.start("resume");
    lead.says("user", json!("<teammate-message teammate_id=\"bob\">second</teammate-message>"));
    lead.hook("Stop", json!({}));
    let runs = here.library().runs;
    assert_eq!(runs.len(), 2);
    for run in &runs {
        let path = export(&here, &run.run, &format!("{}.tar.gz", run.run), &[]);
        let elsewhere = Sandbox::new();
        assert_eq!(import(&elsewhere, &path).code, Some(0));
        let (one, other) =
            (here.printed(&["log", &run.run, "--json"]), elsewhere.printed(&["log", &run.run, "--json"]));
        assert_eq!(one, other);
        let events = String::from_utf8(unpacked(&path)["events.jsonl"].clone()).unwrap();
        assert!(!events.contains("long before"), "what its story has no use for stays");
    }
}

#[test]
fn redacted_texts_are_counted_and_not_exported() {
    let secret = "key sk-ant-0123456789abcdef0123 for ada@example.com, PROJ-17";
    let sandbox = ended(secret);
    sandbox.configure("[[privacy.pattern]]\nname = \"ticket\"\nregex = \"PROJ-[0-9]+\"\n");
    let path = file(&sandbox, "clean.tar.gz");
    let result = sandbox.run(&["export", TEAM, "--redact", "-o", path.to_str().unwrap()]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    let counted = result.err.lines().last().unwrap();
    assert!(counted.starts_with("redacted: api-key ") && counted.contains(", ticket "), "{counted}");
    for (name, bytes) in unpacked(&path) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for found in ["sk-ant", "ada@", "PROJ-17", sandbox.home().to_str().unwrap()] {
            assert!(!text.contains(found), "{found} in {name}: {text}");
        }
    }
    let elsewhere = Sandbox::new();
    assert_eq!(import(&elsewhere, &path).code, Some(0));
    assert_eq!(elsewhere.run(&["verify"]).code, Some(0));
    let clean = "key [redacted:api-key] for [redacted:email], [redacted:ticket]";
    let entries = elsewhere.replay(TEAM);
    assert_eq!(entries.iter().filter(|entry| entry["text"] == clean).count(), 2, "{entries:#?}");
    let again = export(&elsewhere, TEAM, "again.tar.gz", &[]);
    assert_eq!(std::fs::read(again).unwrap(), std::fs::read(path).unwrap());
}

#[test]
fn losses_of_a_run_are_reported_at_its_export_and_after_its_import() {
    let sandbox = ended("go");
    let hash = sandbox.last_content(&format!("tasks/{TEAM}/1.json"));
    sandbox.damage_content(&hash, ContentDamage::Lost);
    let path = file(&sandbox, "run.tar.gz");
    let result = sandbox.run(&["export", TEAM, "-o", path.to_str().unwrap()]);
    assert_eq!(result.code, Some(0));
    assert!(result.err.contains("; skipped"), "{}", result.err);
    let elsewhere = Sandbox::new();
    let result = import(&elsewhere, &path);
    assert_eq!(result.code, Some(0));
    assert!(result.err.contains("missing in the file: 1 content\n"), "{}", result.err);
    let found = elsewhere.run(&["verify"]);
    assert_eq!(found.code, Some(1));
    assert!(found.out.contains(&format!("content {hash} is not in ")), "{}", found.out);
}

#[test]
fn a_running_run_is_exported_with_its_current_transcripts() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.says("user", json!("<teammate-message teammate_id=\"alice\">so far</teammate-message>"));
    lead.hook("Stop", json!({}));
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let elsewhere = Sandbox::new();
    assert_eq!(import(&elsewhere, &path).code, Some(0));
    let entries = elsewhere.printed(&["log", TEAM, "--json"]);
    assert!(entries.contains("so far"));
    assert_eq!(entries, sandbox.printed(&["log", TEAM, "--json"]));
    assert!(sandbox.printed(&["list"]).contains("● "));
    assert!(!elsewhere.printed(&["list"]).contains("● "), "nothing of it runs here");
}

#[test]
fn a_run_whose_claude_code_was_killed_is_crashed_also_elsewhere() {
    let sandbox = Sandbox::new();
    let mut client = waiting_process().spawn().unwrap();
    let lead = Lead { pid: Some(client.id()), ..Lead::of(&sandbox, SESSION) };
    lead.roster(1_000, &["alice"]);
    lead.task("1", "in_progress", Some("alice"));
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    client.kill().unwrap();
    client.wait().unwrap();
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let elsewhere = Sandbox::new();
    assert_eq!(import(&elsewhere, &path).code, Some(0));
    let verdict = |sandbox: &Sandbox| -> Value {
        let report = sandbox.printed(&["report", "latest", "--format", "json"]);
        serde_json::from_str::<Value>(&report).unwrap()["verdict"].clone()
    };
    assert_eq!(verdict(&sandbox)["kind"], "crashed");
    assert_eq!(verdict(&elsewhere), verdict(&sandbox));
    // When another session starts, the end that it marks is the same.
    Lead::of(&sandbox, "bbbbbbbb-0000-4000-8000-000000000002").start("startup");
    sandbox.finish();
    let later = export(&sandbox, TEAM, "later.tar.gz", &[]);
    let end = |path: &Path| -> Value {
        let run: Value = serde_json::from_slice(&unpacked(path)["run.json"]).unwrap();
        json!([run["ended_at"], run["ended_by"]])
    };
    assert_eq!(end(&later), end(&path));
}
