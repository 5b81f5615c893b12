//! `teamkeep completions SHELL`: the completion script of a shell. The script asks the program for candidates, so that
//! names of runs, teams and agents are complete.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::{EnvCompleter, Shells};

use super::read_context;
use crate::config::Gate;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::event::{ActorKind, OVERRIDE};
use crate::payload::KNOWN;
use crate::timeline::{Kind, RunCatalog, Summary, merge, summary_cache};
use crate::ui::Ui;

/// The variable that a script sets when it asks for candidates.
const VARIABLE: &str = "TEAMKEEP_COMPLETE";
const NAME: &str = "teamkeep";
/// The most recent runs whose agents are candidates.
const MAX_RECENT: usize = 5;
/// zsh reads the script as a function when it is first used; that call has to complete too.
const ZSH_END: &str = "\n[[ $funcstack[1] == _teamkeep ]] && _clap_dynamic_completer_teamkeep \"$@\"\n";

/// Arguments of `teamkeep completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Shell to print the script for
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Zsh,
}

const EXAMPLES: &str = "Examples:
  # bash
  teamkeep completions bash > ~/.local/share/bash-completion/completions/teamkeep

  # fish
  teamkeep completions fish > ~/.config/fish/completions/teamkeep.fish

  # zsh: to a directory in $fpath
  teamkeep completions zsh > ~/.zfunc/_teamkeep";

/// Prints the script.
///
/// # Errors
/// When stdout cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let name = match args.shell {
        Shell::Bash => "bash",
        Shell::Elvish => "elvish",
        Shell::Fish => "fish",
        Shell::Zsh => "zsh",
    };
    read_context::print(context, &script(name)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The script of a shell.
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
    let add = |arg: Arg, completer: fn(&OsStr) -> Vec<CompletionCandidate>| {
        arg.add(ArgValueCompleter::new(completer))
    };
    match (command, arg.get_id().as_str()) {
        (_, "run") => add(arg, |word| starting(word, &runs())),
        ("test", "cases") => add(arg, |word| {
            let mut found = starting(word, &runs());
            found.extend(PathCompleter::file().complete(word));
            found
        }),
        (_, "team") | ("restore", "tasks") => add(arg, |word| starting(word, &teams())),
        (_, "actor" | "involving") => add(arg, |word| starting(word, &actors())),
        ("shutdown", "name") => add(arg, |word| starting(word, &agents())),
        (_, "gate") => add(arg, |word| starting(word, &gates())),
        (_, "kind") => add(arg, |word| starting(word, &kinds())),
        ("log" | "hook", "event") => add(arg, |word| starting(word, &events())),
        _ => arg,
    }
}

/// The words that start like the one that is typed. Shells insert them without quotes, and agents choose their names, so
/// only words that no shell and no option parser interprets are offered.
fn starting(word: &OsStr, known: &[String]) -> Vec<CompletionCandidate> {
    let word = word.to_string_lossy();
    let mut seen = HashSet::new();
    let known = known.iter().filter(|known| is_plain(known) && known.starts_with(word.as_ref()));
    known.filter(|known| seen.insert(known.as_str())).map(CompletionCandidate::new).collect()
}

fn is_plain(word: &str) -> bool {
    !word.starts_with('-') && word.chars().all(|c| c.is_alphanumeric() || "._@:+-".contains(c))
}

/// `latest`, the teams, and the IDs of all runs.
fn runs() -> Vec<String> {
    let mut names = vec!["latest".to_owned()];
    names.extend(teams());
    names.extend(library().into_iter().flat_map(|library| library.runs).map(|run| run.run));
    names
}

/// The names of teams, the newest first.
fn teams() -> Vec<String> {
    let runs = library().into_iter().flat_map(|library| library.runs.into_iter().rev());
    runs.filter_map(|run| run.name().map(str::to_owned)).collect()
}

/// The agents of the most recent runs.
fn agents() -> Vec<String> {
    let Some(library) = library() else { return Vec::new() };
    let recent: Vec<_> =
        library.runs.iter().rev().filter(|run| run.team.is_some()).take(MAX_RECENT).collect();
    let mut names = Vec::new();
    for run in recent {
        let summary = summary_cache::cached(&library.archive, run).or_else(|| {
            let opened = library.open_stories(&[run]).ok()?;
            opened.runs.first().map(|material| Summary::of(material, &merge(material)))
        });
        names.extend(summary.into_iter().flat_map(|summary| summary.members));
    }
    names
}

fn actors() -> Vec<String> {
    let kinds = ActorKind::ALL.iter().map(|kind| kind.word().to_owned());
    agents().into_iter().chain(kinds).collect()
}

fn gates() -> Vec<String> {
    Gate::ALL.map(|gate| gate.name().to_owned()).to_vec()
}

fn kinds() -> Vec<String> {
    Kind::ALL.iter().map(|kind| kind.word().to_owned()).collect()
}

fn events() -> Vec<String> {
    let known = KNOWN.iter().map(|(_, _, event)| (*event).to_owned());
    known.chain(["verdict".to_owned(), OVERRIDE.to_owned()]).collect()
}

fn library() -> Option<RunCatalog> {
    let (context, _) = Context::lenient(Ui { quiet: true, unpaged: true }).ok()?;
    read_context::library(&context).ok()
}
