//! Parts of a story, and the story as a diagram.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, Sandbox, lines};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// A team in which alice and bob tell each other things, a second apart.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice", "bob"]);
    lead.start("startup");
    let by = |name: &str| json!({"agent_id": format!("a{name}-1"), "agent_type": name});
    let say = |id: &str, from: &str, to: &str, summary: &str| {
        let input = json!({"to": to, "summary": summary, "message": format!("{summary}, in full")});
        lead.before(id, "SendMessage", &input, by(from));
        lead.after(id, "SendMessage", &input, json!({"success": true}), by(from));
    };
    say("u1", "alice", "bob", "one");
    lead.hook("SubagentStart", by("bob"));
    say("u2", "bob", "alice", "two");
    lead.hook("SubagentStop", by("bob"));
    lead.hook("TeammateIdle", json!({"teammate_name": "bob"}));
    sandbox
}

fn part(sandbox: &Sandbox, args: &[&str]) -> Vec<String> {
    let told = sandbox.printed(&[&["log", "latest", "--json"], args].concat());
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    lines(&told).iter().map(|entry| word(entry, "kind") + " " + &word(entry, "actor")).collect()
}

#[test]
fn replay_filters_by_time_actor_and_kind() {
    let sandbox = sandbox();
    assert_eq!(part(&sandbox, &["--agent", "alice"]), ["member-joined alice", "message alice"]);
    assert_eq!(part(&sandbox, &["--kind", "message"]), ["message alice", "message bob"]);
    assert_eq!(part(&sandbox, &["--kind", "turn-started", "--agent", "abob-1"]).len(), 1);
    let teammates = part(&sandbox, &["--agent", "teammate", "--kind", "message", "--kind", "idle"]);
    assert_eq!(teammates, ["message alice", "message bob", "idle bob"]);
    assert_eq!(part(&sandbox, &["--agent", "lead", "--agent", "subagent", "--to", "+0s"]).len(), 3);
    for (from, to) in
        [("+3s", "+4s"), ("2026-02-03T04:05:09Z", "2026-02-03 04:05:10"), ("2026-02-03T05:05:09+01:00", "4s")]
    {
        assert_eq!(
            part(&sandbox, &["--from", from, "--to", to]),
            ["turn-started bob", "message bob"],
            "{from} {to}"
        );
    }
    let shown = sandbox.printed(&["log", "--agent", "bob", "--from", "+3s"]);
    assert!(shown.contains("3 members, 0 tasks, 2 messages"), "the heading is the whole run's: {shown}");
    assert!(shown.contains("bob  messaged alice: two\n") && !shown.contains("messaged bob"), "{shown}");
    assert!(!shown.contains("started a turn"), "{shown}");
    let asked = sandbox.printed(&["log", "--kind", "turn-started"]);
    assert!(asked.contains("bob  started a turn\n"), "what is asked for by name is told: {asked}");
}

#[test]
fn invalid_filter_is_reported_with_a_suggestion() {
    let sandbox = sandbox();
    let result = |args: &[&str]| -> CommandResult { sandbox.run(&[&["log", "latest"], args].concat()) };
    let kind = result(&["--kind", "mesage"]);
    assert_eq!(kind.code, Some(64));
    assert_eq!(kind.err, "error: unknown kind \"mesage\"\nhint: did you mean \"message\"?\n");
    let kind = result(&["--kind", "moon"]);
    assert!(kind.err.contains("\nhint: known kinds: session-started, "), "{}", kind.err);
    let actor = result(&["--agent", "alcie"]);
    let meant = "error: unknown agent \"alcie\"\nhint: did you mean \"alice\"?\n";
    assert_eq!((actor.code, actor.err.as_str()), (Some(1), meant));
    let actor = result(&["--agent", "x"]);
    assert!(
        actor.err.contains("hint: known agents: alice, bob, lead, subagent, team-lead, teammate\n"),
        "{}",
        actor.err
    );
    let order = result(&["--from", "+2s", "--to", "+1s"]);
    assert_eq!(order.code, Some(64));
    assert!(order.err.contains("is later than --until 2026-02-03 04:05:07 UTC\n"), "{}", order.err);
    assert_eq!(result(&["--from", "noon"]).code, Some(64));
    assert_eq!(result(&["--json", "--format", "json"]).code, Some(64));
    let none = result(&["--kind", "verdict", "--json"]);
    let nothing = "no entries match these filters\n";
    assert_eq!((none.code, none.out.as_str(), none.err.as_str()), (Some(0), "", nothing));
    let early = result(&["--to", "-5s", "--json"]);
    assert_eq!(early.err, format!("the run starts at 2026-02-03 04:05:06 UTC\n{nothing}"));
}

