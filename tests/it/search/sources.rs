//! Everything that is recorded is searched, wherever and however it is stored.

use serde_json::json;

use super::{hits, text};
use crate::store::bundle_sandbox::{SESSION, TEAM, ended};
use crate::support::access::set_mode;
use crate::support::client_files::Lead;
use crate::support::sandbox::{Sandbox, below};

#[test]
fn a_search_finds_what_is_recorded_now() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    for round in 1..=12 {
        lead.hook("UserPromptSubmit", json!({"prompt": format!("needle number{round}")}));
        lead.says("assistant", json!([{"type": "text", "text": format!("needle answer{round}")}]));
        assert_eq!(hits(&sandbox, &["needle", "--limit", "100"]).len(), 2 * round);
        assert_eq!(hits(&sandbox, &[&format!("answer{round}")]).len(), 1);
    }
    // A line that is still being written is read when it is complete.
    let path = sandbox.client(&lead.transcript());
    let whole = std::fs::read_to_string(&path).unwrap();
    let (head, tail) = r#"{"type":"user","message":{"content":"needle split"}}"#.split_at(20);
    std::fs::write(&path, format!("{whole}{head}")).unwrap();
    assert_eq!(hits(&sandbox, &["split"]).len(), 0);
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, format!("{tail}\n").as_bytes()).unwrap();
    assert_eq!(hits(&sandbox, &["split"]).len(), 1);
    // On Windows, an open file is removed when it is closed.
    drop(file);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(hits(&sandbox, &["needle", "--limit", "100"]).len(), 12, "the transcript was not archived");
}

#[test]
fn the_end_of_a_run_and_the_end_of_its_segment_change_no_result() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "needle"}));
    lead.says("assistant", json!("found the needle"));
    let expected = hits(&sandbox, &["needle"]);
    assert_eq!(expected.len(), 2);
    lead.erase();
    lead.end("other");
    sandbox.finish();
    assert_eq!(hits(&sandbox, &["needle"]), expected);
    std::fs::remove_dir_all(sandbox.client("projects")).unwrap();
    assert_eq!(hits(&sandbox, &["needle"]), expected, "from the archive");
}

#[test]
fn a_search_changes_no_file_and_needs_no_permission_to() {
    let sandbox = ended("needle");
    let expected = hits(&sandbox, &["needle"]);
    let all = || {
        let files = below(&sandbox.keep("")).into_iter().filter(|path| path.is_file());
        files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect::<Vec<_>>()
    };
    let before = all();
    let dirs: Vec<_> = below(&sandbox.keep("")).into_iter().filter(|path| path.is_dir()).collect();
    let allow = |mode: u32| dirs.iter().for_each(|dir| set_mode(dir, mode));
    allow(0o500);
    let found = hits(&sandbox, &["needle"]);
    allow(0o700);
    assert_eq!((found, all()), (expected, before));
}

#[test]
fn a_damaged_source_hides_no_other_text() {
    let sandbox = ended("needle");
    let lead = Lead::of(&sandbox, "bbbbbbbb-0000-4000-8000-000000000001");
    lead.hook("UserPromptSubmit", json!({"prompt": "first needle"}));
    lead.hook("UserPromptSubmit", json!({"prompt": "second needle"}));
    let count = || hits(&sandbox, &["needle"]).len();
    let whole = count();
    let segment = sandbox.keep(&format!("sessions/{}/events.jsonl", lead.session));
    let lines = std::fs::read(&segment).unwrap();
    for damage in [
        &b"\xff\xfe needle\n"[..],
        b"{\"v\":1,\"needle\"\n",
        b"\0\0\0needle\n",
        b"{\"v\":99,\"event\":\"needle\"}\n",
    ] {
        std::fs::write(&segment, [damage, &lines, &lines[..20]].concat()).unwrap();
        assert_eq!(count(), whole, "{damage:?}");
    }
    std::fs::write(&segment, &lines).unwrap();
    // A transcript in the archive that is cut off.
    std::fs::remove_dir_all(sandbox.client("projects")).unwrap();
    assert_eq!(count(), whole);
    let is_transcript = |path: &std::path::PathBuf| path.extension().is_some_and(|kind| kind == "gz");
    for path in below(&sandbox.keep("runs")).into_iter().filter(is_transcript) {
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    }
    let result = sandbox.run(&["search", "needle"]);
    assert!(result.code == Some(0) && result.out.matches("first needle").count() == 1, "{result:?}");
    let warning = "warning: cannot search all of ";
    assert!(
        result.err.lines().all(|line| line.starts_with(warning))
            && result.err.contains(".jsonl, as archived: "),
        "{result:?}"
    );
}

