//! Folds events into the ledger, one after the other. A hook call and a backtest do it in the same way.

use std::collections::BTreeSet;

use serde_json::Value;

use super::ledger::{FinalText, PendingToolCall, fits, mark, note_last};
use super::{Change, JudgedEvent, Ledger, LiveState, MemberActivity, Sign};
use teamkeep_model::compat::is_json_text;
use teamkeep_model::event::{ActorKind, LEAD, MAX_ENTRIES};
use teamkeep_model::payload::{EventKind, Message, MessageKind, Payload, Spawn, TaskUpdate};
use teamkeep_model::team::Notice;
use teamkeep_model::{TaskStatus, Tool};

impl Ledger {
    /// Adds an event that was not blocked.
    pub fn observe(&mut self, event: &JudgedEvent<'_>) {
        let teammate = member(event).filter(|name| *name != LEAD);
        if let Some(access) = event.access {
            self.observe_access(event, access);
        }
        match event.kind {
            EventKind::PreToolUse => self.begin_call(event, teammate),
            EventKind::PostToolUse => self.end_call(event),
            EventKind::SubagentStart | EventKind::UserPromptSubmit => {
                // The next prompt is the only sign of an interrupted turn: its spawns never returned.
                if event.kind == EventKind::UserPromptSubmit
                    && let Some(name) = caller(event)
                {
                    let own = self.pending.values_mut().filter(|call| call.by.as_deref() == Some(name));
                    own.for_each(|call| call.spawns = None);
                }
                if let Some(name) = teammate {
                    self.begin_turn(event, name);
                }
                self.note_starter(event);
            }
            EventKind::PostToolUseFailure | EventKind::PermissionDenied => self.fail_call(event),
            EventKind::SubagentStop | EventKind::Stop => {
                self.learn_background(event.payload.field("background_tasks"));
                self.end_turn(event, teammate, Sign::EndsTurn);
            }
            // No SubagentStop and no TeammateIdle follows (2.1.332).
            EventKind::StopFailure => {
                self.end_turn(event, teammate, Sign::FailsTurn);
                teammate.into_iter().for_each(|name| self.go_idle(name));
            }
            // The first hook after the user interrupted a turn.
            EventKind::Notification if event.payload.is_idle_prompt() => {
                self.end_turn(event, teammate, Sign::GoesIdle);
            }
            EventKind::TeammateIdle => idle_teammate(event).into_iter().for_each(|name| self.go_idle(name)),
            // In a pane the process ends with its member (2.1.328: no PostToolUse after the approval).
            EventKind::SessionEnd => teammate.into_iter().for_each(|name| self.remove_member(event, name)),
            EventKind::TaskCreated | EventKind::TaskCompleted => self.tasked = true,
            _ => {}
        }
    }

    /// Records that these members may approve a shutdown that a gate allowed to request.
    pub(crate) fn permit_shutdown(&mut self, names: &[String]) {
        for name in names.iter().filter(|name| fits(name)) {
            let name = self.member(name).to_owned();
            self.activity_mut(&name).shutdown_permitted = true;
        }
    }

    fn activity_mut(&mut self, name: &str) -> &mut MemberActivity {
        self.members.entry(name.to_owned()).or_default()
    }

