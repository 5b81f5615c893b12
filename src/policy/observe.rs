//! Folds events into the ledger, one after the other.

use serde_json::Value;

use super::ledger::{PendingToolCall, fits, mark};
use super::{Judged, Ledger, MemberActivity, Sent};
use crate::event::{ActorKind, LEAD};
use crate::model::{TaskStatus, Tool};
use crate::payload::{Kind, MessageKind, Spawn, TaskUpdate};

/// Maximum number of former members.
const MOST_LEFT: usize = 256;

impl Ledger {
    /// Adds an event that was not blocked.
    pub fn observe(&mut self, event: &Judged<'_>) {
        let teammate = member(event).filter(|name| *name != LEAD);
        match event.kind {
            Kind::PreToolUse => self.begins(event, teammate),
            Kind::PostToolUse => self.ends(event),
            Kind::SubagentStart | Kind::UserPromptSubmit => {
                if event.kind == Kind::UserPromptSubmit {
                    self.spawns_no_more(event);
                }
                if let Some(name) = teammate {
                    self.turn_begins(name);
                }
            }
            Kind::PostToolUseFailure | Kind::PermissionDenied => {
                self.fails(event.payload.tool_use_id().unwrap_or_default());
            }
            Kind::SubagentStop | Kind::Stop => {
                self.learn_background(event.payload.field("background_tasks"));
                self.turn_ends(event, teammate);
            }
            Kind::TeammateIdle => {
                let order = self.next();
                if let Some(activity) = idler(event).and_then(|name| self.members.get_mut(name)) {
                    activity.idle = activity.since.replace(order).or(Some(order));
                }
            }
            Kind::SessionEnd => {
                // In a pane the process ends with its member (2.1.328: no PostToolUse after the approval).
                if let Some(name) = teammate {
                    self.leaves(name);
                }
            }
            Kind::TaskCreated | Kind::TaskCompleted => self.tasked = true,
            _ => {}
        }
    }

    pub(super) fn activity_mut(&mut self, name: &str) -> &mut MemberActivity {
        self.members.entry(name.to_owned()).or_default()
    }

