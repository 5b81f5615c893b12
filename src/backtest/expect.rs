//! Expected verdicts: a file for CI.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use super::test::Found;
use crate::policy::{Decision, Verdict};

/// The expected verdict for one event.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The event's id; for a recorded-run file, `<file name without .jsonl>:<line>`.
    pub event: String,
    /// The decision; `allow` means neither blocked nor warned.
    pub decision: Decision,
    /// The gate; without it any gate.
    #[serde(default)]
    pub gate: Option<String>,
}

/// An expectation that is not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// The event.
    pub event: String,
    /// The expected and the actual verdict.
    pub why: String,
}

/// Parses one JSON array, or one object per line.
///
/// # Errors
/// The text is neither, or an expectation is invalid.
pub fn expectations(text: &str) -> Result<Vec<Expectation>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
    if text.starts_with('[') {
        let all: Vec<Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let read = |(place, value)| {
            serde_json::from_value(value).map_err(|error| format!("expectation {}: {error}", place + 1))
        };
        return all.into_iter().enumerate().map(read).collect();
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(place, line)| {
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", place + 1))
        })
        .collect()
}

/// Compares the verdicts with the expectations. `found` is by event; `exists` tests whether an event exists. With
/// `strict`, every other event must have no verdict.
pub fn check(
    expected: &[Expectation],
    found: &HashMap<String, &Found>,
    exists: impl Fn(&str) -> bool,
    strict: bool,
) -> Vec<Unmet> {
    let mut unmet = Vec::new();
    for expectation in expected {
        let event = &expectation.event;
        let why = if !exists(event) {
            Some("no such event".to_owned())
        } else {
            let verdicts =
                found.get(event).map(|found| found.judgement.verdicts.as_slice()).unwrap_or_default();
            expectation.differs(verdicts)
        };
        unmet.extend(why.map(|why| Unmet { event: event.clone(), why }));
    }
    if strict {
        let named = |event: &str| expected.iter().any(|expectation| expectation.event == event);
        let mut others: Vec<Unmet> = found
            .iter()
            .filter(|(event, found)| !found.judgement.verdicts.is_empty() && !named(event))
            .map(|(event, found)| {
                let why = format!("expected no verdict, but found: {}", told(&found.judgement.verdicts));
                Unmet { event: event.clone(), why }
            })
            .collect();
        others.sort_by(|a, b| a.event.cmp(&b.event));
        unmet.extend(others);
    }
    unmet
}

impl Expectation {
    /// The difference between the verdicts and the expectation, if any.
    fn differs(&self, verdicts: &[Verdict]) -> Option<String> {
        let mine = |verdict: &&Verdict| self.gate.as_ref().is_none_or(|gate| verdict.gate == *gate);
        let decision = verdicts.iter().find(mine).map_or(Decision::Allow, |verdict| verdict.decision);
        (decision != self.decision).then(|| format!("expected: {self}, but found: {}", told(verdicts)))
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decision = match self.decision {
            Decision::Allow => "allow",
            Decision::Warn => "warn",
            Decision::Block => "block",
        };
        match &self.gate {
            Some(gate) => write!(out, "{decision} {gate}"),
            None => out.write_str(decision),
        }
    }
}

fn told(verdicts: &[Verdict]) -> String {
    if verdicts.is_empty() {
        return "nothing".to_owned();
    }
    let each = verdicts.iter().map(|verdict| format!("{} {}", verdict.word(), verdict.source()));
    each.collect::<Vec<_>>().join(", ")
}
