//! Which agent changed which file, by the results of tools in the transcripts.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// A tool call of an agent with this result, as two lines of its transcript.
fn call(sandbox: &Sandbox, id: &str, tool: &str, result: &Value) -> String {
    let (cwd, at) = (sandbox.home().join("parser"), sandbox.last());
    let used = json!({"type": "assistant", "timestamp": at, "cwd": cwd, "message": {"id": format!("m{id}"),
        "model": "claude-opus-5-5", "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [{"type": "tool_use", "id": id, "name": tool, "input": {}}]}});
    let done = json!({"type": "user", "timestamp": at, "cwd": cwd, "toolUseResult": result,
        "message": {"content": [{"type": "tool_result", "tool_use_id": id, "content": "done"}]}});
    format!("{used}\n{done}\n")
}

fn patch(file: &str, start: u64, lines: &[&str]) -> Value {
    json!({"filePath": file, "structuredPatch": [{"oldStart": start, "newStart": start, "lines": lines}]})
}

/// alice creates a file for task 1 and commits it, then bob changes its second line and adds one at the top for task 2.
fn changed() -> Sandbox {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    let transcript = |name: &str| format!("projects/-home-dev-parser/{ONE}/subagents/agent-a{name}-1.jsonl");
    let notes = sandbox.home().join("parser/notes.txt");
    lead.hook("SessionStart", json!({"source": "startup", "cwd": sandbox.home().join("parser")}));
    lead.roster(1_000, &["alice", "bob"]);
    lead.task("1", "in_progress", Some("alice"));
    lead.task("2", "in_progress", Some("bob"));
    lead.hook("UserPromptSubmit", json!({"prompt": "Work"}));
    let created =
        json!({"type": "create", "filePath": "notes.txt", "content": "one\ntwo\n", "structuredPatch": []});
    let committed = json!({"stdout": "[main (root-commit) 1a2b3c4] Add the notes\n 1 file changed\n"});
    let other =
        json!({"type": "create", "filePath": "/another/log", "content": "x\n", "structuredPatch": []});
    let lines = [
        call(&sandbox, "a1", "Write", &created),
        call(&sandbox, "a2", "Bash", &committed),
        call(&sandbox, "a3", "Write", &other),
    ];
    sandbox.write(&transcript("alice"), lines.concat());
    lead.task("1", "completed", Some("alice"));
    lead.hook("Stop", json!({}));
    let edit = patch(notes.to_str().unwrap(), 1, &["+zero", " one", "-two", "+2"]);
    let failed = json!("Error: File has been modified since read");
    for name in ["alice", "bob"] {
        sandbox.write(&transcript(name).replace(".jsonl", ".meta.json"), json!({"name": name}));
    }
    let lines = [call(&sandbox, "b1", "Edit", &edit), call(&sandbox, "b2", "Edit", &failed)];
    sandbox.write(&transcript("bob"), lines.concat());
    std::fs::write(notes, "zero\none\n2\n}\n").unwrap();
    lead.end("prompt_input_exit");
    sandbox.finish();
    sandbox
}

fn object(sandbox: &Sandbox, args: &[&str]) -> Value {
    serde_json::from_str(&sandbox.printed(args)).unwrap()
}

#[cfg_attr(windows, ignore = "uses Unix paths")]
#[test]
fn each_file_has_its_agents_and_each_change_its_task() {
    let sandbox = changed();
    let found = object(&sandbox, &["files", "--json"]);
    let files = found["files"].as_array().unwrap().iter().map(|file| {
        let agents = file["agents"].as_array().unwrap().iter();
        let agents =
            agents.map(|user| json!([user["agent"], user["changes"], user["added"], user["removed"]]));
        json!([file["path"], agents.collect::<Vec<_>>()])
    });
    assert_eq!(
        files.collect::<Vec<_>>(),
        [
            json!(["/another/log", [["alice", 1, 1, 0]]]),
            json!(["notes.txt", [["alice", 1, 2, 0], ["bob", 1, 2, 1]]]),
        ]
    );
    let changes = found["changes"].as_array().unwrap().iter();
    let by_task =
        changes.map(|change| json!([change["tool_use_id"], change["tasks"][0]["id"], change["model"]]));
    assert_eq!(
        by_task.collect::<Vec<_>>(),
        [
            json!(["a3", "1", "claude-opus-5-5"]),
            json!(["a1", "1", "claude-opus-5-5"]),
            json!(["b1", "2", "claude-opus-5-5"]),
        ]
    );
    let commit = &found["commits"][0];
    assert_eq!([&commit["id"], &commit["agent"], &commit["subject"]], ["1a2b3c4", "alice", "Add the notes"]);
    let shared = sandbox.printed(&["files", "--shared"]);
    assert!(shared.contains("notes.txt") && !shared.contains("/another/log"), "{shared}");
    let own = sandbox.printed(&["files", "--agent", "bob"]);
    assert!(own.contains("bob") && !own.contains("alice"), "{own}");
    let both = sandbox.printed(&["files", "--agent", "bob", "--shared"]);
    assert!(both.contains("notes.txt") && !both.contains("alice"), "{both}");
    let none = sandbox.run(&["files", "--agent", "eve"]);
    assert_eq!((none.code, none.out.as_str()), (Some(1), ""), "{none:?}");
    assert!(
        none.err.starts_with("error: unknown agent \"eve\"\nhint: known agents: alice, bob, "),
        "{none:?}"
    );
    let other = sandbox.run(&["files", "notes.txt", "--agent", "bbo"]);
    let wanted = "error: no change of notes.txt by agent \"bbo\" is recorded\nhint: did you mean \"bob\"?\n";
    assert_eq!((other.code, other.err.as_str()), (Some(1), wanted));
    let report = sandbox.printed(&["report", "--full"]);
    let section =
        report.split("Files changed by several agents").nth(1).unwrap().split("\n\n").next().unwrap();
    assert!(section.contains("notes.txt") && !section.contains("/another/log"), "{section}");
}

#[test]
fn a_line_is_found_by_its_place_and_else_by_its_text() {
    let sandbox = changed();
    let wrote = |line: &str| {
        let found = object(&sandbox, &["blame", line, "--json"]);
        json!([
            found["lines"][0]["text"],
            found["lines"][0]["change"]["agent"],
            found["lines"][0]["change"]["tasks"][0]["subject"],
            found["lines"][0]["found_by"],
        ])
    };
    assert_eq!(wrote("notes.txt:1"), json!(["zero", "bob", "Task 2", "place"]));
    assert_eq!(wrote("notes.txt:2"), json!(["one", "alice", "Task 1", "place"]));
    assert_eq!(wrote("notes.txt:3"), json!(["2", "bob", "Task 2", "place"]));
    assert_eq!(wrote("notes.txt:4"), json!(["}", null, null, null]));
    std::fs::write(sandbox.home().join("parser/notes.txt"), "\n\n\n\none\n").unwrap();
    assert_eq!(wrote("notes.txt:5"), json!(["one", "alice", "Task 1", "text"]));
    let link = sandbox.home().join("parser/link");
    #[cfg(unix)]
    std::os::unix::fs::symlink("notes.txt", &link).unwrap();
    let name = if link.exists() { "./link" } else { "./notes.txt" };
    let all = sandbox.printed(&["files", name]);
    let agents: Vec<&str> = all.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3)).collect();
    assert_eq!(agents, ["bob", "alice"], "{all}");
    let beyond = sandbox.run(&["blame", "notes.txt:9"]);
    assert_eq!((beyond.code, beyond.out.as_str()), (Some(64), ""));
    assert!(beyond.err.contains("notes.txt has no line 9; it has 5"), "{}", beyond.err);
    let missing = sandbox.run(&["blame", "gone.txt:1"]);
    assert!(missing.code == Some(1) && missing.err.contains("gone.txt"), "{missing:?}");
    let unknown = sandbox.run(&["blame", "gone.txt"]);
    let hint = "hint: if it was deleted, list its recorded changes: teamkeep files gone.txt";
    assert!(unknown.code == Some(1) && unknown.err.contains(hint), "{unknown:?}");
    let unknown = sandbox.run(&["files", "./gone.txt"]);
    let why = "error: no change of ./gone.txt is recorded, and it does not exist here";
    assert!(unknown.code == Some(1) && unknown.err.contains(why), "{unknown:?}");
    let wrong = sandbox.run(&["blame", "notes.txt:abc"]);
    assert!(wrong.code == Some(64) && wrong.err.contains("invalid line number \"abc\""), "{wrong:?}");
}

#[test]
fn each_line_of_a_file_has_its_run_agent_task_and_time() {
    let sandbox = changed();
    let lines = sandbox.printed(&["blame", "notes.txt"]);
    let shown: Vec<Vec<&str>> = lines.lines().map(|line| line.split_whitespace().collect()).collect();
    let words = |line: usize| (shown[line][1], shown[line][2], shown[line].last().copied().unwrap());
    assert_eq!(words(0), ("bob", "#2", "zero"), "{lines}");
    assert_eq!(words(1), ("alice", "#1", "one"), "{lines}");
    assert_eq!(shown[3], ["-", "-", "4", "}"], "{lines}");
    std::fs::write(sandbox.home().join("parser/notes.txt"), "\n\n\n\none\n").unwrap();
    let moved = sandbox.run(&["blame", "notes.txt"]);
    assert!(moved.out.lines().nth(4).unwrap().starts_with('~'), "{}", moved.out);
    assert!(moved.err.contains("lines with ~ have moved"), "{}", moved.err);
}

#[test]
fn an_agent_trace_has_the_lines_as_of_the_last_change() {
    let sandbox = changed();
    let args = ["files", "--agent-trace"];
    let trace = object(&sandbox, &args);
    assert_eq!(trace, object(&sandbox, &args), "the same ID each time");
    assert_eq!(trace["version"], "0.1");
    let id = trace["id"].as_str().unwrap();
    let groups: Vec<usize> = id.split('-').map(str::len).collect();
    assert!(groups == [8, 4, 4, 4, 12] && id.as_bytes()[14] == b'8', "{id}");
    let files = trace["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "only files below the project");
    assert_eq!(files[0]["path"], "notes.txt");
    let conversations = files[0]["conversations"].as_array().unwrap();
    let ranges: Vec<&Value> = conversations.iter().map(|one| &one["ranges"]).collect();
    let alice = json!([{"start_line": 2, "end_line": 2}]);
    let bob = json!([{"start_line": 1, "end_line": 1}, {"start_line": 3, "end_line": 3}]);
    assert_eq!(ranges, [&alice, &bob]);
    let first = &conversations[0];
    assert_eq!(first["contributor"], json!({"type": "ai", "model_id": "anthropic/claude-opus-5-5"}));
    assert_eq!(first["url"], format!("urn:uuid:{ONE}"));
}

#[test]
fn a_line_is_found_by_the_changes_of_all_runs() {
    let sandbox = changed();
    let lead = Lead::of(&sandbox, "bbbbbbbb-0000-4000-8000-000000000002");
    lead.hook("SessionStart", json!({"source": "startup", "cwd": sandbox.home().join("parser")}));
    lead.roster(2_000, &["carol"]);
    let edit = patch("notes.txt", 1, &["+one", " zero"]);
    sandbox.write(&lead.transcript(), call(&sandbox, "c1", "Edit", &edit));
    lead.end("prompt_input_exit");
    sandbox.finish();
    std::fs::write(sandbox.home().join("parser/notes.txt"), "one\nzero\none\n2\n").unwrap();
    let wrote = |line: &str| {
        let found = object(&sandbox, &["blame", line, "--json"]);
        json!([found["lines"][0]["change"]["tool_use_id"], found["lines"][0]["found_by"]])
    };
    assert_eq!(wrote("notes.txt:1"), json!(["c1", "place"]));
    assert_eq!(wrote("notes.txt:3"), json!(["a1", "place"]));
    assert_eq!(wrote("notes.txt:4"), json!(["b1", "place"]));
}

#[test]
fn a_file_that_is_created_again_has_only_its_new_lines() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    let directory = sandbox.home().join("parser");
    lead.hook("SessionStart", json!({"source": "startup", "cwd": directory}));
    lead.roster(1_000, &["alice"]);
    let write = |id: &str, path: &str, content: &str| {
        let created = json!({"type": "create", "filePath": path, "content": content, "structuredPatch": []});
        call(&sandbox, id, "Write", &created)
    };
    let (long, short) = (write("a1", "a.txt", "1\n2\n3\n4\n"), write("a2", "sub/../a.txt", "one\n"));
    sandbox.write(&lead.transcript(), long + &short);
    lead.end("prompt_input_exit");
    sandbox.finish();
    let trace = object(&sandbox, &["files", "--agent-trace"]);
    assert_eq!(trace["files"].as_array().unwrap().len(), 1, "one path: {trace}");
    assert_eq!(trace["files"][0]["conversations"][0]["ranges"], json!([{"start_line": 1, "end_line": 1}]));
}

#[test]
fn hostile_results_change_nothing_else() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.hook("SessionStart", json!({"source": "startup", "cwd": sandbox.home()}));
    lead.roster(1_000, &["alice"]);
    let results = [
        patch("a\u{1b}[31m\n.txt", u64::MAX, &["+x", "", "-"]),
        patch("a.txt", 4_000_000_000, &["+x"]),
        json!({"filePath": 3, "structuredPatch": "x"}),
        json!({"bashEditDiff": {"files": [{"filePath": "b"}, 4, {"filePath": "c", "hunks": [{"lines": [1]}]}]}}),
        json!({"stdout": "[] \n[ 1a2b3c4] \n[main zzzz] x"}),
    ];
    let calls = results
        .iter()
        .enumerate()
        .map(|(place, result)| call(&sandbox, &format!("t{place}"), "Edit", result));
    sandbox.write(&lead.transcript(), calls.collect::<String>());
    lead.end("prompt_input_exit");
    sandbox.finish();
    let shown = sandbox.printed(&["files"]);
    assert!(!shown.contains('\u{1b}') && shown.contains("a.txt"), "{shown}");
    let found = object(&sandbox, &["files", "--json"]);
    assert_eq!(
        (found["files"].as_array().unwrap().len(), found["commits"].as_array().unwrap().len()),
        (3, 0)
    );
    object(&sandbox, &["files", "--agent-trace"]);
}
