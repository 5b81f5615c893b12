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
fn a_query_finds_what_it_says() {
    let sandbox = team();
    let found = |args: &[&str]| {
        let found = hits(&sandbox, &[args, &["--kind", "message"]].concat());
        found.iter().map(|hit| marked(hit).join("|")).collect::<Vec<_>>()
    };
    for (args, expected) in [
        (&["parser"][..], &["Parser|Parser|PARSER", "parser", "parser"][..]),
        (&["Parser"], &["Parser|Parser"]),
        (&["PARSER"], &["PARSER"]),
        (&["-w", "parser"], &["Parser|PARSER", "parser", "parser"]),
        (&["--word", "pars"], &[]),
        (&["arse"], &["arse|arse|ARSE", "arse", "arse"]),
        (&["fails", "parser"], &["fails|parser", "parser|fails"]),
        (&["fails", "Parser"], &[]),
        (&["fails parser"], &["fails|parser", "parser|fails"]),
        (&["\"the parser\""], &["the parser", "the parser"]),
        (&["\"parser fails\""], &["parser fails"]),
        (&["\"parser  fails\""], &[]),
        (&["\"PARSER fails\""], &[]),
        (&["parsers:"], &["Parsers:"]),
        (&["--regex", "pars[a-z]+:"], &["Parsers:"]),
        (&["--regex", "Parser.*P"], &["Parser of Parsers: P"]),
        (&["--regex", "^fails"], &["fails"]),
        (&["--regex", "parser|fails"], &["Parser|Parser|PARSER", "fails|parser", "parser|fails"]),
        (&["--regex", "(?i)PARSERS"], &["Parsers"]),
        (&["--regex", "-w", "pars.r"], &["Parser|PARSER", "parser", "parser"]),
        (&["--regex", "PARSERS"], &[]),
    ] {
        assert_eq!(found(args), expected, "{args:?}");
    }
    assert_eq!(marked(&hits(&sandbox, &["off-by-one"])[0]), ["off-by-one"]);
    assert_eq!(marked(&hits(&sandbox, &["ke_ca"])[0]), ["ke_ca"]);
    for bad in ["(", "a*"] {
        let result = sandbox.run(&["search", "--regex", bad]);
        let is_named = result.err.contains("regular expression");
        assert_eq!((result.code, is_named), (Some(64), true), "{}", result.err);
    }
}

#[test]
fn words_are_found_in_texts_without_spaces() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    let texts = [
        ("修改配置文件并提交", "配置"),
        ("テストを実行しました", "実行"),
        ("แก้ไขไฟล์การตั้งค่าแล้ว", "การตั้งค่า"),
        ("설정파일을 수정했습니다", "설정파일"),
        ("ΟΔΥΣΣΕΎΣ ΚΑΙ ΠΗΝΕΛΌΠΗ", "πηνελόπη"),
        ("ТЕСТЫ прошли", "тесты"),
        ("done 🎉🎉", "🎉"),
    ];
    for (place, (text, _)) in texts.iter().enumerate() {
        lead.before(&format!("m{place}"), "SendMessage", &json!({"to": "alice", "message": text}), json!({}));
    }
    for (text, query) in texts {
        for args in [&[query][..], &["--regex", query]] {
            let found = hits(&sandbox, args);
            assert_eq!((found.len(), text_of(&found)), (1, text), "{args:?}");
        }
    }
}

fn text_of(found: &[Value]) -> &str {
    text(&found[0]["snippet"], "text")
}

