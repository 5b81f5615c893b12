//! Folds events into the ledger, one after the other. A hook call and a backtest do it in the same way.

use serde_json::Value;

use super::ledger::{PendingToolCall, fits, mark};
use super::{Judged, Ledger, MemberActivity};
use crate::client::compat::is_json_text;
use crate::client::payload::{Kind, Message, MessageKind, Payload, Spawn, TaskUpdate};
use crate::client::team::Notice;
use crate::model::event::{ActorKind, LEAD};
use crate::model::{TaskStatus, Tool};

/// Maximum number of former members.
const MAX_LEFT: usize = 256;
/// Maximum number of tool calls that have not returned. A failed or denied call has no PostToolUse.
const MAX_BEGUN: usize = 256;

impl Ledger {
    /// Adds an event that was not blocked.
    pub fn observe(&mut self, event: &Judged<'_>) {
        let teammate = member(event).filter(|name| *name != LEAD);
        match event.kind {
            Kind::PreToolUse => self.begin_call(event, teammate),
            Kind::PostToolUse => self.end_call(event),
            Kind::SubagentStart | Kind::UserPromptSubmit => {
                // The next prompt is the only sign of an interrupted turn: its spawns never returned.
                if event.kind == Kind::UserPromptSubmit
                    && let Some(name) = caller(event)
                {
                    let own = self.begun.values_mut().filter(|began| began.by.as_deref() == Some(name));
                    own.for_each(|began| began.spawns = None);
                }
                if let Some(name) = teammate {
                    self.begin_turn(name);
                }
            }
            Kind::PostToolUseFailure | Kind::PermissionDenied => {
                self.fail_call(event.payload.tool_use_id().unwrap_or_default());
            }
            Kind::SubagentStop | Kind::Stop => {
                self.learn_background(event.payload.field("background_tasks"));
                self.end_turn(event, teammate);
            }
            Kind::TeammateIdle => {
                let order = self.next();
                if let Some(activity) = idler(event).and_then(|name| self.members.get_mut(name)) {
                    activity.idle = activity.since.replace(order).or(Some(order));
                }
            }
            // In a pane the process ends with its member (2.1.328: no PostToolUse after the approval).
            Kind::SessionEnd => teammate.into_iter().for_each(|name| self.remove_member(name)),
            Kind::TaskCreated | Kind::TaskCompleted => self.tasked = true,
            _ => {}
        }
    }

    /// Records that the recipients of an allowed shutdown request may approve it. Of a request to everyone, only those
    /// that `is_approved` accepts.
    pub fn approve_shutdown(&mut self, event: &Judged<'_>, is_approved: impl Fn(&str) -> bool) {
        let sender = event.actor.name.as_deref();
        let names: Vec<String> = match shutdown_recipient(event).as_deref() {
            Some("*") => {
                let others = self.members.keys().filter(|name| Some(name.as_str()) != sender);
                others.filter(|name| is_approved(name)).cloned().collect()
            }
            Some(to) => vec![self.recipient(to).to_owned()],
            None => Vec::new(),
        };
        let mut begun = event.payload.tool_use_id().and_then(|id| self.begun.get_mut(id));
        for name in names.into_iter().filter(|name| fits(name)) {
            let activity = self.members.entry(name.clone()).or_default();
            if !std::mem::replace(&mut activity.approved_shutdown, true)
                && let Some(began) = &mut begun
            {
                began.frees.push(name);
            }
        }
    }

    fn activity_mut(&mut self, name: &str) -> &mut MemberActivity {
        self.members.entry(name.to_owned()).or_default()
    }

