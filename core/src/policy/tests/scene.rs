//! A team in the middle of its work, judged one event at a time.

use std::path::Path;

use serde_json::{Value, json};

use crate::client::payload::Payload;
use crate::client::team::Task;
use crate::config::{Policy, Rule};
use crate::enforcement;
use crate::model::Tool;
use crate::model::event::Actor;
use crate::policy::{
    Access, Case, Counting, Decision, Finding, GitCall, GitCommand, GitCommands, Guard, Judged, Judgement,
    PathArgument, Paths, Place, Rules, TeamState, Verdict, gates, judge,
};
use crate::sys::clock::Timestamp;

/// A team, its policy, and a clock that moves with each event.
#[derive(Default, Clone)]
pub struct Scene {
    pub team: TeamState,
    pub policy: Policy,
    pub rules: Vec<Rule>,
    clock: u32,
}

/// The files that a tool call uses; links count as resolved. The first directory is the root of the working tree, and
/// Write creates its file.
pub fn access(payload: &Payload) -> Option<Access> {
    let input = payload.tool_input();
    let root_len = |path: &str| path.match_indices('/').nth(1).map_or(path.len(), |(at, _)| at);
    if payload.tool() == Some(Tool::Bash) {
        let found = GitCommands::parse(input.get("command")?.as_str()?, Path::new("/repo"));
        let resolve = |command: &GitCommand| {
            let directory = command.directory.to_str()?;
            let root = directory[..root_len(directory)].to_owned();
            let paths = |all: &[PathArgument]| {
                let path = |path: &PathArgument| match path {
                    PathArgument::Below(path) if path != "." => format!("{directory}/{path}"),
                    PathArgument::Below(_) => directory.to_owned(),
                    PathArgument::Top => root.clone(),
                };
                Paths(all.iter().map(path).collect())
            };
            let effects = command.effects.iter().map(|effect| effect.with_paths(|all| paths(all))).collect();
            Some(GitCall { root: root.clone(), name: command.name, effects })
        };
        let calls = found.commands.iter().filter_map(resolve).collect();
        return Some(Access::Git { calls, is_complete: found.is_complete });
    }
    let path = input.get("file_path")?.as_str()?;
    let is_new = payload.tool_name() == Some("Write");
    let place = Place { path: path.to_owned(), root_len: root_len(path), is_new };
    match payload.tool()? {
        Tool::Read => Some(Access::Reads(place)),
        Tool::Edit => Some(Access::Changes(place)),
        _ => None,
    }
}

/// A payload with these fields.
pub fn payload(fields: &Value) -> Payload {
    Payload::from_raw(&serde_json::value::to_raw_value(fields).unwrap())
}

pub fn lead() -> Actor {
    Actor::lead()
}

pub fn mate(name: &str) -> Actor {
    Actor::teammate(name, None)
}

/// PreToolUse of a tool.
pub fn before(tool: &str, input: Value) -> Value {
    json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": "t"})
}

/// PostToolUse of a successful call.
pub fn after(tool: &str, input: Value) -> Value {
    let response = json!({"success": true});
    json!({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input, "tool_response": response, "tool_use_id": "t"})
}

pub fn ask(name: &str) -> Value {
    json!({"to": name, "message": {"type": "shutdown_request", "reason": "done"}})
}

pub fn approve(name: &str) -> Value {
    let request = format!("shutdown-1@{name}");
    json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": request, "approve": true}})
}

pub fn idle(name: &str) -> Value {
    json!({"hook_event_name": "TeammateIdle", "teammate_name": name})
}

impl Scene {
    /// alice, bob and carol with these tasks: id, status, owner, dependencies.
    pub fn with(tasks: &[(&str, &str, &str, &[&str])]) -> Scene {
        let mut scene = Scene::default();
        scene.team.name = Some("parser-team".to_owned());
        scene.team.members = ["team-lead", "alice", "bob", "carol"].map(str::to_owned).into();
        for (id, status, owner, blocked) in tasks {
            scene.task(json!({"id": id, "subject": format!("Task {id}"), "status": status, "owner": owner, "blockedBy": blocked}));
        }
        scene
    }

    /// Adds a task as its file has it.
    pub fn task(&mut self, raw: Value) {
        let file = format!("{}.json", raw["id"].as_str().unwrap());
        let task = Task::parse(&file, raw.to_string().as_bytes()).unwrap();
        self.team.tasks.insert(task.id.clone(), task);
    }

    /// Sets the clock back to the start.
    pub fn turn_back(&mut self) {
        self.clock = 0;
    }

    /// The second of the last event.
    pub fn now(&self) -> i64 {
        self.clock.into()
    }

    fn at(&mut self) -> Timestamp {
        self.clock += 1;
        Timestamp::from_millis(self.clock as i64 * 1_000).unwrap()
    }

    /// Judges an event.
    pub fn judge(&mut self, actor: &Actor, fields: &Value) -> Vec<Finding> {
        let (at, payload) = (self.at(), payload(fields));
        let (kind, access) = (payload.kind(), access(&payload));
        let event = Judged { at, kind, actor, payload: &payload, access: access.as_ref() };
        judge(&self.policy, &Rules::of(&self.rules), &Case::new(event, &self.team))
    }

    /// The codes and decisions of the findings.
    pub fn codes(&mut self, actor: &Actor, fields: &Value) -> Vec<(&'static str, Decision)> {
        self.judge(actor, fields).iter().map(|finding| (finding.code, finding.decision)).collect()
    }

    /// An event that happens.
    pub fn happens(&mut self, actor: &Actor, fields: &Value) {
        self.observes(actor, fields, false);
    }

    /// An event that is blocked and is not a tool call.
    pub fn is_held_back(&mut self, actor: &Actor, fields: &Value) {
        self.observes(actor, fields, true);
    }

    fn observes(&mut self, actor: &Actor, fields: &Value, held_back: bool) {
        let (at, payload) = (self.at(), payload(fields));
        let (kind, access) = (payload.kind(), access(&payload));
        let event = Judged { at, kind, actor, payload: &payload, access: access.as_ref() };
        gates::budget::observe(&self.policy, &event, &mut self.team);
        self.team.apply(&event, &Judgement { blocked: held_back, ..Judgement::default() });
    }

    /// A sent message.
    pub fn says(&mut self, actor: &Actor, to: &str, text: &str) {
        self.happens(actor, &after("SendMessage", json!({"to": to, "message": text})));
    }
}

/// The verdict for one finding at the end of a turn, so that each attempt counts.
pub fn decide(finding: &Finding, state: &str, guard: &mut Guard, max_blocks: u32, paused: bool) -> Verdict {
    let counting = Counting { state, max_blocks, at: 0, ends_turn: true };
    let judged = enforcement::decide(std::slice::from_ref(finding), guard, &counting, |_| paused);
    judged.verdicts.into_iter().next().unwrap()
}
