//! The user's own rules.

use serde_json::{Value, json};

use super::scene::{Scene, before, idle, lead, mate};
use crate::{Case, Decision, Finding, JudgedEvent, Rules, judge};
use teamkeep_config::{Mode, OnError, Rule};
use teamkeep_model::event::Actor;
use teamkeep_model::time::Timestamp;

fn rule(name: &str, action: Mode) -> Rule {
    Rule {
        name: name.to_owned(),
        events: Vec::new(),
        tools: Vec::new(),
        actor: "*".to_owned(),
        team: "*".to_owned(),
        matches: std::collections::BTreeMap::new(),
        action,
        reason: format!("Do not,\nsays {name}."),
        lasting: false,
        file_line: "teamkeep.toml:7".to_owned(),
    }
}

fn when(pointer: &str, wanted: &str) -> Rule {
    let mut rule = rule("r", Mode::Block);
    rule.matches.insert(pointer.to_owned(), wanted.to_owned());
    rule
}

fn bash(command: &str) -> Value {
    before("Bash", json!({"command": command, "timeout": 5, "dangerous": true, "a/b": ["x", "y"]}))
}

fn matches(rule: Rule, actor: &Actor, fields: &Value) -> bool {
    let mut scene = Scene::with(&[]);
    scene.rules.push(rule);
    !scene.judge(actor, fields).is_empty()
}

#[test]
fn a_rule_s_finding_has_its_name_and_place() {
    let mut scene = Scene::with(&[]);
    scene.rules.push(rule("no-tools", Mode::Block));
    let found = &scene.judge(&mate("bob"), &bash("ls"))[0];
    assert_eq!((found.gate.name(), found.code, found.about.as_str()), ("rule", "rule", "bob"));
    assert_eq!(
        (found.rule.as_deref(), found.file_line.as_deref()),
        (Some("no-tools"), Some("teamkeep.toml:7"))
    );
    assert_eq!(found.text(), "Blocked: Do not, says no-tools.");
    scene.rules[0].reason.clear();
    assert_eq!(
        scene.judge(&mate("bob"), &bash("ls"))[0].text(),
        "Blocked: the user's rule \"no-tools\" objects."
    );
}

#[test]
fn a_warning_at_an_idle_names_who_goes_idle() {
    let mut scene = Scene::with(&[]);
    scene.rules.push(rule("r", Mode::Warn));
    assert_eq!(scene.judge(&mate("bob"), &idle("bob"))[0].text(), "Warning: bob goes idle: Do not, says r.");
    scene.rules[0].action = Mode::Block;
    assert_eq!(scene.judge(&mate("bob"), &idle("bob"))[0].text(), "Blocked: Do not, says r.");
}

#[test]
fn a_rule_matches_its_events_in_either_spelling() {
    for spelled in ["TeammateIdle", "teammate-idle"] {
        let rule = Rule { events: vec![spelled.to_owned()], ..rule("r", Mode::Warn) };
        assert!(
            matches(rule.clone(), &mate("bob"), &idle("bob")) && !matches(rule, &mate("bob"), &bash("ls"))
        );
    }
    let after = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash"});
    let blocks = rule("r", Mode::Block);
    assert!(
        !matches(blocks.clone(), &mate("bob"), &after),
        "without events only what can be blocked is judged"
    );
    let mut scene = Scene::with(&[]);
    scene.rules = vec![Rule { events: vec!["PostToolUse".to_owned()], ..blocks }];
    let found = scene.judge(&mate("bob"), &after);
    assert_eq!((found.len(), found[0].decision), (1, Decision::Warn), "what has happened is not blocked");
    assert_eq!(found[0].text(), "Warning: Do not, says r.");
}

