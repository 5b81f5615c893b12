//! Errors of the command line, in the words and the form of all other errors.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};

use teamkeep_system::error::{Error, nearest};

/// Commands of other programs and former habits, and the command that does it here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("timeline", "log"),
    ("history", "log"),
    ("events", "log --raw"),
    ("cost", "report"),
    ("costs", "report"),
    ("summary", "report"),
    ("undo", "restore --undo"),
    ("continue", "restore"),
    ("unpause", "resume"),
    ("unblock", "allow"),
    ("lift", "allow"),
    ("tasks", "show"),
    ("why", "log --kind verdict --full"),
    ("explain", "policy explain"),
    ("version", "--version"),
    ("runs", "list"),
    ("stats", "report"),
    ("tail", "log --follow"),
    ("incidents", "report"),
    ("rm", "prune"),
    ("delete", "prune"),
    ("open", "report --open"),
];

/// The error for a command line that cannot be parsed; `None` if help or the version was asked for.
pub fn explain(error: &clap::Error, parser: &Command, args: &[OsString]) -> Option<Error> {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        return None;
    }
    let usage = Usage { error, called: Called::of(parser, args) };
    Some(usage.explain().of_usage())
}

/// Accepts `-1` as a value, so that the error names its option.
pub fn with_negative_numbers(command: Command) -> Command {
    let takes_value = |arg: &Arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    command
        .mut_args(|arg| match takes_value(&arg) {
            true => arg.allow_negative_numbers(true),
            false => arg,
        })
        .mut_subcommands(with_negative_numbers)
}

/// The place of the first word that is neither the program nor an option of it.
fn command_place(args: &[OsString]) -> Option<usize> {
    let mut place = 1;
    while let Some(arg) = args.get(place)?.to_str().filter(|arg| arg.starts_with('-')) {
        // The only option before a command that has a value.
        place += if arg == "--color" { 2 } else { 1 };
    }
    Some(place)
}

/// The command that was called.
struct Called<'a> {
    command: &'a Command,
    /// The words that call it.
    path: String,
}

impl<'a> Called<'a> {
    fn of(parser: &'a Command, args: &[OsString]) -> Called<'a> {
        let (mut command, mut path) = (parser, "teamkeep".to_owned());
        let start = command_place(args).unwrap_or(args.len());
        let words = args.iter().skip(start).map_while(|arg| arg.to_str()).take_while(|word| *word != "--");
        for word in words.filter(|word| !word.starts_with('-')) {
            let Some(below) = command.find_subcommand(word) else {
                if command.has_subcommands() { continue } else { break }
            };
            (command, path) = (below, format!("{path} {}", below.get_name()));
        }
        Called { command, path }
    }

    fn help(&self) -> String {
        format!("see: {} --help", self.path)
    }
}

struct Usage<'a> {
    error: &'a clap::Error,
    called: Called<'a>,
}

