//! The result of each gate and rule: its finding, or why it has none.

use crate::config::{Gate, Mode, Policy, Rule};
use crate::model::Tool;
use crate::policy::{Facts, Finding, Rules, judge};

/// The result of a gate or a rule.
pub enum Answer {
    /// It has a finding.
    Found(Finding),
    /// It has none, for this reason.
    Nothing(&'static str),
}

/// The result of each gate and each rule. The completion check is not among them, because it runs commands.
pub fn trace_gates(policy: &Policy, rules: &[Rule], facts: &Facts<'_>) -> Vec<(String, Answer)> {
    let found = judge(policy, &Rules::of(rules), facts);
    // A request to all teammates has a finding for each.
    let first = |is_its: &dyn Fn(&Finding) -> bool| {
        let finding = found.iter().find(|finding| is_its(finding)).cloned();
        finding.map_or(Answer::Nothing("no finding"), Answer::Found)
    };
    let event = &facts.event;
    let tool = event.payload.tool().unwrap_or(Tool::Other);
    let gates = Gate::ALL.into_iter().filter(|gate| *gate != Gate::CompletionCheck);
    let gates = gates.filter_map(|gate| Some((gate, gate.event()?))).map(|(gate, (kind, tools))| {
        let answer = match () {
            () if gate.mode(policy) == Some(Mode::Off) => Answer::Nothing("off"),
            () if event.kind != kind => Answer::Nothing("not this event"),
            () if !tools.is_empty() && !tools.contains(&tool) => Answer::Nothing("not this tool"),
            () => first(&|finding| finding.gate == gate),
        };
        (gate.name().to_owned(), answer)
    });
    let rules = rules.iter().map(|rule| {
        let answer = match event.kind.is_judged() || rule.looks_at(event.kind) {
            true => first(&|finding| finding.rule.as_ref() == Some(&rule.name)),
            false => Answer::Nothing("not this event"),
        };
        (format!("rule {}", rule.name), answer)
    });
    gates.chain(rules).collect()
}