    fn next(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    fn begin_turn(&mut self, event: &JudgedEvent<'_>, name: &str) {
        if !self.works(name) {
            self.activity_mut(name).since = Some(self.next());
        }
        self.live.apply(event.at, Change::sign(name, Sign::StartsTurn));
        self.activity_mut(name).idle = None;
    }

    /// A call that started in a turn that has ended did not return: it failed or was denied.
    fn end_turn(&mut self, event: &JudgedEvent<'_>, teammate: Option<&str>, sign: Sign) {
        let order = self.next();
        if let Some(name) = teammate
            && let Some(activity) = self.members.get_mut(name)
        {
            activity.idle = None;
            let is_all = activity.last_message <= activity.since;
            // The last text of a turn that failed is the error.
            let text = event.payload.text("last_assistant_message").filter(|_| sign == Sign::EndsTurn);
            let answer = text.and_then(|text| FinalText::of(text, order, is_all));
            // An earlier answer is not that of this turn.
            let earlier = activity.answer.take().map(|answer| FinalText { is_all: false, ..answer });
            activity.answer = answer.or(earlier);
            self.live.apply(event.at, Change::sign(name, sign));
        }
        if let Some(name) = member(event) {
            let lost = self.pending.extract_if(.., |_, call| call.by.as_deref() == Some(name));
            lost.for_each(|(id, _)| drop(self.pending_completions.remove(&id)));
        }
    }

    fn go_idle(&mut self, name: &str) {
        let order = self.next();
        if let Some(activity) = self.members.get_mut(name) {
            activity.idle = activity.since.replace(order).or(Some(order));
        }
    }

    fn begin_call(&mut self, event: &JudgedEvent<'_>, teammate: Option<&str>) {
        let (payload, tool) = (event.payload, event.payload.tool());
        if let Some(name) = teammate {
            self.begin_turn(event, name);
            self.names_agents |= payload.agent_id().is_some();
        }
        let Some(id) = payload.tool_use_id().filter(|id| fits(id)) else { return };
        if !matches!(tool, Some(Tool::SendMessage | Tool::TaskUpdate | Tool::Agent)) {
            return;
        }
        if self.pending.len() >= MAX_ENTRIES {
            self.forget_oldest_call();
        }
        let name = payload.tool_input().get("name").and_then(Value::as_str);
        let spawns = name
            .filter(|name| tool == Some(Tool::Agent) && !name.is_empty() && fits(name))
            .map(|name| (name.to_owned(), event.at));
        let by = caller(event).map(str::to_owned);
        let is_plain = tool == Some(Tool::Agent) && spawns.is_none();
        let starter = if is_plain { self.agent(event) } else { None };
        let call = PendingToolCall { order: self.next(), by, spawns, starter };
        self.pending.insert(id.to_owned(), call);
        if tool == Some(Tool::TaskUpdate)
            && let Some(update) = TaskUpdate::of(payload.tool_input(), &Value::Null)
            && update.status == Some(TaskStatus::Completed)
            && fits(&update.task)
        {
            self.pending_completions.insert(id.to_owned(), update.task);
        }
    }

    /// Drops the oldest call. A call that completes a task is dropped last: without it the completion would pass unchecked.
    fn forget_oldest_call(&mut self) {
        let Ledger { pending, pending_completions, .. } = self;
        let oldest =
            pending.iter().min_by_key(|(id, call)| (pending_completions.contains_key(*id), call.order, *id));
        if let Some(id) = oldest.map(|(id, _)| id.clone()) {
            pending.remove(&id);
            pending_completions.remove(&id);
        }
    }

    /// A failed or denied call had no effect, so it does not permit a shutdown either.
    fn fail_call(&mut self, event: &JudgedEvent<'_>) {
        let id = event.payload.tool_use_id().unwrap_or_default();
        self.pending_completions.remove(id);
        self.pending.remove(id);
        let recipients = shutdown_request(event).map(|message| self.recipients(&message, member(event)));
        for name in recipients.into_iter().flatten() {
            self.activity_mut(&name).shutdown_permitted = false;
        }
    }

    /// The members that receive a message.
    fn recipients(&self, message: &Message, sender: Option<&str>) -> Vec<String> {
        match message.to.as_deref().filter(|to| fits(to)) {
            Some("*") => self.members.keys().filter(|name| Some(name.as_str()) != sender).cloned().collect(),
            Some(to) => vec![self.recipient(to).to_owned()],
            None => Vec::new(),
        }
    }

    fn end_call(&mut self, event: &JudgedEvent<'_>) {
        let id = event.payload.tool_use_id().unwrap_or_default();
        let (input, response) = (event.payload.tool_input(), event.payload.tool_response());
        if response.get("success").and_then(Value::as_bool) == Some(false) {
            return self.fail_call(event);
        }
        self.pending_completions.remove(id);
        let at = self.pending.remove(id).map_or_else(|| self.next(), |call| call.order);
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
            Some(Tool::TeamDelete) => {
                let Ledger { order, agent_names, live, .. } = std::mem::take(self);
                let live = LiveState { tasks: live.tasks, ..LiveState::default() };
                *self = Ledger { order, agent_names, live, ..Ledger::default() };
            }
            Some(Tool::TaskStop) => {
                if let Some(name) = stopped(input).map(|task| self.member(task).to_owned()) {
                    self.remove_member(event, &name);
                }
            }
            Some(Tool::Agent) => {
                if let Some(spawn) = Spawn::of(event.payload).filter(|spawn| fits(&spawn.name)) {
                    self.note_spawn(event, &spawn, at);
                } else if let Some(id) = response.get("agentId").and_then(Value::as_str)
                    && let Some(agent) = self.agent(event)
                {
                    self.add_starter(id, agent);
                }
            }
            _ => {}
        }
    }

    /// A plain subagent starts. Its start does not name the agent that started it: that is the only one with an open call.
    fn note_starter(&mut self, event: &JudgedEvent<'_>) {
        let Some(id) = event.payload.agent_id().filter(|_| event.actor.kind == ActorKind::Subagent) else {
            return;
        };
        let starters: BTreeSet<&String> =
            self.pending.values().filter_map(|call| call.starter.as_ref()).collect();
        if let (Some(starter), 1) = (starters.first(), starters.len()) {
            self.add_starter(id, (*starter).clone());
        }
    }

    fn add_starter(&mut self, id: &str, agent: String) {
        if fits(id) && !self.starters.contains_key(id) {
            if self.starters.len() >= MAX_ENTRIES {
                self.starters.pop_first();
            }
            self.starters.insert(id.to_owned(), agent);
        }
    }