impl Usage<'_> {
    fn explain(&self) -> Error {
        let arg = self.text(ContextKind::InvalidArg);
        match self.error.kind() {
            ErrorKind::InvalidSubcommand => self.unknown_command(),
            ErrorKind::UnknownArgument => self.unknown_argument(&arg),
            ErrorKind::InvalidValue | ErrorKind::ValueValidation => self.invalid_value(&arg),
            ErrorKind::MissingRequiredArgument => {
                Error::new(format!("missing {}", self.texts(ContextKind::InvalidArg).join(" and ")))
                    .hint(self.usage())
            }
            ErrorKind::ArgumentConflict => match self.texts(ContextKind::PriorArg).as_slice() {
                [] => self.other(),
                [prior] if *prior == arg => {
                    Error::new(format!("{arg} is given twice")).hint(self.called.help())
                }
                others => {
                    let others = others.join(" and ");
                    Error::new(format!("{arg} cannot be combined with {others}")).hint(self.called.help())
                }
            },
            _ => self.other(),
        }
    }

    fn unknown_command(&self) -> Error {
        let word = self.text(ContextKind::InvalidSubcommand);
        let error = Error::new(format!("unknown command {word:?}"));
        let is_first = self.called.path == "teamkeep";
        if let Some((_, name)) = OTHER_NAMES.iter().find(|(other, _)| is_first && *other == word) {
            return error.hint(format!("did you mean `{} {name}`?", self.called.path));
        }
        let commands = self.called.command.get_subcommands().filter(|command| !command.is_hide_set());
        let known: Vec<&str> = commands.map(Command::get_name).collect();
        match nearest(&word, &known, 2) {
            Some(near) => error.hint(format!("did you mean `{} {near}`?", self.called.path)),
            None if is_first => error.hint("list the commands: teamkeep help --all"),
            None => error.hint(format!("commands: {}", known.join(", "))),
        }
    }

    fn unknown_argument(&self, arg: &str) -> Error {
        let is_line = arg.starts_with("-L") || arg.starts_with("--line") || arg.parse::<u64>().is_ok();
        if !arg.starts_with('-') {
            let error = Error::new(format!("unexpected argument {arg:?}"));
            return match self.called.command.get_name() {
                "blame" if is_line => error.hint(format!("did you mean: teamkeep blame FILE:{arg}?")),
                "status" => error
                    .hint("status shows all running teams")
                    .hint(format!("for one run: teamkeep watch {arg}, teamkeep show {arg}")),
                _ => error.hint(self.usage()),
            };
        }
        let error = Error::new(format!("unknown option {arg:?}"));
        let shown = self.called.command.get_arguments().filter(|arg| !arg.is_hide_set());
        let known: Vec<String> = shown.filter_map(Arg::get_long).map(|long| format!("--{long}")).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        if known.contains(&arg) {
            return error.hint(format!("put it after the command: {} {arg}", self.called.path));
        }
        if self.called.command.get_name() == "blame" && is_line {
            return error.hint("did you mean: teamkeep blame FILE:LINE?");
        }
        match nearest(arg.split('=').next().unwrap_or_default(), &known, 2) {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => error.hint(self.called.help()),
        }
    }

    /// A value that is missing, is not one of the known ones, or that its parser rejects.
    fn invalid_value(&self, arg: &str) -> Error {
        let (value, known) = (self.text(ContextKind::InvalidValue), self.texts(ContextKind::ValidValue));
        // An argument without an option is named as in the help, without its brackets.
        let name = if arg.starts_with('-') { arg } else { arg.trim_matches(['<', '>', '[', ']', '.']) };
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        if value.is_empty() {
            let error = Error::new(format!("missing value of {arg}"));
            return match self.about(arg) {
                _ if !known.is_empty() => error.hint(format!("expected one of {}", known.join(", "))),
                Some(about) => error.hint(about),
                None => error.hint(self.called.help()),
            };
        }
        let what = format!("invalid value {value:?} for {name}");
        if known.is_empty() {
            let why = std::error::Error::source(self.error).map(ToString::to_string);
            return match why {
                Some(why) => Error::caused(what, why),
                None => Error::new(what).hint(self.called.help()),
            };
        }
        let error = Error::new(format!("{what}; expected one of {}", known.join(", ")));
        error.maybe_hint(nearest(&value, &known, 1).map(|near| format!("did you mean {near:?}?")))
    }

    /// The help for the value of an option such as `--tasks <TEAM>`.
    fn about(&self, arg: &str) -> Option<String> {
        let long = arg.strip_prefix("--")?.split([' ', '=', '[']).next()?;
        let mut options = self.called.command.get_arguments();
        let help = options.find(|option| option.get_long() == Some(long))?.get_help()?.to_string();
        let mut letters = help.chars();
        let first = letters.next()?;
        Some(format!("{}{}", first.to_lowercase(), letters.as_str()))
    }

    /// The error in the parser's words.
    fn other(&self) -> Error {
        let text = self.error.to_string();
        let first = text.lines().next().unwrap_or_default();
        Error::new(first.strip_prefix("error: ").unwrap_or(first)).hint(self.called.help())
    }

    fn usage(&self) -> String {
        let usage = self.text(ContextKind::Usage);
        match usage.trim().strip_prefix("Usage: ").and_then(|usage| usage.lines().next()) {
            Some(usage) => format!("usage: {}", usage.trim()),
            None => self.called.help(),
        }
    }

    fn text(&self, kind: ContextKind) -> String {
        self.texts(kind).join(", ")
    }

    fn texts(&self, kind: ContextKind) -> Vec<String> {
        match self.error.get(kind) {
            Some(ContextValue::String(text)) => vec![text.clone()],
            Some(ContextValue::Strings(texts)) => texts.clone(),
            Some(ContextValue::StyledStr(text)) => vec![text.to_string()],
            _ => Vec::new(),
        }
    }
}
