//! Merges messages: the same one is seen by the sender's hooks, in the recipient's inbox, and in the transcripts of
//! both.

use super::LoadedEvent;
use super::entry::{Entry, Source};
use super::message_matcher::{MessageCandidate, MessageCopy, MessageMatcher, UNKNOWN_AGENT};
use super::run_data::{ClockMap, RunData, prompts, spawns};
use super::snapshots::owner_of;
use super::transcripts::{ToolUse, agents};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use teamkeep_model::event::ActorKind;
use teamkeep_model::payload::Message;
use teamkeep_model::team::{FileFacts, Notice, TeamFile, TeamPath, inbox_owner, reached, without_reference};
use teamkeep_model::time::Timestamp;
use teamkeep_model::{Tool, time};
use teamkeep_policy::Decision;
use teamkeep_store::archive::Archive;

pub(super) fn messages(data: &RunData, when: &ClockMap) -> Vec<Entry> {
    let mut drafts = MessageMatcher::default();
    let names = names(data);
    sent(data, when, &names).into_iter().for_each(|draft| drafts.push(draft));
    let snapshots = &data.snapshots;
    let name = |id| named(&names, id);
    let in_inboxes = snapshots.copies.iter().map(|copy| {
        let entry = &copy.entry;
        let sent_at = entry.timestamp.as_deref().and_then(time::parse).map(|time| when.to_local(time));
        MessageCopy {
            recipient: &copy.inbox,
            from: name(entry.from.as_deref().unwrap_or(UNKNOWN_AGENT)),
            summary: entry.summary.as_deref(),
            text: &entry.text,
            id: entry.message_id.as_deref(),
            at: sent_at.filter(|at| *at <= copy.seen_at).unwrap_or(copy.seen_at),
            source: Source::Inbox,
        }
    });
    let in_transcripts = data.transcripts.delivered.iter().map(|delivered| MessageCopy {
        recipient: &delivered.transcript.by,
        from: name(&delivered.message.from),
        summary: delivered.message.summary.as_deref(),
        text: &delivered.message.text,
        id: None,
        at: when.to_local_or_end(delivered.at),
        source: Source::Transcript,
    });
    // A spawned agent receives its prompt as a message. The timeline has it as its joining.
    let prompts: HashSet<(String, &str)> = prompts(snapshots, &data.events).collect();
    let prompted: HashSet<&str> = prompts.iter().map(|(_, prompt)| *prompt).collect();
    for copy in in_inboxes.chain(in_transcripts) {
        let copy = &copy;
        let text = copy.text.trim();
        let is_its =
            || copy.recipient == UNKNOWN_AGENT || prompts.contains(&(copy.recipient.to_owned(), text));
        if prompted.contains(text) && is_its() {
            continue;
        }
        // A message with the text of a notice is only a message.
        let from_words = || Notice::worded(copy.text).filter(|_| copy.source == Source::Transcript);
        let notice = Notice::read(copy.text).filter(|notice| is_about_sender(notice, copy.from));
        let notice = notice.or_else(from_words);
        // If the sender's transcript is recorded, it has all that was sent.
        let is_known = copy.source == Source::Transcript
            && data.transcripts.all.iter().any(|transcript| transcript.by == copy.from);
        let is_known_message = drafts.add_copy(copy, notice.as_ref())
            || drafts.add_quoted(copy)
            || drafts.has_request(copy, notice.as_ref())
            || (is_known && drafts.has_repeated(copy))
            || drafts.add_to_blocked(copy, notice.as_ref());
        if !is_known_message {
            drafts.push(MessageCandidate::from_copy(copy, notice));
        }
    }
    drafts.finish()
}

fn sent(data: &RunData, when: &ClockMap, names: &HashMap<String, String>) -> Vec<MessageCandidate> {
    let uses = &data.transcripts.uses;
    let blocked = blocked(data);
    let mut drafts = Vec::new();
    let mut hooked = HashSet::new();
    for call in data.tool_calls(Tool::SendMessage) {
        let Some(first) = call.first() else { continue };
        let latest = call.after.unwrap_or(first);
        let Some(message) = Message::of(latest.tool_input(), latest.tool_response()) else {
            continue;
        };
        let used = call.id.and_then(|id| uses.get(id));
        hooked.extend(call.id);
        let from = call.who().map(str::to_owned).or_else(|| used.and_then(caller));
        let mut draft = MessageCandidate::from_tool_call(first.at, from, message, Source::Hook);
        draft.id = latest.tool_response().get("msg_id").and_then(Value::as_str).map(str::to_owned);
        draft.message.unconfirmed = call.after.is_none();
        draft.message.signed_as = call.after.and_then(|after| signature(after, data));
        if let Some(used) = used {
            draft.add_source(Source::Transcript);
            draft.message.unconfirmed &= used.result.is_none();
        }
        let response = latest.tool_response();
        let failed = response.get("success").and_then(Value::as_bool) == Some(false);
        let answer = || response.get("message").and_then(Value::as_str).unwrap_or_default();
        let refusal =
            if call.after.is_none() { used.and_then(ToolUse::failure) } else { failed.then(answer) };
        // The policy's own reason is better than Claude Code's message about a hook.
        let judged = call.before.filter(|_| draft.message.unconfirmed || refusal.is_some());
        let judged = judged.and_then(|before| Some((before, *blocked.get(before.id())?)));
        draft.message.blocked_event = judged.map(|(before, _)| before.id().to_owned());
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
            let at = when.to_local_or_end(used.at);
            let mut draft = MessageCandidate::from_tool_call(at, caller(used), message, Source::Transcript);
            draft.message.unconfirmed = used.result.is_none();
            draft.refuse(used.failure());
            drafts.push(draft);
        }
    }
    let lead = data.lead();
    let members = || data.members.iter().map(String::as_str).chain([lead]);
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
    drafts.sort_by_key(|one| one.at);
    drafts
}

