//! `teamkeep policy allow`: allows a single exception.

use crate::config::Gate;
use std::process::ExitCode;

use serde_json::json;

use super::scope::{self, record};
use crate::commands::read_context;
use crate::context::Context;
use crate::enforcement::team_state;
use crate::error::{Error, Result};
use crate::event::{LEAD, SafeName};
use crate::policy::Ledger;
use crate::suggest::nearest;
use crate::unicode::fold;

/// Arguments of `teamkeep policy allow`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Allow the next shutdown of this teammate
    #[command(after_help = EXAMPLES)]
    Shutdown {
        /// Teammate
        #[arg(value_name = "NAME", value_parser = teammate)]
        name: String,
    },
}

const EXAMPLES: &str = "Examples:
  teamkeep policy allow shutdown bob
  teamkeep policy allow shutdown bob && teamkeep policy pauses";

/// A teammate by any address of a message: `bob`, `@bob`, `bob@team`.
fn teammate(text: &str) -> std::result::Result<String, String> {
    let word = text.trim().trim_start_matches('@');
    match word.split_once('@').map_or(word, |(name, _)| name) {
        "*" => Err("name one teammate; `*` is not allowed".to_owned()),
        name => scope::name(name),
    }
}

/// Warns if no running team has a teammate with this name: it may be misspelled.
fn doubt(context: &Context, name: &str) {
    let archive = read_context::archive(context);
    let teams = archive.open_subjects().into_iter().filter(|subject| subject.team().is_some());
    let members = teams.flat_map(|subject| {
        let index = archive.index(&subject);
        let team = subject.team().map(SafeName::as_str);
        team_state(&archive, None, (team, None), index.as_ref(), Ledger::default()).members
    });
    let members: Vec<String> = members.filter(|member| member != LEAD).collect();
    if members.is_empty() || members.iter().any(|member| fold(member) == fold(name)) {
        return;
    }
    let words: Vec<&str> = members.iter().map(String::as_str).collect();
    let near = nearest(name, &words, 2).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    context.ui.warn(format!("no running team has a teammate named {name:?}{near}"));
}

/// Runs it.
///
/// # Errors
/// When NAME is the lead, or the exception cannot be recorded or stored.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let What::Shutdown { name } = &args.what;
    if fold(name) == LEAD {
        let why = format!("cannot allow a shutdown of {LEAD}: it would end the whole team");
        let hint = "to pause the gate that blocks it: teamkeep policy pause --gate protect-lead 5m";
        return Err(Error::new(why).hint(hint));
    }
    let file = scope::file(context)?;
    doubt(context, name);
    record(
        context,
        None,
        json!({"override": "allow-shutdown", "gate": Gate::PrematureShutdown.name(), "team": null, "name": name}),
    )?;
    file.change(context.clock.now(), |overrides| {
        // A repeated command allows one shutdown, not several.
        overrides.shutdowns.retain(|other| other != name);
        overrides.shutdowns.push(name.clone());
    })?;
    context
        .ui
        .eprint_line(&format!("the next shutdown of {name:?} is allowed; to undo: teamkeep policy resume"));
    Ok(ExitCode::SUCCESS)
}
