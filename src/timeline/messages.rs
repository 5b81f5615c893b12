//! Merges messages: the same one is seen by the sender's hooks, in the recipient's inbox, and in the transcripts of
//! both.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::LoadedEvent;
use super::clocks::ClockMap;
use super::entry::{Entry, Source};
use super::message_candidate::{Copy, MessageCandidate, UNKNOWN_AGENT};
use super::message_matcher::MessageMatcher;
use super::run_data::{RunData, prompts, spawns};
use super::transcript::ToolUse;
use super::transcript_owner::agents;
use super::transcripts::lead;
use crate::event::ActorKind;
use crate::model::Tool;
use crate::payload::Message;
use crate::policy::Decision;
use crate::team::{Notice, reached, without_reference};

/// Returns each message once.
pub fn messages(material: &RunData, when: &ClockMap) -> Vec<Entry> {
    let mut drafts = MessageMatcher::default();
    let names = names(material);
    sent(material, when, &names).into_iter().for_each(|draft| drafts.push(draft));
    let history = &material.history;
    let name = |id| named(&names, id);
    let mut copies: Vec<Copy<'_>> = Vec::new();
    for copy in &history.copies {
        let entry = &copy.entry;
        let told = entry.timestamp.as_deref().and_then(|time| when.to_local(time));
        copies.push(Copy {
            recipient: &copy.inbox,
            from: name(entry.from.as_deref().unwrap_or(UNKNOWN_AGENT)),
            summary: entry.summary.as_deref(),
            text: &entry.text,
            id: entry.message_id.as_deref(),
            at: told.filter(|at| *at <= copy.seen_at).unwrap_or_else(|| copy.seen_at.clone()),
            source: Source::Inbox,
        });
    }
    for heard in &material.transcripts.delivered {
        copies.push(Copy {
            recipient: &heard.recipient,
            from: name(&heard.message.from),
            summary: heard.message.summary.as_deref(),
            text: &heard.message.text,
            id: None,
            at: heard.at.as_deref().and_then(|time| when.to_local(time)).unwrap_or_else(|| when.end()),
            source: Source::Transcript,
        });
    }
    // A spawned agent receives its prompt as a message. The timeline has it as its joining.
    let prompts: HashSet<(String, &str)> = prompts(history, &material.events).collect();
    let prompted: HashSet<&str> = prompts.iter().map(|(_, prompt)| *prompt).collect();
    for copy in &copies {
        let text = copy.text.trim();
        let is_its =
            || copy.recipient == UNKNOWN_AGENT || prompts.contains(&(copy.recipient.to_owned(), text));
        if prompted.contains(text) && is_its() {
            continue;
        }
        // A message with the text of a notice is only a message.
        let worded = || Notice::worded(copy.text).filter(|_| copy.source == Source::Transcript);
        let notice = Notice::read(copy.text).filter(|notice| speaks_for_itself(notice, copy.from));
        let notice = notice.or_else(worded);
        // If the sender's transcript is recorded, it has all that was sent.
        let is_known = copy.source == Source::Transcript
            && material.transcripts.all.iter().any(|transcript| transcript.by == copy.from);
        let is_told = drafts.take(copy, notice.as_ref())
            || drafts.take_quoted(copy)
            || drafts.has_heard(copy, notice.as_ref())
            || (is_known && drafts.has_taken(copy))
            || drafts.take_deferred(copy, notice.as_ref());
        if !is_told {
            drafts.push(MessageCandidate::from_sighting(copy, notice));
        }
    }
    drafts.finish()
}

