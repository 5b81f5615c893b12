//! Removes secrets and personal data from texts: keys, tokens, e-mail addresses, home directories, and the user's
//! patterns.
//!
//! The functions take and return text. Matches are counted by rule and never shown. Hook calls do not use this crate,
//! so the rules may use a regular expression engine that compiles slowly and matches fast.

#![warn(unreachable_pub)]

mod assignments;
mod json;
mod keys;
mod names;
mod places;
mod scan;

use json::View;
use names::{Strength, strength};
use scan::{Scanner, SecretKind};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use teamkeep_config::Privacy;
use teamkeep_system::error::{Error, Result};

#[derive(Debug)]
pub struct Redactor {
    own: Vec<Own>,
    scanner: Scanner,
    /// Whether secrets are replaced because of their key.
    has_secrets: bool,
    counts: [AtomicU64; SecretKind::ALL.len()],
}

/// A pattern of the user.
#[derive(Debug)]
struct Own {
    name: String,
    regex: regex_lite::Regex,
    count: AtomicU64,
}

/// A key in JSON.
#[derive(Default)]
struct Key<'a> {
    text: Cow<'a, str>,
    strength: Option<Strength>,
}

const SECRET: &str = "[redacted:secret]";

/// Maximum nesting of JSON inside JSON strings.
const MAX_DEPTH: usize = 8;

/// How often a text is searched at most.
const MAX_ROUNDS: usize = 4;

impl Redactor {
    /// Builds the rules from the configuration. `homes` are the home directories of recorded users; other paths below
    /// `/home` and `/Users` that look like home directories match as well.
    pub fn new(privacy: &Privacy, homes: &[String]) -> Result<Redactor> {
        let own = privacy.pattern.iter().map(|own| {
            let regex = regex_lite::Regex::new(&own.regex).map_err(|error| {
                Error::caused(format!("cannot use the pattern {:?} of the configuration", own.name), error)
                    .hint("check `privacy.pattern`: teamkeep config check")
            })?;
            Ok(Own { name: own.name.clone(), regex, count: AtomicU64::default() })
        });
        let is_active = |kind: &SecretKind| privacy.redact.iter().any(|name| name == kind.name());
        let kinds: Vec<SecretKind> = SecretKind::ALL.into_iter().filter(is_active).collect();
        Ok(Redactor {
            own: own.collect::<Result<_>>()?,
            scanner: Scanner::new(&kinds, homes),
            has_secrets: kinds.contains(&SecretKind::Secret),
            counts: Default::default(),
        })
    }

