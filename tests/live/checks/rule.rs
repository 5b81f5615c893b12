//! What a rule forbids was refused before it ran, and the model read why; everything else ran.

use super::super::ledger::Ledger;
use super::super::moves::Move;
use super::super::scenarios::Rule;

pub fn differences(rule: &Rule, ledger: &Ledger) -> Vec<String> {
    let (mut found, mut seen) = (Vec::new(), 0);
    for entry in ledger.entries() {
        let Move::Use { tool, input } = &entry.done else { continue };
        if *tool != rule.tool {
            continue;
        }
        seen += 1;
        let is_forbidden = input.to_string().contains(rule.forbidden);
        let read = ledger.outcome(&entry.id);
        let refused =
            read.as_ref().is_some_and(|outcome| outcome.failed && outcome.text.contains(rule.reason));
        if refused != is_forbidden || read.is_none() {
            let text = read.map(|outcome| outcome.text);
            found.push(format!(
                "{}: {tool} {input}: refused is {refused}, the model read {text:?}",
                entry.part
            ));
        }
    }
    if seen == 0 {
        found.push(format!("{} was never used", rule.tool));
    }
    found
}

/// How often the rule refused something.
pub fn refusals(rule: &Rule, ledger: &Ledger) -> usize {
    let is_refused =
        |done: &Move| matches!(done, Move::Use { input, .. } if input.to_string().contains(rule.forbidden));
    ledger.entries().iter().filter(|entry| is_refused(&entry.done)).count()
}
