//! Compares two policies over the same run.

use super::test::{Found, Tested};

/// An event with different results.
#[derive(Debug)]
pub struct Difference<'a> {
    /// The event's index in the run.
    pub place: usize,
    /// The result of this policy.
    pub this: Option<&'a Found>,
    /// The result of the other policy.
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
        (said(this) != said(other)).then_some(Difference { place, this, other })
    });
    differences.collect()
}

/// Whether it was judged, and the decision, gate and rule of each verdict.
type Said<'a> = (bool, Vec<(&'static str, &'a str, Option<&'a str>)>);

fn said(found: Option<&Found>) -> Said<'_> {
    let Some(found) = found else { return (false, Vec::new()) };
    let verdicts = &found.judgement.verdicts;
    let each = verdicts.iter().map(|one| (one.word(), one.gate.as_str(), one.rule.as_deref()));
    (found.not_judged, each.collect())
}
