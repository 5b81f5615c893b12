//! `teamkeep hook [EVENT]`: one payload on stdin, recorded and answered.

use std::process::ExitCode;

/// Arguments of `teamkeep hook`.
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    /// The event, in kebab case (`subagent-stop`); the payload's own name decides where they differ
    #[arg(value_name = "EVENT")]
    pub event: Option<String>,
}

/// Handles one hook call.
pub fn run(_args: &Args) -> ExitCode {
    ExitCode::SUCCESS
}

/// The arguments of a call that is nothing but `teamkeep hook [EVENT]`.
pub fn plain(args: &[std::ffi::OsString]) -> Option<Args> {
    let words: Vec<&str> = args.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    match words.as_slice() {
        ["hook"] => Some(Args { event: None }),
        ["hook", event] if !event.starts_with('-') => Some(Args { event: Some((*event).to_owned()) }),
        _ => None,
    }
}
