//! Compares the verdicts of a policy with those of another one, or with a list of expected verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde::Deserialize;
use serde_json::Value;

use super::Found;
use teamkeep_model::event::Recorded;
use teamkeep_policy::{Decision, Verdict};

#[derive(Debug)]
pub struct Difference<'a> {
    pub event: &'a Recorded,
    pub this: Option<&'a Found<'a>>,
    pub other: Option<&'a Found<'a>>,
}

/// The events for which the decision, the gate or the rule differs. Texts are not compared.
pub fn compare<'a>(this: &'a [Found<'a>], other: &'a [Found<'a>]) -> Vec<Difference<'a>> {
    let mut pairs: BTreeMap<usize, (Option<&Found<'_>>, Option<&Found<'_>>)> = BTreeMap::new();
    this.iter().for_each(|found| pairs.entry(found.index).or_default().0 = Some(found));
    other.iter().for_each(|found| pairs.entry(found.index).or_default().1 = Some(found));
    let differ = pairs.into_values().filter(|(this, other)| compared(*this) != compared(*other));
    differ
        .filter_map(|(this, other)| Some(Difference { event: this.or(other)?.event, this, other }))
        .collect()
}

type Compared<'a> = (bool, Vec<(&'a str, &'a str, Option<&'a str>)>);

/// Whether it was judged, and the decision, gate and rule of each verdict.
fn compared<'a>(found: Option<&'a Found<'_>>) -> Compared<'a> {
    let Some(found) = found else { return (false, Vec::new()) };
    let verdicts = &found.evaluation.verdicts;
    let each = verdicts.iter().map(|one| (one.word(), one.gate.as_str(), one.rule.as_deref()));
    (found.not_judged, each.collect())
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The event's id or a unique prefix of it; for a recorded-run file, `<file name without .jsonl>:<line>`.
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

/// The verdicts by event.
pub type Verdicts<'a> = BTreeMap<&'a str, &'a [Verdict]>;

/// Compares the verdicts with the expectations.
pub fn check(expected: &[Expectation], verdicts: &Verdicts<'_>) -> Vec<Unmet> {
    let unmet = expected.iter().filter_map(|expectation| {
        let why = match expectation.find(verdicts) {
            Ok(event) => expectation.differs(verdicts[event]),
            Err(why) => Some(why),
        };
        why.map(|why| Unmet { event: expectation.event.clone(), why })
    });
    unmet.collect()
}

/// The events with a verdict for which none is expected.
pub fn unexpected(expected: &[Expectation], verdicts: &Verdicts<'_>) -> Vec<Unmet> {
    let found: BTreeSet<&str> =
        expected.iter().filter_map(|expectation| expectation.find(verdicts).ok()).collect();
    let others = verdicts.iter().filter(|(event, verdicts)| !verdicts.is_empty() && !found.contains(**event));
    let unmet = others.map(|(event, verdicts)| {
        let why = format!("expected no verdict, but found: {}", list(verdicts));
        Unmet { event: (*event).to_owned(), why }
    });
    unmet.collect()
}

impl Expectation {
    /// The ID of the event, or why there is none.
    fn find<'a>(&self, verdicts: &Verdicts<'a>) -> Result<&'a str, String> {
        let prefix = self.event.as_str();
        let following = verdicts.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        let mut matching = following.map(|(event, _)| *event).take_while(|event| event.starts_with(prefix));
        match (matching.next(), matching.next()) {
            (Some(first), other) if first == prefix || (other.is_none() && !prefix.is_empty()) => Ok(first),
            (Some(_), Some(_)) => Err("several events match".to_owned()),
            _ => Err("no such event".to_owned()),
        }
    }

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
    if each.is_empty() { "no verdict".to_owned() } else { each.join(", ") }
}