#[test]
fn a_rule_matches_its_tools_actors_and_teams() {
    let tools = |tools: &str| Rule { tools: vec![tools.to_owned()], ..rule("r", Mode::Block) };
    assert!(
        matches(tools("B*"), &mate("bob"), &bash("ls")) && !matches(tools("Read"), &mate("bob"), &bash("ls"))
    );
    assert!(!matches(tools("*"), &mate("bob"), &idle("bob")));
    let actor = |actor: &str| Rule { actor: actor.to_owned(), ..rule("r", Mode::Block) };
    assert!(matches(actor("b*"), &mate("bob"), &bash("ls")) && !matches(actor("b*"), &lead(), &bash("ls")));
    assert!(
        matches(actor("*"), &Actor::unknown(), &bash("ls"))
            && !matches(actor("unknown"), &Actor::unknown(), &bash("ls"))
    );
    let team = |team: &str| Rule { team: team.to_owned(), ..rule("r", Mode::Block) };
    assert!(matches(team("parser-*"), &lead(), &bash("ls")) && !matches(team("other"), &lead(), &bash("ls")));
}

#[test]
fn a_rule_can_match_any_part_of_the_payload() {
    let bob = mate("bob");
    for (pointer, wanted) in [
        ("/tool_input/command", "rm *"),
        ("/tool_input/command", "/-r?f\\b/"),
        ("/tool_input/timeout", "5"),
        ("/tool_input/dangerous", "true"),
        ("/tool_input/a~1b/1", "y"),
        ("/tool_input/a~1b", "*\"x\"*"),
        ("/tool_name", "Bash"),
    ] {
        assert!(matches(when(pointer, wanted), &bob, &bash("rm -rf /tmp/x")), "{pointer} {wanted}");
    }
    for (pointer, wanted) in [
        ("/tool_input/command", "rm"),
        ("/tool_input/nothing", "*"),
        ("tool_name", "Bash"),
        ("", "*"),
        ("/", "*"),
    ] {
        assert!(!matches(when(pointer, wanted), &bob, &bash("rm -rf /tmp/x")), "{pointer} {wanted}");
    }
    let mut both = when("/tool_input/command", "rm *");
    both.matches.insert("/tool_name".to_owned(), "Read".to_owned());
    assert!(!matches(both, &bob, &bash("rm x")), "all must match");
}

#[test]
fn the_strictest_comes_first_then_the_order_of_gates_and_file() {
    let mut scene = Scene::with(&[("1", "in_progress", "alice", &[]), ("2", "in_progress", "bob", &["1"])]);
    scene.rules =
        vec![rule("a", Mode::Warn), rule("b", Mode::Block), rule("c", Mode::Off), rule("d", Mode::Block)];
    let fields = before("TaskUpdate", json!({"taskId": "2", "status": "completed"}));
    let found = scene.judge(&mate("bob"), &fields);
    let order: Vec<_> = found
        .iter()
        .map(|found| (found.decision, found.rule.as_deref().unwrap_or(found.gate.name())))
        .collect();
    assert_eq!(
        order,
        [
            (Decision::Block, "b"),
            (Decision::Block, "d"),
            (Decision::Warn, "unfinished-dependencies"),
            (Decision::Warn, "a")
        ]
    );
}

/// The findings for a Write of this many bytes.
fn written(rules: Vec<Rule>, bytes: usize, on_error: OnError) -> Vec<Finding> {
    let mut scene = Scene::with(&[]);
    scene.policy.on_error = on_error;
    scene.rules = rules;
    // A text without the literal start of the pattern is a mismatch at once.
    let content = format!("push{}", "x".repeat(bytes - 4));
    scene.judge(&mate("bob"), &before("Write", json!({"content": content, "file_path": "a.rs"})))
}

