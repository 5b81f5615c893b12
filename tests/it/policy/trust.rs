//! What a project's policy file runs and forbids waits until the user trusts it.

use std::path::Path;

use teamkeep_config::project::{Trust, name_of};
use teamkeep_config::{Effective, Mode, TrustState, layers};

use super::policy_dirs::{Place, codes, found};
use crate::support::access::{assert_mode, set_mode};

const RUNS: &str = r#"[[policy.completion-check.check]]
run = "make check"
[[rule]]
name = "theirs"
action = "block"
reason = "no"
"#;

#[test]
fn project_commands_need_trust_and_again_after_each_change() {
    let user = r#"[[policy.completion-check.check]]
run = "true"
[[rule]]
name = "mine"
action = "warn"
"#;
    let place = Place::new(user, RUNS);
    let count = |effective: &Effective| {
        (effective.config.policy.completion_check.check.len(), effective.config.rule.len())
    };
    let before = place.load();
    assert_eq!((count(&before), codes(&before)), ((1, 1), vec!["untrusted"]));
    assert_eq!(before.project.as_ref().unwrap().standing, TrustState::Untrusted);
    assert_eq!(before.project.as_ref().unwrap().rules[0].name, "theirs");

    place.trust();
    let trusted = place.load();
    assert_eq!((count(&trusted), codes(&trusted)), ((2, 2), vec![]));
    let rules: Vec<&str> = trusted.config.rule.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(rules, ["mine", "theirs"]);
    assert_eq!(trusted.config.rule[1].file_line, format!("{}:4", place.project().display()));
    assert_eq!(trusted.config.policy.completion_check.check[1].run, "make check");
    assert_mode(&place.files.trust, 0o600);

    std::fs::write(place.project(), format!("{RUNS}\n")).unwrap();
    let changed = place.load();
    assert_eq!((count(&changed), codes(&changed)), ((1, 1), vec!["untrusted"]));
    assert_eq!(changed.project.unwrap().standing, TrustState::Changed);
}

#[cfg(unix)]
#[test]
fn trust_in_a_project_does_not_cover_its_copies() {
    let (place, copy) = (Place::new("", RUNS), Place::new("", RUNS));
    place.trust();
    let mut files = copy.files.clone();
    files.trust.clone_from(&place.files.trust);
    assert_eq!(layers::load(&files).project.unwrap().standing, TrustState::Untrusted);
    let link = place.dir.path().join("link");
    std::os::unix::fs::symlink(place.dir.path().join("project"), &link).unwrap();
    files.project = Some(link.join(".claude/teamkeep.toml"));
    assert_eq!(layers::load(&files).project.unwrap().standing, TrustState::Trusted, "another way to it");
}

#[cfg(unix)]
#[test]
fn a_trust_store_that_others_can_write_trusts_nothing() {
    let place = Place::new("", RUNS);
    place.trust();
    set_mode(&place.files.trust, 0o666);
    assert_eq!(codes(&place.load()), ["bad-trust", "untrusted"]);
    for broken in ["", "[]", "{\"v\": 2, \"files\": {}}", "\u{0}"] {
        std::fs::remove_file(&place.files.trust).unwrap();
        std::fs::write(&place.files.trust, broken).unwrap();
        assert_eq!(codes(&place.load()), ["bad-trust", "untrusted"], "{broken:?}");
        assert!(Trust::change(&place.dir.path().join("keep"), |_| ()).is_err(), "it is not written over");
    }
    assert_eq!(place.load().config.rule, []);
}

#[test]
fn a_project_rule_does_not_replace_a_user_rule_of_the_same_name() {
    let user = "[[rule]]\nname = \"theirs\"\naction = \"warn\"\n";
    let place = Place::new(user, RUNS);
    place.trust();
    let effective = place.load();
    assert_eq!(codes(&effective), ["rule-name-taken"]);
    assert_eq!(effective.config.rule.len(), 1);
    assert_eq!(effective.config.rule[0].action, Mode::Warn);
}

#[test]
fn a_file_outside_a_project_is_named_by_its_path() {
    assert_eq!(
        name_of(Path::new("/nowhere/.claude/teamkeep.toml")),
        Path::new("/nowhere/.claude/teamkeep.toml")
    );
}

#[test]
fn only_a_user_rule_for_a_tool_can_be_lasting() {
    let rule = |name: &str, more: &str| {
        format!("[[rule]]\nname = \"{name}\"\naction = \"block\"\nreason = \"no\"\nlasting = true\n{more}")
    };
    let place = Place::new(&rule("user", ""), &rule("project", ""));
    assert_eq!(codes(&place.load()), ["not-in-project", "untrusted"]);
    place.trust();
    let effective = place.load();
    assert_eq!(codes(&effective), ["not-in-project"]);
    let lasting: Vec<_> = effective.config.rule.iter().map(|rule| (&*rule.name, rule.lasting)).collect();
    assert_eq!(lasting, [("user", true), ("project", false)]);
    assert_eq!(found(&rule("a", "events = [\"Stop\"]\n")), ["5:11 useless-key"]);
    assert_eq!(found(&rule("a", "events = [\"Stop\", \"PreToolUse\"]\n")), [] as [&str; 0]);
    let warns = rule("a", "").replace("\"block\"", "\"warn\"");
    assert_eq!(found(&warns), ["5:11 useless-key"]);
}
