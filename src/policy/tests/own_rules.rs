//! The user's own rules.

use serde_json::{Value, json};

use super::scene::{Scene, before, idle, lead, mate};
use crate::config::{Mode, Rule};
use crate::event::Actor;
use crate::policy::Decision;

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
        place: "teamkeep.toml:7".to_owned(),
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
fn a_rule_says_what_it_is_and_where_it_stands() {
    let mut scene = Scene::with(&[]);
    scene.rules.push(rule("no-tools", Mode::Block));
    let found = &scene.judge(&mate("bob"), &bash("ls"))[0];
    assert_eq!((found.gate, found.code, found.about.as_str()), ("rule", "rule", "bob"));
    assert_eq!((found.rule.as_deref(), found.place.as_deref()), (Some("no-tools"), Some("teamkeep.toml:7")));
    assert_eq!(found.reason, "Refused: Do not, says no-tools.");
    scene.rules[0].reason.clear();
    assert_eq!(
        scene.judge(&mate("bob"), &bash("ls"))[0].reason,
        "Refused: the user's rule \"no-tools\" objects."
    );
}

#[test]
fn a_warning_at_an_idle_names_who_goes_idle() {
    let mut scene = Scene::with(&[]);
    scene.rules.push(rule("r", Mode::Warn));
    assert_eq!(scene.judge(&mate("bob"), &idle("bob"))[0].reason, "Warning: bob goes idle: Do not, says r.");
    scene.rules[0].action = Mode::Block;
    assert_eq!(scene.judge(&mate("bob"), &idle("bob"))[0].reason, "Refused: Do not, says r.");
}

#[test]
fn a_rule_looks_at_its_events_in_either_spelling() {
    for spelled in ["TeammateIdle", "teammate-idle"] {
        let rule = Rule { events: vec![spelled.to_owned()], ..rule("r", Mode::Warn) };
        assert!(
            matches(rule.clone(), &mate("bob"), &idle("bob")) && !matches(rule, &mate("bob"), &bash("ls"))
        );
    }
    let after = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash"});
    for events in [Vec::new(), vec!["PostToolUse".to_owned()]] {
        let rule = Rule { events, ..rule("r", Mode::Block) };
        assert!(!matches(rule, &mate("bob"), &after), "what has happened is not judged");
    }
}

#[test]
fn a_rule_looks_at_its_tools_actors_and_teams() {
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
fn a_rule_looks_at_any_part_of_the_payload() {
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
        ("/tool_input/command", "/(/"),
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
    let order: Vec<_> =
        found.iter().map(|found| (found.decision, found.rule.as_deref().unwrap_or(found.gate))).collect();
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
