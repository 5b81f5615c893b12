//! Words that some version of Claude Code takes for a teammate that works: none of them stops it. `docs/contributing/stops.md` has what
//! Claude Code does with each.

use serde_json::{Value, json};

use super::gate_sandbox::TEAM;
use super::stop_tables::{
    HALF_PAIR, PATIENT, agent_id, are_refused, before, crew, flat_crew, flat_request, hook, request, roster,
    stop, task,
};

/// `KillShell` and `KillBash` reach hooks as TaskStop, with the parameter as it was given.
fn kill_shell(word: &str) -> (&'static str, Value) {
    ("TaskStop", json!({"shell_id": word}))
}

/// What 2.1.330 resolves to bob, in TaskStop and in a shutdown request.
fn spellings() -> Vec<String> {
    let written = ["bob", "BOB", "Bob", " bob", "bob ", "bob\t", "ｂｏｂ", "ＢＯＢ", "𝐛𝐨𝐛", "ⓑⓞⓑ", "boᵇ"];
    let end = ["\u{a0}", "\u{3000}", "\u{feff}", "\u{2028}", "\u{85}", "\u{1}", "\u{7f}"];
    let inside = [
        0x9f,
        0xad,
        0x600,
        0x605,
        0x61c,
        0x6dd,
        0x70f,
        0x890,
        0x8e2,
        0x180e,
        0x200b,
        0x200c,
        0x200d,
        0x200e,
        0x200f,
        0x202a,
        0x202e,
        0x2060,
        0x2061,
        0x2064,
        0x2066,
        0x2069,
        0x206a,
        0x206f,
        0xfff9,
        0xfffb,
        0x110bd,
        0x110cd,
        0x13430,
        0x1343f,
        0x1bca0,
        0x1d173,
        0xe0001,
        0xe0020,
        0xe007f,
        HALF_PAIR as u32,
    ];
    let inside = inside.map(|code| format!("bo{}b", char::from_u32(code).unwrap()));
    let whole = written.map(str::to_owned).into_iter();
    whole.chain(end.map(|end| format!("bob{end}"))).chain(inside).chain(["\u{feff}bob".to_owned()]).collect()
}

#[test]
fn no_spelling_of_a_name_stops_a_busy_teammate() {
    let sandbox = crew(PATIENT);
    let words = spellings();
    are_refused(&sandbox, "bob", words.iter().map(|word| stop(word)));
    are_refused(&sandbox, "bob", words.iter().map(|word| request(word)));
    let words = [
        "my-agent",
        "My Agent",
        "my  agent",
        "MY\u{a0}AGENT",
        "my\u{feff}agent",
        "my\u{200b}-agent",
        "my－agent",
    ];
    are_refused(&sandbox, "my-agent", words.map(stop));
    are_refused(&sandbox, "my-agent", words.map(request));
}

#[test]
fn no_id_or_parameter_of_task_stop_gets_past_the_gate() {
    let sandbox = crew(PATIENT);
    let listed = [("t4364257a", "Job of bob"), ("t2k98was6", "my-agent: Go")];
    let running = listed.map(|(id, description)| json!({"id": id, "type": "teammate", "status": "running", "description": description}));
    assert_eq!(hook(&sandbox, "Stop", json!({"background_tasks": running})).code, Some(0));
    let (id, address) = (agent_id("bob"), format!("bob@{TEAM}"));
    are_refused(&sandbox, "bob", [&*id, &*address, "t4364257a"].map(stop));
    are_refused(&sandbox, "bob", ["bob", "ｂｏｂ\u{2066}", &*id, &*address, "t4364257a"].map(kill_shell));
    are_refused(&sandbox, "my-agent", [stop("t2k98was6"), kill_shell("t2k98was6"), kill_shell("My Agent")]);
    are_refused(&sandbox, "bob", [("TaskStop", json!({"task_id": "bob", "shell_id": "carol"}))]);
}

#[test]
fn a_request_by_inbox_name_does_not_stop_a_busy_teammate() {
    // Clients before 2.1.178 write to the inbox that the word is spelled as, whoever reads it.
    let sandbox = crew(PATIENT);
    let words = ["my.agent", "my agent", "my\u{200b}agent", "my/agent", "my\u{ad}agent", "my\u{e9}agent"];
    are_refused(&sandbox, "my-agent", words.map(request));
    are_refused(&sandbox, "my-agent", words.map(flat_request));
    are_refused(&sandbox, "bob", ["bob", "bob@parser-team", "bob@other"].map(flat_request));
}

#[test]
fn a_request_to_the_inbox_of_a_busy_member_is_blocked_even_if_it_names_another() {
    let sandbox = crew(PATIENT);
    roster(&sandbox, &["team-lead", "bob", "my-agent", "myagent"]);
    are_refused(&sandbox, "my-agent", [request("my\u{ad}agent"), flat_request("my\u{200b}agent")]);
}

#[test]
fn a_request_to_a_shared_inbox_is_blocked_while_one_owner_works() {
    // 2.1.47 takes any name, and the inbox of all of these is my-agent.json.
    let sandbox = flat_crew(PATIENT);
    roster(&sandbox, &["team-lead", "bob", "my agent", "my.agent", "my-agent"]);
    are_refused(&sandbox, "my-agent", ["my.agent", "my agent", "my\u{e9}agent"].map(flat_request));
    task(&sandbox, 3, "in_progress", "my.agent");
    are_refused(&sandbox, "my.agent", ["my-agent", "my agent", "my\u{e9}agent"].map(flat_request));
    task(&sandbox, 3, "completed", "my.agent");
    for name in ["my-agent", "my agent", "my.agent"] {
        let (tool, input) = flat_request(name);
        assert_eq!(before(&sandbox, tool, &input, &json!({})).code, Some(0), "{name}: nobody works");
    }
}
