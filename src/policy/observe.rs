//! How the ledger is folded: one event after the other.

use serde_json::Value;

use super::ledger::{Began, mark};
use super::{Deeds, Judged, Ledger};
use crate::event::{ActorKind, LEAD};
use crate::payload::{Kind, Message, MessageKind, Spawn, TaskUpdate};

/// How many tools are remembered that never came back: one that failed or was refused has no PostToolUse.
const MOST_BEGUN: usize = 256;

impl Ledger {
    /// Takes in an event that happened: one that was not blocked.
    pub fn observe(&mut self, event: &Judged<'_>) {
        let teammate = member(event).filter(|name| *name != LEAD);
        match event.kind {
            Kind::PreToolUse => self.begins(event, teammate),
            Kind::PostToolUse => self.ends(event),
            Kind::SubagentStart | Kind::UserPromptSubmit => {
                if let Some(name) = teammate {
                    self.turn_begins(name);
                }
            }
            Kind::SubagentStop | Kind::Stop => {
                self.learn_background(event.payload.field("background_tasks"));
                self.turn_ends(event, teammate);
            }
            Kind::SessionEnd => {
                // A split pane's process ends with its member (2.1.328: no PostToolUse after the approval).
                if let Some(name) = teammate {
                    self.leaves(name);
                }
            }
            Kind::TaskCreated | Kind::TaskCompleted => self.tasked = true,
            _ => {}
        }
    }

    fn deeds(&mut self, name: &str) -> &mut Deeds {
        self.members.entry(name.to_owned()).or_default()
    }

    fn turn_begins(&mut self, name: &str) {
        let deeds = self.deeds(name);
        (deeds.turn, deeds.turned) = (true, true);
    }

    fn begins(&mut self, event: &Judged<'_>, teammate: Option<&str>) {
        if let Some(name) = teammate {
            self.turn_begins(name);
            self.names_agents |= event.payload.agent_id().is_some();
        }
        let Some(id) = event.payload.tool_use_id() else { return };
        if !matches!(event.payload.tool(), Some("SendMessage" | "TaskUpdate" | "Agent" | "Task")) {
            return;
        }
        if self.begun.len() >= MOST_BEGUN {
            self.forget_one();
        }
        let by = event.actor.name.clone();
        self.begun.insert(id.to_owned(), Began { at: event.at.to_owned(), by });
        if event.payload.tool() == Some("TaskUpdate")
            && let Some(update) = TaskUpdate::of(event.payload.tool_input(), &Value::Null)
            && update.status.as_deref() == Some("completed")
        {
            self.completing.insert(id.to_owned(), update.task);
        }
    }

    /// Forgets the oldest tool that has begun. One that completes a task goes only where all of them do: without it
    /// the completion would pass unchecked.
    fn forget_one(&mut self) {
        let Ledger { begun, completing, .. } = self;
        let oldest = begun.iter().min_by_key(|(id, began)| (completing.contains_key(*id), &began.at, *id));
        if let Some(id) = oldest.map(|(id, _)| id.clone()) {
            begun.remove(&id);
            completing.remove(&id);
        }
    }

    fn ends(&mut self, event: &Judged<'_>) {
        let id = event.payload.tool_use_id().unwrap_or_default();
        self.completing.remove(id);
        let at = self.begun.remove(id).map_or_else(|| event.at.to_owned(), |began| began.at);
        let (input, response) = (event.payload.tool_input(), event.payload.tool_response());
        if response.get("success").and_then(Value::as_bool) == Some(false) {
            return;
        }
        match event.payload.tool() {
            Some("SendMessage") => {
                if let Some(message) = Message::of(input, response) {
                    self.message(event, &message, &at);
                }
            }
            Some("TaskCreate") => self.tasked = true,
            Some("TaskUpdate") => {
                if let Some(update) = TaskUpdate::of(input, response) {
                    self.update(event, &update, &at);
                }
            }
            Some("TeamDelete") => *self = Ledger::default(),
            Some("TaskStop") => {
                for name in stopped(input).map(|word| self.named(word).to_owned()).collect::<Vec<_>>() {
                    self.leaves(&name);
                }
            }
            Some("Agent" | "Task") => {
                if let Some(spawn) = Spawn::of(event.payload) {
                    self.spawned(&spawn, input, &at);
                }
            }
            _ => {}
        }
    }

