//! The template, the table of keys and the check agree.

use std::path::Path;

use super::check::check;
use super::keys::KEYS;
use super::source::Source;
use super::{Config, TEMPLATE};

/// The template with its examples enabled.
pub(super) fn with_examples() -> String {
    let lines = TEMPLATE.lines().map(|line| match line.strip_prefix('#') {
        Some(example) if !example.starts_with(' ') => example,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_template_has_every_key_with_its_default_and_the_words_of_the_table() {
    let (mut table, mut comment, mut found) = (String::new(), Vec::new(), Vec::new());
    let text = with_examples();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) {
            table = format!("{name}[]");
        } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            table = name.to_owned();
        } else if let Some(words) = line.strip_prefix("# ") {
            comment.push(words);
            continue;
        } else if let Some((name, value)) = line.split_once(" = ") {
            let path = format!("{table}.{name}");
            let key = KEYS.iter().find(|key| key.path == path).unwrap_or_else(|| panic!("{path}"));
            assert_eq!(comment.join(" "), key.doc(), "{path}");
            if !path.contains("[]") {
                assert_eq!(Some(value), key.default, "{path}");
            }
            found.push(path);
        }
        comment.clear();
    }
    assert_eq!(found, KEYS.iter().map(|key| key.path).collect::<Vec<_>>());
}

#[test]
fn template_examples_are_valid() {
    let source = Source::new(Path::new("default.toml"), &with_examples());
    assert_eq!(check(&source).problems, []);
    let config = Config::parse(&source.text, &source.path).unwrap();
    assert_eq!((config.rule.len(), config.policy.completion_check.check.len()), (1, 1));
    let line = source.text.lines().position(|line| line.starts_with("name = \"no-force")).unwrap() + 1;
    assert_eq!(config.rule[0].place, format!("default.toml:{line}"));
}

#[test]
fn privacy_pattern_needs_a_unique_name_and_a_nonempty_match() {
    let wrong = |text: &str| -> Vec<String> {
        let source = Source::new(Path::new("teamkeep.toml"), text);
        check(&source)
            .problems
            .iter()
            .map(|problem| format!("{}: {}", problem.code.name(), problem.message))
            .collect()
    };
    let pattern =
        |name: &str, regex: &str| format!("[[privacy.pattern]]\nname = \"{name}\"\nregex = \"{regex}\"\n");
    assert!(wrong(&(pattern("a", "x+") + &pattern("b", "y"))).is_empty());
    assert_eq!(wrong(&(pattern("a", "x") + &pattern("a", "y"))), ["bad-value: duplicate pattern name \"a\""]);
    for name in ["", "a b", "a]", "home"] {
        assert_eq!(wrong(&pattern(name, "x")), [format!("bad-value: invalid pattern name {name:?}")]);
    }
    assert_eq!(
        wrong(&pattern("a", "x*")),
        ["bad-regex: `privacy.pattern[0].regex`: \"x*\" matches the empty string"]
    );
    assert!(wrong(&pattern("a", "("))[0].starts_with("bad-regex: "));
    assert_eq!(
        wrong("[privacy]\nredact = [\"emails\"]\n"),
        [
            "bad-value: `privacy.redact`: invalid value \"emails\"; expected one of \"private-key\", \"api-key\", \"token\", \"secret\", \"email\", \"home\""
        ]
    );
}
