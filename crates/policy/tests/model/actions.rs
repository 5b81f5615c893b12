//! The actions of the model: each is one thing that Claude Code or the user does, with the hook calls that follow from it.

use teamkeep_config::Gate;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{Guard, Ledger, Overrides, Pause};

use crate::calls::{By, Call, Change, Shape, Spelling, Text, call_fields, payload_text, run, stopped};
use crate::documented;
use crate::hook::{Expected, LATER_MS, Response, State};
use crate::properties::Property;
use crate::scope::Scope;
use crate::world::{Agent, LEAD, NAMES, Status, World};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A tool call from its start to its end.
    Call(By, Call),
    /// The start of a tool call; other hook calls can come before its end.
    Begin(Agent, Call),
    Finish(Agent),
    Fail(Agent),
    TurnStarts(Agent),
    /// With a final text or without one.
    TurnEnds(Agent, bool),
    /// With a list of background tasks or without one.
    LeadStops(bool),
    /// A plain subagent starts or stops. Its role is the name of a teammate.
    Subagent(Agent, bool),
    Allow(Agent),
    /// A pause of premature-shutdown, or of all gates.
    Pause(bool),
    Resume,
    /// The file with the ledger and the counts is lost.
    LoseState,
    /// Claude Code removes the files of the tasks, because all are completed.
    RemoveTasks,
    Wait,
    /// The last hook call comes a second time.
    Repeat,
}

impl State {
    /// A team in the middle of its run: the lead has spawned these teammates.
    pub fn new(teammates: usize, tasks: usize) -> State {
        let mut state = State { world: World::new(tasks), now: 1_000, ..State::default() };
        for agent in 1..=teammates {
            state.act(Action::Call(By::Agent(LEAD), Call::Spawn(agent)));
            state.act(Action::TurnStarts(agent));
        }
        state.act(Action::Wait);
        assert_eq!(state.violation, None);
        state
    }

    /// Whether a tool call of the agent has begun and not ended.
    pub fn is_overlapped(&self, agent: Agent) -> bool {
        self.open[agent].is_some()
    }