#[test]
fn a_rule_that_cannot_read_a_value_is_undecided() {
    let named = |name: &str| Rule { name: name.to_owned(), ..when("/tool_input/content", "/push.*--force/") };
    let rules = || vec![named("a"), named("b"), named("c")];
    assert!(written(rules(), 2 << 20, OnError::Allow).is_empty(), "it looks at all of it");
    let found = written(rules(), (2 << 20) + 1, OnError::Allow);
    let [one] = &*found else { panic!("{found:?}") };
    assert_eq!((one.decision, one.code, one.rule.as_deref()), (Decision::Warn, "rule-undecided", Some("a")));
    insta::assert_snapshot!(one.text(), @r#"Warning: the user's rule "a" could not be evaluated (and 2 more): there are 2097153 bytes at "/tool_input/content", and its pattern reads 2097152 at most."#);
    let found = written(rules(), 14 << 20, OnError::Block);
    assert_eq!((found.len(), found[0].decision), (1, Decision::Block));
    insta::assert_snapshot!(found[0].text(), @r#"Blocked: the user's rule "a" could not be evaluated (and 2 more): there are 14680064 bytes at "/tool_input/content", and its pattern reads 2097152 at most. The policy has on-error = "block". Make the input smaller, or ask the user."#);
    let lasting = [named("a"), Rule { lasting: true, ..named("b") }];
    let found = written(lasting.into(), 14 << 20, OnError::Block);
    assert_eq!(
        (found[0].rule.as_deref(), found[0].lasting),
        (Some("b"), true),
        "one that lasts speaks for all"
    );
    let mut warns = named("a");
    warns.action = Mode::Warn;
    assert_eq!(written(vec![warns], 14 << 20, OnError::Block)[0].decision, Decision::Warn);
    let mut other = named("a");
    other.matches.insert("/tool_input/file_path".to_owned(), "*.py".to_owned());
    assert!(written(vec![other], 14 << 20, OnError::Block).is_empty(), "another pattern says no");
}

#[test]
fn rules_that_are_late_or_cannot_be_compiled_are_failures_of_the_policy() {
    let mut scene = Scene::with(&[]);
    let payload = super::scene::payload(&bash("rm x"));
    let actor = mate("bob");
    for (on_error, decision) in [(OnError::Allow, Decision::Warn), (OnError::Block, Decision::Block)] {
        scene.policy.on_error = on_error;
        let event = JudgedEvent {
            at: Timestamp::default(),
            kind: payload.kind(),
            actor: &actor,
            payload: &payload,
            access: None,
        };
        let case = Case::new(event, &scene.team);
        let rules = [when("/tool_input/command", "*"), when("/tool_name", "Bash"), rule("all", Mode::Warn)];
        let late = Rules::of(&rules).until(&|| true);
        let found = judge(&scene.policy, &late, &case);
        let told: Vec<_> = found.iter().map(|found| (found.code, found.decision)).collect();
        let warned = ("rule", Decision::Warn);
        match decision {
            Decision::Block => assert_eq!(told, [("rule-undecided", decision), warned]),
            _ => assert_eq!(told, [warned, ("rule-undecided", decision)], "it looks for nothing"),
        }
        for bad in ["/(/", "/x{9999}/"] {
            let rules = [when("/tool_input/command", bad)];
            let found = judge(&scene.policy, &Rules::of(&rules), &case);
            assert_eq!((found[0].code, found[0].decision), ("rule-undecided", decision), "{bad}");
        }
    }
    scene.policy.on_error = OnError::Block;
    scene.rules.push(when("/x", "/(/"));
    let idle = json!({"hook_event_name": "TeammateIdle", "teammate_name": "bob", "x": "x"});
    assert_eq!(scene.judge(&actor, &idle)[0].decision, Decision::Warn, "an idle is never held back for it");
}

#[test]
fn a_value_below_the_parsed_depth_is_not_treated_as_missing() {
    let found = |wanted: &str| {
        let deep = format!("{}{{\"c\":\"rm x\"}}{}", "{\"d\":".repeat(130), "}".repeat(130));
        let text = format!(r#"{{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{deep}}}"#);
        let raw = serde_json::value::RawValue::from_string(text).unwrap();
        let (payload, scene, actor) =
            (teamkeep_model::payload::Payload::from_raw(&raw), Scene::with(&[]), mate("bob"));
        let event = JudgedEvent {
            at: Timestamp::default(),
            kind: payload.kind(),
            actor: &actor,
            payload: &payload,
            access: None,
        };
        let rules = [when(wanted, "rm *")];
        judge(&scene.policy, &Rules::of(&rules), &Case::new(event, &scene.team))
    };
    let pointer = format!("/tool_input{}/c", "/d".repeat(130));
    assert_eq!(found(&pointer)[0].code, "rule-undecided");
    assert!(found("/tool_name").is_empty(), "what was opened is looked at");
}

/// The findings for a Bash call with this raw input.
fn said_of(input: &str, pointer: &str, wanted: &str) -> Vec<&'static str> {
    let text = format!(r#"{{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{input}}}"#);
    let raw = serde_json::value::RawValue::from_string(text).unwrap();
    let (payload, scene, actor) =
        (teamkeep_model::payload::Payload::from_raw(&raw), Scene::with(&[]), mate("bob"));
    let (at, kind) = (Timestamp::default(), payload.kind());
    let event = JudgedEvent { at, kind, actor: &actor, payload: &payload, access: None };
    let rules = [when(pointer, wanted)];
    let found = judge(&scene.policy, &Rules::of(&rules), &Case::new(event, &scene.team));
    found.iter().map(|one| one.code).collect()
}

#[test]
fn a_partly_parsed_array_or_object_is_undecided() {
    let deep = format!(r#"{{"a":"x","b":{}"--force"{}}}"#, "[".repeat(140), "]".repeat(140));
    let many = format!(r#"{{"a":"x","edits":[{}"--force"]}}"#, "1,".repeat(120_000));
    assert_eq!(said_of(&deep, "/tool_input", "/--force/"), ["rule-undecided"]);
    assert_eq!(said_of(&deep, "/tool_input/b", "*--force*"), ["rule-undecided"]);
    assert_eq!(said_of(&many, "/tool_input/edits", "/--force/"), ["rule-undecided"]);
    assert_eq!(said_of(&many, "/tool_input", "*"), ["rule"], "it means whatever is in it");
    assert_eq!(said_of(&deep, "/tool_input/a", "x"), ["rule"], "a text is there whole");
    assert_eq!(said_of(r#"["--force"]"#, "/tool_input", "/--force/"), ["rule"]);
}

#[test]
fn a_name_that_is_too_long_for_a_glob_or_too_late_is_undecided() {
    let globbed = |globs: [&str; 3]| Rule {
        tools: vec!["Edit".to_owned(), globs[0].to_owned()],
        actor: globs[1].to_owned(),
        team: globs[2].to_owned(),
        ..rule("r", Mode::Block)
    };
    let said = |rule: Rule, tool: &str, actor: &str, team: &str, late: bool| {
        let mut scene = Scene::with(&[]);
        scene.team.name = Some(team.to_owned());
        let (payload, actor) = (super::scene::payload(&before(tool, json!({}))), mate(actor));
        let (at, kind) = (Timestamp::default(), payload.kind());
        let event = JudgedEvent { at, kind, actor: &actor, payload: &payload, access: None };
        let rules = [rule];
        let asked = Rules::of(&rules);
        let asked = if late { asked.until(&|| true) } else { asked };
        let found = judge(&scene.policy, &asked, &Case::new(event, &scene.team));
        found.iter().map(|one| one.code).collect::<Vec<_>>()
    };
    let (long, longest) = ("x".repeat(1025), "x".repeat(23 << 20));
    let rules = [globbed(["*?*", "*", "*"]), globbed(["*", "*?*", "*"]), globbed(["*", "*", "*[x]*"])];
    for rule in &rules {
        assert_eq!(said(rule.clone(), "Bash", "bob", "xx", false), ["rule"], "{rule:?}");
        assert_eq!(said(rule.clone(), "Bash", "bob", "xx", true), ["rule-undecided"], "{rule:?}");
    }
    let [_, by_actor, by_team] = rules;
    for (rule, actor, team) in [(by_actor, longest.as_str(), "t"), (by_team, "bob", &longest)] {
        assert_eq!(said(rule.clone(), "Bash", actor, team, false), ["rule-undecided"]);
        let other = Rule { team: "u".to_owned(), ..rule };
        assert!(said(other, "Bash", actor, "t", false).is_empty(), "another says no");
    }
    assert_eq!(said(globbed(["*", "*", "*"]), &long, &long, &long, true), ["rule"], "it looks for nothing");
    assert_eq!(said(globbed(["Bash", "bob", "t"]), "Bash", "bob", "t", true), ["rule"]);
    assert!(said(globbed(["Bash", "bob", "t"]), &long, "bob", "t", true).is_empty());
}
