//! A team in the middle of its work, judged one event at a time.

use std::path::PathBuf;

use serde_json::{Value, json};

use teamkeep_config::{Mode, Policy, Rule};
use teamkeep_model::Tool;
use teamkeep_model::event::Actor;
use teamkeep_model::payload::{EventKind, Payload};
use teamkeep_model::team::Task;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::spending::Spending;
use teamkeep_policy::{
    Access, Case, Counting, Decision, Edit, FileHistory, FileState, Finding, GitAccess, GitLoss, Guard,
    JudgedEvent, Judgement, Lost, Rules, TeamState, Verdict, gates, judge, reads_team,
};

pub(super) type FindAccess = fn(&Policy, &JudgedEvent<'_>, &FileHistory) -> Option<Access>;

/// A team, its policy, and a clock that moves with each event.
#[derive(Default, Clone)]
pub(super) struct Scene {
    pub team: TeamState,
    pub policy: Policy,
    pub rules: Vec<Rule>,
    /// Where the tools run. Without it, no file is used.
    pub directory: Option<PathBuf>,
    /// Where the facts about files and git are from.
    pub facts: Option<FindAccess>,
    clock: u32,
}

/// Facts about a tool call, without a disk and without git.
pub(super) fn access(payload: &Payload) -> Option<Access> {
    let path = |key: &str| payload.tool_input().get(key)?.as_str().map(str::to_owned);
    match (payload.kind(), payload.tool()?) {
        (EventKind::PostToolUse, tool @ (Tool::Read | Tool::Edit)) => {
            let state = Some(FileState::default());
            Some(Access::Used { path: path("file_path")?, state, is_change: tool == Tool::Edit })
        }
        (_, Tool::Edit) => {
            let present = Some(FileState { size: 1, ..FileState::default() });
            Some(Access::Edit(Edit { path: path("file_path")?, present, ..Edit::default() }))
        }
        (_, Tool::Bash) => {
            let all = || vec!["/1".to_owned(), "/2".to_owned()];
            let tree = |paths: Vec<String>| Lost::Tree { used: paths.clone(), changed: paths };
            let kinds = [Lost::Changes, Lost::Adds, Lost::Commits, Lost::Stash, tree];
            let loss =
                |kind: fn(_) -> _| GitLoss { command: "reset", root: "/".to_owned(), what: kind(all()) };
            let losses = kinds.into_iter().map(loss).collect();
            let (made, settled, shown) = (all(), vec!["/2".to_owned()], vec!["/1".to_owned()]);
            Some(Access::Git(GitAccess { losses, is_complete: true, before: None, made, settled, shown }))
        }
        _ => None,
    }
}

/// A payload with these fields.
pub(super) fn payload(fields: &Value) -> Payload {
    Payload::from_raw(&serde_json::value::to_raw_value(fields).unwrap())
}

pub(super) fn lead() -> Actor {
    Actor::lead()
}

pub(super) fn mate(name: &str) -> Actor {
    Actor::teammate(name, None)
}

/// PreToolUse of a tool.
pub(super) fn before(tool: &str, input: Value) -> Value {
    json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": "t"})
}

/// PostToolUse of a successful call.
pub(super) fn after(tool: &str, input: Value) -> Value {
    let response = json!({"success": true});
    json!({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input, "tool_response": response, "tool_use_id": "t"})
}

pub(super) fn ask(name: &str) -> Value {
    json!({"to": name, "message": {"type": "shutdown_request", "reason": "done"}})
}

pub(super) fn approve(name: &str) -> Value {
    let request = format!("shutdown-1@{name}");
    json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": request, "approve": true}})
}

pub(super) fn idle(name: &str) -> Value {
    json!({"hook_event_name": "TeammateIdle", "teammate_name": name})
}

impl Scene {
    /// alice, bob and carol with these tasks: id, status, owner, dependencies.
    pub(super) fn with(tasks: &[(&str, &str, &str, &[&str])]) -> Scene {
        let mut scene = Scene::default();
        scene.team.name = Some("parser-team".to_owned());
        scene.team.members = ["team-lead", "alice", "bob", "carol"].map(str::to_owned).into();
        for (id, status, owner, blocked) in tasks {
            scene.task(json!({"id": id, "subject": format!("Task {id}"), "status": status, "owner": owner, "blockedBy": blocked}));
        }
        scene
    }

    /// Adds a task as its file has it.
    pub(super) fn task(&mut self, raw: Value) {
        let file = format!("{}.json", raw["id"].as_str().unwrap());
        let task = Task::parse(&file, raw.to_string().as_bytes()).unwrap();
        self.team.tasks.insert(task.id.clone(), task);
    }

    /// Sets the clock back to the start.
    pub(super) fn turn_back(&mut self) {
        self.clock = 0;
    }

    /// The second of the last event.
    pub(super) fn now(&self) -> i64 {
        self.clock.into()
    }

    fn at(&mut self) -> Timestamp {
        self.clock += 1;
        Timestamp::from_millis(self.clock as i64 * 1_000).unwrap()
    }

    fn in_directory(&self, fields: &Value) -> Value {
        let mut fields = fields.clone();
        if let Some(directory) = self.directory.as_ref().filter(|_| fields.get("cwd").is_none()) {
            fields["cwd"] = json!(directory);
        }
        fields
    }

    fn access(&self, event: &JudgedEvent<'_>) -> Option<Access> {
        self.facts?(&self.policy, event, &self.team.ledger.files)
    }

    /// Judges an event.
    pub(super) fn judge(&mut self, actor: &Actor, fields: &Value) -> Vec<Finding> {
        let (at, payload) = (self.at(), payload(&self.in_directory(fields)));
        let event = JudgedEvent { at, kind: payload.kind(), actor, payload: &payload, access: None };
        let access = self.access(&event);
        let event = JudgedEvent { access: access.as_ref(), ..event };
        judge_and_check_reads(&self.policy, &Rules::of(&self.rules), &event, &self.team)
    }

    /// The codes and decisions of the findings.
    pub(super) fn codes(&mut self, actor: &Actor, fields: &Value) -> Vec<(&'static str, Decision)> {
        self.judge(actor, fields).iter().map(|finding| (finding.code, finding.decision)).collect()
    }

    /// An event that happens.
    pub(super) fn happens(&mut self, actor: &Actor, fields: &Value) {
        self.observes(actor, fields, false);
    }

    /// An event that is blocked and is not a tool call.
    pub(super) fn is_held_back(&mut self, actor: &Actor, fields: &Value) {
        self.observes(actor, fields, true);
    }

    fn observes(&mut self, actor: &Actor, fields: &Value, held_back: bool) {
        let (at, payload) = (self.at(), payload(&self.in_directory(fields)));
        let event = JudgedEvent { at, kind: payload.kind(), actor, payload: &payload, access: None };
        let access = self.access(&event);
        let event = JudgedEvent { access: access.as_ref(), ..event };
        gates::budget::observe(&self.policy, &event, &mut self.team);
        self.team.apply(&event, &Judgement { blocked: held_back, ..Judgement::default() });
    }

    /// A sent message.
    pub(super) fn says(&mut self, actor: &Actor, to: &str, text: &str) {
        self.happens(actor, &after("SendMessage", json!({"to": to, "message": text})));
    }
}

/// The findings for an event. Checks that an event for which no files are read has none, and that they do not depend on spending
/// that is not read.
pub(super) fn judge_and_check_reads(
    policy: &Policy,
    rules: &Rules<'_>,
    event: &JudgedEvent<'_>,
    team: &TeamState,
) -> Vec<Finding> {
    let findings = |team: &TeamState| judge(policy, rules, &Case::new(*event, team));
    let found = findings(team);
    assert!(reads_team(policy, rules, event) || found.is_empty(), "{:?}: {found:?}", event.kind);
    if !gates::budget::needs_spending(policy, &Case::new(*event, team)) {
        let without_spending = TeamState { spending: Spending::default(), ..team.clone() };
        assert_eq!(findings(&without_spending), found, "{:?}", event.kind);
    }
    found
}

/// The verdict for one finding at the end of a turn, so that each attempt counts.
pub(super) fn decide(
    finding: &Finding,
    state: &str,
    guard: &mut Guard,
    max_blocks: u32,
    paused: bool,
) -> Verdict {
    let counting = Counting { state, max_blocks, at: 0, ends_turn: true };
    let judged = teamkeep_policy::decide(std::slice::from_ref(finding), guard, &counting, |_| paused);
    judged.verdicts.into_iter().next().unwrap()
}

/// Every gate and three rules in their strictest mode.
pub(super) fn strictest() -> (Policy, Vec<Rule>) {
    let mut policy = Policy::default();
    policy.premature_shutdown.mode = Mode::Block;
    policy.premature_shutdown.without_tasks = Mode::Block;
    (policy.premature_shutdown.pending, policy.premature_shutdown.open_turn) = (true, true);
    policy.protect_lead.mode = Mode::Block;
    policy.idle_with_work.mode = Mode::Block;
    policy.unfinished_dependencies.mode = Mode::Block;
    policy.report_before_idle.mode = Mode::Block;
    policy.team_size.mode = Mode::Block;
    (policy.team_size.most, policy.team_size.models) = (2, vec!["opus".to_owned()]);
    policy.lead_stops_early.mode = Mode::Block;
    policy.edit_collision.mode = Mode::Block;
    (policy.history_rewrite.mode, policy.add_everything.mode) = (Mode::Block, Mode::Block);
    let rule = |name: &str, action: Mode, pointer: &str, lasting: bool| Rule {
        name: name.to_owned(),
        events: Vec::new(),
        tools: Vec::new(),
        actor: "*".to_owned(),
        team: "*".to_owned(),
        matches: [(pointer.to_owned(), "/./".to_owned())].into(),
        action,
        reason: "no\u{7}".repeat(300),
        lasting,
        file_line: String::new(),
    };
    let rules = vec![
        rule("one", Mode::Block, "/tool_input/command", false),
        rule("two", Mode::Warn, "/teammate_name", true),
        rule("three", Mode::Block, "/tool_input/model", true),
    ];
    (policy, rules)
}
