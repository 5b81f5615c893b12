//! Windows: all that other systems do in another way. The folder `unix` has the same items.

pub mod access;
pub mod files;
pub mod process;
pub mod terminal;

// Fixed paths, and the names of variables and programs.

/// The organization's configuration. Users can create directories in `C:\ProgramData`, but not here.
pub const ORGANIZATION_FILE: &str = r"C:\Program Files\teamkeep\teamkeep.toml";
/// teamkeep's own directory of the system.
pub const SYSTEM_DIR: &str = r"C:\Program Files\teamkeep";
/// Claude Code's managed settings.
pub const MANAGED_SETTINGS: &str = r"C:\Program Files\ClaudeCode";
/// A directory with programs for every user.
pub const PROGRAMS_DIR: &str = SYSTEM_DIR;
/// The directories with the users' own directories.
pub const HOME_PARENTS: &[&str] = &[r"C:\Users"];
/// A path that cannot exist.
pub const NOWHERE: &str = r"\\.\NUL\teamkeep";
/// The temporary directory, if the environment names none.
pub const TMP_DIR: &str = r"C:\Windows\Temp";
/// The search path, if the environment names no absolute directory.
pub const SEARCH_PATH: &str = r"C:\Windows\System32";

/// The variables with the user's home directory, the user's name, and the temporary directory.
pub const HOME_VARIABLE: &str = "USERPROFILE";
pub const USER_VARIABLE: &str = "USERNAME";
pub const TMP_VARIABLE: &str = "TEMP";

/// How the file name of a program ends.
pub const PROGRAM_SUFFIX: &str = ".exe";
/// How the file names of the programs end that a search finds, in this order.
pub const PROGRAM_SUFFIXES: &[&str] = &[PROGRAM_SUFFIX, ".cmd", ".bat"];
/// The programs that open a file: the first one that is installed is used.
pub const OPENERS: &[&str] = &["explorer"];

/// How a user types commands into PowerShell. The words that these functions take are already quoted. `-LiteralPath`, because
/// PowerShell expands `[` also in quotes.
pub mod shell {
    /// The characters beside letters and digits that need no quotes.
    pub const PLAIN: &str = r"\/_-.+:=";
    /// A quote in a quoted word.
    pub const QUOTE: &str = "''";
    /// The word before a quoted program: without it, the word is only printed.
    pub const CALL: &str = "& ";
    /// The word before a command that only an administrator may run: none, because the whole shell runs as one.
    pub const SUDO: &str = "";

    pub fn enter(directory: &str) -> String {
        format!("cd -LiteralPath {directory}")
    }

    /// A command in a directory, in which the shell stays. PowerShell 5 does not know `&&`.
    pub fn within(directory: &str, command: &str) -> String {
        format!("{}; {command}", enter(directory))
    }

    /// A command with variables, which are removed afterwards.
    pub fn with_variables(variables: &[(&str, String)], command: &str) -> String {
        let set = variables.iter().map(|(name, value)| set_variable(name, value) + "; ");
        let unset = variables.iter().map(|(name, _)| format!("; {}", unset_variable(name)));
        format!("{}{command}{}", set.collect::<String>(), unset.collect::<String>())
    }

    pub fn set_variable(name: &str, value: &str) -> String {
        match value.starts_with('\'') {
            true => format!("$env:{name} = {value}"),
            false => format!("$env:{name} = '{value}'"),
        }
    }

    pub fn unset_variable(name: &str) -> String {
        format!("Remove-Item Env:{name}")
    }

    pub fn remove_directory(directory: &str) -> String {
        format!("Remove-Item -Recurse -LiteralPath {directory}")
    }

    /// The command that opens a file in an editor, which does not take a line.
    pub fn edit(file: &str, _line: Option<usize>) -> String {
        format!("notepad {file}")
    }

    pub fn add_to_search_path(directory: &str) -> String {
        let added =
            directory.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')).unwrap_or(directory);
        format!("$env:Path += ';{added}'  # to keep it, add the directory to your account's variable Path")
    }
}

#[cfg(test)]
mod tests {
    use crate::command::{called, quoted};
    use std::path::Path;

    #[test]
    fn commands_are_spelled_for_powershell() {
        assert_eq!(called(Path::new(r"C:\bin\teamkeep.exe")), r"C:\bin\teamkeep.exe");
        assert_eq!(called(Path::new(r"C:\it's\teamkeep.exe")), r"& 'C:\it''s\teamkeep.exe'");
        let variables = [("A", quoted("x")), ("B", quoted("a b"))];
        let command = super::shell::with_variables(&variables, "claude");
        assert_eq!(
            super::shell::within(&quoted(r"C:\s[1]"), &command),
            r"cd -LiteralPath 'C:\s[1]'; $env:A = 'x'; $env:B = 'a b'; claude; Remove-Item Env:A; Remove-Item Env:B"
        );
        assert!(super::shell::add_to_search_path(r"'C:\a b'").starts_with(r"$env:Path += ';C:\a b'"));
    }
}
