//! Words, phrases, regular expressions and filters, also on texts and queries that are hostile.

use serde_json::{Value, json};

use super::{hits, marked, text};
use crate::store::bundle_sandbox::ended;
use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

const SESSION: &str = "bbbbbbbb-0000-4000-8000-000000000001";

/// A team that says some texts: messages of the lead, a command and its result.
fn team() -> Sandbox {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "Find the off-by-one error in snake_case parsers"}));
    for (id, message) in
        [("m1", "the parser fails"), ("m2", "fails the parser"), ("m3", "Parser of Parsers: PARSER")]
    {
        lead.tool(id, "SendMessage", &json!({"to": "alice", "message": message}), json!({"success": true}));
    }
    lead.tool(
        "b1",
        "Bash",
        &json!({"command": "cargo test parser"}),
        json!({"stdout": "error[E0425]: not found"}),
    );
    lead.says("assistant", json!([{"type": "thinking", "thinking": "the parser is odd"}]));
    sandbox
}

fn kinds(found: &[Value]) -> Vec<&str> {
    found.iter().map(|hit| text(hit, "kind")).collect()
}

#[test]
fn words_match_in_any_order_and_phrases_in_theirs() {
    let sandbox = team();
    assert_eq!(hits(&sandbox, &["fails", "PARSER"]).len(), 2);
    let found = hits(&sandbox, &["\"the parser fails\""]);
    assert_eq!(found.len(), 1);
    assert_eq!(marked(&found[0]), ["the parser fails"]);
    assert_eq!(hits(&sandbox, &["\"parser the\""]).len(), 0);
    assert_eq!(marked(&hits(&sandbox, &["off-by-one"])[0]), ["off-by-one"]);
    assert_eq!(marked(&hits(&sandbox, &["snake_case"])[0]), ["snake_case"]);
    assert_eq!(
        marked(&hits(&sandbox, &["parser", "--kind", "message"])[0]),
        ["Parser", "PARSER"],
        "the best first"
    );
}

