//! The turns of agents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use crate::timeline::Kind;
use teamkeep_core::client::payload::Kind as Event;
use teamkeep_core::client::team::Notice;
use teamkeep_core::policy::{Activity, Sign};
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub agent: String,
    pub instance: Option<String>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub for_idlers: bool,
}

/// The details of a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail<'a> {
    /// The agent read a notice that another one is idle.
    IdleNotice,
    /// The id of the agent's instance.
    Instance(Option<&'a str>),
}

/// The agent's name, and for plain subagents the id, because several can have the same name.
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
        if let Detail::Instance(id) = self { id.map(str::to_owned) } else { None }
    }
}

type TimedSign<'a> = (Timestamp, Sign, Detail<'a>);

fn signs<'a>(case: &ReportInput<'a>) -> BTreeMap<Who, Vec<TimedSign<'a>>> {
    let mut signs: BTreeMap<Who, Vec<TimedSign<'_>>> = BTreeMap::new();
    for entry in case.entries {
        let sign = match entry.kind() {
            Kind::TurnStarted => Sign::StartsTurn,
            Kind::TurnEnded => Sign::EndsTurn,
            Kind::MemberLeft | Kind::AgentStopped => Sign::Leaves,
            _ => continue,
        };
        let id = entry.agent().map(String::as_str);
        let by_subagent = entry.turn().is_some_and(|turn| turn.by_subagent) || entry.stopped().is_some();
        let agent = entry.stopped().unwrap_or(&entry.actor).to_owned();
        let who = (agent, id.filter(|_| by_subagent).map(str::to_owned));
        signs.entry(who).or_default().push((entry.at, sign, Detail::Instance(id)));
    }
    let mut add = |name: &str, at: Option<Timestamp>, detail: Detail<'a>| {
        if let (Some(at), Some(own)) = (at, signs.get_mut(&(name.to_owned(), None))) {
            own.push((at, Sign::Acts, detail));
        }
    };
    for delivered in &case.data.transcripts.delivered {
        let idle =
            Notice::read(&delivered.message.text).is_some_and(|notice| notice.kind == "idle_notification");
        let detail = if idle { Detail::IdleNotice } else { Detail::Instance(None) };
        add(&delivered.transcript.by, case.to_local(delivered.at), detail);
    }
    for used in case.data.transcripts.uses.values() {
        add(&used.transcript.by, case.to_local(used.at), Detail::Instance(None));
    }
    for event in case.data.events.iter().filter(|event| event.kind == Event::PreToolUse) {
        add(event.who().unwrap_or_default(), Some(event.at), Detail::Instance(None));
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
        Turn { agent: agent.to_owned(), instance: self.instance.clone(), from, to, for_idlers }
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
            Sign::EndsTurn => {
                let open = open.take().unwrap_or_default();
                let turn = open.close(&agent, Some(at));
                turns.push(Turn { instance: detail.instance().or(turn.instance), ..turn });
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