#[test]
fn all_formats_show_the_same_filtered_events() {
    let sandbox = sandbox();
    let args = ["log", "latest", "--kind", "message", "--agent", "bob"];
    let told = |more: &[&str]| sandbox.printed(&[&args, more].concat());
    assert_eq!(told(&["--format", "json"]), told(&["--json"]));
    assert_eq!(told(&["--json"]).lines().count(), 1);
    assert_eq!(told(&[]), told(&["--format", "text"]));
    insta::assert_snapshot!(told(&["--format", "mermaid"]), @"
    sequenceDiagram
        participant p0 as bob
        participant p1 as alice
        p0->>p1: two
    ");
}

#[test]
fn names_and_texts_do_not_break_a_mermaid_diagram() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    let wild = "end;participant x\n";
    lead.roster(1_000, &[wild, "%%{init: {}}%%", "end"]);
    lead.start("startup");
    let texts = [
        "x; y # z\nend\nNote over p9: no",
        "<script>alert(1)</script> &amp; #35; \"q\"",
        "%%{init: {\"theme\": \"dark\"}}%%",
        "end",
        "-->> p2: no\r\nloop forever",
        "style:#fff;x#;",
        "شكرا \u{202e}abc e\u{301} \u{1b}[31m 👩‍💻",
        "",
    ];
    for (place, text) in texts.iter().enumerate() {
        let (input, id) = (json!({"to": "end", "message": text}), format!("u{place}"));
        lead.tool(&id, "SendMessage", &input, json!({"success": true}));
    }
    let input = json!({"to": "*", "summary": "all of you", "message": "all of you"});
    lead.tool("u9", "SendMessage", &input, json!({"success": true}));
    insta::assert_snapshot!(sandbox.printed(&["log", "--format", "mermaid"]), @"
    sequenceDiagram
        participant p0 as team-lead
        participant p1 as #101;nd#59;#112;articipant x#92;n
        participant p2 as #37;#37;#123;init#58; #123;#125;#125;#37;#37;
        participant p3 as #101;nd
        Note over p0: 0.0s started a session (startup)
        Note over p0: 0.0s created the team#58; session-aaaaaaaa
        Note over p1: 0.0s joined the team
        Note over p2: 0.0s joined the team
        Note over p3: 0.0s joined the team
        p0->>p3: x#59; y #35; z
        p0->>p3: #60;script#62;alert(1)#60;/script#62; #38;amp#59; #35;35#59; #34;q#34;
        p0->>p3: #37;#37;#123;init#58; #123;#34;theme#34;#58; #34;dark#34;#125;#125;#37;#37;
        p0->>p3: #101;nd
        p0->>p3: #45;#45;#62;#62; p2#58; no
        p0->>p3: #115;tyle#58;#35;fff#59;x#35;#59;
        p0->>p3: شكرا #92;u#123;202e#125;abc e#769; #92;u#123;1b#125;#91;31m #128105;#8205;#128187;
        p0->>p3: #8230;
        p0->>p1: all of you
        p0->>p2: all of you
        p0->>p3: all of you
    ");
}