/// The messages in the senders' hooks and transcripts.
fn sent(material: &RunData, when: &ClockMap, names: &HashMap<String, String>) -> Vec<MessageCandidate> {
    let uses = &material.transcripts.uses;
    let held_back = held_back(material);
    let mut drafts = Vec::new();
    let mut hooked = HashSet::new();
    for call in material.tool_calls(Tool::SendMessage) {
        let Some(first) = call.first() else { continue };
        let told = call.after.unwrap_or(first);
        let Some(message) = Message::of(told.payload.tool_input(), told.payload.tool_response()) else {
            continue;
        };
        let used = call.id.and_then(|id| uses.get(id));
        hooked.extend(call.id);
        let from = call.who().map(str::to_owned).or_else(|| used.and_then(user));
        let mut draft = MessageCandidate::from_tool_call(first.at.clone(), from, message, Source::Hook);
        draft.id = told.payload.tool_response().get("msg_id").and_then(Value::as_str).map(str::to_owned);
        draft.message.unconfirmed = call.after.is_none();
        draft.message.signed_as = call.after.and_then(|after| signature(after, material));
        if let Some(used) = used {
            draft.add_source(Source::Transcript);
            draft.message.unconfirmed &= used.result.is_none();
        }
        let response = told.payload.tool_response();
        let failed = response.get("success").and_then(Value::as_bool) == Some(false);
        let answer = || response.get("message").and_then(Value::as_str).unwrap_or_default();
        let refusal =
            if call.after.is_none() { used.and_then(ToolUse::failure) } else { failed.then(answer) };
        // The policy's own reason is better than Claude Code's message about a hook.
        let judged = call.before.filter(|_| draft.message.unconfirmed || refusal.is_some());
        let judged = judged.and_then(|before| Some((before, *held_back.get(before.id.as_str())?)));
        draft.message.judged = judged.map(|(before, _)| before.id.clone());
        match (judged, refusal) {
            (Some((_, reason)), None) => draft.defer(reason),
            _ => draft.refuse(judged.map(|(_, reason)| reason).or(refusal)),
        }
        drafts.push(draft);
    }
    for (id, used) in uses {
        if Tool::named(&used.tool) != Tool::SendMessage || hooked.contains(id.as_str()) {
            continue;
        }
        if let Some(message) = Message::of(&used.input, &Value::Null) {
            let at = used.at.as_deref().and_then(|time| when.to_local(time)).unwrap_or_else(|| when.end());
            let mut draft = MessageCandidate::from_tool_call(at, user(used), message, Source::Transcript);
            draft.message.unconfirmed = used.result.is_none();
            draft.refuse(used.failure());
            drafts.push(draft);
        }
    }
    let lead = lead(&material.run);
    let members = || material.members.iter().map(String::as_str).chain([lead]);
    for draft in &mut drafts {
        if let Some(to) = &mut draft.message.to {
            let name = named(names, to);
            // A name with a team (`bob@team`) is not changed.
            let member = reached(without_reference(name), members).filter(|_| !name.contains(['*', '@']));
            *to = member.unwrap_or(name).to_owned();
        }
        // 2.1.47 answers a request without a recipient: it is the agent that asked.
        draft.message.to.get_or_insert_with(|| lead.to_owned());
    }
    drafts.sort_by(|a, b| a.at.cmp(&b.at));
    drafts
}

/// The teammate that Claude Code names as the sender of its subagent's message (2.1.177). 2.1.328 names the subagent.
fn signature(after: &LoadedEvent, material: &RunData) -> Option<String> {
    let sender = after.payload.tool_response().pointer("/routing/sender").and_then(Value::as_str)?;
    let is_other = after.actor.kind == ActorKind::Subagent && after.who() != Some(sender);
    (is_other && material.is_member(sender)).then(|| sender.to_owned())
}

/// The agents' names by their ids: an agent without a name in the team is known by its id, and any agent can be
/// addressed by id (2.1.328).
fn names(material: &RunData) -> HashMap<String, String> {
    let spawned = spawns(&material.events).filter_map(|(_, spawn)| Some((spawn.agent_id?, spawn.name)));
    let told = agents(&material.events).into_iter().map(|(id, name)| (id.to_owned(), name.to_owned()));
    spawned.chain(told).collect()
}

fn named<'a>(names: &'a HashMap<String, String>, id: &'a str) -> &'a str {
    names.get(id).map_or(id, String::as_str)
}

/// The caller of a tool, if the owner of its transcript is known.
fn user(used: &ToolUse) -> Option<String> {
    (used.by != UNKNOWN_AGENT).then(|| used.by.clone())
}

/// The blocked events, with the reason.
fn held_back(material: &RunData) -> HashMap<&str, &str> {
    let rulings = material.events.iter().filter_map(|event| event.ruling.as_ref());
    let blocks = rulings.filter(|ruling| ruling.verdict.decision == Decision::Block);
    blocks.map(|ruling| (ruling.of.as_str(), ruling.verdict.reason.as_str())).collect()
}

/// Whether a notice is about its sender: otherwise it is not Claude Code's. Answers carry the name of the agent that
/// was asked.
fn speaks_for_itself(notice: &Notice, sender: &str) -> bool {
    let is_sender = |name: &str| sender == "system" || name.split('@').next() == Some(sender);
    let answers = matches!(notice.kind.as_str(), "shutdown_approved" | "shutdown_rejected");
    let asked = notice.request.as_deref().and_then(|id| id.rsplit_once('@')).map(|(_, name)| name);
    notice.from.as_deref().is_none_or(is_sender) && asked.filter(|_| answers).is_none_or(is_sender)
}
