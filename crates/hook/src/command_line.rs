//! The command line of the hook program. `teamkeep hook` and `teamkeep finish` take the same words after the subcommand.

use std::ffi::OsString;
use std::process::ExitCode;

use super::{CalledBy, FinishStart, eprint_line, finish_in_background, run};
use teamkeep_system::error::USAGE;
use teamkeep_system::{diagnostics, os};

/// The word that a hook call starts this program with for the work after it.
pub(crate) const FINISH: &str = "finish";

const USAGE_TEXT: &str = "Usage: teamkeep-hook [EVENT] < PAYLOAD

Records one hook call of Claude Code and prints the response. `teamkeep install` adds it to Claude Code's settings.
For the events and everything else: teamkeep --help
";

/// The request of a command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Invocation {
    Hook { event: Option<String>, by: CalledBy },
    Finish(FinishStart),
    Version,
    Help,
    Unknown,
}

impl Invocation {
    /// Of the words after the program.
    pub fn of(words: &[&str]) -> Invocation {
        match words {
            ["--version" | "-V"] => Invocation::Version,
            ["--help" | "-h"] => Invocation::Help,
            [FINISH, options @ ..] => finish_start(options).map_or(Invocation::Unknown, Invocation::Finish),
            [words @ .., "--plugin"] => hook_call(words, CalledBy::Plugin),
            words => hook_call(words, CalledBy::Settings),
        }
    }
}

/// A hook call with at most one word, the event.
pub fn hook_call(words: &[&str], by: CalledBy) -> Invocation {
    match words {
        [] => Invocation::Hook { event: None, by },
        [event] if !event.starts_with('-') => Invocation::Hook { event: Some((*event).to_owned()), by },
        _ => Invocation::Unknown,
    }
}

fn finish_start(options: &[&str]) -> Option<FinishStart> {
    let (options, in_session) = match options {
        [options @ .., "--beside"] => (options, true),
        options => (options, false),
    };
    match options {
        [] => Some(FinishStart { client: None, in_session }),
        ["--after", pid] => Some(FinishStart { client: Some(pid.parse().ok()?), in_session }),
        _ => None,
    }
}

/// The hook program.
pub fn main(args: &[OsString]) -> ExitCode {
    os::files::report_size_limit();
    os::files::set_umask();
    diagnostics::exit_on_panic(diagnostics::HOOK_PANIC_EXIT_CODE, || {});
    let words: Option<Vec<&str>> = args.iter().skip(1).map(|word| word.to_str()).collect();
    match words.as_deref().map_or(Invocation::Unknown, Invocation::of) {
        Invocation::Hook { event, by } => run(event.as_deref(), by),
        Invocation::Finish(start) => finish_in_background(start),
        Invocation::Version => print(concat!("teamkeep-hook ", env!("CARGO_PKG_VERSION"), "\n")),
        Invocation::Help => print(USAGE_TEXT),
        Invocation::Unknown => {
            eprint_line("error: unknown arguments; see: teamkeep-hook --help");
            ExitCode::from(USAGE)
        }
    }
}

fn print(text: &str) -> ExitCode {
    if super::print(text).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_an_event_or_the_work_after_it() {
        let hook = |event: Option<&str>, by| Invocation::Hook { event: event.map(str::to_owned), by };
        let finish = |client, in_session| Invocation::Finish(FinishStart { client, in_session });
        for (line, wanted) in [
            ("", hook(None, CalledBy::Settings)),
            ("stop", hook(Some("stop"), CalledBy::Settings)),
            ("stop --plugin", hook(Some("stop"), CalledBy::Plugin)),
            ("--plugin", hook(None, CalledBy::Plugin)),
            ("finish", finish(None, false)),
            ("finish --after 12 --beside", finish(Some(12), true)),
            ("--version", Invocation::Version),
            ("hook stop", Invocation::Unknown),
            ("--plugin stop", Invocation::Unknown),
            ("finish --after x", Invocation::Unknown),
            ("stop --sync", Invocation::Unknown),
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(Invocation::of(&words), wanted, "{line}");
        }
    }
}
