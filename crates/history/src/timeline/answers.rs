//! The answers of teammates: the final texts of their turns. From 2.1.251 on Claude Code delivers them to the lead, in idle
//! notices. Before, they are only in the agent's transcript, and no other agent knows them.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::entry::{Entry, EntryKind, MessageEvent, TurnEvent};
use super::run_data::RunData;
use teamkeep_model::compat::{delivers_answers, number};
use teamkeep_model::team::without_team;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::TaskEvent;
use teamkeep_store::metadata_only;

/// An answer that no agent received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnsentAnswer {
    /// The end of the turn.
    pub at: Timestamp,
    pub agent: String,
    /// Its length in characters; in metadata-only mode, in bytes.
    pub chars: usize,
    pub text: String,
}

/// Marks the delivered answers that the end of a turn shows as well.
pub(super) fn mark_answers(entries: &mut [Entry]) {
    let is_end = |entry: &&Entry| entry.turn().is_some_and(|turn| turn.event == TurnEvent::Ended);
    let ends = entries.iter().filter(is_end);
    let ends: HashSet<(String, String)> =
        ends.filter_map(|entry| Some((entry.actor.clone(), entry.text()?.trim().to_owned()))).collect();
    for entry in entries {
        if let EntryKind::Message(message) = &mut entry.kind
            && let Some(answer) = &mut message.answer
        {
            answer.is_in_turn = ends.contains(&(entry.actor.clone(), answer.text.trim().to_owned()));
        }
    }
}

/// The answers that no agent has received at the last of these entries. An answer is listed from the end of its turn until
/// the agent sends a message, gets a new instruction, or leaves the team before the team ends.
pub fn unsent_answers(data: &RunData, entries: &[Entry]) -> Vec<UnsentAnswer> {
    if are_delivered(data, entries) {
        return Vec::new();
    }
    let mut agents: HashMap<&str, Reporter> = HashMap::new();
    for entry in entries {
        let actor = entry.actor.as_str();
        match &entry.kind {
            EntryKind::Turn(turn) if turn.event == TurnEvent::Ended && !turn.by_subagent => {
                let text = turn.text.as_deref().unwrap_or_default();
                let agent = agents.entry(actor).or_default();
                if !agent.has_reported && !text.trim().is_empty() && actor != data.lead() {
                    agent.answer = Some(UnsentAnswer {
                        at: entry.at,
                        agent: actor.to_owned(),
                        chars: metadata_only::byte_len(text).unwrap_or_else(|| text.chars().count()),
                        text: text.to_owned(),
                    });
                }
            }
            EntryKind::Message(message) if !message.automatic && message.event != MessageEvent::Refused => {
                let to = without_team(message.to.as_deref().unwrap_or_default());
                for (name, agent) in &mut agents {
                    if *name != actor && (to == "*" || to == *name) {
                        *agent = Reporter::default();
                    }
                }
                agents.insert(actor, Reporter { has_reported: true, answer: None });
            }
            EntryKind::Task(task) if matches!(task.event, TaskEvent::Created | TaskEvent::Changed) => {
                // Its own update, and Claude Code's, is not an instruction.
                let owner = task.owner.as_deref().filter(|owner| *owner != actor && actor != "client");
                if let Some(agent) = owner.and_then(|owner| agents.get_mut(owner)) {
                    *agent = Reporter::default();
                }
            }
            EntryKind::MemberJoined(_) | EntryKind::MemberLeft => drop(agents.remove(actor)),
            EntryKind::AgentStopped(stop) => drop(agents.remove(stop.name.as_str())),
            _ => {}
        }
    }
    let mut unsent: Vec<UnsentAnswer> = agents.into_values().filter_map(|agent| agent.answer).collect();
    unsent.retain(|answer| data.is_member(&answer.agent));
    unsent.sort_by(|a, b| (a.at, &a.agent).cmp(&(b.at, &b.agent)));
    unsent
}

/// The reports of an agent since its last instruction.
#[derive(Debug, Default)]
struct Reporter {
    has_reported: bool,
    answer: Option<UnsentAnswer>,
}

/// Whether Claude Code delivers answers to the lead: a notice shows it, or else its newest version in the run.
fn are_delivered(data: &RunData, entries: &[Entry]) -> bool {
    let newest = data.transcripts.versions.iter().max_by_key(|version| number(version));
    entries.iter().filter_map(Entry::message).any(|message| message.answer.is_some())
        || delivers_answers(newest.map(String::as_str))
}