#[test]
fn texts_of_archived_tasks_and_inboxes_are_found_also_without_an_event() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.task("1", "pending", None);
    sandbox.write(
        &format!("tasks/{TEAM}/2.json"),
        json!({"id": "2", "subject": "Tune 缓存", "description": "of the cache\nneedle", "status": "pending", "owner": "alice"}),
    );
    let at = "2026-02-03T04:05:06.000Z";
    lead.inbox(
        "alice",
        json!([
            {"from": "bob", "text": "the needle\nis here", "summary": "found", "timestamp": at},
            {"from": "bob", "text": "{\"type\":\"idle_notification\",\"from\":\"needle\"}", "timestamp": at},
        ]),
    );
    lead.start("startup");
    for is_over in [false, true] {
        if is_over {
            lead.erase();
            lead.end("other");
            sandbox.finish();
        }
        let found = hits(&sandbox, &["needle"]);
        let mut places: Vec<_> =
            found.iter().map(|hit| ["kind", "agent", "title"].map(|key| text(hit, key))).collect();
        places.sort_unstable();
        assert_eq!(places, [["message", "bob", "alice"], ["task", "alice", "#2"]]);
        assert!(found.iter().all(|hit| hit["team"] == TEAM && hit["line"] == 0), "{found:#?}");
        assert_eq!(hits(&sandbox, &["缓存", "cache"]).len(), 1);
        assert_eq!(hits(&sandbox, &["needle", "--agent", "bob"])[0]["at"], at);
        assert_eq!(hits(&sandbox, &["\"Task 1\"", "--kind", "task"]).len(), 1);
    }
    // The same text in an event is one hit.
    lead.hook(
        "TaskCreated",
        json!({"task_id": "2", "task_subject": "Tune 缓存", "task_description": "of the cache\nneedle"}),
    );
    assert_eq!(hits(&sandbox, &["needle", "--kind", "task"]).len(), 1);
}

#[test]
fn the_result_of_a_tool_in_a_transcript_has_its_name_and_the_teams_own_results_are_left_out() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    let filler = "x ".repeat(2_000_000);
    for (id, tool) in [("t1", "Bash"), ("t2", "SendMessage"), ("t3", "Grep")] {
        lead.says("assistant", json!([{"type": "tool_use", "id": id, "name": tool, "input": {"x": "y"}}]));
    }
    lead.says("user", json!([{"type": "text", "text": filler}]));
    lead.says("assistant", json!([{"type": "tool_use", "id": "t4", "name": "Read", "input": {"x": "y"}}]));
    for id in ["t2", "t4"] {
        lead.says(
            "user",
            json!([{"type": "tool_result", "tool_use_id": id, "content": format!("needle {id}")}]),
        );
    }
    let found = hits(&sandbox, &["needle"]);
    assert!(
        found.iter().any(|hit| text(hit, "title") == "Read" && text(hit, "kind") == "result"),
        "{found:#?}"
    );
    // The call of t2 is too far before its result.
    let near = Sandbox::new();
    let lead = Lead::of(&near, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    for (id, tool) in [("t1", "Bash"), ("t2", "SendMessage"), ("t3", "Grep")] {
        lead.says("assistant", json!([{"type": "tool_use", "id": id, "name": tool, "input": {"x": "y"}}]));
    }
    for id in ["t3", "t2", "t1"] {
        lead.says(
            "user",
            json!([{"type": "tool_result", "tool_use_id": id, "content": format!("needle {id}")}]),
        );
    }
    let mut titles: Vec<_> =
        hits(&near, &["needle"]).iter().map(|hit| text(hit, "title").to_owned()).collect();
    titles.sort();
    assert_eq!(titles, ["Bash", "Grep"]);
}

#[test]
fn a_search_that_reaches_its_time_limit_says_how_to_narrow_it() {
    let sandbox = ended("needle");
    let out = sandbox.printed(&["search", "needle", "--json", "--time-limit", "0"]);
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    let stopped = "stopped after 0 s; to search less, set since and until";
    assert_eq!((&found["stopped"], &found["hits"]), (&json!(stopped), &json!([])));
    let result = sandbox.run(&["search", "needle", "--time-limit", "0"]);
    assert!(
        result.code == Some(0) && result.err.ends_with(&format!("warning: {stopped}\n")),
        "{}",
        result.err
    );
    assert!(!hits(&sandbox, &["needle", "--time-limit", "600"]).is_empty());
}

#[test]
fn metadata_only_mode_leaves_nothing_to_find() {
    let sandbox = Sandbox::new();
    sandbox.configure("[privacy]\nrecord = \"metadata\"\n");
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "needle"}));
    lead.says("assistant", json!("the needle"));
    assert!(hits(&sandbox, &["needle"]).is_empty());
}