    fn next(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    fn begin_turn(&mut self, name: &str) {
        self.left.remove(name);
        if !self.activity_mut(name).turn {
            self.activity_mut(name).since = Some(self.next());
        }
        let activity = self.activity_mut(name);
        (activity.turn, activity.turned, activity.idle) = (true, true, None);
    }

    /// A call that started in a turn that has ended did not return: it failed or was denied.
    fn end_turn(&mut self, event: &Judged<'_>, teammate: Option<&str>) {
        if let Some(activity) = teammate.and_then(|name| self.members.get_mut(name)) {
            (activity.turn, activity.idle) = (false, None);
        }
        if let Some(name) = member(event) {
            let Ledger { begun, completing, .. } = self;
            begun.retain(|id, began| {
                let open = began.by.as_deref() != Some(name);
                if !open {
                    completing.remove(id);
                }
                open
            });
        }
    }

    fn begin_call(&mut self, event: &Judged<'_>, teammate: Option<&str>) {
        let (payload, tool) = (event.payload, event.payload.tool());
        if let Some(name) = teammate {
            self.begin_turn(name);
            self.names_agents |= payload.agent_id().is_some();
        }
        let Some(id) = payload.tool_use_id().filter(|id| fits(id)) else { return };
        if !matches!(tool, Some(Tool::SendMessage | Tool::TaskUpdate | Tool::Agent)) {
            return;
        }
        self.make_room();
        let name = payload.tool_input().get("name").and_then(Value::as_str);
        let spawns = name
            .filter(|name| tool == Some(Tool::Agent) && !name.is_empty() && fits(name))
            .map(|name| (name.to_owned(), event.at.to_owned()));
        let by = caller(event).map(str::to_owned);
        let began = PendingToolCall { order: self.next(), by, spawns, frees: Vec::new() };
        self.begun.insert(id.to_owned(), began);
        if tool == Some(Tool::TaskUpdate)
            && let Some(update) = TaskUpdate::of(payload.tool_input(), &Value::Null)
            && update.status == Some(TaskStatus::Completed)
            && fits(&update.task)
        {
            self.completing.insert(id.to_owned(), update.task);
        }
    }

    /// Makes room by dropping the oldest call. A call that completes a task is dropped last: without it the completion
    /// would pass unchecked.
    fn make_room(&mut self) {
        if self.begun.len() < MAX_BEGUN {
            return;
        }
        let Ledger { begun, completing, .. } = self;
        let oldest = begun.iter().min_by_key(|(id, began)| (completing.contains_key(*id), began.order, *id));
        if let Some(id) = oldest.map(|(id, _)| id.clone()) {
            begun.remove(&id);
            completing.remove(&id);
        }
    }

    /// A failed or denied call had no effect, so it does not permit a shutdown either.
    fn fail_call(&mut self, id: &str) {
        self.completing.remove(id);
        for name in self.begun.remove(id).into_iter().flat_map(|began| began.frees) {
            self.activity_mut(&name).approved_shutdown = false;
        }
    }

    fn end_call(&mut self, event: &Judged<'_>) {
        let id = event.payload.tool_use_id().unwrap_or_default();
        let (input, response) = (event.payload.tool_input(), event.payload.tool_response());
        if response.get("success").and_then(Value::as_bool) == Some(false) {
            return self.fail_call(id);
        }
        self.completing.remove(id);
        let at = self.begun.remove(id).map_or_else(|| self.next(), |began| began.order);
        match event.payload.tool() {
            Some(Tool::SendMessage) => {
                if let Some(sent) = Sent::of(event.payload) {
                    self.note_message(event, &sent, at);
                }
            }
            Some(Tool::TaskCreate) => self.tasked = true,
            Some(Tool::TaskUpdate) => {
                if let Some(update) = TaskUpdate::of(input, response) {
                    self.note_update(event, &update, at);
                }
            }
            Some(Tool::TeamDelete) => *self = Ledger { order: self.order, ..Ledger::default() },
            Some(Tool::TaskStop) => {
                if let Some(name) = stopped(input).map(|task| self.member(task).to_owned()) {
                    self.remove_member(&name);
                }
            }
            Some(Tool::Agent) => {
                if let Some(spawn) = Spawn::of(event.payload).filter(|spawn| fits(&spawn.name)) {
                    self.note_spawn(event, &spawn, at);
                }
            }
            _ => {}
        }
    }

    fn note_spawn(&mut self, event: &Judged<'_>, spawn: &Spawn, at: u64) {
        // Its first turn and its first message can come before the spawn returns.
        self.left.remove(&spawn.name);
        let activity = self.activity_mut(&spawn.name);
        (activity.stopping, activity.approved_shutdown) = (false, false);
        activity.questions.retain(|_, asked| *asked > at);
        activity.note_instruction(member(event).unwrap_or_default(), at);
        if let Some(id) = spawn.agent_id.as_ref().filter(|id| fits(id)) {
            self.handles.insert(id.clone(), spawn.name.clone());
        }
        if let Some(description) = event.payload.tool_input().get("description").and_then(Value::as_str) {
            let all = self.spawned_for.entry(mark(description)).or_default();
            if !all.contains(&spawn.name) {
                all.push(spawn.name.clone());
            }
        }
    }

    fn note_update(&mut self, event: &Judged<'_>, update: &TaskUpdate, at: u64) {
        self.tasked = true;
        let named = |owner: &&str| !self.strip_team(owner).is_empty() && fits(owner);
        let Some(owner) = update.owner.as_deref().filter(named) else { return };
        let owner = self.member(owner).to_owned();
        // A member that assigns a task to itself also starts it. Before 2.1.69 the caller is unknown.
        let own = member(event).map_or(update.status.is_some(), |actor| actor == owner);
        if !own {
            self.activity_mut(&owner).note_instruction(member(event).unwrap_or_default(), at);
        }
    }

    fn note_message(&mut self, event: &Judged<'_>, sent: &Sent, at: u64) {
        let message = &sent.message;
        let routed = event.payload.tool_response().pointer("/routing/sender").and_then(Value::as_str);
        let answers = matches!(message.kind, MessageKind::ShutdownResponse { .. });
        let sender = (sent.from.as_deref())
            .or_else(|| member(event))
            .or(routed)
            .or_else(|| message.asked().filter(|_| answers))
            .filter(|name| fits(name))
            .map(str::to_owned);
        let to = match message.to.as_deref().filter(|to| fits(to)) {
            Some("*") => self.members.keys().filter(|name| Some(*name) != sender.as_ref()).cloned().collect(),
            Some(to) => vec![self.recipient(to).to_owned()],
            None => Vec::new(),
        };
        if let Some(sender) = &sender {
            let activity = self.activity_mut(sender);
            activity.last_message = activity.last_message.max(Some(at));
            // A later message does not withdraw a question.
            if message.kind == MessageKind::Plain && asks(&message.text) {
                match message.to.as_deref() {
                    Some("*") | None => activity.note_question("*", at),
                    Some(_) => to.iter().for_each(|name| activity.note_question(name, at)),
                }
            }
        }
        match (&message.kind, sender) {
            (MessageKind::ShutdownRequest, _) => {
                to.iter().for_each(|name| self.activity_mut(name).stopping = true);
            }
            (MessageKind::ShutdownResponse { approve: true }, Some(name)) => self.remove_member(&name),
            (MessageKind::ShutdownResponse { approve: false }, Some(name)) => {
                let activity = self.activity_mut(&name);
                (activity.stopping, activity.approved_shutdown) = (false, false);
            }
            (MessageKind::ShutdownResponse { .. }, None) => {}
            (MessageKind::Plain | MessageKind::Other(_), sender) => {
                let from = sender.as_deref();
                for name in to.iter().filter(|name| Some(name.as_str()) != from) {
                    self.activity_mut(name).note_instruction(from.unwrap_or_default(), at);
                }
            }
        }
    }

    fn remove_member(&mut self, name: &str) {
        self.members.remove(name);
        if self.left.len() < MAX_LEFT && fits(name) {
            self.left.insert(name.to_owned());
        }
        self.forget_handles(name);
    }
}

/// A SendMessage call, as its recipient interprets it.
pub struct Sent {
    pub message: Message,
    /// The teammate that an approval names, which is not always the sender.
    pub from: Option<String>,
}

impl Sent {
    pub fn of(payload: &Payload) -> Option<Sent> {
        let message = Message::of(payload.tool_input(), payload.tool_response())?;
        let notice = if is_json_text(&message) { Notice::read(&message.text) } else { None };
        let (kind, from, request) = match notice {
            Some(Notice { kind, request, .. }) if kind == "shutdown_request" => {
                (MessageKind::ShutdownRequest, None, request)
            }
            Some(Notice { kind, from, request, .. }) if kind == "shutdown_approved" => {
                (MessageKind::ShutdownResponse { approve: true }, from, request)
            }
            _ => return Some(Sent { message, from: None }),
        };
        Some(Sent { message: Message { kind, request, ..message }, from })
    }
}

/// The recipient of a shutdown request, as written in the payload; `*` for everyone.
pub fn shutdown_recipient(event: &Judged<'_>) -> Option<String> {
    if !event.calls(Tool::SendMessage) {
        return None;
    }
    let message = Sent::of(event.payload)?.message;
    message.to.filter(|_| message.kind == MessageKind::ShutdownRequest)
}

/// The teammate that goes idle; this event names it.
pub fn idler<'a>(event: &Judged<'a>) -> Option<&'a str> {
    let named = event.payload.text("teammate_name").filter(|name| !name.is_empty());
    named.or(event.actor.name.as_deref()).filter(|name| *name != LEAD)
}