    /// Does an action that is possible.
    pub fn act(&mut self, action: Action) {
        match action {
            Action::Call(by, call) => {
                if self.begin(by, call) {
                    self.finish(by, call, false);
                }
            }
            Action::Begin(agent, call) => {
                if self.begin(By::Agent(agent), call) {
                    self.open[agent] = Some(call);
                }
            }
            Action::Finish(agent) => {
                if let Some(call) = self.open[agent].take() {
                    self.finish(By::Agent(agent), call, true);
                }
            }
            Action::Fail(agent) => {
                if let Some(call) = self.open[agent].take() {
                    let by = By::Agent(agent);
                    self.send("PostToolUseFailure", by, &call_fields(by, call, false), &Expected::new());
                    // A request that failed was never sent.
                    if matches!(call, Call::Request(..) | Call::RequestAll) {
                        let others = stopped(&self.world, by, call).into_iter().filter(|to| *to != agent);
                        others.for_each(|to| self.permitted[to] = false);
                    }
                }
            }
            Action::TurnStarts(agent) => self.start_turn(agent),
            Action::TurnEnds(agent, answers) => self.end_turn(agent, answers),
            Action::LeadStops(lists) => self.stop_lead(lists),
            Action::Subagent(role, starts) => {
                let event = if starts { "SubagentStart" } else { "SubagentStop" };
                self.send(event, By::Subagent(role), r#""stop_hook_active":false"#, &Expected::new());
            }
            Action::Allow(agent) => {
                self.overrides.shutdowns.push(NAMES[agent].to_owned());
                self.allowed[agent] = true;
            }
            Action::Pause(all) => {
                let gate = (!all).then(|| Gate::PrematureShutdown.name().to_owned());
                self.overrides.pauses = vec![Pause { gate, team: None, until: Timestamp::default() }];
            }
            Action::Resume => {
                self.overrides = Overrides::default();
                self.allowed = Default::default();
            }
            Action::LoseState => {
                (self.ledger, self.guard) = (Ledger::default(), Guard::default());
                self.counts.clear();
                self.permitted = Default::default();
                self.others = crate::callers::Others { is_lost: true, ..Default::default() };
                self.world.forget();
            }
            Action::RemoveTasks => self.world.tasks = Default::default(),
            Action::Wait => self.now += LATER_MS,
            Action::Repeat => {
                if let Some((by, text)) = self.last.clone() {
                    let response = self.hook(&by.actor(), &text, &Expected::new());
                    self.permit(&text, &response);
                }
            }
        }
        // Used up by a stop of a teammate that is not busy: a shutdown of one that waits for messages, for example.
        for (agent, is_allowed) in self.allowed.iter_mut().enumerate() {
            *is_allowed &= self.overrides.shutdowns.iter().any(|name| name == NAMES[agent]);
        }
    }

    fn send(&mut self, event: &str, by: By, fields: &str, expected: &Expected) -> Response {
        let text = payload_text(event, by, fields);
        let response = self.hook(&by.actor(), &text, expected);
        self.permit(&text, &response);
        self.last = Some((by, text));
        response
    }

    /// After a request that was allowed although its recipients are busy, they may approve it.
    fn permit(&mut self, text: &str, response: &Response) {
        if response.is_blocked || !text.contains("PreToolUse") || !text.contains("shutdown_request") {
            return;
        }
        let lifted = response.lifted.iter().filter(|(gate, _)| *gate == Gate::PrematureShutdown);
        for (_, about) in lifted {
            let agent = NAMES.iter().position(|name| name == about);
            agent.into_iter().for_each(|agent| self.permitted[agent] = true);
        }
    }

    /// PreToolUse; whether the call runs.
    fn begin(&mut self, by: By, call: Call) -> bool {
        let expected = documented::of_call(self, by, call);
        let is_approval = matches!(call, Call::Answer { .. });
        let has_tasks = |agent: &Agent| !self.world.owned(*agent, Status::InProgress).is_empty();
        let is_busy = |agent: &Agent| if is_approval { has_tasks(agent) } else { self.world.is_busy(*agent) };
        let targets = stopped(&self.world, by, call);
        let busy: Vec<Agent> = targets.iter().copied().filter(is_busy).collect();
        let response = self.send("PreToolUse", by, &call_fields(by, call, false), &expected);
        if let By::Agent(agent) = by
            && !response.is_blocked
        {
            self.world.members[agent].is_forgotten = false;
        }
        if response.is_blocked {
            return false;
        }
        for agent in busy {
            if is_approval && self.permitted[agent] {
                continue;
            }
            let counted = match call {
                Call::RequestAll => format!("* from {}", NAMES[by.agent()]),
                Call::DeleteTeam => NAMES[by.agent()].to_owned(),
                _ => NAMES[agent].to_owned(),
            };
            if !self.may_stop(agent, &counted, call != Call::DeleteTeam) {
                self.fail(Property::BusyTeammateIsNotStopped, || format!("{call:?} stops {}", NAMES[agent]));
            }
        }
        true
    }

    /// The call runs, and PostToolUse.
    fn finish(&mut self, by: By, call: Call, overlaps: bool) {
        if let Call::Update(task, Change::Complete) = call {
            let name = if by.agent() == LEAD { "" } else { NAMES[by.agent()] };
            let id = task + 1;
            let fields = format!(r#""task_id":"{id}","task_subject":"Task {id}","teammate_name":"{name}""#);
            self.send("TaskCompleted", by, &fields, &Expected::new());
        }
        run(&mut self.world, by, call, overlaps);
        self.send("PostToolUse", by, &call_fields(by, call, true), &Expected::new());
        for agent in 1..NAMES.len() {
            if !self.world.members[agent].is_here {
                (self.open[agent], self.permitted[agent]) = (None, false);
            }
        }
        match call {
            Call::Spawn(agent) => self.permitted[agent] = false,
            Call::Answer { approve: false, .. } => self.permitted[by.agent()] = false,
            _ => {}
        }
    }

    fn start_turn(&mut self, agent: Agent) {
        let member = &mut self.world.members[agent];
        (member.is_working, member.has_mail, member.has_queued) = (true, false, false);
        (member.is_idle, member.is_forgotten) = (Some(false), false);
        self.send("SubagentStart", By::Agent(agent), r#""agent_name":"""#, &Expected::new());
    }

    /// The end of a turn: SubagentStop, TaskCompleted for each task in progress, TeammateIdle. If it is blocked, the next turn
    /// begins.
    fn end_turn(&mut self, agent: Agent, answers: bool) {
        let (by, name) = (By::Agent(agent), NAMES[agent]);
        let text = if answers {
            r#""last_assistant_message":"the parser works""#
        } else {
            r#""stop_hook_active":false"#
        };
        self.send("SubagentStop", by, text, &Expected::new());
        self.world.members[agent].is_working = false;
        for task in self.world.owned(agent, Status::InProgress) {
            self.world.had_tasks = true;
            let id = task + 1;
            let fields = format!(r#""task_id":"{id}","task_subject":"Task {id}","teammate_name":"{name}""#);
            self.send("TaskCompleted", by, &fields, &Expected::new());
        }
        let expected = documented::of_idle(self, agent, answers);
        let idle = self.send("TeammateIdle", by, &format!(r#""teammate_name":"{name}""#), &expected);
        if idle.is_blocked {
            return self.start_turn(agent);
        }
        let member = &mut self.world.members[agent];
        member.is_idle = Some(!member.has_queued);
        if answers {
            member.is_unreported = Some(false);
        }
    }

    fn stop_lead(&mut self, lists: bool) {
        let expected = documented::of_lead_stop(self);
        let running = self.world.teammates().map(|agent| {
            let name = NAMES[agent];
            format!(r#"{{"id":"t{agent}","type":"teammate","status":"running","description":"the work of {name}"}}"#)
        });
        let list: Vec<String> = running.collect();
        let fields = match lists {
            true => format!(r#""background_tasks":[{}]"#, list.join(",")),
            false => r#""stop_hook_active":false"#.to_owned(),
        };
        if !self.send("Stop", By::Agent(LEAD), &fields, &expected).is_blocked {
            self.world.members[LEAD].has_mail = false;
        }
    }

    /// The actions that are possible, in a fixed order.
    pub fn actions(&self, scope: &Scope) -> Vec<Action> {
        let world = &self.world;
        let mut actions = Vec::new();
        if world.is_over || self.violation.is_some() {
            return actions;
        }
        let here: Vec<Agent> = world.teammates().collect();
        for by in [LEAD].into_iter().chain(here.iter().copied()) {
            if let Some(call) = self.open[by] {
                let is_gone = matches!(call, Call::Update(task, _) if world.tasks[task].is_none());
                actions.extend((!is_gone).then_some(Action::Finish(by)));
                actions.push(Action::Fail(by));
            } else if by == LEAD || world.members[by].is_working {
                let calls = self.calls(scope, by);
                actions.extend(calls.iter().map(|call| Action::Call(By::Agent(by), *call)));
                if scope.overlaps {
                    actions.extend(calls.into_iter().map(|call| Action::Begin(by, call)));
                }
                if by != LEAD {
                    actions.extend([Action::TurnEnds(by, true), Action::TurnEnds(by, false)]);
                }
            } else if world.members[by].has_mail || world.members[by].has_queued {
                actions.push(Action::TurnStarts(by));
            }
        }
        if self.open[LEAD].is_none() {
            actions.push(Action::LeadStops(false));
            actions.extend(scope.lists.then_some(Action::LeadStops(true)));
        }
        for agent in here {
            if scope.subagents {
                actions.extend([Action::Subagent(agent, true), Action::Subagent(agent, false)]);
                let request = Call::Request(agent, Shape::New, Spelling::Plain);
                actions.push(Action::Call(By::Subagent(agent), request));
            }
            if scope.overrides && self.overrides.shutdowns.iter().all(|name| name != NAMES[agent]) {
                actions.push(Action::Allow(agent));
            }
        }
        if scope.overrides {
            match self.overrides.pauses.is_empty() {
                true => actions.extend([Action::Pause(false), Action::Pause(true)]),
                false => actions.push(Action::Resume),
            }
        }
        let mut files = world.tasks.iter().flatten().peekable();
        if files.peek().is_some() && files.all(|file| file.status == Status::Completed) {
            actions.push(Action::RemoveTasks);
        }
        let is_between_calls = self.open.iter().all(Option::is_none);
        actions.extend((scope.losses && is_between_calls).then_some(Action::LoseState));
        actions.extend(scope.repeats.then_some(Action::Repeat));
        actions.push(Action::Wait);
        actions
    }

    /// The tool calls that an agent can make.
    fn calls(&self, scope: &Scope, by: Agent) -> Vec<Call> {
        let world = &self.world;
        let others: Vec<Agent> = world.teammates().filter(|agent| *agent != by).collect();
        let mut calls = Vec::new();
        // The history resolves other spellings, so one that was lost knows none until the agent does something.
        let resolves = |agent: &&Agent, spelling: Spelling| {
            spelling == Spelling::Plain || !world.members[**agent].is_forgotten
        };
        for (shape, spelling) in scope.requests {
            let others = others.iter().filter(|to| resolves(to, *spelling));
            calls.extend(others.map(|to| Call::Request(*to, *shape, *spelling)));
        }
        for task in (0..scope.tasks).filter(|task| world.tasks[*task].is_some()) {
            let Some(file) = world.tasks[task] else { continue };
            let mut change = |change: Change| calls.push(Call::Update(task, change));
            match (by, file.status) {
                (_, Status::Completed) => {}
                (LEAD, status) => {
                    let assigned = others.iter().filter(|to| file.owner != Some(**to));
                    assigned.for_each(|to| change(Change::Assign(*to)));
                    if status == Status::InProgress {
                        change(Change::Release);
                    }
                }
                (_, Status::Pending) if file.owner.is_none_or(|owner| owner == by) => change(Change::Start),
                (_, Status::InProgress) if file.owner == Some(by) => {
                    change(Change::Complete);
                    if !file.waits && scope.marks {
                        change(Change::MarkWaiting);
                    }
                }
                _ => {}
            }
        }
        if by == LEAD {
            calls.extend(others.iter().map(|to| Call::Message(*to, Text::Plain)));
            for spelling in scope.stops {
                let others = others.iter().filter(|agent| resolves(agent, *spelling));
                calls.extend(others.map(|agent| Call::Stop(*agent, *spelling)));
            }
            calls.extend([Call::DeleteTeam, Call::RequestAll]);
            let absent = (1..=scope.teammates).find(|agent| !world.members[*agent].is_here);
            calls.extend(absent.map(Call::Spawn));
        } else {
            calls.extend([Text::Plain, Text::Question].map(|text| Call::Message(LEAD, text)));
            calls.push(Call::Answer { approve: true, shape: Shape::New });
            calls.push(Call::Answer { approve: false, shape: Shape::New });
            calls.push(Call::Request(LEAD, Shape::New, Spelling::Plain));
        }
        if scope.wide {
            calls.extend([Call::Broadcast, Call::Edit, Call::Commit]);
            calls.extend(others.iter().map(|to| Call::Message(*to, Text::LikeRequest)));
            calls.push(Call::Answer { approve: true, shape: Shape::Json });
            calls.push(Call::Answer { approve: true, shape: Shape::Old });
            calls.extend((by != LEAD).then_some(Call::RequestAll));
        }
        calls
    }
}
