//! The recorded verdicts of a run.

use std::collections::HashMap;

use super::entry::{Entry, Kind, Source};
use super::events::LoadedEvent;
use super::run_data::RunData;
use crate::policy::{Decision, Verdict};

/// Returns each verdict.
pub fn rulings(material: &RunData) -> Vec<Entry> {
    let spoken: Vec<(&LoadedEvent, &Verdict, &str)> = material
        .events
        .iter()
        .filter_map(|event| event.ruling.as_ref().map(|ruling| (event, &ruling.verdict, ruling.of.as_str())))
        .collect();
    let user = users(material);
    let tell = |(place, (event, verdict, of)): (usize, &(&LoadedEvent, &Verdict, &str))| {
        let by = user.get(of).copied().filter(|_| event.who().is_none());
        let actor = by.unwrap_or_else(|| event.shown(&material.run));
        let mut entry = Entry::new(&event.at, Kind::Verdict, actor, Source::Hook);
        entry.summary = Some(verdict.source());
        entry.text = Some(verdict.reason.clone());
        entry.agent.clone_from(&event.actor.id);
        entry.decision = Some(verdict.decision);
        entry.of = Some((*of).to_owned());
        entry.paused = verdict.paused;
        entry.repeated = verdict.repeated;
        entry.blocks = verdict.escalated.then(|| match verdict.blocks {
            Some(blocks) => blocks as usize,
            None => blocks(&spoken[..place], event, verdict),
        });
        entry
    };
    spoken.iter().enumerate().map(tell).collect()
}

/// The caller of a tool by event id: before 2.1.69 only the transcripts show it.
fn users(material: &RunData) -> HashMap<&str, &str> {
    let uses = &material.voices.uses;
    let used = material
        .events
        .iter()
        .filter_map(|event| Some((event.id.as_str(), uses.get(event.payload.tool_use_id()?)?.by.as_str())));
    used.collect()
}

/// How often the same was blocked before it was allowed, for verdicts of older versions, which do not have the count.
/// Verdicts that a pause allowed in between do not count and do not reset the count.
fn blocks(before: &[(&LoadedEvent, &Verdict, &str)], event: &LoadedEvent, verdict: &Verdict) -> usize {
    let same = before.iter().rev().filter(|(told, earlier, _)| {
        told.actor.name == event.actor.name && earlier.gate == verdict.gate && earlier.rule == verdict.rule
    });
    let counted = same.filter(|(_, earlier, _)| earlier.escalated || earlier.decision == Decision::Block);
    let same = counted.skip_while(|(_, earlier, _)| earlier.escalated);
    same.take_while(|(_, earlier, _)| earlier.decision == Decision::Block).count()
}
