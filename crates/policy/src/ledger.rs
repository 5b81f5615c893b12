//! The history of a team that gates need, and the names in it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::slice;
use std::sync::LazyLock;
use teamkeep_model::words::cut;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reason::MAX_TEXT_CHARS;
use super::{Activity, FileHistory, LiveState};
use teamkeep_model::event::{MAX_ENTRIES, MAX_NAME_BYTES};
use teamkeep_model::team::{reached, spelled, without_reference, without_team};
use teamkeep_model::time::Timestamp;
use teamkeep_model::unicode::fold;

/// The history of one team, folded over its events ([`Ledger::observe`]).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// The members and those that left, from the signs in payloads; the tasks that were ever in progress, if a limit per task
    /// needs them. A member that left and was not spawned again cannot be stopped, whatever work is left.
    pub live: LiveState,
    pub members: BTreeMap<String, MemberActivity>,
    /// TaskUpdates to `completed` that have started and not returned: tool_use_id → task. A TaskCompleted for any
    /// other task reports the end of a turn.
    #[serde(rename = "completing")]
    pub pending_completions: BTreeMap<String, String>,
    /// Tool calls that have started and not returned, by tool_use_id.
    #[serde(rename = "begun")]
    pub pending: BTreeMap<String, PendingToolCall>,
    /// Other names of a member: its agent ids, and the ids of its background tasks.
    pub handles: BTreeMap<String, String>,
    /// Members by the description of their spawn (its [`mark`]). Several can share one.
    pub spawned_for: BTreeMap<String, Vec<String>>,
    /// Background tasks of unknown teammates: id → the [`mark`] of its description.
    pub background: BTreeMap<String, String>,
    /// Number of recorded steps. It orders events even if the clock is set back.
    pub order: u64,
    /// Whether the team ever had a task. Claude Code 2.1.328 deletes all of them when all are completed.
    pub tasked: bool,
    /// Whether Claude Code names the agent of a teammate's tool call (since 2.1.69). Where it does, a call without an
    /// agent is the lead's.
    pub names_agents: bool,
    /// Names of teammates by the ids of their agents, if the budget is on. They stay when the teammate leaves.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agent_names: BTreeMap<String, String>,
    /// The agents that started plain subagents, by the id of the subagent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub starters: BTreeMap<String, String>,
    /// Which agent changed which file and made which commit. It is stored on its own, because most events do not need it.
    #[serde(skip)]
    pub files: FileHistory,
}

/// The history of one member. Each number is a position in [`Ledger::order`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemberActivity {
    /// The last instruction from each agent (spawn, task or message); the key is empty if the agent is unknown.
    #[serde(rename = "told_by")]
    pub instructions: BTreeMap<String, u64>,
    /// The last message that it sent.
    #[serde(rename = "said")]
    pub last_message: Option<u64>,
    /// The final text of its last turn that had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<FinalText>,
    /// The end of the last turn whose final text Claude Code has delivered, if it delivers any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered: Option<u64>,
    /// Its last question to each agent; `*` for everyone.
    #[serde(rename = "asked")]
    pub questions: BTreeMap<String, u64>,
    /// When its turn was first seen, or could first have started.
    pub since: Option<u64>,
    /// The start of its last turn, if it went idle afterwards. Later messages are delivered with the next turn.
    pub idle: Option<u64>,
    /// Whether a shutdown request to it is open.
    pub stopping: bool,
    /// Whether a gate allowed that request (by the loop guard, a pause or an allowance): its approval is then allowed.
    #[serde(rename = "let_go")]
    pub shutdown_permitted: bool,
}

/// The final text of a turn, which Claude Code delivers to the lead from 2.1.251 on ([`delivers_answers`]).
///
/// [`delivers_answers`]: teamkeep_model::compat::delivers_answers
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FinalText {
    /// Position of the end of the turn.
    pub at: u64,
    /// Whether the agent sent no message in that turn.
    pub is_all: bool,
    /// Its length.
    pub bytes: usize,
    /// Its beginning on one line; `None` in metadata-only mode.
    pub start: Option<String>,
}

