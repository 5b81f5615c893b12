//! `teamkeep policy allow`: one occasion is let through.

use std::process::ExitCode;

use serde_json::json;

use super::record::record;
use super::scope;
use crate::commands::reading;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::event::{LEAD, SafeName};
use crate::gatekeeper::team_state;
use crate::near::nearest;
use crate::policy::Ledger;
use crate::unicode::fold;

/// Arguments of `teamkeep policy allow`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// The next request to stop a teammate that `premature-shutdown` would hold back
    #[command(after_help = EXAMPLES)]
    Shutdown {
        /// The teammate
        #[arg(value_name = "NAME", value_parser = teammate)]
        name: String,
    },
}

const EXAMPLES: &str = "Examples:
  teamkeep policy allow shutdown bob
  teamkeep policy allow shutdown bob && teamkeep policy pauses";

/// A teammate by any word that a message may be sent to: `bob`, `@bob`, `bob@team`.
fn teammate(text: &str) -> std::result::Result<String, String> {
    let word = text.trim().trim_start_matches('@');
    match word.split_once('@').map_or(word, |(name, _)| name) {
        "*" => Err("name one teammate: a shutdown is let through for one alone".to_owned()),
        name => scope::name(name),
    }
}

/// Says when no teammate of a team that is there is called so: the word may have slipped.
fn doubt(context: &Context, name: &str) {
    let Ok(archive) = reading::library(context).map(|library| library.archive) else { return };
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
    context.ui.say(&format!("teamkeep: no teammate of a team that is alive is called {name:?}{near}"));
}

/// Runs it.
///
/// # Errors
/// When the lead is named, when it cannot be recorded, or when the disk refuses.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let What::Shutdown { name } = &args.what;
    if fold(name) == LEAD {
        let why =
            format!("the shutdown of {LEAD} is not premature-shutdown's to decide: it ends the whole team");
        let hint = "protect-lead holds it back: teamkeep policy pause --gate protect-lead 5m";
        return Err(Error::new(why).hint(hint));
    }
    let file = scope::file(context)?;
    doubt(context, name);
    record(
        context,
        None,
        json!({"override": "allow-shutdown", "gate": "premature-shutdown", "team": null, "name": name}),
    )?;
    file.change(context.clock.now(), |overrides| {
        // One occasion, however often it is asked for.
        overrides.shutdowns.retain(|other| other != name);
        overrides.shutdowns.push(name.clone());
    })?;
    context.ui.say(&format!(
        "the next shutdown of {name:?} is let through; `teamkeep policy resume` takes it back"
    ));
    Ok(ExitCode::SUCCESS)
}
