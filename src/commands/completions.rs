//! `teamkeep completions SHELL`: the completion script of a shell. The script asks the program for candidates, so that
//! names of runs, teams and agents are complete.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::{EnvCompleter, Shells};

use super::catalog::catalog;
use super::output;
use crate::restore::UndoLog;
use teamkeep_config::Gate;
use teamkeep_history::report::RunSummary;
use teamkeep_history::search;
use teamkeep_history::timeline::{Kind, RunCatalog, Summary, merge};
use teamkeep_model::event::{ActorKind, LEAD, OVERRIDE};
use teamkeep_model::payload::KNOWN;
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::{Context, Ui};

const VARIABLE: &str = "TEAMKEEP_COMPLETE";
const NAME: &str = "teamkeep";
/// The most recent runs whose agents are candidates.
const MAX_RECENT: usize = 5;
/// zsh reads the script as a function when it is first used; that call has to complete too.
const ZSH_END: &str = "\n[[ $funcstack[1] == _teamkeep ]] && _clap_dynamic_completer_teamkeep \"$@\"\n";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # bash
  teamkeep completions bash > ~/.local/share/bash-completion/completions/teamkeep

  # fish
  teamkeep completions fish > ~/.config/fish/completions/teamkeep.fish

  # PowerShell: at each start, in the file that $PROFILE names
  teamkeep completions powershell | Out-String | Invoke-Expression

  # zsh: to a directory in $fpath
  teamkeep completions zsh > ~/.zfunc/_teamkeep")]
pub struct Args {
    /// Shell to print the script for
    #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    shell: String,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    output::print(context, &script(&args.shell)?)
}

fn script(shell: &str) -> Result<String> {
    let mut text = Vec::new();
    completer(shell)?.write_registration(VARIABLE, NAME, NAME, NAME, &mut text)?;
    let text = String::from_utf8_lossy(&text).trim().to_owned() + "\n";
    Ok(if shell == "zsh" { text + ZSH_END } else { text })
}

fn completer(shell: &str) -> Result<&'static dyn EnvCompleter> {
    const SHELLS: Shells<'static> = Shells::builtins();
    SHELLS.completer(shell).ok_or_else(|| Error::usage(format!("unknown shell {shell:?}")))
}

/// Prints the candidates for the words after `--`, as a script asks for them.
pub fn complete(parser: Command, shell: &str, args: &[OsString]) -> ExitCode {
    let start = args.iter().position(|word| word == "--").map_or(args.len(), |place| place + 1);
    let words = args.get(start..).unwrap_or_default().to_vec();
    let mut text = Vec::new();
    let here = std::env::current_dir().ok();
    let found = completer(shell).and_then(|completer| {
        Ok(completer.write_complete(&mut with_candidates(parser), words, here.as_deref(), &mut text)?)
    });
    match found.and_then(|()| Ok(Ui::default().raw(&text)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The parser with candidates for values that it does not know itself.
fn with_candidates(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command.mut_args(|arg| candidates(&name, arg)).mut_subcommands(with_candidates)
}

fn candidates(command: &str, arg: Arg) -> Arg {
    let words: fn() -> Vec<String> = match (command, arg.get_id().as_str()) {
        ("test", "cases") => {
            return arg.add(ArgValueCompleter::new(|word: &OsStr| {
                let mut found = starting(word, &runs());
                found.extend(PathCompleter::file().complete(word));
                found
            }));
        }
        (_, "run") => runs,
        (_, "team") | ("restore", "tasks") => teams,
        (_, "involving" | "agent") => actors,
        ("brief", "reader") => agents,
        ("restore", "undo") => undo_ids,
        ("allow", "name") => || agents().into_iter().filter(|name| name != LEAD).collect(),
        (_, "gate") => || Gate::ALL.map(|gate| gate.name().to_owned()).to_vec(),
        ("search", "kind") => || search::TextKind::ALL.iter().map(|kind| kind.word()).collect(),
        (_, "kind") => || Kind::ALL.iter().map(|kind| kind.word().to_owned()).collect(),
        ("log" | "hook", "event") => || {
            let known = KNOWN.iter().map(|(_, _, event)| *event);
            known.chain(["verdict", OVERRIDE]).map(str::to_owned).collect()
        },
        _ => return arg,
    };
    arg.add(ArgValueCompleter::new(move |word: &OsStr| starting(word, &words())))
}

/// The words that start like the one that is typed. Shells insert them without quotes, and agents choose their names, so
/// only words that no shell and no option parser interprets are offered.
fn starting(word: &OsStr, known: &[String]) -> Vec<CompletionCandidate> {
    let word = word.to_string_lossy();
    let mut seen = HashSet::new();
    let is_plain = |word: &str| {
        !word.starts_with('-') && word.chars().all(|c| c.is_alphanumeric() || "._@:+-".contains(c))
    };
    let known = known.iter().filter(|known| is_plain(known) && known.starts_with(word.as_ref()));
    known.filter(|known| seen.insert(known.as_str())).map(CompletionCandidate::new).collect()
}

/// `latest`, the teams, and the IDs of all runs.
fn runs() -> Vec<String> {
    let mut names = vec!["latest".to_owned()];
    names.extend(teams());
    names.extend(recorded().into_iter().flat_map(|catalog| catalog.runs).map(|run| run.run));
    names
}

/// The names of teams, the newest first.
fn teams() -> Vec<String> {
    let runs = recorded().into_iter().flat_map(|catalog| catalog.runs.into_iter().rev());
    runs.filter_map(|run| run.name().map(str::to_owned)).collect()
}

fn agents() -> Vec<String> {
    let Ok((context, _)) = Context::lenient(Ui { quiet: true, unpaged: true }) else { return Vec::new() };
    let Ok(catalog) = catalog(&context) else { return Vec::new() };
    let recent: Vec<_> =
        catalog.runs.iter().rev().filter(|run| run.team.is_some()).take(MAX_RECENT).collect();
    let mut names = Vec::new();
    for run in recent {
        let cached = RunSummary::cached(&catalog.archive, run, &context.config).map(|summary| summary.counts);
        let summary = cached.or_else(|| {
            let opened = catalog.open_timelines(&[run]).ok()?;
            opened.runs.first().map(|run| Summary::of(run, &merge(run)))
        });
        names.extend(summary.into_iter().flat_map(|summary| summary.members));
    }
    names
}

fn actors() -> Vec<String> {
    let kinds = ActorKind::ALL.iter().map(|kind| kind.name().to_owned());
    agents().into_iter().chain(kinds).collect()
}

/// The IDs of restores, the newest first.
fn undo_ids() -> Vec<String> {
    let context = Context::lenient(Ui { quiet: true, unpaged: true }).ok();
    let records = context.map(|(context, _)| UndoLog { paths: context.paths.clone() }.all());
    records.into_iter().flatten().rev().map(|record| record.id).collect()
}

fn recorded() -> Option<RunCatalog> {
    let (context, _) = Context::lenient(Ui { quiet: true, unpaged: true }).ok()?;
    catalog(&context).ok()
}
