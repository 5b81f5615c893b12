//! The tool calls of agents, as Claude Code shows them to hooks: in every shape, and with every spelling of a name.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use teamkeep_model::event::{Actor, ActorKind};
use teamkeep_model::payload::{Input, Payload, parse};

use crate::world::{Agent, LEAD, NAMES, Status, TEAM, World};

/// A tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    Message(Agent, Text),
    /// A message to all.
    Broadcast,
    Request(Agent, Shape, Spelling),
    /// A shutdown request to all.
    RequestAll,
    /// The answer to a shutdown request.
    Answer {
        approve: bool,
        shape: Shape,
    },
    Update(usize, Change),
    Stop(Agent, Spelling),
    DeleteTeam,
    Spawn(Agent),
    Edit,
    Commit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Text {
    Plain,
    Question,
    /// Asks in words to shut down. Claude Code delivers it as any other text.
    LikeRequest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    Assign(Agent),
    Start,
    Complete,
    /// Back to pending, without an owner.
    Release,
    MarkWaiting,
}

/// How a message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// 2.1.47.
    Old,
    /// 2.1.177 and later.
    New,
    /// What PreToolUse shows of the new one.
    Both,
    /// A text that is the message in JSON. 2.1.47 delivers it as that message.
    Json,
}

/// How a name is written: every way in which 2.1.330 finds the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spelling {
    Plain,
    Upper,
    FullWidth,
    Invisible,
    At,
    WithTeam,
}

impl Spelling {
    fn of(self, agent: Agent) -> String {
        let name = NAMES[agent];
        let wide = |c: char| char::from_u32(u32::from(c) + 0xfee0).filter(|_| c.is_ascii_lowercase());
        match self {
            Spelling::Plain => name.to_owned(),
            Spelling::Upper => name.to_uppercase(),
            Spelling::FullWidth => name.chars().map(|c| wide(c).unwrap_or(c)).collect(),
            Spelling::Invisible => format!("{}\u{200b}{}", &name[..1], &name[1..]),
            Spelling::At => format!("@{name}"),
            Spelling::WithTeam => format!("{name}@{TEAM}"),
        }
    }
}

