//! When agents worked: their turns, and every sign of activity.

use super::input::ReportInput;
use crate::timeline::{AgentSign, DeliveredMessage, EntryKind, Kind, RunData, Timeline};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use teamkeep_model::event::{ActorKind, AgentRef};
use teamkeep_model::payload::EventKind as Event;
use teamkeep_model::team::Notice;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::Sign;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub agent: String,
    pub instance: Option<String>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// Whether only idle notices without an answer started it.
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

/// A part of a turn. Those of one moment are in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step<'a> {
    /// This instance of the agent started the turn.
    Started(Option<&'a str>),
    /// The agent read a notice that another one is idle, without an answer.
    ReadIdleNotice,
    Acted,
    Ended(Option<Ending>, Option<&'a str>),
    /// The agent left.
    Left,
}

/// The turns of all agents, by start. A turn whose start no hook reports (the lead's, when a message triggers it)
/// starts with the first sign after the previous turn.
pub(super) fn turns(case: &ReportInput<'_>) -> Vec<Turn> {
    let steps = steps(case).into_iter();
    let mut turns: Vec<Turn> = steps.flat_map(|(agent, steps)| of_one(agent.name, &steps)).collect();
    turns.sort_by_key(|turn| turn.from.or(turn.to));
    turns
}

type TimedStep<'a> = (Timestamp, Step<'a>);

fn steps<'a>(case: &ReportInput<'a>) -> BTreeMap<AgentRef<'a>, Vec<TimedStep<'a>>> {
    let mut steps: BTreeMap<AgentRef<'_>, Vec<TimedStep<'_>>> = BTreeMap::new();
    let mut departures = Vec::new();
    for entry in case.entries {
        let instance = entry.agent().map(String::as_str);
        for AgentSign { agent, sign, .. } in entry.signs() {
            let step = match sign {
                Sign::StartsTurn => Step::Started(instance),
                Sign::FailsTurn => Step::Ended(Some(Ending::Failed), instance),
                Sign::EndsTurn if entry.kind() == Kind::TurnInterrupted => {
                    Step::Ended(Some(Ending::Interrupted), instance)
                }
                Sign::EndsTurn => Step::Ended(None, instance),
                Sign::Leaves | Sign::EndsSession => {
                    departures.push((entry.at, agent));
                    continue;
                }
                _ => continue,
            };
            steps.entry(agent).or_default().push((entry.at, step));
        }
    }
    for (agent, own) in &mut steps {
        let left = departures.iter().filter(|(_, left)| left.is(*agent));
        own.extend(left.map(|(at, _)| (*at, Step::Left)));
    }
    let mut add = |name: &'a str, id: Option<&'a str>, at: Option<Timestamp>, step: Step<'a>| {
        let id = id.filter(|_| case.data.shared_names.contains(name));
        if let (Some(at), Some(own)) = (at, steps.get_mut(&AgentRef { name, id })) {
            own.push((at, step));
        }
    };
    let transcripts = &case.data.transcripts;
    for DeliveredMessage { transcript, at, message } in &transcripts.delivered {
        let is_idle = Notice::read(&message.text).is_some_and(|notice| notice.is_only_idle());
        let step = if is_idle { Step::ReadIdleNotice } else { Step::Acted };
        add(&transcript.by, Some(&transcript.agent), case.to_local(*at), step);
    }
    for used in transcripts.uses.values() {
        add(&used.transcript.by, Some(&used.transcript.agent), case.to_local(used.at), Step::Acted);
    }
    for event in case.data.events.iter().filter(|event| event.kind == Event::PreToolUse) {
        add(event.who().unwrap_or_default(), event.actor().id.as_deref(), Some(event.at), Step::Acted);
    }
    steps.values_mut().for_each(|own| own.sort_unstable());
    steps
}

#[derive(Default)]
struct OpenTurn {
    begun: Option<Timestamp>,
    received: Option<Timestamp>,
    idle_notices: Option<bool>,
    instance: Option<String>,
    last: Option<Timestamp>,
    /// When the agent left in it. The end may still be reported; before about 2.1.100 it never is.
    left: Option<Timestamp>,
}

impl OpenTurn {
    fn close(&self, agent: &str, to: Option<Timestamp>) -> Turn {
        let (from, for_idlers) = (self.begun.or(self.received), self.idle_notices == Some(true));
        Turn { agent: agent.to_owned(), instance: self.instance.clone(), from, to, for_idlers, ending: None }
    }
}

