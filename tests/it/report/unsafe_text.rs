//! What anybody wrote into a team's files or a payload does not drive the terminal of who looks at it.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::{Sandbox, feed};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const WILD: &str =
    "wild \u{9b}31m \u{85} \u{80}\u{9f} \u{7f} \u{202e} \u{2028} \u{200b} \u{1b}]0;x\u{7} ü 💥";

/// Whether a terminal would do more with it than show it.
fn drives(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || matches!(c, '\u{200b}' | '\u{2028}' | '\u{202e}')
}

#[test]
fn output_has_no_control_characters_and_json_preserves_the_text() {
    let sandbox = Sandbox::new();
    sandbox.configure(&format!(
        "[[rule]]\nname = {0}\nevents = [\"PreToolUse\"]\ntools = [\"Bash\"]\naction = \"warn\"\nreason = {0}\n",
        "\"wild \\u009b31m \\u202e\""
    ));
    let lead = Lead::named(&sandbox, SESSION, "parser-team");
    lead.roster(1_000, &["alice"]);
    sandbox.write("tasks/parser-team/1.json", json!({"id": "1", "subject": WILD, "status": "pending"}));
    lead.start("startup");
    lead.inbox("alice", json!([{"from": WILD, "text": WILD, "timestamp": sandbox.last()}]));
    let input = json!({"command": WILD});
    let bash = |id: &str| {
        let fields = json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": input});
        lead.payload("PreToolUse", fields).to_string()
    };
    sandbox.feed("pre-tool-use", bash("u1").as_bytes(), &[]);
    lead.tool("u2", "SendMessage", &json!({"to": "alice", "message": WILD}), json!({"success": true}));
    let json: [&[&str]; 6] = [
        &["log", "--raw", "--json"],
        &["teams", "--json"],
        &["log", "--json"],
        &["show", "--json"],
        &["report", "--json"],
        &["policy", "test", "latest", "--json"],
    ];
    let text: [&[&str]; 6] = [
        &["log", "--raw"],
        &["log", "--full"],
        &["show"],
        &["report", "--format", "markdown"],
        &["policy", "test", "latest"],
        &["config", "show", "policy"],
    ];
    for args in json.iter().chain(&text) {
        let result = sandbox.run(args);
        let is_listed = args[0] != "teams" && args != &text[4];
        assert!(result.out.contains("wild") || !is_listed, "{args:?}: {result:?}");
        assert_eq!((result.out + &result.err).chars().find(|c| drives(*c)), None, "{args:?}");
    }
    let result = feed(&mut sandbox.command(&["policy", "explain"]), bash("u3").as_bytes());
    assert_eq!(result.out.chars().find(|c| drives(*c)), None, "{}", result.out);
    assert!(result.out.contains("rule wild"), "{}", result.out);
    let texts = |value: &Value| value["payload"]["tool_input"]["command"].as_str() == Some(WILD);
    assert!(sandbox.log().iter().any(texts), "the text is the same");
    assert_eq!(sandbox.show(&["latest"])["tasks"]["1"]["subject"], WILD);
}
