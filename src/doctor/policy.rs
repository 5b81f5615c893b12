//! Checks that the policy files are valid and trusted, and that the hooks cover their rules.

use super::{Diagnosis, Facts, bad, ok, unknown, warn};
use crate::settings::plan::count;
use teamkeep_core::client::settings::command::quoted;
use teamkeep_core::client::settings::installed::{Coverage, Uncovered, install_command};
use teamkeep_core::client::settings::needs::Demand;
use teamkeep_core::config::{Code, Problem, TrustState};

/// Maximum number of listed rules.
const MAX_RULES: usize = 8;

/// Checks that the files are valid.
pub fn files(facts: &Facts<'_>) -> Diagnosis {
    let is_trust =
        |problem: &&Problem| matches!(problem.code, Code::Untrusted | Code::TrustGone | Code::BadTrust);
    let others = facts.policy.problems.iter().filter(|problem| !is_trust(problem));
    let problems: Vec<&Problem> = facts.misnamed.iter().chain(others).collect();
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let first = problems.iter().find(|problem| problem.is_error()).or(problems.first());
    let Some(first) = first else {
        let path = facts.paths.config.display();
        return ok(match (facts.policy.has_user, facts.policy.project.is_some()) {
            (false, false) => "no configuration file; using the defaults".to_owned(),
            (true, false) => format!("{path} is valid"),
            (false, true) => "the project's file is valid".to_owned(),
            (true, true) => format!("{path} and the project's file are valid"),
        });
    };
    let what = format!("{}: {}", first.location(), first.message);
    let diagnosis = match errors {
        0 => warn(what),
        1 => bad(what),
        errors => bad(format!("{what} (and {})", count(errors - 1, "other error"))),
    };
    diagnosis.with_fix(format!("{} config check", facts.call))
}

/// Checks that the installed hooks cover every rule.
pub fn coverage(facts: &Facts<'_>) -> Vec<Diagnosis> {
    let demands = Demand::all(&facts.policy.config, &facts.policy.settings);
    let coverage = Coverage::of(&facts.layers);
    if demands.is_empty() {
        return ok("no rules").into();
    }
    if coverage.is_empty() {
        return unknown("no rule is evaluated: teamkeep's hooks are not installed").into();
    }
    let install = install_command(facts.env, &facts.layers);
    let problem =
        |uncovered: Uncovered| bad(uncovered.message()).with_fix(uncovered.remedy(&install, facts.version()));
    let found: Vec<Diagnosis> =
        coverage.uncovered(&demands).into_iter().take(MAX_RULES).map(problem).collect();
    match found.is_empty() {
        true => {
            let rules = facts.policy.config.rule.len();
            let gates = demands.len() - rules;
            let counts = [(rules, "rule"), (gates, "gate")].into_iter().filter(|(number, _)| *number > 0);
            let counts: Vec<String> = counts.map(|(number, thing)| count(number, thing)).collect();
            ok(format!("the hooks cover {}", counts.join(" and "))).into()
        }
        false => found,
    }
}

/// Checks that the project's checks and rules are trusted.
pub fn trust(facts: &Facts<'_>) -> Diagnosis {
    let problem = |code: Code| facts.policy.problems.iter().find(|problem| problem.code == code);
    if let Some(problem) = problem(Code::BadTrust) {
        let what = format!("cannot read the list of trusted files, so none is trusted: {}", problem.message);
        return bad(what)
            .with_fix(format!("${{EDITOR:-vi}} {}", quoted(&facts.paths.trust().to_string_lossy())));
    }
    let trust = format!("{} policy trust", facts.call);
    if let Some(problem) = problem(Code::TrustGone) {
        let what = format!("{}: {}", problem.path.display(), problem.message);
        return warn(what).with_fix(format!("{trust} --remove"));
    }
    let Some(project) = &facts.policy.project else { return ok("this project has no policy file") };
    let path = project.path.display();
    let why = match project.standing {
        TrustState::Nothing => return ok(format!("{path} has no checks or rules")),
        TrustState::Trusted => return ok(format!("{path} is trusted")),
        TrustState::Untrusted => "is not trusted",
        TrustState::Changed => "changed after it was trusted",
    };
    warn(format!("{path} {why}: {} disabled", project.runs())).with_fix(trust)
}
