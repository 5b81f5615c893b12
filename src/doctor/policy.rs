//! Checks that the policy files are valid and trusted.

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::config::{Code as Kind, Problem, TrustState};
use crate::error::Result;
use crate::settings::change::count;
use crate::settings::command::quoted;
use crate::settings::coverage::{Coverage, Unasked};
use crate::settings::installed::{again, remedy};

/// Maximum number of listed rules.
const MAX_RULES: usize = 8;

/// Checks that the files are valid.
pub fn files(facts: &Facts<'_>) -> Finding {
    let code = Code::PolicyFiles;
    let is_trust =
        |problem: &&Problem| matches!(problem.code, Kind::Untrusted | Kind::TrustGone | Kind::BadTrust);
    let problems: Vec<&Problem> = facts
        .misnamed
        .iter()
        .chain(facts.policy.problems.iter().filter(|problem| !is_trust(problem)))
        .collect();
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let check = format!("{} policy check", facts.call);
    let first = problems.iter().find(|problem| problem.is_error()).or(problems.first());
    match first {
        Some(first) if errors > 0 => {
            let what = format!("{}: {}", first.place(), first.message);
            let more = if errors > 1 {
                format!(" (and {})", count(errors - 1, "other error"))
            } else {
                String::new()
            };
            Finding::bad(code, format!("{what}{more}")).with_fix(check)
        }
        Some(first) => Finding::warn(code, format!("{}: {}", first.place(), first.message)).with_fix(check),
        None => Finding::ok(
            code,
            match (facts.policy.has_user, facts.policy.project.is_some()) {
                (false, false) => "no configuration file; using the defaults".to_owned(),
                (true, false) => format!("{} is valid", facts.paths.config.display()),
                (false, true) => "the project's file is valid".to_owned(),
                (true, true) => format!("{} and the project's file are valid", facts.paths.config.display()),
            },
        ),
    }
}

/// Checks that the installed hooks cover every rule.
pub fn asked(facts: &Facts<'_>) -> Vec<Finding> {
    asked_by(facts).unwrap_or_else(|error| Finding::unknown(Code::RulesAsked, error.to_string()).into())
}

fn asked_by(facts: &Facts<'_>) -> Result<Vec<Finding>> {
    let code = Code::RulesAsked;
    let rules = &facts.policy.config.rule;
    let coverage = Coverage::of(&facts.layers)?;
    if rules.is_empty() {
        return Ok(vec![Finding::ok(code, "no rules")]);
    }
    if coverage.is_empty() {
        return Ok(vec![Finding::unknown(code, "no rule is evaluated: teamkeep's hooks are not installed")]);
    }
    let of = |unasked: Unasked| {
        Finding::bad(code, unasked.message()).with_fix(remedy(
            &again(facts.env, &facts.layers),
            facts.version(),
            &unasked,
        ))
    };
    let found: Vec<Finding> = coverage.unasked(rules).into_iter().take(MAX_RULES).map(of).collect();
    Ok(match found.is_empty() {
        true => vec![Finding::ok(code, format!("the hooks cover {}", count(rules.len(), "rule")))],
        false => found,
    })
}

/// Checks that the project's checks and rules are trusted.
pub fn trust(facts: &Facts<'_>) -> Finding {
    let code = Code::PolicyTrust;
    if let Some(bad) = facts.policy.problems.iter().find(|problem| problem.code == Kind::BadTrust) {
        let what = format!("cannot read the list of trusted files, so none is trusted: {}", bad.message);
        return Finding::bad(code, what)
            .with_fix(format!("${{EDITOR:-vi}} {}", quoted(&facts.paths.trust().to_string_lossy())));
    }
    if let Some(gone) = facts.policy.problems.iter().find(|problem| problem.code == Kind::TrustGone) {
        let what = format!("{}: {}", gone.path.display(), gone.message);
        return Finding::warn(code, what).with_fix(format!("{} policy trust --remove", facts.call));
    }
    let Some(project) = &facts.policy.project else {
        return Finding::ok(code, "this project has no policy file");
    };
    let path = project.path.display();
    let trust = format!("{} policy trust", facts.call);
    match project.standing {
        TrustState::Nothing => Finding::ok(code, format!("{path} has no checks or rules")),
        TrustState::Trusted => Finding::ok(code, format!("{path} is trusted")),
        TrustState::Untrusted => {
            Finding::warn(code, format!("{path} is not trusted: {} disabled", project.runs())).with_fix(trust)
        }
        TrustState::Changed => {
            let what = format!("{path} changed after it was trusted: {} disabled", project.runs());
            Finding::warn(code, what).with_fix(trust)
        }
    }
}
