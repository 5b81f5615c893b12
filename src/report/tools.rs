//! Which tools were used, and by whom.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::case::Case;
use crate::payload::Kind as Event;

/// The use of tools in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// By who used them, the one with the most first.
    pub by_agent: Vec<ToolUser>,
    /// All of them together.
    pub total: BTreeMap<String, usize>,
}

/// What somebody used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUser {
    /// Who.
    pub agent: String,
    /// How often each tool.
    pub tools: BTreeMap<String, usize>,
    /// How many of these uses failed or were refused; `None` where no transcript tells.
    pub failed: Option<usize>,
    /// Whether these are all: a transcript is on record. Else they are those that the hooks were called for.
    pub complete: bool,
}

/// Counts each use once, whether a transcript or a hook tells of it.
pub fn tools(case: &Case<'_>) -> Tools {
    let voices = &case.material.voices;
    let mut users: BTreeMap<&str, (BTreeMap<String, usize>, usize)> = BTreeMap::new();
    let mut total: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = |who, tool: &str, failed: bool| {
        let (tools, failures) = users.entry(who).or_default();
        *tools.entry(tool.to_owned()).or_default() += 1;
        *failures += usize::from(failed);
        *total.entry(tool.to_owned()).or_default() += 1;
    };
    for used in voices.uses.values() {
        count(&used.by, &used.tool, used.failure().is_some());
    }
    let mut known: HashSet<&str> = voices.uses.keys().map(String::as_str).collect();
    for event in &case.material.events {
        let (Event::PreToolUse | Event::PostToolUse, Some(tool)) = (event.kind, event.payload.tool()) else {
            continue;
        };
        // Without an id each call is counted by the hook before it.
        let new = match event.payload.tool_use_id() {
            Some(id) => known.insert(id),
            None => event.kind == Event::PreToolUse,
        };
        if new {
            count(event.shown(&case.material.run), tool, false);
        }
    }
    let mut by_agent: Vec<ToolUser> = users
        .into_iter()
        .map(|(agent, (tools, failed))| {
            let complete = case.is_heard(agent);
            ToolUser { agent: agent.to_owned(), tools, failed: complete.then_some(failed), complete }
        })
        .collect();
    by_agent.sort_by_key(|user| std::cmp::Reverse(user.tools.values().sum::<usize>()));
    Tools { by_agent, total }
}