/// The turns of one agent. A turn without a recorded end ends with its last sign if its agent has left.
fn of_one(agent: &str, steps: &[TimedStep<'_>]) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut open: Option<OpenTurn> = None;
    for (at, step) in steps.iter().copied() {
        if let Step::Ended(ending, instance) = step {
            let turn = open.take().unwrap_or_default().close(agent, Some(at));
            let instance = instance.map(str::to_owned).or(turn.instance);
            turns.push(Turn { instance, ending, ..turn });
            continue;
        }
        if let Step::Left = step {
            if let Some(open) = &mut open {
                open.left.get_or_insert(at);
            }
            continue;
        }
        if let Step::Started(_) = step {
            let left = open.take_if(|open| open.left.is_some() && open.begun.is_some());
            turns.extend(left.map(|left| left.close(agent, left.last)));
        }
        let turn = open.get_or_insert_default();
        turn.last = Some(at);
        match step {
            Step::Started(instance) => {
                // Messages that arrived before the start of this turn were read in it.
                turn.begun.get_or_insert(at);
                turn.instance = turn.instance.take().or(instance.map(str::to_owned));
                turn.left = None;
            }
            Step::ReadIdleNotice => {
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
    match open {
        Some(open) if open.begun.is_some() => turns.push(open.close(agent, open.left.and(open.last))),
        // No hook reports the start of the turn in which a teammate in a pane approves its shutdown.
        Some(open) if open.left.is_some() => turns.push(open.close(agent, open.left)),
        _ => {}
    }
    turns
}

// When each agent showed activity: its hooks, its transcript, and what it sent and changed.

/// The times of each agent, in milliseconds, in order. Automatic actions of Claude Code do not count.
#[derive(Debug, Default)]
pub struct ActivityTimes(HashMap<String, Vec<i64>>);

impl ActivityTimes {
    pub fn of(data: &RunData, timeline: &Timeline) -> ActivityTimes {
        ActivityTimes::of_case(&ReportInput::new(data, timeline))
    }

    pub(super) fn of_case(case: &ReportInput<'_>) -> ActivityTimes {
        let mut times = ActivityTimes::default();
        times.add_events(case);
        times.add_transcripts(case);
        times.add_entries(case);
        times.0.values_mut().for_each(|own| own.sort_unstable());
        times
    }

    /// The agent's last activity until that moment.
    pub fn last(&self, name: &str, at: Timestamp) -> Option<Timestamp> {
        let own = self.of_agent(name);
        let count = own.partition_point(|one| *one <= at.millis());
        own[..count].last().and_then(|last| Timestamp::from_millis(*last))
    }

    /// The times of an agent.
    pub(super) fn of_agent(&self, name: &str) -> &[i64] {
        self.0.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The times of each agent.
    pub(super) fn each(&self) -> impl Iterator<Item = (&String, &Vec<i64>)> {
        self.0.iter()
    }

    fn add(&mut self, name: &str, at: Option<Timestamp>) {
        let Some(at) = at else { return };
        match self.0.get_mut(name) {
            Some(own) => own.push(at.millis()),
            None => drop(self.0.insert(name.to_owned(), vec![at.millis()])),
        }
    }

    fn add_events(&mut self, case: &ReportInput<'_>) {
        for event in &case.data.events {
            let is_own = !matches!(event.kind, Event::FileChanged | Event::Notification | Event::Unknown);
            if is_own && event.verdict.is_none() && event.actor().kind != ActorKind::Helper {
                self.add(event.shown(&case.data.run), Some(event.at));
            }
        }
    }

    fn add_transcripts(&mut self, case: &ReportInput<'_>) {
        let transcripts = &case.data.transcripts;
        transcripts.uses.values().for_each(|used| self.add(&used.transcript.by, case.to_local(used.at)));
        transcripts
            .costs
            .values()
            .for_each(|cost| self.add(&cost.transcript.by, case.to_local(cost.message.at)));
        for delivered in &transcripts.delivered {
            self.add(&delivered.transcript.by, case.to_local(delivered.at));
        }
    }

    fn add_entries(&mut self, case: &ReportInput<'_>) {
        for entry in case.entries.iter().filter(|entry| !entry.is_automatic()) {
            let is_own = match &entry.kind {
                EntryKind::Task(_) => !matches!(entry.kind(), Kind::TaskFound | Kind::TaskErased),
                EntryKind::Message(_)
                | EntryKind::Turn(_)
                | EntryKind::MemberJoined(_)
                | EntryKind::AgentStopped(_) => true,
                _ => false,
            };
            if is_own {
                self.add(&entry.actor, Some(entry.at));
            }
        }
    }
}
