//! Checks what applies to every user: Claude Code's managed settings, and the organization's configuration.

use super::{CheckInput, Diagnosis, bad, ok, unknown, warn};
use std::path::{Path, PathBuf};
use teamkeep_config::{Code, ORGANIZATION_FILE, Problem, TrustState};
use teamkeep_model::words::count;
use teamkeep_settings::layer::{SettingsScope, State};
use teamkeep_settings::managed::{PublicAccess, obstacle, weakness};
use teamkeep_store::access::unexpected;
use teamkeep_system::command::quoted;
use teamkeep_system::os;

/// Checks who can change and who can read the managed settings, and the program that their hooks run.
pub fn managed_settings(input: &CheckInput<'_>) -> Vec<Diagnosis> {
    let managed = input.layers.iter().filter(|layer| layer.kind == SettingsScope::Managed);
    let managed: Vec<_> = managed.filter(|layer| !matches!(layer.state, State::Missing)).collect();
    if managed.is_empty() {
        return ok("Claude Code has no managed settings on this machine").into();
    }
    let mut found: Vec<Diagnosis> = managed
        .iter()
        .flat_map(|layer| exposed("the managed settings", &layer.path, PublicAccess::Read))
        .collect();
    let hooks = managed.iter().flat_map(|layer| layer.ours());
    let mut programs: Vec<PathBuf> =
        hooks.filter_map(|entry| entry.words().into_iter().next()).map(PathBuf::from).collect();
    programs.sort();
    programs.dedup();
    for program in &programs {
        if program.is_absolute() {
            found.extend(exposed("the program of the managed hooks", program, PublicAccess::Execute));
        } else {
            let what = format!("the managed hooks run {}, which each user's PATH decides", program.display());
            let fix = format!("{}{} install --scope managed", os::shell::SUDO, input.installer);
            found.push(bad(what).with_fix(fix));
        }
    }
    if found.is_empty() && !os::access::FINDS_OTHERS {
        found.push(unknown("who can change the managed settings is not checked on this system"));
    } else if found.is_empty() {
        let files = count(managed.len(), "file");
        let paths: Vec<String> = managed.iter().map(|layer| layer.path.display().to_string()).collect();
        found.push(ok(format!("only root can change the managed settings: {files}: {}", paths.join(", "))));
    }
    found
}

/// The problems of a file that only root may change and every user needs.
fn exposed(name: &str, path: &Path, access: PublicAccess) -> Vec<Diagnosis> {
    let shown = quoted(&path.to_string_lossy());
    let mode = if access == PublicAccess::Execute { "755" } else { "644" };
    let weak = weakness(path).map(|why| {
        bad(format!("users can change {name} {}: {why}", path.display())).with_fix(format!(
            "sudo chown root {shown} && sudo chmod {mode} {shown}  # and the directories above it"
        ))
    });
    let closed = obstacle(path, access).map(|why| {
        bad(format!("some users cannot use {name} {}: {why}", path.display()))
            .with_fix(format!("sudo chmod {mode} {shown}  # and 755 the directories above it"))
    });
    weak.into_iter().chain(closed).collect()
}

/// Checks the organization's configuration.
pub fn configuration(input: &CheckInput<'_>) -> Vec<Diagnosis> {
    let path = Path::new(ORGANIZATION_FILE);
    if path.symlink_metadata().is_err() {
        return ok("no organization's configuration").into();
    }
    let mut found = exposed("the organization's configuration", path, PublicAccess::Read);
    let broken = input.policy.problems.iter().filter(|problem| {
        problem.code == Code::OrganizationBroken || (problem.path == path && problem.is_error())
    });
    found.extend(broken.map(|problem| {
        bad(format!("{}: {}", problem.location(), problem.message)).with_fix(format!(
            "{} config check {}",
            input.call,
            quoted(ORGANIZATION_FILE)
        ))
    }));
    let organization = &input.policy.config.organization;
    let expected = organization.store_path(input.env.home.as_deref());
    let elsewhere = expected.and_then(|expected| unexpected(input.paths, input.env, &expected));
    found.extend(elsewhere.map(|elsewhere| bad(elsewhere.what).with_fix(elsewhere.fix)));
    if found.is_empty() {
        found.push(ok(in_force(input)));
    }
    found
}

fn in_force(input: &CheckInput<'_>) -> String {
    let fixed = input.policy.config.organization.fixed.len();
    let keys =
        if fixed == 1 { "1 fixed key or table".to_owned() } else { format!("{fixed} fixed keys and tables") };
    format!("{ORGANIZATION_FILE} is in force, with {keys}")
}

// Checks that the policy files are valid and trusted.

/// Checks that the files are valid.
pub fn files(input: &CheckInput<'_>) -> Diagnosis {
    let is_trust =
        |problem: &&Problem| matches!(problem.code, Code::Untrusted | Code::TrustGone | Code::BadTrust);
    let others = input.policy.problems.iter().filter(|problem| !is_trust(problem));
    let problems: Vec<&Problem> = input.misnamed.iter().chain(others).collect();
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let first = problems.iter().find(|problem| problem.is_error()).or(problems.first());
    let Some(first) = first else {
        let path = input.paths.config.display();
        return ok(match (input.policy.has_user, input.policy.project.is_some()) {
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
    diagnosis.with_fix(format!("{} config check", input.call))
}

/// Checks that the project's checks and rules are trusted.
pub fn trust(input: &CheckInput<'_>) -> Diagnosis {
    let problem = |code: Code| input.policy.problems.iter().find(|problem| problem.code == code);
    if let Some(problem) = problem(Code::BadTrust) {
        let what = format!("cannot read the list of trusted files, so none is trusted: {}", problem.message);
        return bad(what).with_fix(os::shell::edit(&quoted(&input.paths.trust().to_string_lossy()), None));
    }
    let trust = format!("{} policy trust", input.call);
    if let Some(problem) = problem(Code::TrustGone) {
        let what = format!("{}: {}", problem.path.display(), problem.message);
        return warn(what).with_fix(format!("{trust} --remove"));
    }
    let Some(project) = &input.policy.project else { return ok("this project has no policy file") };
    let path = project.path.display();
    let why = match project.standing {
        TrustState::Nothing => return ok(format!("{path} has no checks or rules")),
        TrustState::Trusted => return ok(format!("{path} is trusted")),
        TrustState::Untrusted => "is not trusted",
        TrustState::Changed => "changed after it was trusted",
    };
    warn(format!("{path} {why}: {} disabled", project.runs())).with_fix(trust)
}
