//! What the template, the table of keys and the check have to say to each other.

use std::path::Path;

use super::check::check;
use super::keys::KEYS;
use super::source::Source;
use super::{Config, TEMPLATE};

/// The template with its examples in force.
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
            assert_eq!(comment.join(" "), key.doc, "{path}");
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
fn the_examples_of_the_template_are_sound() {
    let source = Source::new(Path::new("default.toml"), &with_examples());
    assert_eq!(check(&source).problems, []);
    let config = Config::parse(&source.text, &source.path).unwrap();
    assert_eq!((config.rule.len(), config.policy.completion_check.check.len()), (1, 1));
    let line = source.text.lines().position(|line| line.starts_with("name = ")).unwrap() + 1;
    assert_eq!(config.rule[0].place, format!("default.toml:{line}"));
}
