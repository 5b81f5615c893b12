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
/// The programs that open a file: the first one that is installed is used.
pub const OPENERS: &[&str] = &["explorer"];

/// How a user types commands into PowerShell. The words that these functions take are already quoted.
pub mod shell {
    /// The characters beside letters and digits that need no quotes.
    pub const PLAIN: &str = r"\/_-.+:=";
    /// A quote in a quoted word.
    pub const QUOTE: &str = "''";
    /// What comes before a quoted word for the shell to run it, and not to print it.
    pub const CALL: &str = "& ";

    /// What comes before a command for it to run in a directory. PowerShell 5 does not know `&&`.
    pub fn enter(directory: &str) -> String {
        format!("cd {directory}; ")
    }

    /// What comes before a command for it to run with a variable. The variable stays in the shell.
    pub fn with_variable(name: &str, value: &str) -> String {
        format!("{}; ", set_variable(name, value))
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
        format!("Remove-Item -Recurse {directory}")
    }

    /// Opens a file in an editor, which does not take a line.
    pub fn edit(file: &str, _line: Option<usize>) -> String {
        format!("notepad {file}")
    }

    pub fn add_to_search_path(directory: &str) -> String {
        let added = directory.trim_matches('\'');
        format!("$env:Path += ';{added}'  # to keep it, add the directory to your account's variable Path")
    }
}
