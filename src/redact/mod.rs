//! Removes secrets and personal data from texts: keys, tokens, e-mail addresses, home directories, and the user's
//! patterns.
//!
//! The functions take and return text. Matches are counted by rule and never shown. Hook calls do not use this module,
//! so the rules may use a regular expression engine that compiles slowly and matches fast.

mod json;
mod rules;
mod unescape;

use regex::Regex;
pub use rules::is_secret_key;
use rules::{Found, Rule, rules, secret_key};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use teamkeep_core::config::Privacy;
use teamkeep_core::error::Result;
use unescape::{View, views};

#[derive(Debug)]
pub struct Redactor {
    rules: Vec<Rule>,
    /// Matches keys whose whole value is a secret, if the rule `secret` is active.
    secret_key: Option<Regex>,
    counts: Vec<AtomicU64>,
    secrets: AtomicU64,
}

const SECRET: &str = "[redacted:secret]";

/// Maximum nesting of JSON inside JSON strings.
const MAX_DEPTH: usize = 8;

impl Redactor {
    /// Builds the rules from the configuration. `homes` are the home directories of recorded users; other paths below
    /// `/home` and `/Users` that look like home directories match as well.
    pub fn new(privacy: &Privacy, homes: &[String]) -> Result<Redactor> {
        let rules = rules(privacy, homes)?;
        let secret_key = match privacy.redact.iter().any(|name| name == "secret") {
            true => Some(secret_key()?),
            false => None,
        };
        let counts = rules.iter().map(|_| AtomicU64::default()).collect();
        Ok(Redactor { rules, secret_key, counts, secrets: AtomicU64::default() })
    }

    /// Redacts a text. JSON, or text that resembles JSON (such as a truncated document), is processed as JSON and as
    /// plain text.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.nested(text, 0)
    }

    pub(super) fn nested<'a>(&self, text: &'a str, depth: usize) -> Cow<'a, str> {
        if depth > MAX_DEPTH || !text.trim_start().starts_with(['{', '[']) {
            return self.plain(text);
        }
        match json::redact(self, text, depth) {
            Cow::Owned(changed) => Cow::Owned(self.plain(&changed).into_owned()),
            Cow::Borrowed(text) => self.plain(text),
        }
    }

    fn plain<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        let mut opened = views(&text);
        for (rule, count) in self.rules.iter().zip(&self.counts) {
            // Start with the deepest decoding: the replacement may begin with a character that completes an escape.
            for depth in (0..=opened.len()).rev() {
                if let Some(changed) = apply(rule, count, &text, opened.get(..depth).unwrap_or_default()) {
                    opened = views(&changed);
                    text = Cow::Owned(changed);
                }
            }
        }
        text
    }

    /// Redacts the parts of a path: no rule matches across a slash.
    pub fn path(&self, path: &str) -> String {
        path.split('/').map(|part| self.text(part)).collect::<Vec<_>>().join("/")
    }

    /// Redacts all strings in the text of a JSON document, including keys. Everything else is kept byte by byte.
    pub fn json<'a>(&self, text: &'a str) -> Cow<'a, str> {
        json::redact(self, text, 0)
    }

    /// Redacts a file: JSON, JSON Lines or plain text. Text that resembles JSON is processed both ways.
    pub fn content<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if json::is_json(text) {
            return self.json(text);
        }
        if !text.lines().any(|line| line.starts_with('{') && json::is_json(line)) {
            return self.text(text);
        }
        let mut all = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            all.push_str(&if json::is_json(line) { self.json(line) } else { self.text(line) });
        }
        if all == text { Cow::Borrowed(text) } else { Cow::Owned(all) }
    }

    /// Whether a value is a secret because of its key. Counts it if so.
    pub(super) fn is_secret(&self, key: &str, text: &str) -> bool {
        self.secret_key.as_ref().is_some_and(|keys| keys.is_match(key)) && self.redacts_secret(text)
    }

    /// Whether all values below a key are secret. The object below a key `token` may belong to a parser, so it does not
    /// count.
    pub(super) fn is_container_key(&self, key: &str) -> bool {
        !key.eq_ignore_ascii_case("token") && self.secret_key.as_ref().is_some_and(|keys| keys.is_match(key))
    }

    /// Whether the text of a secret must be replaced. Counts it if so.
    pub(super) fn redacts_secret(&self, text: &str) -> bool {
        let is = !text.is_empty() && !text.starts_with("[redacted:");
        if is {
            self.secrets.fetch_add(1, Ordering::Relaxed);
        }
        is
    }

    pub fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let secrets = ("secret", self.secrets.load(Ordering::Relaxed));
        let found = self.rules.iter().zip(&self.counts);
        let found = found.map(|(rule, count)| (rule.name.as_str(), count.load(Ordering::Relaxed)));
        for (name, count) in found.chain([secrets]).filter(|(_, count)| *count > 0) {
            *counts.entry(name.to_owned()).or_default() += count;
        }
        counts
    }
}

/// Applies one rule to the last decoding of a text, or to the text itself if it has none; `None` if nothing matches.
fn apply(rule: &Rule, count: &AtomicU64, text: &str, opened: &[View]) -> Option<String> {
    let decoded = opened.last().map_or(text, |view| &view.text);
    let mut changed: Option<String> = None;
    let mut copied = 0;
    for mut found in rule.engine.find(decoded) {
        found.end = found.start + (rule.part)(&decoded[found.clone()]).len();
        let (before, after) = (&decoded[..found.start], &decoded[found.end..]);
        if found.is_empty() || !(rule.counts)(&Found { text: &decoded[found.clone()], before, after }) {
            continue;
        }
        let written = opened.iter().rev().fold(found, |range: Range<usize>, view| view.written(&range));
        let so_far = changed.get_or_insert_with(|| String::with_capacity(text.len()));
        so_far.push_str(&text[copied..written.start]);
        so_far.push_str(&rule.replacement);
        copied = written.end;
        count.fetch_add(1, Ordering::Relaxed);
    }
    let mut changed = changed?;
    changed.push_str(&text[copied..]);
    Some(changed)
}

#[cfg(test)]
mod tests;