    /// The next position.
    fn next(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    fn turn_begins(&mut self, name: &str) {
        self.left.remove(name);
        if !self.activity_mut(name).turn {
            self.activity_mut(name).since = Some(self.next());
        }
        let activity = self.activity_mut(name);
        (activity.turn, activity.turned, activity.idle) = (true, true, None);
    }

    fn begins(&mut self, event: &Judged<'_>, teammate: Option<&str>) {
        if let Some(name) = teammate {
            self.turn_begins(name);
            self.names_agents |= event.payload.agent_id().is_some();
        }
        let Some(id) = event.payload.tool_use_id().filter(|id| fits(id)) else { return };
        if !matches!(event.payload.tool(), Some(Tool::SendMessage | Tool::TaskUpdate | Tool::Agent)) {
            return;
        }
        self.make_room();
        let by = whose(event).map(str::to_owned);
        let spawns = (event.payload.tool() == Some(Tool::Agent))
            .then(|| event.payload.tool_input().get("name").and_then(Value::as_str))
            .flatten()
            .filter(|name| !name.is_empty() && fits(name))
            .map(|name| (name.to_owned(), event.at.to_owned()));
        let began = PendingToolCall { order: self.next(), by, spawns, frees: Vec::new() };
        self.begun.insert(id.to_owned(), began);
        if event.payload.tool() == Some(Tool::TaskUpdate)
            && let Some(update) = TaskUpdate::of(event.payload.tool_input(), &Value::Null)
            && update.status == Some(TaskStatus::Completed)
            && fits(&update.task)
        {
            self.completing.insert(id.to_owned(), update.task);
        }
    }

    fn ends(&mut self, event: &Judged<'_>) {
        let id = event.payload.tool_use_id().unwrap_or_default();
        let (input, response) = (event.payload.tool_input(), event.payload.tool_response());
        if response.get("success").and_then(Value::as_bool) == Some(false) {
            return self.fails(id);
        }
        self.completing.remove(id);
        let began = self.begun.remove(id);
        let at = began.map_or_else(|| self.next(), |began| began.order);
        match event.payload.tool() {
            Some(Tool::SendMessage) => {
                if let Some(sent) = Sent::of(event.payload) {
                    self.message(event, &sent, at);
                }
            }
            Some(Tool::TaskCreate) => self.tasked = true,
            Some(Tool::TaskUpdate) => {
                if let Some(update) = TaskUpdate::of(input, response) {
                    self.update(event, &update, at);
                }
            }
            Some(Tool::TeamDelete) => *self = Ledger { order: self.order, ..Ledger::default() },
            Some(Tool::TaskStop) => {
                for name in stopped(input).map(|word| self.named(word).to_owned()).collect::<Vec<_>>() {
                    self.leaves(&name);
                }
            }
            Some(Tool::Agent) => {
                if let Some(spawn) = Spawn::of(event.payload).filter(|spawn| fits(&spawn.name)) {
                    self.spawned(event, &spawn, at);
                }
            }
            _ => {}
        }
    }

    fn spawned(&mut self, event: &Judged<'_>, spawn: &Spawn, at: u64) {
        // Its first turn and its first message can come before the spawn returns.
        self.left.remove(&spawn.name);
        let activity = self.activity_mut(&spawn.name);
        (activity.stopping, activity.approved_shutdown) = (false, false);
        activity.asked.retain(|_, asked| *asked > at);
        activity.tell(member(event).unwrap_or_default(), at);
        if let Some(id) = spawn.agent_id.as_ref().filter(|id| fits(id)) {
            self.handles.insert(id.clone(), spawn.name.clone());
        }
        if let Some(words) = event.payload.tool_input().get("description").and_then(Value::as_str) {
            let all = self.spawned_for.entry(mark(words)).or_default();
            if !all.contains(&spawn.name) {
                all.push(spawn.name.clone());
            }
        }
    }

    fn update(&mut self, event: &Judged<'_>, update: &TaskUpdate, at: u64) {
        self.tasked = true;
        let Some(owner) =
            update.owner.as_deref().filter(|owner| !self.strip_team(owner).is_empty() && fits(owner))
        else {
            return;
        };
        let owner = self.named(owner).to_owned();
        // A member that assigns a task to itself also starts it. Before 2.1.69 the caller is unknown.
        let own = match member(event) {
            Some(actor) => actor == owner,
            None => update.status.is_some(),
        };
        if !own {
            self.activity_mut(&owner).tell(member(event).unwrap_or_default(), at);
        }
    }

    fn message(&mut self, event: &Judged<'_>, sent: &Sent, at: u64) {
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
            Some(to) => vec![self.reached(to).to_owned()],
            None => Vec::new(),
        };
        if let Some(sender) = &sender {
            let activity = self.activity_mut(sender);
            activity.said = activity.said.max(Some(at));
            // A later message does not withdraw a question.
            if message.kind == MessageKind::Plain && asks(&message.text) {
                match message.to.as_deref() {
                    Some("*") | None => activity.ask("*", at),
                    Some(_) => to.iter().for_each(|whom| activity.ask(whom, at)),
                }
            }
        }
        match message.kind {
            MessageKind::ShutdownRequest => {
                to.iter().for_each(|name| self.activity_mut(name).stopping = true)
            }
            MessageKind::ShutdownResponse { approve: true } => {
                if let Some(name) = sender {
                    self.leaves(&name);
                }
            }
            MessageKind::ShutdownResponse { approve: false } => {
                if let Some(name) = sender {
                    let activity = self.activity_mut(&name);
                    (activity.stopping, activity.approved_shutdown) = (false, false);
                }
            }
            MessageKind::Plain | MessageKind::Other(_) => {
                to.iter()
                    .filter(|name| Some(*name) != sender.as_ref())
                    .for_each(|name| self.activity_mut(name).tell(sender.as_deref().unwrap_or_default(), at));
            }
        }
    }

    fn leaves(&mut self, name: &str) {
        self.members.remove(name);
        if self.left.len() < MOST_LEFT && fits(name) {
            self.left.insert(name.to_owned());
        }
        self.forget_handles(name);
    }
}

/// The teammate that goes idle; this event names it.
pub fn idler<'a>(event: &Judged<'a>) -> Option<&'a str> {
    let told = event.payload.text("teammate_name").filter(|name| !name.is_empty());
    told.or(event.actor.name.as_deref()).filter(|name| *name != LEAD)
}

/// The member that caused an event. A plain subagent is not one, although its type may equal a name.
pub(super) fn member<'a>(event: &Judged<'a>) -> Option<&'a str> {
    match event.actor.kind {
        ActorKind::Lead => Some(LEAD),
        ActorKind::Teammate => event.actor.name.as_deref().filter(|name| fits(name)),
        _ => None,
    }
}

/// The actor of an event, member or not.
pub(super) fn whose<'a>(event: &Judged<'a>) -> Option<&'a str> {
    member(event).or(event.actor.name.as_deref()).filter(|name| fits(name))
}

/// The task that a TaskStop names, under any of its keys.
pub fn stopped(input: &Value) -> impl Iterator<Item = &str> {
    let words = ["task_id", "shell_id", "taskId"].into_iter().filter_map(|key| input.get(key)?.as_str());
    words.filter(|word| !word.is_empty()).take(1)
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
    fn an_address_asks_nothing() {
        assert!(asks("Shall I go on?") && asks("Which one?\nA or B") && asks("(really?)") && asks("本当？"));
        assert!(!asks("see https://x.test/?q=1") && !asks("done.") && !asks(""));
    }
}
