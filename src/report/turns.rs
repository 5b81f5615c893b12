//! The turns of agents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use crate::payload::Kind as Event;
use crate::team::Notice;
use crate::timeline::Kind;

/// One turn of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The agent.
    pub agent: String,
    /// The id of the agent, if a hook reported it.
    pub instance: Option<String>,
    /// The start, RFC 3339; `None` if unknown.
    pub from: Option<String>,
    /// The end; `None` if it is not recorded.
    pub to: Option<String>,
    /// Whether only idle notices had arrived when it started.
    pub for_idlers: bool,
}

/// A sign of an agent's activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    /// A turn starts.
    Begin,
    /// An idle notice arrives.
    Idler,
    /// Another message arrives, or a tool is called.
    Act,
    /// The turn ends.
    End,
    /// The agent leaves the team.
    Gone,
}

/// The agent's name, and for plain subagents the id, because several can have the same name.
type Who = (String, Option<String>);

/// The turns of all agents, by start. A turn whose start no hook reports (the lead's, when a message triggers it)
/// starts with the first sign after the previous turn.
pub fn turns(case: &ReportInput<'_>) -> Vec<Turn> {
    let mut turns: Vec<Turn> =
        signs(case).into_iter().flat_map(|(who, signs)| of_one(who.0, signs)).collect();
    turns.sort_by(|a, b| a.from.as_ref().or(a.to.as_ref()).cmp(&b.from.as_ref().or(b.to.as_ref())));
    turns
}

/// The time, the sign, and the agent's id.
type Given = (String, Sign, Option<String>);

fn signs(case: &ReportInput<'_>) -> BTreeMap<Who, Vec<Given>> {
    let mut signs: BTreeMap<Who, Vec<Given>> = BTreeMap::new();
    for entry in case.entries {
        let sign = match entry.kind() {
            Kind::TurnStarted => Sign::Begin,
            Kind::TurnEnded => Sign::End,
            Kind::MemberLeft => Sign::Gone,
            _ => continue,
        };
        let id = entry.agent().cloned();
        let by_subagent = entry.turn().is_some_and(|turn| turn.by_subagent);
        let who = (entry.actor.clone(), id.clone().filter(|_| by_subagent));
        signs.entry(who).or_default().push((entry.at.clone(), sign, id));
    }
    let mut add = |name: &str, at: Option<String>, sign: Sign| {
        if let (Some(at), Some(given)) = (at, signs.get_mut(&(name.to_owned(), None))) {
            given.push((at, sign, None));
        }
    };
    for heard in &case.material.transcripts.delivered {
        let idle = Notice::read(&heard.message.text).is_some_and(|notice| notice.kind == "idle_notification");
        add(&heard.recipient, case.ours(heard.at.as_ref()), if idle { Sign::Idler } else { Sign::Act });
    }
    for used in case.material.transcripts.uses.values() {
        add(&used.by, case.ours(used.at.as_ref()), Sign::Act);
    }
    for event in case.material.events.iter().filter(|event| event.kind == Event::PreToolUse) {
        add(event.who().unwrap_or_default(), Some(event.at.clone()), Sign::Act);
    }
    signs.values_mut().for_each(|given| given.sort());
    signs
}

/// An open turn.
#[derive(Default)]
struct OpenTurn {
    /// The start, if a hook reported it.
    begun: Option<String>,
    /// The first sign.
    heard: Option<String>,
    /// Whether idle notices came first, and nothing else.
    idlers: Option<bool>,
    instance: Option<String>,
    /// The last sign.
    last: Option<String>,
    /// Whether its agent has left the team.
    gone: bool,
}

impl OpenTurn {
    /// The turn, ended at `to`.
    fn close(self, agent: &str, to: Option<String>) -> Turn {
        let (from, for_idlers) = (self.begun.or(self.heard), self.idlers == Some(true));
        Turn { agent: agent.to_owned(), instance: self.instance, from, to, for_idlers }
    }

    /// The turn without a recorded end: it ends with its last sign if its agent has left.
    fn leave(mut self, agent: &str) -> Turn {
        let to = self.last.take().filter(|_| self.gone);
        self.close(agent, to)
    }
}

fn of_one(agent: String, signs: Vec<Given>) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut open: Option<OpenTurn> = None;
    for (at, sign, id) in signs {
        if sign == Sign::End {
            let open = open.take().unwrap_or_default();
            turns.push(OpenTurn { instance: id.or(open.instance.clone()), ..open }.close(&agent, Some(at)));
            continue;
        }
        if sign == Sign::Gone {
            // The end may still be reported; before about 2.1.100 it never is.
            if let Some(open) = &mut open {
                open.gone = true;
            }
            continue;
        }
        if sign == Sign::Begin
            && let Some(gone) = open.take_if(|open| open.gone && open.begun.is_some())
        {
            turns.push(gone.leave(&agent));
        }
        let now = open.get_or_insert_default();
        now.last = Some(at.clone());
        match sign {
            Sign::Begin => {
                // Messages that arrived before the start of this turn were read in it.
                now.begun.get_or_insert(at);
                now.instance = now.instance.take().or(id);
            }
            Sign::Idler => {
                now.heard.get_or_insert_with(|| at.clone());
                if now.begun.is_none() {
                    now.idlers.get_or_insert(true);
                }
            }
            // A turn that idle notices started stays so; another message at the same moment is another reason.
            _ => {
                let first = now.heard.get_or_insert_with(|| at.clone()).clone();
                if now.idlers.is_none() || first == at {
                    now.idlers = Some(false);
                }
            }
        }
    }
    if let Some(open) = open.filter(|open| open.begun.is_some()) {
        turns.push(open.leave(&agent));
    }
    turns
}
