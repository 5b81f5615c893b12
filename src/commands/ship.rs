//! `teamkeep ship`: runs `teamkeep-ship`, a program of its own, so that TLS is not part of this one.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use teamkeep_hook::find_shipper;
use teamkeep_store::shipping::PROGRAM;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::os;
use teamkeep_terminal::Context;
use teamkeep_terminal::ship_options::{EXAMPLES, SendArgs, ShipCommand};

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    send: SendArgs,
    #[command(subcommand)]
    command: Option<ShipCommand>,
}

impl Args {
    /// The arguments of teamkeep-ship for this command line.
    fn passed_on(&self) -> Vec<OsString> {
        let Args { send: SendArgs { once, since, dry_run, json }, command } = self;
        let (is_status, status_json) = match command {
            Some(ShipCommand::Status { json }) => (true, *json),
            None => (false, false),
        };
        let switches = [
            ("status", is_status),
            ("--json", *json || status_json),
            ("--once", *once),
            ("--dry-run", *dry_run),
        ];
        let switches = switches.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name.to_owned());
        switches.chain(since.iter().map(|since| format!("--since={since}"))).map(OsString::from).collect()
    }
}

/// The program with these arguments.
fn command(context: &Context, args: &[OsString]) -> Result<Command> {
    let Some(program) = find_shipper(&context.env) else {
        return Err(Error::new(format!("cannot ship: {PROGRAM} is neither beside teamkeep nor in PATH"))
            .hint("to install it: ./install.sh --with-ship"));
    };
    let mut command = Command::new(program);
    command.args(args);
    Ok(command)
}

/// Replaces this process by the program. `global` are the global options of this call.
pub fn run(context: &Context, global: &[OsString], args: &Args) -> Result<ExitCode> {
    if args.command.is_some() && args.send != SendArgs::default() {
        let error = Error::usage("`ship status` accepts only --json");
        return Err(error.hint("see: teamkeep ship status --help"));
    }
    let mut command = command(context, global)?;
    os::process::run_instead(command.args(args.passed_on()))
        .map_err(|error| Error::caused(format!("cannot run {}", command.get_program().display()), error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parse(args: &[OsString]) -> Args {
        let name = OsString::from("ship");
        Line::try_parse_from(std::iter::once(&name).chain(args)).unwrap().args
    }

    #[test]
    fn every_argument_is_passed_on() {
        for line in
            ["", "--once", "--once --since=-1d", "--dry-run --json --since 1h", "status", "status --json"]
        {
            let given: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let (args, passed) = (parse(&given), parse(&parse(&given).passed_on()));
            assert_eq!((&args.send, &args.command), (&passed.send, &passed.command), "{line}");
        }
    }
}
