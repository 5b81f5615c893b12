//! The turns of agents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use crate::timeline::{Kind, Transcript};
use teamkeep_model::payload::Kind as Event;
use teamkeep_model::team::Notice;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{Activity, Sign};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub agent: String,
    pub instance: Option<String>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub for_idlers: bool,
    /// How it ended, unless the agent ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    Failed,
    Interrupted,
}

/// The details of a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail<'a> {
    /// The agent read a notice that another one is idle, without an answer.
    IdleNotice,
    /// The id of the agent's instance.
    Instance(Option<&'a str>),
    /// The agent did not end the turn of this instance.
    Ended(Option<&'a str>, Ending),
}

/// The agent's name, and for plain subagents, and under a name of several agents at once, the id.
type Who = (String, Option<String>);

/// The turns of all agents, by start. A turn whose start no hook reports (the lead's, when a message triggers it)
/// starts with the first sign after the previous turn.
pub fn turns(case: &ReportInput<'_>) -> Vec<Turn> {
    let mut turns: Vec<Turn> =
        signs(case).into_iter().flat_map(|(who, signs)| of_one(who.0, signs)).collect();
    turns.sort_by_key(|turn| turn.from.or(turn.to));
    turns
}

impl Detail<'_> {
    fn instance(self) -> Option<String> {
        match self {
            Detail::Instance(id) | Detail::Ended(id, _) => id.map(str::to_owned),
            Detail::IdleNotice => None,
        }
    }

    fn ending(self) -> Option<Ending> {
        if let Detail::Ended(_, ending) = self { Some(ending) } else { None }
    }
}

type TimedSign<'a> = (Timestamp, Sign, Detail<'a>);

fn signs<'a>(case: &ReportInput<'a>) -> BTreeMap<Who, Vec<TimedSign<'a>>> {
    let mut signs: BTreeMap<Who, Vec<TimedSign<'_>>> = BTreeMap::new();
    let is_shared = |name: &str| case.data.shared_names.contains(name);
    let who =
        |name: &str, id: Option<&str>| (name.to_owned(), id.filter(|_| is_shared(name)).map(str::to_owned));
    let mut departures = Vec::new();
    for entry in case.entries {
        let id = entry.agent().map(String::as_str);
        let agent = entry.stopped().unwrap_or(&entry.actor);
        let (sign, detail) = match entry.kind() {
            Kind::TurnStarted => (Sign::StartsTurn, Detail::Instance(id)),
            Kind::TurnEnded => (Sign::EndsTurn, Detail::Instance(id)),
            Kind::TurnFailed => (Sign::FailsTurn, Detail::Ended(id, Ending::Failed)),
            Kind::TurnInterrupted => (Sign::EndsTurn, Detail::Ended(id, Ending::Interrupted)),
            Kind::MemberLeft | Kind::AgentStopped if is_shared(agent) => {
                departures.push((entry.at, agent));
                continue;
            }
            Kind::MemberLeft | Kind::AgentStopped => (Sign::Leaves, Detail::Instance(id)),
            _ => continue,
        };
        let by_subagent = entry.turn().is_some_and(|turn| turn.by_subagent) || entry.stopped().is_some();
        let own = match id.filter(|_| by_subagent) {
            Some(id) => (agent.to_owned(), Some(id.to_owned())),
            None => who(agent, id),
        };
        signs.entry(own).or_default().push((entry.at, sign, detail));
    }
    for ((name, _), own) in &mut signs {
        let left = departures.iter().filter(|(_, agent)| agent == name);
        own.extend(left.map(|(at, _)| (*at, Sign::Leaves, Detail::Instance(None))));
    }
    let mut add = |who: Who, at: Option<Timestamp>, detail: Detail<'a>| {
        if let (Some(at), Some(own)) = (at, signs.get_mut(&who)) {
            own.push((at, Sign::Acts, detail));
        }
    };
    let of_transcript = |transcript: &Transcript| who(&transcript.by, Some(&transcript.agent));
    for delivered in &case.data.transcripts.delivered {
        let idle = Notice::read(&delivered.message.text).is_some_and(|notice| notice.is_only_idle());
        let detail = if idle { Detail::IdleNotice } else { Detail::Instance(None) };
        add(of_transcript(&delivered.transcript), case.to_local(delivered.at), detail);
    }
    for used in case.data.transcripts.uses.values() {
        add(of_transcript(&used.transcript), case.to_local(used.at), Detail::Instance(None));
    }
    for event in case.data.events.iter().filter(|event| event.kind == Event::PreToolUse) {
        let own = who(event.who().unwrap_or_default(), event.actor().id.as_deref());
        add(own, Some(event.at), Detail::Instance(None));
    }
    signs.values_mut().for_each(|own| own.sort_unstable());
    signs
}

#[derive(Default)]
struct OpenTurn {
    begun: Option<Timestamp>,
    received: Option<Timestamp>,
    idle_notices: Option<bool>,
    instance: Option<String>,
    last: Option<Timestamp>,
}

impl OpenTurn {
    fn close(&self, agent: &str, to: Option<Timestamp>) -> Turn {
        let (from, for_idlers) = (self.begun.or(self.received), self.idle_notices == Some(true));
        Turn { agent: agent.to_owned(), instance: self.instance.clone(), from, to, for_idlers, ending: None }
    }
}

/// The turns of one agent. A turn without a recorded end ends with its last sign if its agent has left.
fn of_one(agent: String, signs: Vec<TimedSign<'_>>) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut open: Option<OpenTurn> = None;
    let mut doing = None;
    for (at, sign, detail) in signs {
        let before = doing;
        doing = Activity::after(before, sign);
        match sign {
            Sign::EndsTurn | Sign::FailsTurn => {
                let open = open.take().unwrap_or_default();
                let turn = open.close(&agent, Some(at));
                let instance = detail.instance().or(turn.instance);
                turns.push(Turn { instance, ending: detail.ending(), ..turn });
                continue;
            }
            // The end may still be reported; before about 2.1.100 it never is.
            Sign::Leaves => continue,
            Sign::StartsTurn if before == Some(Activity::Gone) => {
                let left = open.take_if(|open| open.begun.is_some());
                turns.extend(left.map(|left| left.close(&agent, left.last)));
            }
            _ => {}
        }
        let turn = open.get_or_insert_default();
        turn.last = Some(at);
        match (sign, detail) {
            (Sign::StartsTurn, detail) => {
                // Messages that arrived before the start of this turn were read in it.
                turn.begun.get_or_insert(at);
                turn.instance = turn.instance.take().or(detail.instance());
            }
            (_, Detail::IdleNotice) => {
                turn.received.get_or_insert(at);
                if turn.begun.is_none() {
                    turn.idle_notices.get_or_insert(true);
                }
            }
            // A turn that idle notices started stays so; another message at the same moment is another reason.
            _ => {
                let first = *turn.received.get_or_insert(at);
                if turn.idle_notices.is_none() || first == at {
                    turn.idle_notices = Some(false);
                }
            }
        }
    }
    if let Some(open) = open.filter(|open| open.begun.is_some()) {
        let to = open.last.filter(|_| doing == Some(Activity::Gone));
        turns.push(open.close(&agent, to));
    }
    turns
}