impl FinalText {
    /// The answer in a final text; `None` if it is blank.
    pub(super) fn of(text: &str, at: u64, is_all: bool) -> Option<FinalText> {
        let mut start = String::new();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next().filter(|_| start.len() < 4 * MAX_TEXT_CHARS) {
            start.extend((!start.is_empty()).then_some(' '));
            start.extend(word.chars().take(MAX_TEXT_CHARS + 1));
        }
        let start = cut(&start, MAX_TEXT_CHARS);
        (!start.is_empty()).then_some(FinalText { at, is_all, bytes: text.len(), start: Some(start) })
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PendingToolCall {
    /// Position at which it started. Its messages count as sent then, not when the tool returned.
    pub order: u64,
    /// The caller, if known.
    pub by: Option<String>,
    /// The teammate that it spawns, and the start time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawns: Option<(String, Timestamp)>,
    /// The agent that starts a plain subagent with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starter: Option<String>,
}

/// A short hash, so that the ledger does not store the text.
pub fn mark(words: &str) -> String {
    blake3::hash(words.as_bytes()).to_hex()[..16].to_owned()
}

/// Whether a name or id can be stored. One payload must not make the ledger too large to be read again.
pub(super) fn fits(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
}

impl Ledger {
    /// The history of a member; empty for an unknown one.
    pub fn of(&self, name: &str) -> &MemberActivity {
        static NOTHING: LazyLock<MemberActivity> = LazyLock::new(MemberActivity::default);
        self.members.get(name).unwrap_or(&NOTHING)
    }

    /// Whether a turn of the agent has started and not ended.
    pub fn works(&self, name: &str) -> bool {
        self.live.doing(name) == Some(Activity::Works)
    }

    /// Whether a turn of the agent was ever seen, since it last joined.
    pub fn has_worked(&self, name: &str) -> bool {
        !matches!(self.live.doing(name), None | Some(Activity::Here | Activity::Gone))
    }

    pub fn has_left(&self, name: &str) -> bool {
        self.live.doing(name) == Some(Activity::Gone)
    }

    /// Removes the texts of agents, for metadata-only mode.
    pub fn forget_texts(&mut self) {
        let answers = self.members.values_mut().filter_map(|member| member.answer.as_mut());
        answers.for_each(|answer| answer.start = None);
    }

    /// Records the name of an agent that has a transcript.
    pub(super) fn note_agent(&mut self, id: &str, name: &str) {
        if self.agent_names.len() < MAX_ENTRIES && fits(id) && fits(name) {
            self.agent_names.entry(id.to_owned()).or_insert_with(|| name.to_owned());
        }
    }

    /// The member that a text refers to: a name, `@name`, `name@team`, an agent id, or the id of a background task.
    pub fn member<'a>(&'a self, text: &'a str) -> &'a str {
        let name = self.strip_team(text);
        spelled(name, || self.names()).unwrap_or(name)
    }

    /// The member that receives a message to this name.
    pub fn recipient<'a>(&'a self, to: &'a str) -> &'a str {
        let name = self.strip_team(without_reference(to));
        reached(name, || self.names()).unwrap_or(name)
    }

    /// The names of the members, and of those that left: another spelling of such a name must not become a member of its own.
    fn names(&self) -> impl Iterator<Item = &str> {
        let left = self.live.roster.iter().map(|member| member.name.as_str());
        self.members.keys().map(String::as_str).chain(left)
    }

    /// The name in such a text, as written there.
    pub(crate) fn strip_team<'a>(&'a self, text: &'a str) -> &'a str {
        let folded = || match fold(text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => self.handles.get(&text),
        };
        if let Some(name) = self.handles.get(text).or_else(folded) {
            return name;
        }
        without_team(text)
    }
}

impl MemberActivity {
    pub(crate) fn last_instruction(&self) -> Option<u64> {
        self.instructions.values().max().copied()
    }

    /// Whether it had an instruction after its last message and after its last answer, if Claude Code delivers answers.
    pub(crate) fn has_unreported_work(&self, delivers_answers: bool) -> bool {
        let answered = self.answer.as_ref().map(|answer| answer.at).max(self.delivered);
        let report = self.last_message.max(answered.filter(|_| delivers_answers));
        self.last_instruction().is_some() && report < self.last_instruction()
    }

    /// The agents whose answer it waits for. An instruction from an unknown agent may be the answer, and anyone
    /// answers a question to everyone (`*`).
    pub(crate) fn awaits_answer_from(&self) -> impl Iterator<Item = &str> {
        let from = |name: &str| self.instructions.get(name).copied();
        let answer =
            move |name: &str| if name == "*" { self.last_instruction() } else { from(name).max(from("")) };
        let open = self.questions.iter().filter(move |(name, at)| answer(name) < Some(**at));
        open.map(|(name, _)| name.as_str())
    }
}

/// Keeps the last position of each name, for a limited number of names.
pub(super) fn note_last(positions: &mut BTreeMap<String, u64>, name: &str, order: u64) {
    let position = positions.entry(name.to_owned()).or_default();
    *position = order.max(*position);
    forget_oldest(positions, MAX_ENTRIES, |position| *position);
}

/// Drops the oldest entries until at most this many are left.
pub(super) fn forget_oldest<V, A: Ord>(
    entries: &mut BTreeMap<String, V>,
    most: usize,
    age: impl Fn(&V) -> A,
) {
    while entries.len() > most {
        let oldest = entries.iter().min_by_key(|(_, entry)| age(entry)).map(|(key, _)| key.clone());
        oldest.map(|key| entries.remove(&key));
    }
}

/// The teammate of a background task. Claude Code lists them by an id of its own and by the description of the spawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TeammateRef<'a> {
    /// One of these teammates.
    Among(&'a [String]),
    /// An unknown teammate.
    Any,
}

impl Ledger {
    /// The teammate of a listed background task; `None` if the task is not a teammate.
    pub fn listed<'a>(&'a self, task: &'a Value) -> Option<TeammateRef<'a>> {
        let text = |key: &str| task.get(key).and_then(Value::as_str);
        (text("type") == Some("teammate")).then(|| match text("id").and_then(|id| self.handles.get(id)) {
            Some(known) => TeammateRef::Among(slice::from_ref(known)),
            None => self.described(text("description").unwrap_or_default()),
        })
    }

    /// The teammate of a background task that was listed earlier without a known teammate.
    pub fn unnamed(&self, id: &str) -> Option<TeammateRef<'_>> {
        let all = self.spawned_for.get(self.background.get(id)?);
        Some(all.map_or(TeammateRef::Any, |all| TeammateRef::Among(all)))
    }

    /// Records the ids of the listed tasks.
    pub(super) fn learn_background(&mut self, tasks: Option<&Value>) {
        for task in tasks.and_then(Value::as_array).into_iter().flatten() {
            let Some(id) = task.get("id").and_then(Value::as_str).filter(|id| fits(id)) else { continue };
            match self.listed(task) {
                Some(TeammateRef::Among([name])) => {
                    let name = name.clone();
                    self.background.remove(id);
                    self.handles.insert(id.to_owned(), name);
                }
                Some(_) if self.background.len() < MAX_ENTRIES => {
                    let description = task.get("description").and_then(Value::as_str).unwrap_or_default();
                    self.background.insert(id.to_owned(), mark(description));
                }
                _ => {}
            }
        }
    }

    /// Forgets the ids of a member that has left. If it shares its description with a member that is still there, the
    /// name stays, because the id may belong to either.
    pub(super) fn forget_handles(&mut self, name: &str) {
        let Ledger { handles, spawned_for, background, live, .. } = self;
        let has_left = |name: &str| live.doing(name) == Some(Activity::Gone);
        handles.retain(|_, member| member != name);
        spawned_for.retain(|mark, all| {
            all.retain(|member| member != name || has_left(name));
            let stays = all.iter().any(|member| !has_left(member));
            if !stays {
                background.retain(|_, of| of != mark);
            }
            stays
        });
    }

    /// 2.1.328 describes a teammate by the description of its spawn, 2.1.177 by its name and the start of its prompt.
    fn described<'a>(&'a self, description: &str) -> TeammateRef<'a> {
        if let Some(all) = self.spawned_for.get(&mark(description)) {
            // Claude Code no longer lists a member that has left.
            let mut there = all.iter().filter(|name| !self.has_left(name));
            return match (there.next(), there.next()) {
                (Some(one), None) => TeammateRef::Among(slice::from_ref(one)),
                _ => TeammateRef::Among(all),
            };
        }
        let named = description.split_once(": ").and_then(|(name, _)| self.members.get_key_value(name));
        named.map_or(TeammateRef::Any, |(name, _)| TeammateRef::Among(slice::from_ref(name)))
    }
}
