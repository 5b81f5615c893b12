//! `teamkeep policy trust`: a person reviews and trusts the checks and rules of a project.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::commands::installation::missing_hooks;
use crate::commands::output::{counted_problems, print, print_document, print_problems};
use crate::view::{self, Document, plain};
use teamkeep_config::project::{Trust, name_of};
use teamkeep_config::{Files, Mode, PROJECT_FILE, Project, TrustState, layers, source};
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep policy trust
  teamkeep policy trust --list")]
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

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let mut files = context.policy_files();
    if let Some(project) = &args.project {
        files.project = Some(project.join(PROJECT_FILE));
    }
    if args.list {
        return list(context, &files);
    }
    let Some(file) = &files.project else {
        return Err(
            Error::usage("the current directory does not exist").hint("name the project: --project DIR")
        );
    };
    if !args.remove {
        context.check_config_path()?;
        return trust(context, args, &files, file);
    }
    let name = name_of(file);
    let removed = Trust::change(&context.paths.store, |files| files.remove(&name))?;
    let state = if removed.is_some() { "is no longer trusted" } else { "was not trusted" };
    context.ui.eprint_line(&format!("{} {state}", name.display()));
    Ok(ExitCode::SUCCESS)
}

fn trust(context: &Context, args: &Args, files: &Files, file: &Path) -> Result<ExitCode> {
    let effective = layers::load(files);
    let Some(project) = effective.project else {
        let mut problems = effective.problems;
        problems.retain(|problem| problem.path == file);
        print(context, &view::problems(&problems, context.ui.columns()))?;
        return Err(match problems.is_empty() {
            true => Error::not_found(format!("no such file: {}", file.display()))
                .hint("to trust another project: teamkeep policy trust --project DIR"),
            false => {
                Error::new(format!("cannot trust {}: it has {}", file.display(), counted_problems(&problems)))
            }
        });
    };
    let path = project.path.display();
    let changed = match project.standing {
        TrustState::Nothing => {
            context.ui.eprint_line(&format!("{path} has no checks and no rules to trust"));
            return Ok(ExitCode::SUCCESS);
        }
        TrustState::Trusted => {
            context.ui.eprint_line(&format!("{path} is already trusted"));
            print_problems(context, &missing_hooks(context));
            return Ok(ExitCode::SUCCESS);
        }
        TrustState::Untrusted => "",
        TrustState::Changed => ", which changed after it was trusted,",
    };
    let mut document = Document::default();
    document.paragraph(format!("{path}{changed} has {} to trust:", project.runs()));
    document.append(wants(&project));
    print_document(context, &document)?;
    if !args.yes && !context.ui.ask("Trust them until the file changes?")? {
        context.ui.eprint_line("nothing was changed");
        return Ok(ExitCode::FAILURE);
    }
    Trust::change(&context.paths.store, |files| files.insert(project.name.clone(), project.hash.clone()))?;
    context.ui.eprint_line(&format!("trusted {}, hash {}", project.name.display(), &project.hash[..16]));
    print_problems(context, &missing_hooks(context));
    Ok(ExitCode::SUCCESS)
}

/// Lists what a project wants to run, one line per check and rule.
pub fn wants(project: &Project) -> Document {
    let mut document = Document::default();
    let mut add = |mut line: String, globs: &[(&str, &String)]| {
        for (what, glob) in globs.iter().filter(|(_, glob)| glob.as_str() != "*") {
            line.push_str(&format!(", {what} {glob:?}"));
        }
        document.line([plain(line)]);
    };
    for check in &project.checks {
        let globs = [("subject", &check.subject), ("owner", &check.owner), ("team", &check.team)];
        add(format!("  check  sh -c {:?}", check.run), &globs);
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
        add(line, &[("actor", &rule.actor), ("team", &rule.team)]);
    }
    document
}

fn list(context: &Context, files: &Files) -> Result<ExitCode> {
    let trust = Trust::load(&files.trust)?;
    let mut document = Document::default();
    for (file, hash) in trust.files() {
        let state = match source::read(file, source::LARGEST_PROJECT) {
            Ok(Some(read)) if read.hash.to_hex().as_str() == hash => "unchanged",
            Ok(None) => "gone",
            _ => "changed since trusted: disabled",
        };
        let short: String = hash.chars().take(16).collect();
        document.line([plain(format!("{short}  {}  ({state})", file.display()))]);
    }
    if document.blocks.is_empty() {
        context.ui.eprint_line("no project is trusted");
    }
    print_document(context, &document)?;
    Ok(ExitCode::SUCCESS)
}
