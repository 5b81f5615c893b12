//! Two hook calls of different agents that run at the same time, in both orders. Each reads the team's files before the other
//! changes what is stored, so the files are the same for both.

use teamkeep_config::Gate;
use teamkeep_policy::{Case, Decision, judge};

use crate::calls::{By, Call, Change, Shape, Spelling, Text, call_fields, payload_text};
use crate::hook::{Expected, State, with_event, with_policy};
use crate::properties::Property;
use crate::world::{Agent, LEAD, NAMES};

/// A hook call that can come at the same time as one of another agent.
#[derive(Debug, Clone)]
pub struct Concurrent {
    pub by: By,
    pub event: &'static str,
    text: String,
    /// The hook call of the same agent that certainly came before.
    before: Option<String>,
}

impl Concurrent {
    fn new(event: &'static str, by: By, fields: &str) -> Concurrent {
        Concurrent { by, event, text: payload_text(event, by, fields), before: None }
    }
}

/// The hook calls that an agent can make next.
fn next(state: &State, agent: Agent) -> Vec<Concurrent> {
    let (by, member) = (By::Agent(agent), &state.world.members[agent]);
    let mut calls = Vec::new();
    if let Some(call) = state.open[agent] {
        calls.push(Concurrent::new("PostToolUse", by, &call_fields(by, call, true)));
        calls.push(Concurrent::new("PostToolUseFailure", by, &call_fields(by, call, false)));
    } else if agent == LEAD || member.is_working {
        let to = if agent == LEAD { 1 } else { LEAD };
        let message = Call::Message(to, Text::Question);
        calls.push(Concurrent::new("PreToolUse", by, &call_fields(by, message, false)));
        let task = (0..state.world.tasks.len()).find(|task| state.world.tasks[*task].is_some());
        if let Some(task) = task.filter(|_| agent != LEAD) {
            let update = Call::Update(task, Change::Start);
            calls.push(Concurrent::new("PreToolUse", by, &call_fields(by, update, false)));
        }
        let end = if agent == LEAD { "Stop" } else { "SubagentStop" };
        let end = Concurrent::new(end, by, r#""last_assistant_message":"the parser works""#);
        if agent != LEAD {
            let name = format!(r#""teammate_name":"{}""#, NAMES[agent]);
            let before = Some(end.text.clone());
            calls.push(Concurrent { before, ..Concurrent::new("TeammateIdle", by, &name) });
        }
        calls.push(end);
    } else {
        calls.push(Concurrent::new("SubagentStart", by, r#""agent_name":"""#));
    }
    calls
}

/// An event, and a finding about it.
type Found = (String, Gate, &'static str, Decision);

/// What gates find about every event that asks them about a teammate or the lead.
fn findings(state: &State) -> Vec<Found> {
    let mut probes = vec![Concurrent::new("Stop", By::Agent(LEAD), r#""stop_hook_active":false"#)];
    let lead = By::Agent(LEAD);
    for agent in state.world.teammates() {
        let (by, name) = (By::Agent(agent), NAMES[agent]);
        let request = Call::Request(agent, Shape::New, Spelling::Plain);
        let answer = Call::Answer { approve: true, shape: Shape::New };
        probes.push(Concurrent::new("PreToolUse", lead, &call_fields(lead, request, false)));
        probes.push(Concurrent::new("PreToolUse", by, &call_fields(by, answer, false)));
        probes.push(Concurrent::new("TeammateIdle", by, &format!(r#""teammate_name":"{name}""#)));
    }
    let team = state.world.state(state.ledger.clone());
    let found = probes.iter().flat_map(|probe| {
        let found = with_policy(|policy, rules| {
            with_event(state.now, &probe.by.actor(), &probe.text, |event| {
                judge(policy, rules, &Case::new(*event, &team))
            })
        });
        let event = format!("{} of {}", probe.event, NAMES[probe.by.agent()]);
        found.into_iter().map(move |one| (event.clone(), one.gate, one.code, one.decision))
    });
    found.collect()
}

/// Why the order of two hook calls may matter; `None` if it may not.
fn reason(state: &State, calls: [&Concurrent; 2], is_blocked_alike: bool) -> Option<&'static str> {
    let leaves = |call: &&Concurrent| {
        let ends = |call: Call| {
            matches!(call, Call::Answer { approve: true, .. } | Call::Stop(..) | Call::DeleteTeam)
        };
        call.event == "PostToolUse" && state.open[call.by.agent()].is_some_and(ends)
    };
    if calls.iter().any(leaves) {
        return Some("what comes to an agent that has just left is kept, but that agent has no more events");
    }
    (!is_blocked_alike).then_some("the end of a turn is judged by the messages that are known then")
}

/// Whether each two hook calls that can come next give the same findings in both orders.
pub fn check(state: &State) -> Result<(), String> {
    let agents: Vec<Agent> = [LEAD].into_iter().chain(state.world.teammates()).collect();
    for (place, one) in agents.iter().enumerate() {
        for other in &agents[place + 1..] {
            for one in next(state, *one) {
                for other in next(state, *other) {
                    check_pair(state, &one, &other)?;
                }
            }
        }
    }
    Ok(())
}

fn check_pair(state: &State, one: &Concurrent, other: &Concurrent) -> Result<(), String> {
    let mut before = state.clone();
    let none = Expected::new();
    for call in [one, other] {
        call.before.iter().for_each(|text| drop(before.hook(&call.by.actor(), text, &none)));
    }
    let after = |calls: [&Concurrent; 2]| {
        let mut state = before.clone();
        let blocked = calls.map(|call| state.hook(&call.by.actor(), &call.text, &none).is_blocked);
        (findings(&state), blocked)
    };
    let ((first, [first_one, first_other]), (second, [second_other, second_one])) =
        (after([one, other]), after([other, one]));
    let is_blocked_alike = (first_one, first_other) == (second_one, second_other);
    if first == second || reason(state, [one, other], is_blocked_alike).is_some() {
        return Ok(());
    }
    let only = |of: &[Found], other: &[Found]| -> Vec<Found> {
        of.iter().filter(|one| !other.contains(one)).cloned().collect()
    };
    let (in_first, in_second) = (only(&first, &second), only(&second, &first));
    Err(format!(
        "{} of {:?}, {} of {:?}: {in_first:?} or {in_second:?}",
        one.event, one.by, other.event, other.by
    ))
}

impl State {
    /// Checks the order of the hook calls that can come next.
    pub fn check_order(&mut self) {
        if let Err(why) = check(self) {
            self.fail(Property::OrderDoesNotMatter, || why);
        }
    }
}
