//! What the scripted side sent, and what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::conversation::{self, Cue, Outcome};
use super::moves::Move;
use super::server::Script;

/// One thing that a part did.
#[derive(Clone)]
pub struct Entry {
    /// The id of the tool's use; of a text an id of the same form.
    pub id: String,
    /// Whose part it was; the lead's is `lead`.
    pub part: String,
    /// What it did.
    pub done: Move,
}

/// The answer to a request that belongs to no part: the client's own, or a notice that reaches a lead after `/clear`.
pub const NO_PART: &str = "ok";

/// The act of a part after a compaction.
pub const AGAIN: &str = "again";

/// The rest of a summary.
const SUMMARY: &str = "The work so far is in the project, and what is to be done is in the task list.";

/// How the skill's description begins.
const SKILL: &str = "Look up the present state and the history of this agent team";

/// The tokens of a request that fills the context of every model.
const FULL: u64 = 990_000;

/// Everything that the scripted side has sent so far.
pub struct Ledger {
    kept: Mutex<Kept>,
    writes: CacheWrites,
}

/// How long the cache keeps what is written to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheWrites {
    /// A part for an hour.
    Mixed,
    /// All for five minutes. Clients before 2.1.178 have no other price.
    Short,
    /// All for five minutes, and as many tokens as conversations about a real project have.
    Long,
}

struct Kept {
    entries: Vec<Entry>,
    outcomes: BTreeMap<String, Outcome>,
    last: Instant,
    requests: usize,
    usages: Vec<Usage>,
    contexts: Vec<Context>,
    warnings: BTreeSet<(String, String)>,
    offers_skill: bool,
}

/// The facts about the team in a request.
#[derive(Clone)]
pub struct Context {
    /// Whose request it was; `None` for a request of the client itself.
    pub part: Option<String>,
    pub act: String,
    pub text: String,
    /// How many entries there were before.
    pub entries: usize,
}

/// The tokens of one answer.
#[derive(Clone)]
pub struct Usage {
    /// Whose request it was; `None` for a request of the client itself.
    pub part: Option<String>,
    pub model: String,
    /// The message's ID, as it is in a transcript.
    pub id: String,
    pub at: SystemTime,
    /// As the Messages API gives it.
    pub tokens: Value,
}

