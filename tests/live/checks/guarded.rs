//! The gates that are off by default decided as they must, and the model read why a call was refused.

use serde_json::Value;

use super::super::ledger::Ledger;
use super::super::moves::Move;
use super::super::record::{Record, text};
use super::super::scenarios::Guarded;
use super::super::version::Generation;
use super::differ;

const GATES: [&str; 4] = ["edit-collision", "history-rewrite", "add-everything", "budget"];

/// How the reason of a block begins.
const BLOCKED: &str = "Blocked: ";

/// Whether a verdict is by one of these gates.
pub fn is_by_gate(entry: &Value) -> bool {
    entry["summary"].as_str().is_some_and(|gate| GATES.contains(&gate))
}

pub fn differences(gates: &Guarded, generation: Generation, ledger: &Ledger, record: &Record) -> Vec<String> {
    let told = record.of(&["verdict"]).filter(|entry| is_by_gate(entry));
    let told = told.map(|entry| (text(entry, "decision"), text(entry, "summary")));
    let expected = (gates.verdicts)(generation).into_iter();
    let expected = expected.map(|(decision, gate)| (decision.to_owned(), gate.to_owned()));
    let mut found = differ("replay, verdicts of the gates", expected, told);
    let entries = ledger.entries();
    let read = (gates.read)(generation);
    for (part, piece, reason) in &read {
        let is_it = |input: &Value| input.to_string().contains(piece);
        let mut calls = entries.iter().filter(|entry| {
            entry.part == *part && matches!(&entry.done, Move::Use { input, .. } if is_it(input))
        });
        let outcome = calls.next().and_then(|entry| ledger.outcome(&entry.id));
        let is_read = outcome.as_ref().is_some_and(|read| read.failed && read.text.contains(reason));
        if !is_read {
            found.push(format!("{part}: {piece}: the model read {:?}", outcome.map(|read| read.text)));
        }
    }
    let failed = entries.iter().filter(|entry| {
        let by_tool = matches!(&entry.done, Move::Use { tool: "Bash" | "Edit" | "Read" | "Write", .. });
        // The last message of a teammate in a pane has no result.
        ledger
            .outcome(&entry.id)
            .map_or(by_tool, |read| read.failed && (by_tool || read.text.contains(BLOCKED)))
    });
    let failed: Vec<String> = failed.map(|entry| format!("{}: {:?}", entry.part, entry.done)).collect();
    if failed.len() != read.len() {
        found.push(format!("{} calls should have failed, and these did: {failed:#?}", read.len()));
    }
    found
}