/// The teammate that Claude Code names as the sender of its subagent's message (2.1.177). 2.1.328 names the subagent.
fn signature(after: &LoadedEvent, data: &RunData) -> Option<String> {
    let sender = after.tool_response().pointer("/routing/sender").and_then(Value::as_str)?;
    let is_other = after.actor().kind == ActorKind::Subagent && after.who() != Some(sender);
    (is_other && data.is_member(sender)).then(|| sender.to_owned())
}

/// The agents' names by their ids: an agent without a name in the team is known by its id, and any agent can be
/// addressed by id (2.1.328).
pub(super) fn names(data: &RunData) -> HashMap<String, String> {
    let spawned = spawns(&data.events).filter_map(|(_, spawn)| Some((spawn.agent_id?, spawn.name)));
    let seen = agents(&data.events).into_iter().map(|(id, name)| (id.to_owned(), name.to_owned()));
    spawned.chain(seen).collect()
}

fn named<'a>(names: &'a HashMap<String, String>, id: &'a str) -> &'a str {
    names.get(id).map_or(id, String::as_str)
}

fn caller(used: &ToolUse) -> Option<String> {
    (used.transcript.by != UNKNOWN_AGENT).then(|| used.transcript.by.clone())
}

fn blocked(data: &RunData) -> HashMap<&str, &str> {
    let verdicts = data.events.iter().filter_map(|event| event.verdict.as_ref());
    let blocks = verdicts.filter(|recorded| recorded.verdict.decision == Decision::Block);
    blocks.map(|recorded| (recorded.of.as_str(), recorded.verdict.reason.as_str())).collect()
}

/// Whether a notice is about its sender: otherwise it is not Claude Code's. Answers carry the name of the agent that
/// was asked.
fn is_about_sender(notice: &Notice, sender: &str) -> bool {
    let is_sender = |name: &str| sender == "system" || name.split('@').next() == Some(sender);
    let answers = matches!(notice.kind.as_str(), "shutdown_approved" | "shutdown_rejected");
    let asked = notice.request.as_deref().and_then(|id| id.rsplit_once('@')).map(|(_, name)| name);
    notice.from.as_deref().is_none_or(is_sender) && asked.filter(|_| answers).is_none_or(is_sender)
}

// How many messages were unread in each inbox at a moment, from the snapshots of the inboxes.

#[derive(Debug)]
pub struct UnreadCounts {
    archive: Archive,
    run: String,
    states: Vec<InboxState>,
    /// The number of unread messages in each content that was needed so far; `None` if it cannot be read.
    counts: RefCell<HashMap<String, Option<usize>>>,
}

/// An inbox since a time. Its content is named by its hash; `None` if the file was gone.
#[derive(Debug)]
struct InboxState {
    at: Timestamp,
    owner: String,
    object: Option<String>,
}

impl UnreadCounts {
    pub fn of(archive: &Archive, data: &RunData) -> UnreadCounts {
        let owner = |path: &str| match TeamPath::of(path) {
            TeamPath::Inbox(file) if file.ends_with(".json") => {
                Some(owner_of(inbox_owner(file), &data.members).to_owned())
            }
            _ => None,
        };
        let mut states = Vec::new();
        for snapshot in &data.journal.snapshots {
            let at = snapshot.at;
            let changed = snapshot.changed.iter().filter(|change| !change.torn && change.object.is_some());
            let changed = changed.map(|change| (&change.path, change.object.clone()));
            let gone = snapshot.gone.iter().map(|path| (path, None));
            let found = changed.chain(gone).filter_map(|(path, object)| Some((owner(path)?, object)));
            states.extend(found.map(|(owner, object)| InboxState { at, owner, object }));
        }
        UnreadCounts {
            archive: archive.clone(),
            run: data.run.run.clone(),
            states,
            counts: RefCell::default(),
        }
    }

    /// The number of unread messages of each agent at that moment, where there were any.
    pub fn unread_at(&self, at: Timestamp) -> BTreeMap<String, usize> {
        let count = self.states.partition_point(|state| state.at <= at);
        let mut unread = BTreeMap::new();
        let mut is_known = HashSet::new();
        for state in self.states[..count].iter().rev() {
            if is_known.contains(state.owner.as_str()) {
                continue;
            }
            let waiting = state.object.as_deref().map_or(Some(0), |object| self.count(&state.owner, object));
            // A content that cannot be read does not replace the one before.
            let Some(waiting) = waiting else { continue };
            is_known.insert(state.owner.as_str());
            if waiting > 0 {
                unread.insert(state.owner.clone(), waiting);
            }
        }
        unread
    }

    fn count(&self, owner: &str, object: &str) -> Option<usize> {
        if let Some(known) = self.counts.borrow().get(object) {
            return *known;
        }
        let bytes = self.archive.content(&self.run, object).ok();
        let parsed = bytes.and_then(|bytes| TeamFile::Inbox(owner).parse(&bytes));
        let waiting = parsed.and_then(|content| match content {
            FileFacts::Inbox(mail) => Some(mail.unread),
            _ => None,
        });
        self.counts.borrow_mut().insert(object.to_owned(), waiting);
        waiting
    }
}
