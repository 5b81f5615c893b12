//! The redaction rules: a regular expression and a replacement each.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use teamkeep_core::config::Privacy;
use teamkeep_core::error::{Cause, Error, Result};

#[derive(Debug)]
pub(super) struct Rule {
    pub name: String,
    pub engine: Engine,
    pub replacement: String,
    /// A final check whether a match counts.
    pub counts: fn(&Found<'_>) -> bool,
    /// The part of the match to replace, from its start.
    pub part: fn(&str) -> &str,
}

/// A regular expression. Tables of Unicode would make every start of the program slower, including hook calls: the
/// built-in patterns need none, and the user's patterns use the same engine as the check of the configuration.
#[derive(Debug)]
pub(super) enum Engine {
    Known(Regex),
    Own(regex_lite::Regex),
}

impl Engine {
    /// The matches in a text: the first group, or the whole match if there is none.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        match self {
            Engine::Known(regex) if !regex.is_match(text) => Vec::new(),
            Engine::Known(regex) => {
                let found = regex
                    .captures_iter(text)
                    .filter_map(|found| found.iter().skip(1).flatten().next().or_else(|| found.get(0)));
                found.map(|found| found.range()).collect()
            }
            Engine::Own(regex) => regex.find_iter(text).map(|found| found.range()).collect(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    pub text: &'a str,
    pub before: &'a str,
    pub after: &'a str,
}

const SECRET: &str =
    r"(?:api[_-]?key|secret|token|passw(?:or)?d|passphrase|credentials?|private[_-]?key|access[_-]?key)";

const SECRET_KEY: &str = r"(?:api[_-]?key|secret|passw(?:or)?d|passphrase|private[_-]?key|access[_-]?key|(?:access|auth|refresh|id|session|messaging|bearer|csrf)[_-]?token|authorization)";

const CURL: &[&str] = &[
    r#"(?-u:\b)curl[ \t](?:[^\r\n]*?[ \t])??(?:-[uU][ \t]*|--(?:proxy-)?user[ \t=]+)[^ \t\r\n:"']+:["']?([^ \t\r\n"'\\][^ \t\r\n"']*)"#,
    r#"(?-u:\b)curl[ \t](?:[^\r\n]*?[ \t])??(?:-[uU][ \t]*|--(?:proxy-)?user[ \t=]+)(?:"[^"\r\n:]+:([^"\r\n]+)"|'[^'\r\n:]+:([^'\r\n]+)')"#,
];

const KNOWN: &[(&str, &[&str])] = &[
    (
        "private-key",
        &[
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/= \t\r\n\\:,.-]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
            // A key without its end.
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/= \t\r\n\\:,.-]*",
        ],
    ),
    (
        "api-key",
        &[
            r"(?-u:\b)sk-[A-Za-z0-9_-]{16,}",
            r"(?-u:\b)(?:gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})",
            r"(?-u:\b)(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b)",
            r"(?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{10,}",
            r"(?-u:\b)(?:AIza[0-9A-Za-z_-]{30,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,})",
            r"(?-u:\b)[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}",
        ],
    ),
    (
        "token",
        &[
            r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
            r"(?i-u:\bbearer[ \t]+)([A-Za-z0-9._~+/=-]{16,})",
            r"(?i-u:\bauthorization:[ \t]*basic[ \t]+)([A-Za-z0-9+/=]{6,})",
        ],
    ),
    ("email", &[r"(?-u:\b)[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}(?-u:\b)"]),
    (
        "home",
        &[
            r#"/(?:home|Users)/[^/ \t\r\n"'`\\:;,<>()|\[\]{}*?$]+"#,
            r"(?:^|/)(-(?:home|Users)-[A-Za-z0-9]+)(?:[-/]|$)",
        ],
    ),
];

