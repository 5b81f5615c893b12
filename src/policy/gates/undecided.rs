//! Rules without a result: a failure of the policy.

use super::rules::{LONGEST_NAME, UndecidableRule, finding};
use crate::config::{Mode, OnError, Rule};
use crate::policy::pattern::Undecidable;
use crate::policy::{Decision, Facts, Finding, Reason, failure};

/// One finding for all rules without a result: the first of the strictest, and the number of the others. A rule that
/// only warns does not block.
pub fn undecided(
    unsaid: &[(&Rule, UndecidableRule<'_>)],
    on_error: OnError,
    facts: &Facts<'_>,
) -> impl Iterator<Item = Finding> {
    let weigh = |rule: &Rule| {
        let failed = failure::decision(on_error, facts.event.kind).max(Decision::Warn);
        failed.min(rule.action.into())
    };
    let rank = |rule: &Rule| (weigh(rule), rule.lasting);
    let hardest = unsaid.iter().map(|(rule, _)| rank(rule)).max();
    let told = unsaid.iter().find(|(rule, _)| Some(rank(rule)) == hardest);
    let finding = told.map(|(rule, why)| {
        let decision = weigh(rule);
        let mode = if decision == Decision::Block { Mode::Block } else { Mode::Warn };
        let more = match unsaid.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let reason =
            Reason::of(mode).then("the user's rule ").quote(&rule.name).then(" could not be evaluated");
        let reason = because(reason.then(&more).then(": "), why);
        finding(
            rule,
            "rule-undecided",
            decision,
            facts,
            match decision {
                Decision::Block => reason
                    .instead("The policy has on-error = \"block\". Make the input smaller, or ask the user."),
                _ => reason,
            },
        )
    });
    finding.into_iter()
}

fn because(reason: Reason, why: &UndecidableRule<'_>) -> Reason {
    match why {
        UndecidableRule::Pattern(pointer, Undecidable::TooLong { has, most }) => reason
            .then("there are ")
            .then(&has.to_string())
            .then(" bytes at ")
            .quote(pointer)
            .then(&format!(", and its pattern reads {most} at most.")),
        UndecidableRule::Pattern(pointer, Undecidable::Unfit) => {
            reason.then("its pattern for ").quote(pointer).then(" cannot be used.")
        }
        UndecidableRule::Unopened(pointer) => reason
            .then("the payload is too deep or too large to be parsed completely, and ")
            .quote(pointer)
            .then(" is not complete in the parsed part."),
        UndecidableRule::Name { what, has } => reason
            .then("there are ")
            .then(&has.to_string())
            .then(" bytes in the name that ")
            .quote(what)
            .then(&format!(" matches, and a glob reads {LONGEST_NAME} at most.")),
        UndecidableRule::Late => reason.then("the rules reached their time limit."),
    }
}
