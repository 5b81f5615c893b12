//! Checks that the policy files are valid and trusted.

use super::{Diagnosis, Facts, bad, ok, warn};
use teamkeep_config::{Code, Problem, TrustState};
use teamkeep_model::words::count;
use teamkeep_system::command::quoted;

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