/// Builds the rules. The user's come first, so that their names take precedence.
pub(super) fn rules(privacy: &Privacy, homes: &[String]) -> Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for own in &privacy.pattern {
        let engine = regex_lite::Regex::new(&own.regex).map(Engine::Own);
        let engine = engine.map_err(|error| unusable(&own.name, error))?;
        rules.push(with(&own.name, engine, anything));
    }
    for name in &privacy.redact {
        match name.as_str() {
            "secret" => {
                let value = r#"["']?([^ \t\r\n"'`\\,;&\[\]{}()<>=:][^ \t\r\n"'`\\,;&\[\]{}()<>]{3,})"#;
                let named = format!(r"(?i-u:\b[A-Z0-9_.-]*{SECRET}[A-Z0-9_-]*)");
                rules.push(rule(name, &format!("{named}={value}"), anything)?);
                rules.push(rule(name, &format!(r#"{named}["']?:[ \t]*{value}"#), has_digit)?);
                // A key in JSON that was not decoded or was truncated.
                let key = format!(r#"["'](?i-u:[A-Z0-9_. -]*{SECRET_KEY}|token)["'][ \t]*:[ \t]*"([^"]+)"#);
                rules.push(rule(name, &key, is_not_redacted)?);
                let listed =
                    format!(r#"["'](?i-u:[A-Z0-9_. -]*{SECRET_KEY})["'][ \t]*:[ \t\[]*"?([^\]"{{}},]+)"#);
                rules.push(rule(name, &listed, has_digit)?);
                for pattern in CURL {
                    rules.push(rule(name, pattern, is_not_redacted)?);
                }
                rules.push(rule(name, r#"://[^/ \t\r\n:@"']+:([^/ \t\r\n@"']+)@"#, anything)?);
            }
            "home" => {
                for home in homes.iter().filter(|home| home.len() > 1) {
                    let slug: String =
                        home.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
                    // Not a path whose name only begins the same.
                    rules.push(rule(name, &regex::escape(home), |found| {
                        !found
                            .after
                            .starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
                    })?);
                    // A project's directory, in Claude Code's spelling, below the user's home.
                    rules.push(rule(name, &regex::escape(&slug), |found| {
                        (found.before.is_empty() || found.before.ends_with('/'))
                            && !found.after.starts_with(char::is_alphanumeric)
                    })?);
                }
                for pattern in known(name) {
                    rules.push(rule(name, pattern, |found| found.text != "/Users/Shared")?);
                }
            }
            _ => {
                let part = if name == "email" { address } else { whole };
                for pattern in known(name) {
                    rules.push(Rule { part, ..rule(name, pattern, anything)? });
                }
            }
        }
    }
    Ok(rules)
}

pub(super) fn secret_key() -> Result<Regex> {
    // A plain `token` may belong to a parser, so longer keys that contain it do not match.
    compiled("secret", &format!(r"(?i-u:(?:{SECRET_KEY}|^token)$)"))
}

/// Whether the whole value of a key in JSON is a secret.
pub fn is_secret_key(key: &str) -> bool {
    static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| secret_key().ok());
    KEY.as_ref().is_some_and(|secret| secret.is_match(key))
}

fn known(name: &str) -> &'static [&'static str] {
    KNOWN.iter().find(|(known, _)| *known == name).map_or(&[], |(_, patterns)| patterns)
}

fn rule(name: &str, pattern: &str, counts: fn(&Found<'_>) -> bool) -> Result<Rule> {
    Ok(with(name, Engine::Known(compiled(name, pattern)?), counts))
}

fn with(name: &str, engine: Engine, counts: fn(&Found<'_>) -> bool) -> Rule {
    let replacement = if name == "home" { "~".to_owned() } else { format!("[redacted:{name}]") };
    Rule { name: name.to_owned(), engine, replacement, counts, part: whole }
}

fn compiled(name: &str, pattern: &str) -> Result<Regex> {
    Regex::new(pattern).map_err(|error| unusable(name, error))
}

fn unusable(name: &str, why: impl Into<Cause>) -> Error {
    Error::caused(format!("cannot use the pattern {name:?} of the configuration"), why)
        .hint("check `privacy.pattern`: teamkeep policy check")
}

fn anything(_: &Found<'_>) -> bool {
    true
}

fn whole(found: &str) -> &str {
    found
}

/// File extensions of Claude Code's files. None is a top-level domain.
const KINDS: &[&str] = &[".json", ".jsonl", ".lock", ".txt"];

/// An e-mail address without the extension of a file named after it; empty if the rest is not an address.
fn address(found: &str) -> &str {
    let mut address = found;
    while let Some(shorter) = KINDS.iter().find_map(|kind| address.strip_suffix(kind)) {
        address = shorter;
    }
    let is_address = address.split_once('@').is_some_and(|(_, domain)| domain.contains('.'));
    if is_address { address } else { "" }
}

/// Whether a match is not a placeholder from an earlier redaction.
fn is_not_redacted(found: &Found<'_>) -> bool {
    !found.text.starts_with("[redacted:")
}

/// After a colon there may be prose or code; a secret has a digit.
fn has_digit(found: &Found<'_>) -> bool {
    found.text.bytes().any(|byte| byte.is_ascii_digit())
}
