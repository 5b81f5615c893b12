//! The reference page of the commands, generated from the command line parser.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};
use teamkeep::cli::{Cli, FOR_PROGRAMS, GROUPS, MORE, is_documented};

use super::man;

/// How options with a TIME are written.
const TIMES: &str = "
## Times

| form | meaning |
|---|---|
| `+1m30s` | time since the start of the run |
| `10m`, `2h`, `3d`, `1w` | an age: that long ago |
| `17:53`, `17:53:00` | that time of day: during the run, else the last one |
| `2026-02-03 04:05`, `2026-02-03` | local time, unless `--utc` is given |
| `2026-02-03T04:05:06Z` | RFC 3339, with a zone |
| `now`, `today`, `yesterday` | today and yesterday begin at midnight |
";

/// The page.
pub fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut page = super::reference::notice("Commands");
    page += "`teamkeep help COMMAND` prints the same text in the terminal, and `man teamkeep-COMMAND` shows it as a man page.\n";
    page += TIMES;
    let global: Vec<&Arg> =
        root.get_arguments().filter(|arg| arg.is_global_set() && !arg.is_hide_set()).collect();
    if !global.is_empty() {
        page += "\n## Options of every command\n\n";
        global.iter().for_each(|arg| page += &option(arg));
    }
    let for_programs = ("Called by programs", FOR_PROGRAMS);
    for (title, names) in GROUPS.iter().chain(MORE).chain([&for_programs]) {
        let _ = write!(page, "\n## {title}\n");
        let commands = names.iter().map(|name| root.find_subcommand(name).unwrap());
        page += &commands.map(|command| section(command, 3)).collect::<String>();
    }
    page
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| is_documented(below))
}

/// A command and the commands below it.
fn section(command: &Command, level: usize) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("\n{} {name}\n\n{}\n", "#".repeat(level), escaped(&sentence(&about)));
    let aliases: Vec<String> = command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    if !aliases.is_empty() {
        let _ = write!(text, "\nAliases: {}\n", aliases.join(", "));
    }
    let is_group = command.is_subcommand_required_set();
    if !is_group {
        text += &usage_and_options(command);
    }
    match name {
        "teamkeep hook" => text,
        _ => text + &visible(command).map(|command| section(command, level + 1)).collect::<String>(),
    }
}

fn usage_and_options(command: &Command) -> String {
    let mut text = String::new();
    let usage = command.clone().render_usage().to_string();
    let _ = write!(text, "\n```text\n{usage}\n```\n\n");
    let own = |arg: &&Arg| {
        !arg.is_hide_set() && !arg.is_global_set() && !["help", "version"].contains(&arg.get_id().as_str())
    };
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(own).partition(|arg| arg.is_positional());
    positional.into_iter().chain(options).for_each(|arg| text += &option(arg));
    text + &after(command)
}

/// One argument or option, as an item of a list.
fn option(arg: &Arg) -> String {
    let value = arg.get_num_args().is_some_and(|count| count.takes_values());
    let names =
        arg.get_value_names().map_or(arg.get_id().to_string().to_uppercase(), |names| names.join(" "));
    let call = if arg.is_positional() {
        names
    } else {
        let short = arg.get_short().map(|short| format!("-{short}"));
        let long = arg.get_long().map(|long| format!("--{long}"));
        let spelled = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
        match value {
            true if arg.is_require_equals_set() => format!("{spelled}[={names}]"),
            true => format!("{spelled} {names}"),
            false => spelled,
        }
    };
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("- `{call}`: {}", escaped(&sentence(&help)).replace("\n\n", "\n\n  "));
    let values: Vec<_> = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
    if value && !values.is_empty() {
        text += " Values:";
        let about = |value: &clap::builder::PossibleValue| value.get_help().map(ToString::to_string);
        let values = values.iter().map(|value| match about(value) {
            Some(about) => format!(" `{}` ({})", value.get_name(), escaped(&about)),
            None => format!(" `{}`", value.get_name()),
        });
        text += &values.collect::<Vec<_>>().join(",");
        text.push('.');
    }
    let defaults: Vec<_> =
        arg.get_default_values().iter().map(|value| format!("`{}`", value.display())).collect();
    if value && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        let _ = write!(text, " Default: {}.", defaults.join(", "));
    }
    text + "\n"
}

/// Examples and notes, as `--help` has them.
fn after(command: &Command) -> String {
    let text = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let text = text.unwrap_or_default();
    let mut page = String::new();
    for block in man::blocks(&text) {
        match block.as_slice() {
            [heading, lines @ ..] if heading.ends_with(':') && !lines.is_empty() => {
                let lines: Vec<&str> =
                    lines.iter().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
                let _ = write!(page, "\n{}\n\n```text\n{}\n```\n", escaped(heading), lines.join("\n"));
            }
            lines => {
                let _ = write!(page, "\n{}\n", escaped(&lines.join("\n")));
            }
        }
    }
    page
}

/// Ends a text with a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() || text.ends_with(['.', ':', '?']) { text.to_owned() } else { format!("{text}.") }
}

/// A text as Markdown takes it: what would be markup outside of code is escaped.
fn escaped(text: &str) -> String {
    let part = |(index, part): (usize, &str)| match index % 2 {
        1 => part.to_owned(),
        _ => part.replace('<', "&lt;").replace('*', "\\*").replace('_', "\\_").replace('[', "\\["),
    };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}
