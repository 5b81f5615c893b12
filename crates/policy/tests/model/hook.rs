//! One hook call: what `crates/hook/src/enforcement/mod.rs` does, without its files, and what is checked at each call.

use std::collections::BTreeMap;

use teamkeep_config::{Gate, Policy, Rule};
use teamkeep_model::event::Actor;
use teamkeep_model::payload::EventKind;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{
    Case, Decision, Evaluation, EvaluationInput, Finding, Guard, JudgedEvent, Ledger, Lift, Overrides, Rules,
    TeamState, evaluate, gates, judge,
};

use crate::callers::{Judged, Others};
use crate::calls::{By, Call, payload};
use crate::properties::{Property, Violation};
use crate::scene;
use crate::world::{Agent, NAMES, TEAM, World};

/// The events of which a hook's exit code 2 blocks the action.
const BLOCKABLE: [&str; 7] = [
    "PreToolUse",
    "PreSkillShellCommand",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "SubagentStop",
    "Stop",
];

/// Longer than the window in which the blocks of one message count once.
pub const LATER_MS: i64 = 3_000;
pub const WINDOW_MS: i64 = 2_000;

/// The state of the model: the team, what hooks store, and what must be true of both.
#[derive(Debug, Clone, Default)]
pub struct State {
    pub world: World,
    pub ledger: Ledger,
    pub guard: Guard,
    pub overrides: Overrides,
    /// In milliseconds. Each hook call takes one.
    pub now: i64,
    /// The blocks since the last progress, by gate and agent, each with the time of the last one that counted.
    pub counts: BTreeMap<(&'static str, String), (u32, i64)>,
    /// The completed tasks when the counts were last empty, as bits.
    pub counted_completed: u8,
    /// The teammates whose next shutdown the user has allowed.
    pub allowed: [bool; NAMES.len()],
    /// The teammates whose shutdown a gate has allowed although they are busy.
    pub permitted: [bool; NAMES.len()],
    pub others: Others,
    /// The tool call of each agent that has begun and not ended.
    pub open: [Option<Call>; NAMES.len()],
    /// The last hook call.
    pub last: Option<(By, String)>,
    pub violation: Option<Violation>,
}

/// The answer of a hook call.
#[derive(Debug, Default)]
pub struct Response {
    pub is_blocked: bool,
    /// The agents of findings that an override or the loop guard lifted.
    pub lifted: Vec<(Gate, String)>,
}

/// Whether a gate must block an event (`true`), or must not.
pub type Expected = Vec<(Gate, bool)>;

/// Every gate in the mode `block`, two blocks, and a rule for events that cannot be blocked.
pub fn policy() -> (Policy, Vec<Rule>) {
    let (mut policy, mut rules) = scene::strictest();
    policy.max_blocks = 2;
    policy.premature_shutdown.pending = false;
    (policy.team_size.most, policy.team_size.models) = (3, Vec::new());
    rules.truncate(1);
    rules[0].events = vec!["PostToolUse".to_owned(), "SubagentStart".to_owned()];
    rules[0].matches = [("/tool_name".to_owned(), "TaskStop".to_owned())].into();
    (policy, rules)
}

thread_local! {
    static POLICY: &'static (Policy, Vec<Rule>) = Box::leak(Box::new(policy()));
    static RULES: Rules<'static> = Rules::of(&POLICY.with(|policy| *policy).1);
}

/// The policy and the rules of the model.
pub fn with_policy<T>(use_it: impl FnOnce(&Policy, &Rules<'_>) -> T) -> T {
    let policy = POLICY.with(|policy| &policy.0);
    RULES.with(|rules| use_it(policy, rules))
}

/// An event with its facts about files.
pub fn with_event<T>(at: i64, actor: &Actor, text: &str, use_it: impl FnOnce(&JudgedEvent<'_>) -> T) -> T {
    let payload = payload(text);
    let at = Timestamp::from_millis(at).unwrap_or_default();
    let access = scene::access(&payload);
    let event = JudgedEvent { at, kind: payload.kind(), actor, payload: &payload, access: access.as_ref() };
    use_it(&event)
}

impl State {
    pub fn fail(&mut self, property: Property, why: impl FnOnce() -> String) {
        if self.violation.is_none() {
            self.violation = Some(Violation { property, why: why() });
        }
    }

    /// One hook call.
    pub fn hook(&mut self, actor: &Actor, text: &str, expected: &Expected) -> Response {
        self.now += 1;
        with_policy(|policy, rules| {
            with_event(self.now, actor, text, |event| self.judge(policy, rules, event, expected))
        })
    }

    fn judge(
        &mut self,
        policy: &Policy,
        rules: &Rules<'_>,
        event: &JudgedEvent<'_>,
        expected: &Expected,
    ) -> Response {
        let mut team = self.world.state(std::mem::take(&mut self.ledger));
        let findings = judge(policy, rules, &Case::new(*event, &team));
        let input = EvaluationInput { event, findings: &findings, policy, rules };
        self.check_documented(event.kind, &findings, expected);

        let is_compared = !findings.is_empty() || self.others.differ();
        let before = is_compared.then(|| (team.clone(), self.guard.clone(), self.overrides.clone()));
        let evaluation = with_overrides(&mut self.overrides, policy, &team.members, |lift| {
            evaluate(input, &team, &mut self.guard, lift)
        });
        gates::budget::observe(policy, event, &mut team);
        team.apply(event, &evaluation.judgement());
        self.ledger = team.ledger;

        let Some((team, guard, overrides)) = before else { return Response::default() };
        let judged = Judged {
            input,
            team: &team,
            guard: &guard,
            overrides: &overrides,
            evaluation: &evaluation,
            guard_after: &self.guard,
            ledger_after: &self.ledger,
        };
        if let Err(why) = self.others.judge(judged) {
            self.fail(Property::CallersAgree, || why);
        }
        if evaluation.is_blocked() {
            if event.kind.is_before_tool() && team.ledger != self.ledger {
                let after = self.ledger.clone();
                self.fail(Property::BlockedCallLeavesNoTrace, || format!("{:?}\n{after:?}", team.ledger));
            }
            if let Err(why) = ends(team, guard, event, self.now) {
                self.fail(Property::NoLiveLock, || why);
            }
        }
        self.count(policy, event, &findings, &evaluation)
    }

    fn check_documented(&mut self, kind: EventKind, findings: &[Finding], expected: &Expected) {
        let blocks =
            |gate: Gate| findings.iter().any(|one| one.gate == gate && one.decision == Decision::Block);
        if findings.iter().any(|one| one.decision == Decision::Block) && !BLOCKABLE.contains(&kind.name()) {
            self.fail(Property::OnlyBlockableEventsAreBlocked, || format!("{}: {findings:?}", kind.name()));
        }
        if let Some((gate, must)) = expected.iter().find(|(gate, must)| blocks(*gate) != *must) {
            let must = if *must { "must block" } else { "must not block" };
            self.fail(Property::GatesAreAsDocumented, || {
                format!("{} {must} {}: {findings:?}", gate.name(), kind.name())
            });
        }
    }

    /// Counts the block, and checks what the loop guard allows.
    fn count(
        &mut self,
        policy: &Policy,
        event: &JudgedEvent<'_>,
        findings: &[Finding],
        evaluation: &Evaluation,
    ) -> Response {
        if self.world.completed & !self.counted_completed != 0 {
            self.counted_completed = self.world.completed;
            self.counts.clear();
        }
        let ends_turn = !event.kind.is_before_tool();
        let mut response = Response { is_blocked: evaluation.is_blocked(), ..Response::default() };
        for verdict in &evaluation.verdicts {
            let same = |one: &&Finding| one.gate.name() == verdict.gate && one.reason == verdict.reason;
            let Some(finding) = findings.iter().find(same) else { continue };
            let whose = finding.counted.as_ref().unwrap_or(&finding.about).clone();
            let most = finding.gate.max_blocks(policy.max_blocks);
            let (blocks, last) = *self.counts.get(&(finding.gate.name(), whose.clone())).unwrap_or(&(0, 0));
            if (verdict.escalated || verdict.paused) && finding.decision == Decision::Block {
                response.lifted.push((finding.gate, finding.about.clone()));
            }
            if verdict.escalated && blocks < most {
                self.fail(Property::GuardCountsEachAgent, || {
                    format!("allowed after {blocks} blocks of {whose}: {verdict:?}")
                });
            }
            let is_counted = ends_turn || blocks == 0 || self.now - last >= WINDOW_MS;
            if verdict.decision == Decision::Block && is_counted {
                self.counts.insert((finding.gate.name(), whose), (blocks + 1, self.now));
            }
        }
        response
    }

    /// How often a gate has blocked an agent since the last progress.
    pub fn blocks(&self, gate: Gate, about: &str) -> u32 {
        self.counts.get(&(gate.name(), about.to_owned())).map_or(0, |(blocks, _)| *blocks)
    }

    pub fn is_paused(&self, gate: Gate) -> bool {
        let concerns = |paused: Option<&str>| paused.is_none_or(|paused| paused == gate.name());
        self.overrides.pauses.iter().any(|pause| concerns(pause.gate.as_deref()))
    }

    /// Uses up the permission to stop a busy teammate, if there is one: a pause, an allowance, or enough blocks.
    pub fn may_stop(&mut self, agent: Agent, counted: &str, by_allowance: bool) -> bool {
        let gate = Gate::PrematureShutdown;
        let most = with_policy(|policy, _| gate.max_blocks(policy.max_blocks));
        self.is_paused(gate)
            || (by_allowance && std::mem::take(&mut self.allowed[agent]))
            || self.blocks(gate, counted) >= most
    }
}

/// Evaluates as a hook does: an allowance is used up, and returned if another gate blocks the action.
fn with_overrides(
    overrides: &mut Overrides,
    policy: &Policy,
    members: &[String],
    evaluate: impl FnOnce(&mut dyn FnMut(&Finding) -> bool) -> Evaluation,
) -> Evaluation {
    let (before, mut used) = (overrides.clone(), Vec::new());
    let evaluation = evaluate(&mut |finding| match before.lift(finding, policy, Some(TEAM), members) {
        Some(Lift::Pause) => true,
        Some(Lift::Allowance(name)) => {
            let is_used_up = overrides.use_up(name);
            used.extend(is_used_up.then(|| name.to_owned()));
            is_used_up
        }
        None => false,
    });
    if evaluation.is_blocked() {
        used.retain(|name| !overrides.shutdowns.contains(name));
        overrides.shutdowns.append(&mut used);
    }
    evaluation
}

/// Repeats an action that is blocked, each time later, until it is allowed. Without overrides, and from the state before it.
fn ends(mut team: TeamState, mut guard: Guard, event: &JudgedEvent<'_>, now: i64) -> Result<(), String> {
    let ends_turn = Case::new(*event, &team).ends_turn();
    with_policy(|policy, rules| {
        let mut keys: BTreeMap<(Gate, Option<String>, String), u32> = BTreeMap::new();
        for attempt in 1.. {
            // The next turn can end at once.
            let at = now + if ends_turn { attempt } else { attempt * LATER_MS };
            let event = JudgedEvent { at: Timestamp::from_millis(at).unwrap_or_default(), ..*event };
            let findings = judge(policy, rules, &Case::new(event, &team));
            for finding in findings.iter().filter(|finding| !finding.lasting) {
                let whose = finding.counted.as_ref().unwrap_or(&finding.about);
                let key = (finding.gate, finding.rule.clone(), whose.clone());
                keys.insert(key, finding.gate.max_blocks(policy.max_blocks));
            }
            let input = EvaluationInput { event: &event, findings: &findings, policy, rules };
            let evaluation = evaluate(input, &team, &mut guard, |_| false);
            if !evaluation.is_blocked() {
                return Ok(());
            }
            if attempt > i64::from(keys.values().sum::<u32>()) {
                return Err(format!("{attempt} blocks: {findings:?}"));
            }
            team.apply(&event, &evaluation.judgement());
        }
        Ok(())
    })
}
