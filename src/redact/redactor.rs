//! The rules, led over texts and counted.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use regex::Regex;
use serde_json::Value;

use super::escapes::{View, views};
use super::json;
use super::rules::{Found, Rule, rules, secret_key};
use crate::config::Privacy;
use crate::error::Result;

/// Takes out of texts what others are not to see, and counts it.
#[derive(Debug)]
pub struct Redactor {
    rules: Vec<Rule>,
    /// Keys whose whole value is a secret, where secrets are looked for.
    secret_key: Option<Regex>,
    counts: Vec<AtomicU64>,
    secrets: AtomicU64,
}

/// What stands for the value of a key that names a secret.
const SECRET: &str = "[redacted:secret]";

/// How deep JSON in strings of JSON is opened.
const DEEPEST: usize = 8;

impl Redactor {
    /// The rules of a configuration. `homes` are the home directories of those who were recorded; whatever looks like
    /// one below `/home` or `/Users` is taken for one as well.
    ///
    /// # Errors
    /// When a pattern of the user's is none that can be used.
    pub fn new(privacy: &Privacy, homes: &[String]) -> Result<Redactor> {
        let rules = rules(privacy, homes)?;
        let secret_key = match privacy.redact.iter().any(|name| name == "secret") {
            true => Some(secret_key()?),
            false => None,
        };
        let counts = rules.iter().map(|_| AtomicU64::default()).collect();
        Ok(Redactor { rules, secret_key, counts, secrets: AtomicU64::default() })
    }

    /// A text. One that is JSON, or nearly (it was cut, say), is looked at as such and as a plain one.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.nested(text, 0)
    }

    /// A text that stands so deep in others.
    pub(super) fn nested<'a>(&self, text: &'a str, depth: usize) -> Cow<'a, str> {
        if depth > DEEPEST || !text.trim_start().starts_with(['{', '[']) {
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
            // The deepest first: what is written may begin with the letter of an escape.
            for depth in (0..=opened.len()).rev() {
                if let Some(changed) = apply(rule, count, &text, opened.get(..depth).unwrap_or_default()) {
                    opened = views(&changed);
                    text = Cow::Owned(changed);
                }
            }
        }
        text
    }

    /// A path whose parts stay parts: no rule reaches over a slash.
    pub fn path(&self, path: &str) -> String {
        path.split('/').map(|part| self.text(part)).collect::<Vec<_>>().join("/")
    }

    /// Every string of a JSON value, keys too. Where two keys become one, the second gets a number.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(changed) = self.text(text) {
                    *text = changed;
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => {
                let mut changed = serde_json::Map::new();
                for (key, mut item) in std::mem::take(map) {
                    match &mut item {
                        Value::String(text) if self.is_secret(&key, text) => *text = SECRET.to_owned(),
                        item if self.names_more(&key) => self.hide(item),
                        item => self.value(item),
                    }
                    let key = self.text(&key);
                    let free = (2..).map(|n| format!("{key} {n}"));
                    let key =
                        std::iter::once(key.to_string()).chain(free).find(|key| !changed.contains_key(key));
                    changed.insert(key.unwrap_or_default(), item);
                }
                *map = changed;
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Every text and number of a secret.
    fn hide(&self, value: &mut Value) {
        match value {
            Value::String(text) if self.hides(text) => *text = SECRET.to_owned(),
            Value::Number(number) if self.hides(&number.to_string()) => *value = SECRET.into(),
            Value::Array(list) => list.iter_mut().for_each(|item| self.hide(item)),
            Value::Object(map) => map.values_mut().for_each(|item| self.hide(item)),
            _ => {}
        }
    }

    /// The text of one JSON document: every string in it, keys too. All else, numbers and spaces included, stays as it
    /// is written.
    pub fn json<'a>(&self, text: &'a str) -> Cow<'a, str> {
        json::redact(self, text, 0)
    }

    /// A file of any kind: JSON, JSON Lines, or a plain text. What is nearly JSON (it was cut, say) is looked at as
    /// both.
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

    /// Whether a value is a secret by the name of its key, and counts it if so.
    pub(super) fn is_secret(&self, key: &str, text: &str) -> bool {
        self.secret_key.as_ref().is_some_and(|keys| keys.is_match(key)) && self.hides(text)
    }

    /// Whether a key says that all that stands under it is secret. A `token` of more than a text is a parser's.
    pub(super) fn names_more(&self, key: &str) -> bool {
        !key.eq_ignore_ascii_case("token") && self.secret_key.as_ref().is_some_and(|keys| keys.is_match(key))
    }

    /// Whether there is anything to take out of a secret's text, and counts it if so.
    pub(super) fn hides(&self, text: &str) -> bool {
        let is = !text.is_empty() && !text.starts_with("[redacted:");
        if is {
            self.secrets.fetch_add(1, Ordering::Relaxed);
        }
        is
    }

    /// What stands for a secret.
    pub(super) fn stand_in(&self) -> &'static str {
        SECRET
    }

    /// How much was taken out so far, by the name of the rule; what found nothing is not there.
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

/// Leads one rule over what a text says behind the last of its views, or over the text where there is none; `None` when
/// it finds nothing.
fn apply(rule: &Rule, count: &AtomicU64, text: &str, opened: &[View]) -> Option<String> {
    let said = opened.last().map_or(text, |view| &view.text);
    let mut changed: Option<String> = None;
    let mut copied = 0;
    for mut found in rule.engine.find(said) {
        found.end = found.start + (rule.part)(&said[found.clone()]).len();
        let (before, after) = (&said[..found.start], &said[found.end..]);
        if found.is_empty() || !(rule.means)(&Found { text: &said[found.clone()], before, after }) {
            continue;
        }
        let written = opened.iter().rev().fold(found, |range: Range<usize>, view| view.written(&range));
        let so_far = changed.get_or_insert_with(|| String::with_capacity(text.len()));
        so_far.push_str(&text[copied..written.start]);
        so_far.push_str(&rule.stand_in);
        copied = written.end;
        count.fetch_add(1, Ordering::Relaxed);
    }
    let mut changed = changed?;
    changed.push_str(&text[copied..]);
    Some(changed)
}

#[cfg(test)]
mod tests;
