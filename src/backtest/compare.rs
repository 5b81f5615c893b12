//! Compares the verdicts of a policy with those of another one, or with a list of expected verdicts.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::test::{Found, Tested};
use teamkeep_core::policy::{Decision, Verdict};

#[derive(Debug)]
pub struct Difference<'a> {
    /// The event's index in the run.
    pub place: usize,
    pub this: Option<&'a Found>,
    pub other: Option<&'a Found>,
}

/// The events for which the decision, the gate or the rule differs. Texts are not compared.
pub fn compare<'a>(this: &'a Tested, other: &'a Tested) -> Vec<Difference<'a>> {
    let mut places: Vec<usize> = this.found.iter().chain(&other.found).map(|found| found.place).collect();
    places.sort_unstable();
    places.dedup();
    let at = |tested: &'a Tested, place: usize| {
        tested.found.binary_search_by_key(&place, |found| found.place).ok().map(|at| &tested.found[at])
    };
    let differences = places.into_iter().filter_map(|place| {
        let (this, other) = (at(this, place), at(other, place));
        (compared(this) != compared(other)).then_some(Difference { place, this, other })
    });
    differences.collect()
}

type Compared<'a> = (bool, Vec<(&'a str, &'a str, Option<&'a str>)>);

/// Whether it was judged, and the decision, gate and rule of each verdict.
fn compared(found: Option<&Found>) -> Compared<'_> {
    let Some(found) = found else { return (false, Vec::new()) };
    let verdicts = &found.judgement.verdicts;
    let each = verdicts.iter().map(|one| (one.word(), one.gate.as_str(), one.rule.as_deref()));
    (found.not_judged, each.collect())
}

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
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
        let read = |(index, value)| {
            serde_json::from_value(value).map_err(|error| format!("expectation {}: {error}", index + 1))
        };
        return all.into_iter().enumerate().map(read).collect();
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| format!("line {}: {error}", index + 1))
    };
    lines.map(read).collect()
}

/// Compares the verdicts with the expectations. `found` is by event; `exists` tests whether an event exists.
pub fn check(
    expected: &[Expectation],
    found: &HashMap<String, &Found>,
    exists: impl Fn(&str) -> bool,
) -> Vec<Unmet> {
    let unmet = expected.iter().filter_map(|expectation| {
        let event = &expectation.event;
        let found = found.get(event).map(|found| found.judgement.verdicts.as_slice());
        let why = match exists(event) {
            true => expectation.differs(found.unwrap_or_default()),
            false => Some("no such event".to_owned()),
        };
        why.map(|why| Unmet { event: event.clone(), why })
    });
    unmet.collect()
}

/// The events with a verdict for which none is expected.
pub fn unexpected(expected: &[Expectation], found: &HashMap<String, &Found>) -> Vec<Unmet> {
    let is_expected = |event: &str| expected.iter().any(|expectation| expectation.event == event);
    let others = found.iter().map(|(event, found)| (event, found.judgement.verdicts.as_slice()));
    let others = others.filter(|(event, verdicts)| !verdicts.is_empty() && !is_expected(event));
    let mut others: Vec<Unmet> = others
        .map(|(event, verdicts)| {
            let why = format!("expected no verdict, but found: {}", list(verdicts));
            Unmet { event: event.clone(), why }
        })
        .collect();
    others.sort_by(|a, b| a.event.cmp(&b.event));
    others
}

impl Expectation {
    /// The difference between the verdicts and the expectation, if any.
    fn differs(&self, verdicts: &[Verdict]) -> Option<String> {
        let of_gate = |verdict: &&Verdict| self.gate.as_ref().is_none_or(|gate| verdict.gate == *gate);
        let decision = verdicts.iter().find(of_gate).map_or(Decision::Allow, |verdict| verdict.decision);
        let expected = match self.decision {
            Decision::Allow => "allow",
            Decision::Warn => "warn",
            Decision::Block => "block",
        };
        let gate = self.gate.as_ref().map(|gate| format!(" {gate}")).unwrap_or_default();
        (decision != self.decision)
            .then(|| format!("expected: {expected}{gate}, but found: {}", list(verdicts)))
    }
}

fn list(verdicts: &[Verdict]) -> String {
    let each = verdicts.iter().map(|verdict| format!("{} {}", verdict.word(), verdict.source()));
    let each: Vec<String> = each.collect();
    if each.is_empty() { "nothing".to_owned() } else { each.join(", ") }
}