/// The tokens of an answer, in each kind another number, and its web searches.
fn usage(number: usize, writes: CacheWrites) -> Value {
    if writes == CacheWrites::Long {
        let written = 1_400 + 170 * (number % 11);
        return json!({
            "input_tokens": 3, "output_tokens": 260 + 90 * (number % 7),
            "cache_creation_input_tokens": written, "cache_read_input_tokens": 16_000 + 500 * number,
            "cache_creation": { "ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0 },
        });
    }
    let (short, long) = (10 * number, if writes == CacheWrites::Short { 0 } else { 3 * number });
    json!({
        "input_tokens": 100 + number, "output_tokens": 20 + number % 7,
        "cache_creation_input_tokens": short + long, "cache_read_input_tokens": 5_000 + 100 * number,
        "cache_creation": { "ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long },
        "server_tool_use": { "web_search_requests": number % 3 },
    })
}

impl Ledger {
    /// Begins with nothing.
    pub fn new(writes: CacheWrites) -> Self {
        let (entries, outcomes) = (Vec::new(), BTreeMap::new());
        let kept = Mutex::new(Kept {
            entries,
            outcomes,
            last: Instant::now(),
            requests: 0,
            usages: Vec::new(),
            contexts: Vec::new(),
            warnings: BTreeSet::new(),
            offers_skill: false,
        });
        Self { kept, writes }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request from the script and writes down what was answered: once, however often it is asked. `None` if
    /// the request gets no answer.
    pub fn answer(&self, body: &Value, script: &Script) -> Option<Value> {
        let cue = conversation::cue(body);
        // After a compaction, a part knows itself by the summary.
        let summary = cue.as_ref().filter(|_| conversation::is_compaction(body));
        let summary = summary.map(|cue| Move::Say(format!("part={} act={AGAIN} {SUMMARY}", cue.part)));
        let cue = cue.filter(|_| summary.is_none());
        let other = || vec![summary.unwrap_or_else(|| Move::Say(NO_PART.to_owned()))];
        let moves = cue.as_ref().map_or_else(other, |cue| script(cue));
        for done in &moves {
            if let Move::Wait(seconds) = done {
                std::thread::sleep(Duration::from_secs(*seconds));
            }
        }
        let mut kept = self.kept();
        kept.last = Instant::now();
        kept.requests += 1;
        kept.outcomes.extend(conversation::outcomes(body));
        kept.offers_skill |= body.to_string().contains(SKILL);
        if let Some(text) = conversation::facts(body) {
            let (part, act) = cue.as_ref().map(|cue| (cue.part.clone(), cue.act.clone())).unzip();
            let entries = kept.entries.len();
            kept.contexts.push(Context { part, act: act.unwrap_or_default(), text, entries });
        }
        if let Some((text, cue)) = conversation::spent_warning(body).zip(cue.as_ref()) {
            kept.warnings.insert((cue.part.clone(), text));
        }
        let mut content = Vec::new();
        let is_full = moves.iter().any(|done| matches!(done, Move::Fill));
        let searches =
            moves.iter().find_map(|done| if let Move::Search(count) = done { Some(*count) } else { None });
        for (place, done) in moves.into_iter().filter(|done| !done.is_beside()).enumerate() {
            let id = cue.as_ref().map_or_else(String::new, |cue| id(cue, place));
            content.push(match &done {
                Move::Say(text) => json!({"type": "text", "text": text}),
                Move::Use { tool, input } => {
                    json!({"type": "tool_use", "id": id, "name": tool, "input": input})
                }
                Move::Fail { status, kind, message } => {
                    let error = json!({"type": kind, "message": message});
                    json!({"type": "error", "status": status, "error": error})
                }
                Move::Hang | Move::Fill | Move::Search(_) | Move::Wait(_) => Value::Null,
            });
            if let Some(cue) = &cue
                && !kept.entries.iter().any(|entry| entry.id == id)
            {
                kept.entries.push(Entry { id, part: cue.part.clone(), done });
            }
        }
        if content.iter().any(Value::is_null) {
            return None;
        }
        if let Some(error) = content.iter().find(|block| block["type"] == "error") {
            return Some(error.clone());
        }
        let uses = content.iter().any(|block| block["type"] == "tool_use");
        let mut usage = usage(kept.requests, self.writes);
        if is_full && self.writes == CacheWrites::Long {
            usage["cache_read_input_tokens"] = json!(FULL);
        } else if is_full {
            usage["input_tokens"] = json!(FULL);
        }
        if let Some(searches) = searches {
            usage["server_tool_use"]["web_search_requests"] = json!(searches);
        }
        let part = cue.map(|cue| cue.part);
        let message = format!("msg_live{:020}", kept.requests);
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        kept.usages.push(Usage {
            part,
            model,
            id: message.clone(),
            at: SystemTime::now(),
            tokens: usage.clone(),
        });
        Some(json!({
            "id": message, "type": "message", "role": "assistant", "model": body["model"],
            "content": content, "stop_reason": if uses { "tool_use" } else { "end_turn" }, "stop_sequence": null, "usage": usage,
        }))
    }

    /// What was sent so far, in order.
    pub fn entries(&self) -> Vec<Entry> {
        self.kept().entries.clone()
    }

    /// The tokens of every answer.
    pub fn usages(&self) -> Vec<Usage> {
        self.kept().usages.clone()
    }

    /// The facts about the team in every request that holds them.
    pub fn contexts(&self) -> Vec<Context> {
        self.kept().contexts.clone()
    }

    /// The warnings of the budget, each with the part that read it.
    pub fn warnings(&self) -> BTreeSet<(String, String)> {
        self.kept().warnings.clone()
    }

    /// Whether a model was told of the skill.
    pub fn offers_skill(&self) -> bool {
        self.kept().offers_skill
    }

    /// What the client answered to a tool's use, where any model has read it.
    pub fn outcome(&self, id: &str) -> Option<Outcome> {
        self.kept().outcomes.get(id).cloned()
    }

    /// How many requests came, and how long ago the last did.
    pub fn quiet_for(&self) -> (usize, Duration) {
        let kept = self.kept();
        (kept.requests, kept.last.elapsed())
    }

    /// Everything as JSON, for whoever looks into a run that failed.
    pub fn to_json(&self) -> Value {
        let kept = self.kept();
        let told = kept.entries.iter().map(|entry| {
            let outcome = kept.outcomes.get(&entry.id);
            let done = match &entry.done {
                Move::Say(text) => json!({"say": text}),
                Move::Use { tool, input } => json!({"tool": tool, "input": input}),
                Move::Hang => json!("hang"),
                Move::Fail { status, message, .. } => json!({"fail": status, "message": message}),
                Move::Fill => json!("fill"),
                Move::Search(count) => json!({"searches": count}),
                Move::Wait(seconds) => json!({"wait": seconds}),
            };
            json!({"id": entry.id, "part": entry.part, "done": done,
                "failed": outcome.map(|outcome| outcome.failed), "read": outcome.map(|outcome| &outcome.text)})
        });
        told.collect()
    }
}

/// An id that is the same whenever the same request is answered again.
fn id(cue: &Cue, place: usize) -> String {
    // Answers to requests to stop come at any turn: the request tells them apart.
    let asked = cue.asked.last().map_or_else(String::new, |request| request.replace(['-', '@'], "_"));
    format!("toolu_{}_{}_{}_{}_{place}{asked}", cue.part, cue.act.replace('-', "_"), cue.turn, cue.again)
}