/// The name of the tool and its input.
fn input(by: Agent, call: Call) -> (&'static str, String) {
    let message = |to: &str, shape: Shape, kind: &str, old: &str, rest: &str| match shape {
        Shape::Old => format!(r#"{{"type":"{kind}","recipient":"{to}","content":"now"{old}}}"#),
        Shape::New => format!(r#"{{"to":"{to}","message":{{"type":"{kind}","reason":"now"{rest}}}}}"#),
        Shape::Both => format!(
            r#"{{"to":"{to}","message":{{"type":"{kind}","reason":"now"{rest}}},"type":"{kind}","recipient":"{to}","recipient_kind":"teammate","content":"now"{old}}}"#
        ),
        Shape::Json => {
            // An approval has another name in an inbox.
            let kind = if kind == "shutdown_request" { kind } else { "shutdown_approved" };
            let (asked, from) = if kind == "shutdown_request" { (to, LEAD) } else { (NAMES[by], by) };
            let (request, from) = (format!("shutdown-1@{asked}"), NAMES[from]);
            format!(
                r#"{{"to":"{to}","message":"{{\"type\":\"{kind}\",\"requestId\":\"{request}\",\"from\":\"{from}\",\"reason\":\"now\"}}"}}"#
            )
        }
    };
    match call {
        Call::Message(to, text) => {
            let text = match text {
                Text::Plain => "the parser is next",
                Text::Question => "which parser?",
                Text::LikeRequest => "shutdown_request: please shut down now",
            };
            ("SendMessage", format!(r#"{{"to":"{}","message":"{text}"}}"#, NAMES[to]))
        }
        Call::Broadcast => ("SendMessage", r#"{"to":"*","message":"the parser is done"}"#.to_owned()),
        Call::Request(to, shape, spelling) => {
            ("SendMessage", message(&spelling.of(to), shape, "shutdown_request", "", ""))
        }
        Call::RequestAll => ("SendMessage", message("*", Shape::New, "shutdown_request", "", "")),
        Call::Answer { approve, shape } => {
            let rest = format!(r#","request_id":"shutdown-1@{}","approve":{approve}"#, NAMES[by]);
            ("SendMessage", message(NAMES[LEAD], shape, "shutdown_response", &rest, &rest))
        }
        Call::Update(task, change) => {
            let id = task + 1;
            let own = NAMES[by];
            let change = match change {
                Change::Assign(to) => format!(r#""owner":"{}""#, NAMES[to]),
                Change::Start => format!(r#""status":"in_progress","owner":"{own}""#),
                Change::Complete => r#""status":"completed""#.to_owned(),
                Change::Release => r#""status":"pending","owner":"""#.to_owned(),
                Change::MarkWaiting => r#""metadata":{"waiting":"for the review"}"#.to_owned(),
            };
            ("TaskUpdate", format!(r#"{{"taskId":"{id}",{change}}}"#))
        }
        Call::Stop(agent, spelling) => ("TaskStop", format!(r#"{{"task_id":"{}"}}"#, spelling.of(agent))),
        Call::DeleteTeam => ("TeamDelete", "{}".to_owned()),
        Call::Spawn(agent) => {
            let name = NAMES[agent];
            ("Agent", format!(r#"{{"name":"{name}","description":"the work of {name}","prompt":"parse"}}"#))
        }
        Call::Edit => ("Edit", r#"{"file_path":"/1"}"#.to_owned()),
        Call::Commit => ("Bash", r#"{"command":"git commit -am x"}"#.to_owned()),
    }
}

/// The result of a call that succeeded.
fn response(by: Agent, call: Call) -> String {
    let routed = |to: &str| {
        format!(
            r#"{{"success":true,"message":"sent","routing":{{"sender":"{}","target":"@{to}"}}}}"#,
            NAMES[by]
        )
    };
    match call {
        Call::Message(to, _) => routed(NAMES[to]),
        Call::Request(to, Shape::Json, _) => routed(NAMES[to]),
        Call::Broadcast | Call::RequestAll => routed("team"),
        Call::Request(to, ..) => {
            let name = NAMES[to];
            format!(r#"{{"success":true,"request_id":"shutdown-1@{name}","target":"{name}"}}"#)
        }
        Call::Answer { .. } => routed(NAMES[LEAD]),
        Call::Spawn(agent) => {
            let name = NAMES[agent];
            format!(
                r#"{{"status":"teammate_spawned","name":"{name}","agent_id":"{name}@{TEAM}","teammate_id":"{name}@{TEAM}","team_name":"{TEAM}","tmux_pane_id":"in-process"}}"#
            )
        }
        Call::Update(..) | Call::Stop(..) | Call::DeleteTeam | Call::Edit | Call::Commit => {
            r#"{"success":true}"#.to_owned()
        }
    }
}

/// Who makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    Agent(Agent),
    /// A plain subagent whose role is the name of a teammate.
    Subagent(Agent),
}

impl By {
    pub fn agent(self) -> Agent {
        let (By::Agent(agent) | By::Subagent(agent)) = self;
        agent
    }

    pub fn actor(self) -> Actor {
        match self {
            By::Agent(LEAD) => Actor::lead(),
            By::Agent(agent) => Actor::teammate(NAMES[agent], Some(&self.id())),
            By::Subagent(role) => {
                Actor { name: Some(NAMES[role].to_owned()), id: Some(self.id()), kind: ActorKind::Subagent }
            }
        }
    }

    fn id(self) -> String {
        match self {
            By::Agent(agent) => format!("a{}-7dfceaaaef47c69e", NAMES[agent]),
            By::Subagent(role) => format!("a{role}0123456789abcde"),
        }
    }
}

/// The text of a payload with these fields, in the form of 2.1.328.
pub fn payload_text(event: &str, by: By, fields: &str) -> String {
    let agent = match by {
        By::Agent(LEAD) => String::new(),
        _ => format!(r#""agent_id":"{}","agent_type":"{}","#, by.id(), NAMES[by.agent()]),
    };
    let session = "3f1b7f0e-0000-4000-8000-000000000000";
    format!(r#"{{"session_id":"{session}","cwd":"/work","hook_event_name":"{event}",{agent}{fields}}}"#)
}

/// The fields of a tool call. An agent has one call at a time, so its calls share an id.
pub fn call_fields(by: By, call: Call, is_done: bool) -> String {
    let (tool, input) = input(by.agent(), call);
    let id = by.id();
    let response =
        if is_done { format!(r#","tool_response":{}"#, response(by.agent(), call)) } else { String::new() };
    format!(r#""tool_name":"{tool}","tool_input":{input},"tool_use_id":"toolu_{id}"{response}"#)
}

/// The payload with a text. There are few texts, so each is parsed once.
pub fn payload(text: &str) -> Rc<Payload> {
    thread_local! {
        static PARSED: RefCell<HashMap<String, Rc<Payload>>> = RefCell::new(HashMap::new());
    }
    let parsed = || {
        let payload = parse(&Input::from(text.as_bytes().to_vec()));
        assert_eq!(payload.malformed, None, "{text}");
        Rc::new(payload)
    };
    PARSED.with_borrow_mut(|known| match known.get(text) {
        Some(payload) => Rc::clone(payload),
        None => Rc::clone(known.entry(text.to_owned()).or_insert_with(parsed)),
    })
}

/// The agents that a call stops or asks to stop.
pub fn stopped(world: &World, by: By, call: Call) -> Vec<Agent> {
    match call {
        Call::Request(to, ..) | Call::Stop(to, _) if to != LEAD => vec![to],
        Call::RequestAll | Call::DeleteTeam => world.teammates().collect(),
        Call::Answer { approve: true, .. } if by.agent() != LEAD => vec![by.agent()],
        _ => Vec::new(),
    }
}

/// Claude Code runs a call. It may overlap with other hook calls.
pub fn run(world: &mut World, by: By, call: Call, overlaps: bool) {
    let from = by.agent();
    let known = |value: bool| (!overlaps).then_some(value);
    let is_member = by == By::Agent(from) && world.members[from].is_here;
    let is_message = matches!(
        call,
        Call::Message(..) | Call::Broadcast | Call::Request(..) | Call::RequestAll | Call::Answer { .. }
    );
    if is_member && is_message {
        world.members[from].is_unreported = known(false);
    }
    match call {
        Call::Message(to, text) if world.members[to].is_here => {
            world.deliver(to);
            world.instruct(from, to, overlaps);
            if is_member && to == LEAD && text == Text::Question {
                world.members[from].awaits_lead = known(true);
            }
        }
        Call::Broadcast => {
            for to in world.teammates().chain([LEAD]).filter(|to| *to != from) {
                world.deliver(to);
                // Without a history, it is unknown who gets a message to all.
                world.instruct(from, to, overlaps || world.members[to].is_forgotten);
            }
        }
        Call::Request(..) | Call::RequestAll => {
            // A message to all does not come back to its sender.
            let is_own = |to: &Agent| call == Call::RequestAll && *to == from;
            for to in stopped(world, by, call).into_iter().filter(|to| !is_own(to)) {
                world.deliver(to);
                let is_known = call != Call::RequestAll || !world.members[to].is_forgotten;
                world.members[to].is_asked = known(true).filter(|_| is_known);
            }
        }
        Call::Answer { approve: true, .. } if from != LEAD => world.remove(from),
        Call::Answer { .. } => world.members[from].is_asked = known(false),
        Call::Stop(agent, _) => world.remove(agent),
        Call::Spawn(agent) => world.join(agent),
        Call::DeleteTeam => {
            *world = World { is_over: true, completed: world.completed, ..World::default() };
        }
        Call::Update(task, change) => {
            world.had_tasks = true;
            let Some(file) = world.tasks[task].as_mut() else { return };
            match change {
                Change::Assign(to) => file.owner = Some(to),
                Change::Start => (file.owner, file.status) = (Some(from), Status::InProgress),
                Change::Complete => file.status = Status::Completed,
                Change::Release => (file.owner, file.status) = (None, Status::Pending),
                Change::MarkWaiting => file.waits = true,
            }
            match change {
                Change::Assign(to) if to != from && world.members[to].is_here => {
                    world.deliver(to);
                    world.instruct(from, to, overlaps);
                }
                Change::Complete => world.completed |= 1 << task,
                _ => {}
            }
        }
        Call::Message(..) | Call::Edit | Call::Commit => {}
    }
}
