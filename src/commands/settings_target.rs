//! The settings file that `install` and `uninstall` change.

use std::path::PathBuf;

use super::read_context;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::settings::command::{quoted, shell_invocation};
use crate::settings::diff;
use crate::settings::error::read_strict;
use crate::settings::file::SettingsFile;
use crate::settings::installed_hooks;
use crate::settings::scope::{self, Scope};

/// Maximum number of custom hooks to list.
const MAX_LISTED: usize = 3;

/// Which file, and whether to write it.
#[derive(Debug, clap::Args)]
pub struct SettingsTarget {
    /// Which settings file to change
    #[arg(long, value_enum, default_value_t)]
    scope: Scope,
    /// Settings file to change, instead of the scope's
    #[arg(long, value_name = "PATH", conflicts_with = "scope")]
    settings: Option<PathBuf>,
    /// Print the change without writing it
    #[arg(long)]
    pub dry_run: bool,
    /// No effect: install and uninstall never prompt
    #[arg(long, short)]
    yes: bool,
}

impl SettingsTarget {
    /// The user's own settings.
    pub fn of_user() -> SettingsTarget {
        SettingsTarget { scope: Scope::User, settings: None, dry_run: false, yes: true }
    }

    /// Reads the selected file.
    ///
    /// # Errors
    /// The path is unknown, or the file cannot be read.
    pub fn read(&self, context: &Context) -> Result<SettingsFile> {
        let path = match &self.settings {
            Some(path) => scope::absolute(path)?,
            None => scope::settings_of(self.scope, &context.env, &context.paths)?,
        };
        SettingsFile::read(&path)
    }

    /// Whether the file is a project's.
    pub fn is_of_project(&self) -> bool {
        self.settings.is_none() && self.scope != Scope::User
    }

    /// Whether the file is one that others get as well.
    pub fn is_shared(&self) -> bool {
        self.settings.is_none() && self.scope == Scope::Project
    }

    /// The command line of another subcommand for the same file.
    pub fn command(&self, context: &Context, subcommand: &str, file: &SettingsFile) -> String {
        let call = format!("{} {subcommand}", shell_invocation(&context.env));
        match (&self.settings, self.scope) {
            (Some(_), _) => format!("{call} --settings {}", quoted(&file.path.to_string_lossy())),
            (None, Scope::User) => call,
            (None, Scope::Project) => format!("{call} --scope project"),
            (None, Scope::Local) => format!("{call} --scope local"),
        }
    }
}

/// Prints the change that would be made.
///
/// # Errors
/// When stdout cannot be written.
pub fn show(context: &Context, file: &SettingsFile, after: &[u8]) -> Result<()> {
    let text = |bytes| String::from_utf8_lossy(bytes);
    let changes = diff::unified(&text(file.bytes()), &text(after));
    let path = file.path.display().to_string();
    let path = crate::ui::escape(&path);
    // The settings are JSON and may contain any text.
    read_context::print_lines(context, &format!("--- {path}\n+++ {path}\n{changes}"))
}

/// Lists the custom hooks that call teamkeep, which are left unchanged.
pub fn warn_custom_hooks(context: &Context, file: &SettingsFile, content: &[u8], beside_ours: bool) {
    let theirs = installed_hooks::custom_calls(content);
    for entry in theirs.iter().take(MAX_LISTED) {
        let line = entry.group.pointer("/hooks/0/command").and_then(|line| line.as_str()).unwrap_or_default();
        let line: String = line.chars().take(100).collect();
        let what = format!("note: left unchanged: your {} hook also calls teamkeep: `{line}`", entry.event);
        context.ui.eprint_line(&what);
    }
    if let Some(more) = theirs.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        context.ui.eprint_line(&format!("note: and {more} more"));
    }
    if beside_ours && !theirs.is_empty() {
        let path = file.path.display();
        context.ui.eprint_line(&format!(
            "hint: remove teamkeep from that hook in {path}; otherwise its events are recorded twice"
        ));
    }
}

/// The error for a file that this program must not touch.
pub fn edit_error(file: &SettingsFile, cause: String) -> Error {
    let error = Error::caused(format!("cannot edit {}", file.path.display()), cause)
        .hint("nothing was changed; fix the file, or choose another one: --settings PATH");
    match read_strict(file.bytes()).err() {
        Some(flaw) => error.hint(flaw.edit(&file.path)),
        None => error,
    }
}
