//! The hooks that the policy in force needs: `install` adds them, and other commands compare them with the installed ones.

use std::path::{Path, PathBuf};

use crate::config::{Code, Problem, Rule, everywhere, misnamed_file};
use crate::context::Context;
use crate::error::Result;
use crate::settings::coverage::Unasked;
use crate::settings::entries::Entry;
use crate::settings::installed::Installed;
use crate::settings::needs::Needs;
use crate::settings::tools::Tools;

/// The hooks that the policy needs in any session of this user. If not all rules can be read, the hooks that are `there`
/// are kept.
///
/// # Errors
/// When the embedded table of hooks is not what it should be, which a test rules out.
pub fn of_policy(context: &Context, there: &[Entry]) -> Result<Needs> {
    let all = everywhere(&context.policy_files());
    let mut needs = Needs::with(&all.rules)?;
    if all.is_partial || misnamed_file(&context.env).is_some() {
        context.ui.eprint_line(
            "note: some policy files cannot be used, so no hook is removed; see: teamkeep policy check",
        );
        needs.keep(there);
    }
    Ok(needs)
}

/// Prints which hooks the rules need in addition to those of every install.
///
/// # Errors
/// As [`of_policy`].
pub fn tell(context: &Context, needs: &Needs, wanted: &[Entry]) -> Result<()> {
    let builtin = Needs::builtin()?;
    for (event, _) in needs.matchers() {
        let Some(tools) = needs.tools(event) else { continue };
        if !wanted.iter().any(|entry| entry.event == event) {
            if builtin.tools(event).is_none() {
                context.ui.eprint_line(&format!(
                    "note: this version of Claude Code does not have {event}, which a rule names"
                ));
            }
            continue;
        }
        let none = Tools::Some(Vec::new());
        let more = tools.beyond(builtin.tools(event).unwrap_or(&none));
        if !more.is_empty() {
            context.ui.eprint_line(&format!(
                "note: the {event} hook also runs for {}, which a rule names",
                more.join(", ")
            ));
        }
    }
    Ok(())
}

/// The rules that the installed hooks do not cover, each as a warning with the command that fixes it.
///
/// # Errors
/// As [`of_policy`].
pub fn unasked(context: &Context, rules: &[Rule]) -> Result<Vec<Problem>> {
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let installed = Installed::find(&context.env, &context.paths, false)?;
    let none = installed.coverage.is_empty();
    let problem = |unasked: Unasked| {
        let hint = installed.remedy(&unasked);
        let (path, at) = place(&unasked.place);
        let message = match none {
            true => format!("rule {:?} is not evaluated: no hooks are installed", unasked.rule),
            false => unasked.message(),
        };
        Problem { code: Code::RuleNotAsked, path, at, message, hint: Some(hint) }
    };
    Ok(installed.coverage.unasked(rules).into_iter().map(problem).collect())
}

/// The file and the line of a rule.
fn place(place: &str) -> (PathBuf, Option<(usize, usize)>) {
    let parts = place.rsplit_once(':').and_then(|(path, line)| Some((path, line.parse().ok()?)));
    match parts {
        Some((path, line)) => (Path::new(path).to_path_buf(), Some((line, 1))),
        None => (PathBuf::from(place), None),
    }
}