    fn note_spawn(&mut self, event: &JudgedEvent<'_>, spawn: &Spawn, at: u64) {
        // Its first turn and its first message can come before the spawn returns.
        self.live.apply(event.at, Change::sign(&spawn.name, Sign::Joins));
        let activity = self.activity_mut(&spawn.name);
        (activity.stopping, activity.shutdown_permitted) = (false, false);
        activity.questions.retain(|_, asked| *asked > at);
        note_last(&mut activity.instructions, member(event).unwrap_or_default(), at);
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

    fn note_update(&mut self, event: &JudgedEvent<'_>, update: &TaskUpdate, at: u64) {
        self.tasked = true;
        let named = |owner: &&str| !self.strip_team(owner).is_empty() && fits(owner);
        let Some(owner) = update.owner.as_deref().filter(named) else { return };
        let owner = self.member(owner).to_owned();
        // A member that assigns a task to itself also starts it. Before 2.1.69 the caller is unknown.
        let own = member(event).map_or(update.status.is_some(), |actor| actor == owner);
        if !own {
            let instructions = &mut self.activity_mut(&owner).instructions;
            note_last(instructions, member(event).unwrap_or_default(), at);
        }
    }

    fn note_message(&mut self, event: &JudgedEvent<'_>, sent: &Sent, at: u64) {
        let message = &sent.message;
        let routed = event.payload.tool_response().pointer("/routing/sender").and_then(Value::as_str);
        let answers = matches!(message.kind, MessageKind::ShutdownResponse { .. });
        let sender = (sent.from.as_deref())
            .or_else(|| member(event))
            .or(routed)
            .or_else(|| message.asked().filter(|_| answers))
            .filter(|name| fits(name))
            .map(str::to_owned);
        let to = self.recipients(message, sender.as_deref());
        if let Some(sender) = &sender {
            let activity = self.activity_mut(sender);
            activity.last_message = activity.last_message.max(Some(at));
            // A later message does not withdraw a question.
            if message.kind == MessageKind::Plain && asks(&message.text) {
                match message.to.as_deref() {
                    Some("*") | None => note_last(&mut activity.questions, "*", at),
                    Some(_) => to.iter().for_each(|name| note_last(&mut activity.questions, name, at)),
                }
            }
        }
        match (&message.kind, sender) {
            (MessageKind::ShutdownRequest, _) => {
                to.iter().for_each(|name| self.activity_mut(name).stopping = true);
            }
            (MessageKind::ShutdownResponse { approve: true }, Some(name)) => self.remove_member(event, &name),
            (MessageKind::ShutdownResponse { approve: false }, Some(name)) => {
                let activity = self.activity_mut(&name);
                (activity.stopping, activity.shutdown_permitted) = (false, false);
            }
            (MessageKind::ShutdownResponse { .. }, None) => {}
            (MessageKind::Plain | MessageKind::Other(_), sender) => {
                let from = sender.as_deref();
                for name in to.iter().filter(|name| Some(name.as_str()) != from) {
                    note_last(&mut self.activity_mut(name).instructions, from.unwrap_or_default(), at);
                }
            }
        }
    }

    fn remove_member(&mut self, event: &JudgedEvent<'_>, name: &str) {
        self.members.remove(name);
        if fits(name) && (self.live.member(name).is_some() || self.live.roster.len() < MAX_ENTRIES) {
            self.live.apply(event.at, Change::sign(name, Sign::Leaves));
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

/// The shutdown request that a tool call sends.
pub(crate) fn shutdown_request(event: &JudgedEvent<'_>) -> Option<Message> {
    let sent = Sent::of(event.payload).filter(|_| event.payload.tool() == Some(Tool::SendMessage))?;
    (sent.message.kind == MessageKind::ShutdownRequest).then_some(sent.message)
}

/// The teammate that goes idle; this event names it.
pub(crate) fn idle_teammate<'a>(event: &JudgedEvent<'a>) -> Option<&'a str> {
    let named = event.payload.text("teammate_name").filter(|name| !name.is_empty());
    named.or(event.actor.name.as_deref()).filter(|name| *name != LEAD)
}

/// The member that caused an event. A plain subagent is not one, although its type may equal a name.
fn member<'a>(event: &JudgedEvent<'a>) -> Option<&'a str> {
    match event.actor.kind {
        ActorKind::Lead => Some(LEAD),
        ActorKind::Teammate => event.actor.name.as_deref().filter(|name| fits(name)),
        _ => None,
    }
}

/// The actor of an event, member or not.
fn caller<'a>(event: &JudgedEvent<'a>) -> Option<&'a str> {
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
    use super::*;

    #[test]
    fn a_question_mark_inside_a_url_is_not_a_question() {
        assert!(asks("Shall I go on?") && asks("Which one?\nA or B") && asks("(really?)") && asks("本当？"));
        assert!(!asks("see https://x.test/?q=1") && !asks("done.") && !asks(""));
    }
}