#[test]
fn filters_select_by_kind_agent_run_and_time() {
    let sandbox = team();
    let all = hits(&sandbox, &["parser", "--limit", "100"]);
    assert_eq!(all.len(), 5, "{all:#?}");
    assert_eq!(
        kinds(&hits(&sandbox, &["parser", "--kind", "tool", "--kind", "thinking", "--sort", "time"])).len(),
        2
    );
    assert_eq!(kinds(&hits(&sandbox, &["parser", "--kind", "tool"])), ["tool"]);
    assert_eq!(hits(&sandbox, &["parser", "--agent", "lead"]).len(), 5);
    assert_eq!(hits(&sandbox, &["parser", "--agent", "alice"]).len(), 0);
    let alone = Lead::of(&sandbox, "cccccccc-0000-4000-8000-000000000001");
    alone.hook("UserPromptSubmit", json!({"prompt": "a session without a team"}));
    let found = hits(&sandbox, &["session", "--agent", "lead"]);
    assert_eq!(found.iter().map(|hit| text(hit, "agent")).collect::<Vec<_>>(), ["lead"]);
    assert_eq!(hits(&sandbox, &["parser", "--run", "latest"]).len(), 5);
    assert_eq!(hits(&sandbox, &["parser", "--run", "latest", "--since", "+7s"]).len(), 2);
    let newest = hits(&sandbox, &["parser", "--sort", "time", "--kind", "message"]);
    let times: Vec<&str> = newest.iter().rev().map(|hit| text(hit, "at")).collect();
    assert!(times.is_sorted(), "{times:?}");
    let out = sandbox.told(&["search", "parser", "--json", "--limit", "2"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((found["hits"].as_array().unwrap().len(), &found["more"]), (2, &json!(true)));
}

#[test]
fn without_matches_the_reason_is_printed_if_it_is_known() {
    let sandbox = Sandbox::new();
    let found = |args: &[&str]| sandbox.run(&[&["search", "parser"], args].concat());
    assert!(found(&[]).err.starts_with("no matches: no runs recorded yet\nhint: "), "{}", found(&[]).err);
    let sandbox = team();
    let found = |args: &[&str]| sandbox.run(&[&["search"], args].concat());
    let unknown = found(&["parser", "--agent", "allice"]);
    let expected =
        "no matches: no text of agent \"allice\" is recorded\nhint: agents with texts: team-lead\n";
    assert_eq!((unknown.code, unknown.err.as_str()), (Some(0), expected));
    assert_eq!(found(&["nothing", "--agent", "lead"]).err, "no matches\n");
    let relative = found(&["parser", "--since", "+1m"]);
    assert!(relative.code == Some(64) && relative.err.ends_with(", add --run RUN\n"), "{}", relative.err);
    assert!(!relative.err.contains("+1m30s"), "{}", relative.err);
}

#[test]
fn a_new_task_has_its_number() {
    let sandbox = team();
    let lead = Lead::of(&sandbox, SESSION);
    lead.tool(
        "t1",
        "TaskCreate",
        &json!({"subject": "Fuzz", "description": "all of it"}),
        json!({"task": {"id": "7"}}),
    );
    lead.hook(
        "TaskCreated",
        json!({"task_id": "7", "task_subject": "Fuzz", "task_description": "all of it"}),
    );
    let found = hits(&sandbox, &["fuzz"]);
    assert_eq!(found.iter().map(|hit| text(hit, "title")).collect::<Vec<_>>(), ["#7"]);
}

#[test]
fn a_regular_expression_finds_what_words_do_not() {
    let sandbox = team();
    let found = hits(&sandbox, &["--regex", r"error\[E\d+\]"]);
    assert_eq!((kinds(&found), marked(&found[0])), (vec!["result"], vec!["error[E0425]".to_owned()]));
    assert_eq!(hits(&sandbox, &["--regex", "PARSER"]).len(), 1, "it is case-sensitive");
    assert_eq!(hits(&sandbox, &["--regex", "(?i)PARSER", "--kind", "message"]).len(), 3);
    for bad in ["(", "a*"] {
        let result = sandbox.run(&["search", "--regex", bad]);
        assert_eq!(
            (result.code, result.err.contains("regular expression")),
            (Some(64), true),
            "{}",
            result.err
        );
    }
}

#[test]
fn no_query_is_an_instruction_to_the_index() {
    let sandbox = team();
    for query in [
        "text:parser",
        "parser*",
        "-parser",
        "parser OR fails",
        "parser AND",
        "+\"",
        "(parser",
        "a:[b TO c]",
        "\\",
        "'; DROP TABLE x",
    ] {
        let result = sandbox.run(&["search", "--json", "--", query]);
        assert!(matches!(result.code, Some(0 | 64)), "{query}: {result:?}");
    }
    assert_eq!(hits(&sandbox, &["parser*", "--kind", "message"]).len(), 3, "a star is no letter");
    assert_eq!(hits(&sandbox, &["parser OR fails"]).len(), 0, "or is a word");
}

#[test]
fn hostile_texts_are_escaped_and_their_commands_are_quoted() {
    let sandbox = Sandbox::new();
    let session = "x'; touch pwned; '\u{202e}";
    let prompt = "before \u{1b}]0;title\u{7} needle \u{202e}after \u{0}\r\u{9b}31m";
    let payload = json!({"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": prompt});
    sandbox.feed("user-prompt-submit", payload.to_string().as_bytes(), &[]);
    for args in [&["needle"][..], &["needle", "--full"], &["needle", "--json"], &["--regex", "needle"]] {
        let out = sandbox.told(&[&["search"], args].concat());
        assert!(out.contains("needle"), "{out}");
        let is_unsafe = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!out.contains(is_unsafe), "{out:?}");
    }
    let found = hits(&sandbox, &["needle"]);
    let command = text(&found[0], "command");
    let script = format!("teamkeep() {{ :; }}; {command}");
    let mut shell = std::process::Command::new("sh");
    let mut out = shell.args(["-c", &script]).current_dir(sandbox.home()).spawn().unwrap();
    assert!(out.wait().unwrap().success() && !sandbox.home().join("pwned").exists(), "{command}");
}

#[test]
fn huge_texts_and_invalid_bytes_are_searched_as_far_as_they_are_valid() {
    let sandbox = ended("go");
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(2_000, &["alice"]);
    lead.start("startup");
    let huge = format!("first {} needle {}", "filler words ".repeat(50_000), "x".repeat(3_000_000));
    lead.tool("w1", "Write", &json!({"file_path": "a", "content": huge}), json!({}));
    let mut line =
        json!({"type": "user", "message": {"content": "left BYTES right"}}).to_string().into_bytes();
    let at = line.windows(5).position(|bytes| bytes == b"BYTES").unwrap();
    line.splice(at..at + 5, [0xff, 0xfe, 0xc3]);
    let path = sandbox.client(&lead.transcript());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, [&line[..], b"\n\xff\xff\n{\"type\":\n[]\n"].concat()).unwrap();
    let found = hits(&sandbox, &["needle"]);
    assert_eq!(found.len(), 1);
    assert!(text(&found[0]["snippet"], "text").chars().count() <= 201);
    assert_eq!(hits(&sandbox, &["left", "right"]).len(), 1);
}