    /// Redacts a text. JSON and JSON Lines are processed as such, and text that resembles JSON (such as a truncated
    /// document) both as JSON and as plain text.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.nested(text, 0)
    }

    fn nested<'a>(&self, text: &'a str, depth: usize) -> Cow<'a, str> {
        if depth > MAX_DEPTH || !json::begins(text) {
            return self.plain(text);
        }
        if json::is_json(text) {
            return json::redact(self, text, depth);
        }
        if json::has_lines(text) {
            return self.lines(text, depth);
        }
        match json::redact(self, text, depth) {
            Cow::Owned(changed) => Cow::Owned(self.plain(&changed).into_owned()),
            Cow::Borrowed(text) => self.plain(text),
        }
    }

    fn lines<'a>(&self, text: &'a str, depth: usize) -> Cow<'a, str> {
        let mut all = String::with_capacity(text.len());
        text.split_inclusive('\n').for_each(|line| all.push_str(&self.nested(line, depth)));
        if all == text { Cow::Borrowed(text) } else { Cow::Owned(all) }
    }

    /// The user's patterns come first, so that their names take precedence.
    fn plain<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for own in &self.own {
            // The replacement may begin with a character that completes an escape, so the decoded text comes first.
            let decoded = View::of(&text);
            let has_escapes = decoded.is_some();
            for decoded in [decoded, None].into_iter().skip(usize::from(!has_escapes)) {
                let source = decoded.as_ref().map_or(&*text, |view| &view.text);
                let found: Vec<_> = own.regex.find_iter(source).map(|found| found.range()).collect();
                let found = found.into_iter().filter(|range| !range.is_empty());
                let new = format!("[redacted:{}]", own.name);
                let found = found.map(|range| (range, &*new)).inspect(|_| count(&own.count));
                if let Some(changed) = replaced(&text, decoded.as_ref(), found) {
                    text = Cow::Owned(changed);
                }
            }
        }
        if scan::is_short_word(&text) {
            return text;
        }
        // The backslashes of a path on Windows look like escapes: home directories are also searched as they are written.
        if text.contains('\\') {
            let found =
                self.scanner.findings(&text).into_iter().filter(|found| found.kind == SecretKind::Home);
            if let Some(changed) = self.without(&text, None, found) {
                text = Cow::Owned(changed);
            }
        }
        // A replacement can show that the text around it is a secret, too.
        for _ in 0..MAX_ROUNDS {
            let decoded = View::of(&text);
            let found = self.scanner.findings(decoded.as_ref().map_or(&*text, |view| &view.text));
            let Some(changed) = self.without(&text, decoded.as_ref(), found.into_iter()) else { break };
            text = Cow::Owned(changed);
        }
        text
    }

    /// Replaces and counts findings; `None` if there are none.
    fn without(
        &self,
        text: &str,
        decoded: Option<&View>,
        found: impl Iterator<Item = scan::Match>,
    ) -> Option<String> {
        let found = found.map(|finding| {
            count(&self.counts[finding.kind as usize]);
            (finding.range, finding.kind.replacement())
        });
        replaced(text, decoded, found)
    }

    /// Redacts the parts of a path: no rule matches across a slash.
    pub fn path(&self, path: &str) -> String {
        path.split('/').map(|part| self.text(part)).collect::<Vec<_>>().join("/")
    }

    /// Redacts all strings in the text of a JSON document, including keys. Everything else is kept byte by byte.
    pub fn json<'a>(&self, text: &'a str) -> Cow<'a, str> {
        json::redact(self, text, 0)
    }

    /// Redacts a file: JSON, plain text, or JSON Lines, also between lines of plain text.
    pub fn content<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let is_lines = json::has_lines(text) && !json::is_json(text);
        if is_lines { self.lines(text, 0) } else { self.nested(text, 0) }
    }

    fn key<'a>(&self, text: Cow<'a, str>) -> Key<'a> {
        let strength = if self.has_secrets { strength(&text) } else { None };
        Key { text, strength }
    }

    /// Whether a value is a secret because of its key. Counts it if so.
    fn is_secret(&self, key: &Key<'_>, text: &str) -> bool {
        key.strength.is_some_and(|strength| assignments::is_secret(strength, &key.text, text))
            && self.redacts_secret(text)
    }

    /// Whether the text of a secret must be replaced. Counts it if so.
    fn redacts_secret(&self, text: &str) -> bool {
        let is = !text.is_empty() && !text.starts_with("[redacted:");
        if is {
            count(&self.counts[SecretKind::Secret as usize]);
        }
        is
    }

    /// The number of replacements by kind and by pattern of the user.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let own = self.own.iter().map(|own| (own.name.as_str(), &own.count));
        let kinds = SecretKind::ALL.iter().map(|kind| (kind.name(), &self.counts[*kind as usize]));
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (name, count) in own.chain(kinds) {
            *counts.entry(name.to_owned()).or_default() += count.load(Ordering::Relaxed);
        }
        counts.retain(|_, count| *count > 0);
        counts
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A text with replacements for ranges of its decoding, or of itself if there is none; `None` if there are no ranges.
fn replaced<T: AsRef<str>>(
    text: &str,
    decoded: Option<&View>,
    found: impl Iterator<Item = (Range<usize>, T)>,
) -> Option<String> {
    let mut changed: Option<String> = None;
    let mut copied = 0;
    for (range, new) in found {
        let written = decoded.map_or(range.clone(), |view| view.written(&range));
        let so_far = changed.get_or_insert_with(|| String::with_capacity(text.len()));
        so_far.push_str(&text[copied..written.start]);
        so_far.push_str(new.as_ref());
        copied = written.end;
    }
    let mut changed = changed?;
    changed.push_str(&text[copied..]);
    Some(changed)
}

/// Whether the whole value of a key in JSON is a secret.
pub fn is_secret_key(key: &str) -> bool {
    strength(key) == Some(Strength::Strong) || key.eq_ignore_ascii_case("token")
}

#[cfg(test)]
mod tests;