/// The member that caused an event. A plain subagent is not one, although its type may equal a name.
fn member<'a>(event: &Judged<'a>) -> Option<&'a str> {
    match event.actor.kind {
        ActorKind::Lead => Some(LEAD),
        ActorKind::Teammate => event.actor.name.as_deref().filter(|name| fits(name)),
        _ => None,
    }
}

/// The actor of an event, member or not.
fn caller<'a>(event: &Judged<'a>) -> Option<&'a str> {
    member(event).or(event.actor.name.as_deref()).filter(|name| fits(name))
}

/// The task that a TaskStop names, under any of its keys.
pub fn stopped(input: &Value) -> Option<&str> {
    let ids = ["task_id", "shell_id", "taskId"].into_iter().filter_map(|key| input.get(key)?.as_str());
    ids.into_iter().find(|id| !id.is_empty())
}

/// Whether a text asks a question: it has a question mark at the end of a word, not inside a URL.
pub fn asks(text: &str) -> bool {
    let ends = |rest: &str| {
        rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '=' | '&' | '/'))
    };
    text.match_indices(['?', '？', '؟']).any(|(at, mark)| ends(&text[at + mark.len()..]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::event::Actor;

    #[test]
    fn a_question_mark_inside_a_url_is_not_a_question() {
        assert!(asks("Shall I go on?") && asks("Which one?\nA or B") && asks("(really?)") && asks("本当？"));
        assert!(!asks("see https://x.test/?q=1") && !asks("done.") && !asks(""));
    }
    /// The members that may approve after the lead's request to `to` was sent.
    fn free(to: &str, is_approved: impl Fn(&str) -> bool) -> Vec<String> {
        let fields = json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage",
            "tool_input": {"to": to, "message": {"type": "shutdown_request", "reason": "done"}}});
        let payload = Payload::from_raw(&serde_json::value::to_raw_value(&fields).unwrap());
        let (actor, kind) = (Actor::lead(), payload.kind());
        let event = Judged { id: "e", at: "2026", kind, session: None, actor: &actor, payload: &payload };
        let mut ledger = Ledger::default();
        for name in ["alice", "bob", "team-lead"] {
            ledger.members.insert(name.to_owned(), MemberActivity::default());
        }
        ledger.handles.insert("abob-1".to_owned(), "bob".to_owned());
        ledger.approve_shutdown(&event, is_approved);
        let free = ledger.members.into_iter().filter(|(_, activity)| activity.approved_shutdown);
        free.map(|(name, _)| name).collect()
    }

    #[test]
    fn the_recipient_of_an_allowed_request_may_approve_it_however_it_was_written() {
        let spellings =
            ["bob", "@bob", "bob@t1", " bob", "abob-1", "b\u{200b}ob", "＠ｂｏｂ＠t1", "\u{2066}@bob"];
        for to in spellings.into_iter().chain(["abob-1\u{ad}"]) {
            assert_eq!(free(to, |_| true), ["bob"], "{to}");
        }
        assert_eq!(free("*", |_| true), ["alice", "bob"]);
        assert_eq!(free("*", |name| name == "bob"), ["bob"]);
    }
}
