//! The end of a dry run, the same for all commands: the command that does it. The output before it has `would delete` or
//! `would restore`.

use teamkeep_settings::program::shell_invocation;
use teamkeep_system::command::quoted;
use teamkeep_terminal::Context;

/// Prints the present command line without `--dry-run`, and with this option.
pub fn show_command(context: &Context, option: Option<&str>) {
    let given = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    let words = given.filter(|arg| arg != "--dry-run").chain(option.map(str::to_owned));
    let words: Vec<String> = words.map(|word| quoted(&word)).collect();
    show(context, &format!("{} {}", shell_invocation(&context.env), words.join(" ")));
}

/// Prints a command that does what a dry run has shown.
pub fn show(context: &Context, command: &str) {
    context.ui.eprint_line(&format!("to do it: {command}"));
}
