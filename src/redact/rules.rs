//! What is looked for: a regular expression a rule, and what stands for what it finds.

use regex::Regex;

use crate::config::Privacy;
use crate::error::{Error, Result};

/// One rule.
#[derive(Debug)]
pub(super) struct Rule {
    /// By which what it finds is counted.
    pub name: String,
    /// What it finds: its first group, or all of it where it has none.
    pub regex: Regex,
    /// What stands for it.
    pub stand_in: String,
    /// Whether what was found is meant after all.
    pub means: fn(&Found<'_>) -> bool,
}

/// What a rule has found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    /// It.
    pub text: &'a str,
    /// What comes before it.
    pub before: &'a str,
    /// What comes after it.
    pub after: &'a str,
}

/// The names of values that nobody is to see, as variables and keys spell them.
const SECRET: &str =
    r"(?:api[_-]?key|secret|token|passw(?:or)?d|passphrase|credentials?|private[_-]?key|access[_-]?key)";

/// Keys whose whole value nobody is to see. A `token` alone may be a parser's.
const SECRET_KEY: &str = r"(?i)(?:api[_-]?key|secret|passw(?:or)?d|passphrase|private[_-]?key|access[_-]?key|(?:access|auth|refresh|id|session|messaging|bearer|csrf)[_-]?token|^token|authorization)$";

/// The patterns of each name that the configuration may pick.
const KNOWN: &[(&str, &[&str])] = &[
    (
        "private-key",
        &[
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s\\:,.-]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
            // One whose end was cut off.
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s\\:,.-]*",
        ],
    ),
    (
        "api-key",
        &[
            r"\bsk-[A-Za-z0-9_-]{16,}",
            r"\b(?:gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})",
            r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
            r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
            r"\b(?:AIza[0-9A-Za-z_-]{30,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,})",
            r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}",
        ],
    ),
    (
        "token",
        &[
            r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
            r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,})",
            r"(?i)\bauthorization:\s*basic\s+([A-Za-z0-9+/=]{6,})",
        ],
    ),
    ("email", &[r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"]),
    (
        "home",
        &[
            r#"/(?:home|Users)/[^/\s"'`\\:;,<>()|\[\]{}*?$]+"#,
            r"(?:^|/)(-(?:home|Users)-[A-Za-z0-9]+)(?:[-/]|$)",
        ],
    ),
];

/// Makes the rules: the user's own first, whose names are to win.
pub(super) fn rules(privacy: &Privacy, homes: &[String]) -> Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for own in &privacy.pattern {
        rules.push(rule(&own.name, &own.regex, anything)?);
    }
    for name in &privacy.redact {
        match name.as_str() {
            "secret" => {
                let value = r#"["']?([^\s"'`\\,;&\[\]{}()<>=:][^\s"'`\\,;&\[\]{}()<>]{3,})"#;
                let named = format!(r"(?i)\b[\w.-]*{SECRET}[\w-]*");
                rules.push(rule(name, &format!("{named}={value}"), anything)?);
                rules.push(rule(name, &format!(r#"{named}["']?:\s*{value}"#), has_digit)?);
                rules.push(rule(name, r#"://[^/\s:@"']+:([^/\s@"']+)@"#, anything)?);
            }
            "home" => {
                for home in homes.iter().filter(|home| home.len() > 1) {
                    let slug: String =
                        home.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
                    rules.push(rule(name, &regex::escape(home), ends_there)?);
                    rules.push(rule(name, &regex::escape(&slug), is_slug)?);
                }
                for pattern in known(name) {
                    rules.push(rule(name, pattern, is_somebody_s)?);
                }
            }
            _ => {
                for pattern in known(name) {
                    rules.push(rule(name, pattern, anything)?);
                }
            }
        }
    }
    Ok(rules)
}

/// Tells the keys of JSON whose whole value nobody is to see.
pub(super) fn secret_key() -> Result<Regex> {
    compiled("secret", SECRET_KEY)
}

fn known(name: &str) -> &'static [&'static str] {
    KNOWN.iter().find(|(known, _)| *known == name).map_or(&[], |(_, patterns)| patterns)
}

fn rule(name: &str, pattern: &str, means: fn(&Found<'_>) -> bool) -> Result<Rule> {
    let stand_in = if name == "home" { "~".to_owned() } else { format!("[redacted:{name}]") };
    Ok(Rule { name: name.to_owned(), regex: compiled(name, pattern)?, stand_in, means })
}

fn compiled(name: &str, pattern: &str) -> Result<Regex> {
    Regex::new(pattern).map_err(|error| {
        Error::caused(format!("cannot use the pattern {name:?} of the configuration"), error)
            .hint("`privacy.pattern` says what is taken out: teamkeep policy check")
    })
}

fn anything(_: &Found<'_>) -> bool {
    true
}

/// What stands behind a colon may be prose or code; a secret has a digit.
fn has_digit(found: &Found<'_>) -> bool {
    found.text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a path is one of this user's, and not of one whose name begins so.
fn ends_there(found: &Found<'_>) -> bool {
    !found.after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Whether it is a project's directory, as the client spells it, in the user's home.
fn is_slug(found: &Found<'_>) -> bool {
    (found.before.is_empty() || found.before.ends_with('/'))
        && !found.after.starts_with(|c: char| c.is_alphanumeric())
}

/// Whether a home is one person's.
fn is_somebody_s(found: &Found<'_>) -> bool {
    found.text != "/Users/Shared"
}
