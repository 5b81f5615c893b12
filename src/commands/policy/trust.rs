//! `teamkeep policy trust`: a person reviews and trusts the checks and rules of a project.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::commands::needs;
use crate::commands::problems::{counted, report, text};
use crate::commands::read_context::print;
use crate::config::trust::{Trust, name_of};
use crate::config::{Files, Mode, PROJECT_FILE, Problem, Project, TrustState, layers, source};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::ui::escape;

/// Arguments of `teamkeep policy trust`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Project directory, instead of the current one
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Revoke trust
    #[arg(long, conflicts_with = "list")]
    remove: bool,
    /// List trusted projects
    #[arg(long, conflicts_with_all = ["project", "yes"])]
    list: bool,
    /// Trust without a prompt
    #[arg(long, short, conflicts_with = "remove")]
    yes: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep policy trust
  teamkeep policy trust --list";

/// Runs it.
///
/// # Errors
/// When the project has no valid file, no one can be asked, or the list of trusted files cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let mut files = context.policy_files();
    if let Some(project) = &args.project {
        files.project = Some(project.join(PROJECT_FILE));
    }
    match (&files.project, args) {
        (_, Args { list: true, .. }) => list(context, &files),
        (None, _) => {
            Err(Error::usage("the current directory does not exist").hint("name the project: --project DIR"))
        }
        (Some(file), Args { remove: true, .. }) => {
            let name = name_of(file);
            let was = Trust::change(&files.trust, |files| files.remove(&name))?;
            let state = if was.is_some() { "is no longer trusted" } else { "was not trusted" };
            context.ui.eprint_line(&format!("{} {state}", name.display()));
            Ok(ExitCode::SUCCESS)
        }
        (Some(_), _) => {
            context.check_config_path()?;
            trust(context, args, &files)
        }
    }
}

fn trust(context: &Context, args: &Args, files: &Files) -> Result<ExitCode> {
    let effective = layers::load(files);
    let own: Vec<Problem> = effective
        .problems
        .into_iter()
        .filter(|problem| Some(&problem.path) == files.project.as_ref())
        .collect();
    let Some(project) = effective.project else {
        print(context, &text(context, &own))?;
        let path = files.project.clone().unwrap_or_default();
        return Err(match own.is_empty() {
            true => Error::not_found(format!("no such file: {}", path.display()))
                .hint("to trust another project: teamkeep policy trust --project DIR"),
            false => Error::new(format!("cannot trust {}: it has {}", path.display(), counted(&own))),
        });
    };
    let path = project.path.display();
    match project.standing {
        TrustState::Nothing => {
            context.ui.eprint_line(&format!("{path} has no checks and no rules to trust"));
            return Ok(ExitCode::SUCCESS);
        }
        TrustState::Trusted => {
            context.ui.eprint_line(&format!("{path} is already trusted"));
            warn_uncovered(context, &project)?;
            return Ok(ExitCode::SUCCESS);
        }
        TrustState::Untrusted | TrustState::Changed => {}
    }
    let changed =
        if project.standing == TrustState::Changed { ", which changed after it was trusted," } else { "" };
    let shown = escape(&path.to_string()).into_owned();
    print(context, &format!("{shown}{changed} has {} to trust:\n{}", project.runs(), wants(&project)))?;
    let question = "Trust them until the file changes?";
    if !args.yes && !context.ui.ask(question)? {
        context.ui.eprint_line("nothing was changed");
        return Ok(ExitCode::FAILURE);
    }
    Trust::change(&files.trust, |files| files.insert(project.name.clone(), project.hash.clone()))?;
    context.ui.eprint_line(&format!("trusted {}, hash {}", project.name.display(), &project.hash[..16]));
    warn_uncovered(context, &project)?;
    Ok(ExitCode::SUCCESS)
}

/// Reports the rules of a trusted project that the installed hooks do not cover.
fn warn_uncovered(context: &Context, project: &Project) -> Result<()> {
    report(context, &needs::unasked(context, &project.rules)?);
    Ok(())
}

/// Lists what a project wants to run, one line per check and rule, safe for a terminal.
pub fn wants(project: &Project) -> String {
    let mut text = String::new();
    for check in &project.checks {
        let run = format!("  check  sh -c {:?}", check.run);
        let of = [("subject", &check.subject), ("owner", &check.owner), ("team", &check.team)];
        text.push_str(&with(run, &of));
    }
    for rule in &project.rules {
        let action = if rule.action == Mode::Block { "blocks" } else { "warns" };
        let mut line = format!("  rule   {:?} {action}", rule.name);
        for (what, list) in [("events", &rule.events), ("tools", &rule.tools)] {
            if !list.is_empty() {
                line.push_str(&format!(", {what} {list:?}"));
            }
        }
        for (pointer, pattern) in &rule.matches {
            line.push_str(&format!(", {pointer:?} = {pattern:?}"));
        }
        if !rule.reason.is_empty() {
            line.push_str(&format!(", reason {:?}", rule.reason));
        }
        text.push_str(&with(line, &[("actor", &rule.actor), ("team", &rule.team)]));
    }
    text
}

fn with(mut line: String, globs: &[(&str, &String)]) -> String {
    for (what, glob) in globs.iter().filter(|(_, glob)| glob.as_str() != "*") {
        line.push_str(&format!(", {what} {glob:?}"));
    }
    format!("{}\n", escape(&line))
}

fn list(context: &Context, files: &Files) -> Result<ExitCode> {
    let trust = Trust::load(&files.trust)?;
    let mut text = String::new();
    for (file, hash) in trust.files() {
        let state = match source::read(file, source::LARGEST_PROJECT) {
            Ok(Some(read)) if read.hash.to_hex().as_str() == hash => "unchanged",
            Ok(None) => "gone",
            _ => "changed since trusted: disabled",
        };
        let short: String = hash.chars().take(16).collect();
        text.push_str(&format!("{short}  {}  ({state})\n", escape(&file.display().to_string())));
    }
    if text.is_empty() {
        context.ui.eprint_line("no project is trusted");
    }
    print(context, &text)?;
    Ok(ExitCode::SUCCESS)
}
