//! The tool calls of each agent.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use teamkeep_model::payload::EventKind as Event;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    pub by_agent: Vec<ToolUser>,
    pub total: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUser {
    pub agent: String,
    pub tools: BTreeMap<String, usize>,
    /// Number of failed or denied calls; `None` without a transcript.
    pub failed: Option<usize>,
    /// Whether these are all calls, from a transcript; otherwise they are those with a hook call.
    pub complete: bool,
}

pub(super) fn tools(case: &ReportInput<'_>) -> Tools {
    let transcripts = &case.data.transcripts;
    let mut users: BTreeMap<&str, (BTreeMap<String, usize>, usize)> = BTreeMap::new();
    let mut total: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = |who, tool: &str, failed: bool| {
        let (tools, failures) = users.entry(who).or_default();
        *tools.entry(tool.to_owned()).or_default() += 1;
        *failures += usize::from(failed);
        *total.entry(tool.to_owned()).or_default() += 1;
    };
    for used in transcripts.uses.values() {
        count(&used.transcript.by, &used.tool, used.failure().is_some());
    }
    let mut known: HashSet<&str> = transcripts.uses.keys().map(String::as_str).collect();
    for event in &case.data.events {
        let (Event::PreToolUse | Event::PostToolUse, Some(tool)) = (event.kind, event.tool_name()) else {
            continue;
        };
        // A call without an id is counted at its PreToolUse.
        let new = match event.tool_use_id() {
            Some(id) => known.insert(id),
            None => event.kind == Event::PreToolUse,
        };
        if new {
            count(event.shown(&case.data.run), tool, false);
        }
    }
    let mut by_agent: Vec<ToolUser> = users
        .into_iter()
        .map(|(agent, (tools, failed))| {
            let complete = case.has_transcript(agent);
            ToolUser { agent: agent.to_owned(), tools, failed: complete.then_some(failed), complete }
        })
        .collect();
    by_agent.sort_by_key(|user| std::cmp::Reverse(user.tools.values().sum::<usize>()));
    Tools { by_agent, total }
}
