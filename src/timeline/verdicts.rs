//! The recorded verdicts of a run.

use std::collections::HashMap;

use super::entry::{Entry, Source};
use super::entry_kind::{EntryKind, VerdictEntry};
use super::events::LoadedEvent;
use super::run_data::RunData;
use crate::policy::{Decision, Verdict};

/// Returns each verdict.
pub fn verdicts(material: &RunData) -> Vec<Entry> {
    let recorded: Vec<(&LoadedEvent, &Verdict, &str)> = material
        .events
        .iter()
        .filter_map(|event| event.ruling.as_ref().map(|ruling| (event, &ruling.verdict, ruling.of.as_str())))
        .collect();
    let callers = callers(material);
    let to_entry = |(place, (event, verdict, of)): (usize, &(&LoadedEvent, &Verdict, &str))| {
        let by = callers.get(of).copied().filter(|_| event.who().is_none());
        let actor = by.unwrap_or_else(|| event.shown(&material.run));
        let blocks = || match verdict.blocks {
            Some(blocks) => blocks as usize,
            None => count_blocks(&recorded[..place], event, verdict),
        };
        let entry = VerdictEntry {
            decision: verdict.decision,
            gate: verdict.source(),
            reason: verdict.reason.clone(),
            agent: event.actor.id.clone(),
            judged: (*of).to_owned(),
            blocks: verdict.escalated.then(blocks),
            paused: verdict.paused,
            repeated: verdict.repeated,
        };
        Entry::new(&event.at, actor, Source::Hook, EntryKind::Verdict(entry))
    };
    recorded.iter().enumerate().map(to_entry).collect()
}

/// The caller of a tool by event id: before 2.1.69 only the transcripts show it.
fn callers(material: &RunData) -> HashMap<&str, &str> {
    let uses = &material.transcripts.uses;
    let used = material
        .events
        .iter()
        .filter_map(|event| Some((event.id.as_str(), uses.get(event.payload.tool_use_id()?)?.by.as_str())));
    used.collect()
}

/// How often the same was blocked before it was allowed, for verdicts of older versions, which do not have the count.
/// Verdicts that a pause allowed in between do not count and do not reset the count.
fn count_blocks(before: &[(&LoadedEvent, &Verdict, &str)], event: &LoadedEvent, verdict: &Verdict) -> usize {
    let same = before.iter().rev().filter(|(other, earlier, _)| {
        other.actor.name == event.actor.name && earlier.gate == verdict.gate && earlier.rule == verdict.rule
    });
    let counted = same.filter(|(_, earlier, _)| earlier.escalated || earlier.decision == Decision::Block);
    let same = counted.skip_while(|(_, earlier, _)| earlier.escalated);
    same.take_while(|(_, earlier, _)| earlier.decision == Decision::Block).count()
}
