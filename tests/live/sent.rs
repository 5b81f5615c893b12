//! What was really sent, told from the ledger: messages, tasks, members, words.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ledger::{Entry, Ledger};
use super::moves::Move;

/// A message: who sent what to whom.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Message {
    pub from: String,
    pub to: String,
    /// As `replay` calls it.
    pub kind: String,
    /// As the client calls it.
    pub word: String,
    pub summary: String,
    pub text: String,
}

/// A state of a task: who made it so, the status, the owner.
pub type State = (String, String, Option<String>);

/// A task: what is to be done, what it waits for, and every state that it had.
#[derive(Default, Debug)]
pub struct Task {
    pub subject: String,
    pub description: String,
    pub blocked_by: Vec<String>,
    pub states: Vec<State>,
}

/// Everything that was sent in a run.
#[derive(Default)]
pub struct Sent {
    pub messages: Vec<Message>,
    pub tasks: BTreeMap<String, Task>,
    /// Each teammate and its prompt.
    pub members: BTreeMap<String, String>,
    /// What agents that are no teammates were started for.
    pub agents: Vec<String>,
    /// The teammates that were ended with TaskStop.
    pub ended: BTreeSet<String>,
    /// What each part said at the end of its turns.
    pub words: BTreeMap<String, BTreeSet<String>>,
}

impl Sent {
    /// Reads the ledger in order.
    pub fn read(ledger: &Ledger) -> Self {
        Self::until(ledger, usize::MAX)
    }

    /// Reads so many entries.
    pub fn until(ledger: &Ledger, count: usize) -> Self {
        let mut sent = Self::default();
        for entry in ledger.entries().into_iter().take(count) {
            match &entry.done {
                Move::Say(text) => {
                    sent.words.entry(entry.part.clone()).or_default().insert(text.clone());
                }
                Move::Use { tool, input } => sent.used(ledger, &entry, tool, input),
                Move::Hang | Move::Fail { .. } | Move::Fill | Move::Search(_) | Move::Wait(_) => {}
            }
        }
        sent
    }

    fn used(&mut self, ledger: &Ledger, entry: &Entry, tool: &str, input: &Value) {
        let outcome = ledger.outcome(&entry.id);
        // A teammate in a pane is gone before anybody reads what came of its approval.
        let failed = outcome.as_ref().is_some_and(|outcome| outcome.failed);
        let who = if entry.part == "lead" { "team-lead" } else { &entry.part };
        match tool {
            "SendMessage" => {
                let message = message(who, input, failed);
                if message.kind == "shutdown-approved" {
                    self.stopped(who);
                }
                self.messages.push(message);
            }
            "TaskCreate" if !failed => {
                let read = outcome.map_or_else(String::new, |outcome| outcome.text);
                let task = Task {
                    subject: text(input, "subject"),
                    description: text(input, "description"),
                    blocked_by: Vec::new(),
                    states: vec![(who.to_owned(), "pending".to_owned(), None)],
                };
                self.tasks.insert(number(&read).unwrap_or(read), task);
            }
            "TaskUpdate" if !failed => {
                let task = self.tasks.entry(text(input, "taskId")).or_default();
                let (_, status, owner) = task.states.last().cloned().unwrap_or_default();
                let named = |key: &str| input[key].as_str().map(str::to_owned);
                let next = (who.to_owned(), named("status").unwrap_or(status), named("owner").or(owner));
                task.change(next);
                let waits = input["addBlockedBy"].as_array().into_iter().flatten();
                task.blocked_by.extend(waits.filter_map(|id| id.as_str().map(str::to_owned)));
            }
            // The client asks the lead in the teammate's name.
            "ExitPlanMode" if !failed => self.messages.push(Message {
                from: who.to_owned(),
                to: "team-lead".to_owned(),
                kind: "message".to_owned(),
                word: "plan_approval_request".to_owned(),
                summary: String::new(),
                text: text(input, "plan"),
            }),
            "TaskStop" if !failed => drop(self.ended.insert(text(input, "task_id"))),
            "Agent" | "Task" if !failed => match input["name"].as_str() {
                Some(name) => drop(self.members.insert(name.to_owned(), text(input, "prompt"))),
                None => self.agents.push(text(input, "description")),
            },
            _ => {}
        }
    }

    /// The client gives back what somebody who stops has not completed.
    fn stopped(&mut self, who: &str) {
        for task in self.tasks.values_mut() {
            if task
                .states
                .last()
                .is_some_and(|(_, status, owner)| status != "completed" && owner.as_deref() == Some(who))
            {
                task.change(("client".to_owned(), "pending".to_owned(), None));
            }
        }
    }
}

impl Task {
    /// Notes a state, unless status and owner are what they were.
    fn change(&mut self, next: State) {
        if self.states.last().is_none_or(|last| (&last.1, &last.2) != (&next.1, &next.2)) {
            self.states.push(next);
        }
    }
}

fn message(who: &str, input: &Value, failed: bool) -> Message {
    let body = if input["message"].is_object() { &input["message"] } else { input };
    let word = body["type"].as_str().unwrap_or("message").to_owned();
    let kind = match (failed, word.as_str()) {
        (true, _) => "message-refused",
        (_, "shutdown_request") => "shutdown-requested",
        (_, "shutdown_response") if body["approve"] == true => "shutdown-approved",
        (_, "shutdown_response") => "shutdown-rejected",
        _ => "message",
    };
    let first =
        |keys: &[&str], from: &Value| keys.iter().map(|key| text(from, key)).find(|text| !text.is_empty());
    Message {
        from: who.to_owned(),
        to: first(&["to", "recipient"], input).unwrap_or_else(|| "team-lead".to_owned()),
        kind: kind.to_owned(),
        word,
        summary: text(input, "summary"),
        text: first(&["message", "content", "reason"], body).unwrap_or_default(),
    }
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// The number that the client gave a new task: `Task #1 created`.
fn number(read: &str) -> Option<String> {
    let (_, after) = read.split_once('#')?;
    Some(after.chars().take_while(char::is_ascii_digit).collect())
}
