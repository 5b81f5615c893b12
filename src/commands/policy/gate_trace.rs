//! Evaluates the gates one by one: which have a finding, and why the others have none.

use crate::config::{Mode, Policy, Rule};
use crate::model::Tool;
use crate::payload::Kind;
use crate::policy::{Facts, Finding, Rules, judge};

/// A gate with the events and tools that it applies to.
struct Gate {
    name: &'static str,
    mode: fn(&mut Policy) -> &mut Mode,
    event: Kind,
    /// The tools that it applies to; empty for all, and for events without a tool.
    tools: &'static [Tool],
}

const GATES: &[Gate] = &[
    Gate {
        name: "premature-shutdown",
        mode: |policy| &mut policy.premature_shutdown.mode,
        event: Kind::PreToolUse,
        tools: &[Tool::SendMessage, Tool::TaskStop, Tool::TeamDelete],
    },
    Gate {
        name: "protect-lead",
        mode: |policy| &mut policy.protect_lead.mode,
        event: Kind::PreToolUse,
        tools: &[Tool::SendMessage],
    },
    Gate {
        name: "idle-with-work",
        mode: |policy| &mut policy.idle_with_work.mode,
        event: Kind::TeammateIdle,
        tools: &[],
    },
    Gate {
        name: "unfinished-dependencies",
        mode: |policy| &mut policy.unfinished_dependencies.mode,
        event: Kind::PreToolUse,
        tools: &[Tool::TaskUpdate],
    },
    Gate {
        name: "report-before-idle",
        mode: |policy| &mut policy.report_before_idle.mode,
        event: Kind::TeammateIdle,
        tools: &[],
    },
    Gate {
        name: "team-size",
        mode: |policy| &mut policy.team_size.mode,
        event: Kind::PreToolUse,
        tools: &[Tool::Agent],
    },
    Gate {
        name: "lead-stops-early",
        mode: |policy| &mut policy.lead_stops_early.mode,
        event: Kind::Stop,
        tools: &[],
    },
];

/// The result of a gate or a rule.
pub enum Answer {
    /// It has a finding.
    Found(Finding),
    /// It has none, for this reason.
    Nothing(&'static str),
}

/// Evaluates each gate and each rule separately.
pub fn trace_gates(policy: &Policy, rules: &[Rule], facts: &Facts<'_>) -> Vec<(String, Answer)> {
    let mut silent = policy.clone();
    GATES.iter().for_each(|gate| *(gate.mode)(&mut silent) = Mode::Off);
    let event = &facts.event;
    let mut asked: Vec<(String, Answer)> = Vec::new();
    for gate in GATES {
        let mode = *(gate.mode)(&mut policy.clone());
        let tool = event.payload.tool();
        let mut alone = silent.clone();
        *(gate.mode)(&mut alone) = mode;
        let why = if mode == Mode::Off {
            Some("off")
        } else if event.kind != gate.event {
            Some("not this event")
        } else if !gate.tools.is_empty() && !tool.is_some_and(|tool| gate.tools.contains(&tool)) {
            Some("not this tool")
        } else {
            None
        };
        let answer = why.map_or_else(|| one(judge(&alone, &Rules::of(&[]), facts)), Answer::Nothing);
        asked.push((gate.name.to_owned(), answer));
    }
    for rule in rules {
        let answer = match event.kind.is_judged() || rule.looks_at(event.kind) {
            true => one(judge(&silent, &Rules::of(std::slice::from_ref(rule)), facts)),
            false => Answer::Nothing("not this event"),
        };
        asked.push((format!("rule {}", rule.name), answer));
    }
    asked
}

/// The first finding: a request to all teammates has one for each.
fn one(findings: Vec<Finding>) -> Answer {
    findings.into_iter().next().map_or(Answer::Nothing("no finding"), Answer::Found)
}