    fn spawned(&mut self, spawn: &Spawn, input: &Value, at: &str) {
        // Its first turn may have begun, and its first message been sent, before its spawn came back.
        let deeds = self.deeds(&spawn.name);
        (deeds.stopping, deeds.let_go) = (false, false);
        tell(deeds, at);
        if let Some(id) = &spawn.agent_id {
            self.handles.insert(id.clone(), spawn.name.clone());
        }
        if let Some(words) = input.get("description").and_then(Value::as_str) {
            let whose = self.described.entry(mark(words)).or_insert_with(|| spawn.name.clone());
            if *whose != spawn.name {
                whose.clear();
            }
        }
    }

    fn update(&mut self, event: &Judged<'_>, update: &TaskUpdate, at: &str) {
        self.tasked = true;
        let Some(owner) = update.owner.as_deref().filter(|owner| !owner.is_empty()) else { return };
        // Who takes a task for itself begins it, too. Clients before 2.1.69 do not say whose call it is.
        let own = match member(event) {
            Some(actor) => actor == owner,
            None => update.status.is_some(),
        };
        if !own {
            let owner = self.named(owner).to_owned();
            tell(self.deeds(&owner), at);
        }
    }

    fn message(&mut self, event: &Judged<'_>, message: &Message, at: &str) {
        let routed = event.payload.tool_response().pointer("/routing/sender").and_then(Value::as_str);
        let answers = matches!(message.kind, MessageKind::ShutdownResponse { .. });
        let sender =
            member(event).or(routed).or_else(|| message.asked().filter(|_| answers)).map(str::to_owned);
        let to = match message.to.as_deref() {
            Some("*") => self.members.keys().filter(|name| Some(*name) != sender.as_ref()).cloned().collect(),
            Some(to) => vec![self.named(to).to_owned()],
            None => Vec::new(),
        };
        if let Some(sender) = &sender {
            let deeds = self.deeds(sender);
            deeds.said_at = deeds.said_at.take().max(Some(at.to_owned()));
            deeds.asked = message.kind == MessageKind::Plain && asks(&message.text);
        }
        match message.kind {
            MessageKind::ShutdownRequest => to.iter().for_each(|name| self.deeds(name).stopping = true),
            MessageKind::ShutdownResponse { approve: true } => {
                if let Some(name) = sender {
                    self.leaves(&name);
                }
            }
            MessageKind::ShutdownResponse { approve: false } => {
                if let Some(name) = sender {
                    let deeds = self.deeds(&name);
                    (deeds.stopping, deeds.let_go) = (false, false);
                }
            }
            MessageKind::Plain | MessageKind::Other(_) => {
                to.iter()
                    .filter(|name| Some(*name) != sender.as_ref())
                    .for_each(|name| tell(self.deeds(name), at));
            }
        }
    }

    /// A tool that was begun in a turn that is over did not come back: it failed, or somebody refused it.
    fn turn_ends(&mut self, event: &Judged<'_>, teammate: Option<&str>) {
        if let Some(name) = teammate
            && let Some(deeds) = self.members.get_mut(name)
        {
            deeds.turn = false;
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

    fn leaves(&mut self, name: &str) {
        self.members.remove(name);
        self.handles.retain(|_, member| member != name);
        self.described.retain(|_, member| member != name);
    }

    /// A running teammate is told by what it was spawned for: the one tie between the id of a background task and a name.
    fn learn_background(&mut self, tasks: Option<&Value>) {
        for task in tasks.and_then(Value::as_array).into_iter().flatten() {
            let text = |key: &str| task.get(key).and_then(Value::as_str);
            if text("type") == Some("teammate")
                && let (Some(id), Some(words)) = (text("id"), text("description"))
                && let Some(name) = self.described.get(&mark(words)).filter(|name| !name.is_empty())
            {
                self.handles.insert(id.to_owned(), name.clone());
            }
        }
    }
}

/// The member whose event it is; not a plain subagent, whose role may be spelled like a name.
fn member<'a>(event: &Judged<'a>) -> Option<&'a str> {
    match event.actor.kind {
        ActorKind::Lead => Some(LEAD),
        ActorKind::Teammate => event.actor.name.as_deref(),
        _ => None,
    }
}

/// What a TaskStop stops, by whatever word.
pub fn stopped(input: &Value) -> impl Iterator<Item = &str> {
    let words = ["task_id", "shell_id", "taskId"].into_iter().filter_map(|key| input.get(key)?.as_str());
    words.filter(|word| !word.is_empty()).take(1)
}

fn tell(deeds: &mut Deeds, at: &str) {
    deeds.told_at = deeds.told_at.take().max(Some(at.to_owned()));
}

/// Whether a text asks something: a question mark at the end of a word, and not one in the midst of an address.
fn asks(text: &str) -> bool {
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