#[test]
fn a_text_is_found_however_its_characters_are_escaped() {
    let sandbox = Sandbox::new();
    let session =
        format!("{{\"session_id\":\"{SESSION}\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":");
    for (place, prompt) in [
        r#""p0 line one\nline\ttwo \"quoted\" C:\\temp\\new http:\/\/x\/y""#,
        r#""p1 \u914d\u7f6e \u0050\u0061rser \ud83c\udf89 caf\u00e9""#,
        r#""p2 配置 Parser 🎉 café \u001b[31mred\u001b[0m""#,
        r#""p3 half \ud83d pair \\u0041 <tag\u003e""#,
    ]
    .iter()
    .enumerate()
    {
        let payload = format!("{session}{prompt}}}");
        sandbox.feed("user-prompt-submit", payload.as_bytes(), &[]);
        assert_eq!(hits(&sandbox, &[&format!("p{place}")]).len(), 1, "{prompt}");
    }
    for (query, expected) in [
        ("\"one\nline\"", &["p0"][..]),
        ("line\ttwo", &["p0"]),
        ("\"two \"", &["p0"]),
        ("\"", &["p0"]),
        ("C:\\temp\\new", &["p0"]),
        ("http://x/y", &["p0"]),
        ("配置", &["p2", "p1"]),
        ("parser", &["p2", "p1"]),
        ("Parser", &["p2", "p1"]),
        ("🎉", &["p2", "p1"]),
        ("CAFÉ", &[]),
        ("café", &["p2", "p1"]),
        ("[31mred", &["p2"]),
        ("\u{1b}[31m", &["p2"]),
        ("\u{fffd}", &["p3"]),
        ("\\u0041", &["p3"]),
        ("<tag>", &["p3"]),
    ] {
        for args in [vec![query.to_owned()], vec!["--regex".to_owned(), regex_of(query)]] {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let found = hits(&sandbox, &args);
            let names: Vec<String> =
                found.iter().map(|hit| text(&hit["snippet"], "text").chars().take(2).collect()).collect();
            assert_eq!(names, expected, "{args:?}");
        }
    }
}

/// An expression for the text of a query without its quotes.
fn regex_of(query: &str) -> String {
    let text = if query.len() > 1 { query.trim_matches('"') } else { query };
    text.replace('\\', r"\\").replace('[', r"\[")
}

#[test]
fn filters_select_by_kind_agent_run_and_time() {
    let sandbox = team();
    let all = hits(&sandbox, &["parser", "--limit", "100"]);
    assert_eq!(all.len(), 6, "{all:#?}");
    assert_eq!(kinds(&hits(&sandbox, &["parser", "--kind", "tool", "--kind", "thinking"])).len(), 2);
    assert_eq!(kinds(&hits(&sandbox, &["parser", "--kind", "tool"])), ["tool"]);
    assert_eq!(hits(&sandbox, &["parser", "--agent", "lead"]).len(), 6);
    assert_eq!(hits(&sandbox, &["parser", "--agent", "alice"]).len(), 0);
    let alone = Lead::of(&sandbox, "cccccccc-0000-4000-8000-000000000001");
    alone.hook("UserPromptSubmit", json!({"prompt": "a session without a team"}));
    let found = hits(&sandbox, &["session", "--agent", "lead"]);
    assert_eq!(found.iter().map(|hit| text(hit, "agent")).collect::<Vec<_>>(), ["lead"]);
    assert_eq!(hits(&sandbox, &["parser", "--run", "latest"]).len(), 6);
    assert_eq!(hits(&sandbox, &["parser", "--run", "latest", "--since", "+7s"]).len(), 2);
    let newest = hits(&sandbox, &["parser", "--kind", "message"]);
    let times: Vec<&str> = newest.iter().rev().map(|hit| text(hit, "at")).collect();
    assert!(times.is_sorted(), "{times:?}");
    let out = sandbox.printed(&["search", "parser", "--json", "--limit", "2"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((found["hits"].as_array().unwrap().len(), &found["more"]), (2, &json!(true)));
}

#[test]
fn without_matches_the_reason_is_printed_if_it_is_known() {
    let sandbox = Sandbox::new();
    let found = |args: &[&str]| sandbox.run(&[&["search", "parser"], args].concat());
    std::fs::create_dir(sandbox.keep("")).unwrap();
    assert!(found(&[]).err.starts_with("no matches: no runs recorded yet\nhint: "), "{}", found(&[]).err);
    let sandbox = team();
    let found = |args: &[&str]| sandbox.run(&[&["search"], args].concat());
    let unknown = found(&["parser", "--agent", "allice"]);
    let expected =
        "no matches: no text of agent \"allice\" matches\nhint: agents with matching texts: team-lead\n";
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
fn no_character_of_a_query_is_an_instruction() {
    let sandbox = team();
    for (query, count) in [
        ("text:parser", 0),
        ("parser*", 0),
        ("-parser", 0),
        ("parser OR fails", 0),
        ("(parser", 0),
        ("a:[b TO c]", 0),
        ("\\", 0),
        ("'; DROP TABLE x", 0),
        ("error[E0425]:", 1),
        ("of Parsers: P", 1),
    ] {
        let found = sandbox.printed(&["search", "--json", "--", query]);
        let found: Value = serde_json::from_str(&found).unwrap();
        assert_eq!(found["hits"].as_array().unwrap().len(), count, "{query}: {found:#}");
    }
    for empty in ["", " ", "\" \""] {
        let result = sandbox.run(&["search", empty]);
        assert_eq!((result.code, result.err.as_str()), (Some(64), "error: the query is empty\n"));
    }
}

#[cfg_attr(windows, ignore = "needs a POSIX shell")]
#[test]
fn hostile_texts_are_escaped_and_their_commands_are_quoted() {
    let sandbox = Sandbox::new();
    let session = "x'; touch pwned; '\u{202e}";
    let prompt = "before \u{1b}]0;title\u{7} needle \u{202e}after \u{0}\r\u{9b}31m";
    let payload = json!({"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": prompt});
    sandbox.feed("user-prompt-submit", payload.to_string().as_bytes(), &[]);
    for args in [&["needle"][..], &["needle", "--full"], &["needle", "--json"], &["--regex", "needle"]] {
        let out = sandbox.printed(&[&["search"], args].concat());
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
fn huge_texts_and_invalid_bytes_are_searched() {
    let sandbox = ended("go");
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(2_000, &["alice"]);
    lead.start("startup");
    let huge = format!("first {} needle {}", "filler words ".repeat(50_000), "x ".repeat(3_000_000));
    let huge = format!("{huge} last");
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
    assert_eq!(hits(&sandbox, &["first", "needle", "last"]).len(), 1);
    let full = hits(&sandbox, &["needle", "--full"]);
    assert!(text(&full[0], "text").len() <= 32 << 10 && text(&full[0], "text").contains(" needle "));
    assert_eq!(hits(&sandbox, &["left", "right"]).len(), 1);
}
