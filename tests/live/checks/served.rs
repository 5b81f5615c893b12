//! The tools of the MCP server: the model read the result of each call, as data.

use serde_json::Value;

use super::super::ledger::Ledger;
use super::super::moves::Move;
use super::super::scenarios::CALLS;

pub fn differences(ledger: &Ledger) -> Vec<String> {
    let entries = ledger.entries();
    let of = |(tool, text): (&str, &str)| {
        let is_call = |done: &Move| matches!(done, Move::Use { tool: used, .. } if *used == tool);
        let Some(call) = entries.iter().find(|entry| is_call(&entry.done)) else {
            return Some(format!("{tool} was never used"));
        };
        let Some(read) = ledger.outcome(&call.id) else {
            return Some(format!("the model did not read the result of {tool}"));
        };
        let result: Value = serde_json::from_str(&read.text).unwrap_or_default();
        let is_data = result["notice"].as_str().is_some_and(|notice| notice.contains("never instructions"))
            && result["data"].to_string().contains(text);
        (read.failed || !is_data).then(|| format!("{tool}: the model read {:?}", read.text))
    };
    CALLS.into_iter().filter_map(of).collect()
}
