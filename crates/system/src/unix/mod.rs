//! Unix: all that other systems do in another way. The folder `windows` has the same items.

pub mod access;
#[cfg_attr(target_vendor = "apple", path = "apple.rs")]
#[cfg_attr(not(target_vendor = "apple"), path = "proc.rs")]
mod details;
pub mod files;
pub mod process;
pub mod terminal;

// Fixed paths, and the names of variables and programs.

const IS_APPLE: bool = cfg!(target_vendor = "apple");

/// The organization's configuration.
pub const ORGANIZATION_FILE: &str = if IS_APPLE {
    "/Library/Application Support/teamkeep/teamkeep.toml"
} else {
    "/etc/teamkeep/teamkeep.toml"
};
/// teamkeep's own directory of the system.
pub const SYSTEM_DIR: &str =
    if IS_APPLE { "/Library/Application Support/teamkeep" } else { "/var/lib/teamkeep" };
/// Claude Code's managed settings.
pub const MANAGED_SETTINGS: &str =
    if IS_APPLE { "/Library/Application Support/ClaudeCode" } else { "/etc/claude-code" };
/// A directory with programs for every user.
pub const PROGRAMS_DIR: &str = "/usr/local/bin";
/// The directories with the users' own directories.
pub const HOME_PARENTS: &[&str] = &["/home", "/root", "/Users"];
/// A path that cannot exist.
pub const NOWHERE: &str = "/dev/null/teamkeep";
/// The temporary directory, if the environment names none.
pub const TMP_DIR: &str = "/tmp";
/// The search path, if the environment names no absolute directory.
pub const SEARCH_PATH: &str = "/usr/bin:/bin";

/// The variables with the user's home directory, the user's name, and the temporary directory.
pub const HOME_VARIABLE: &str = "HOME";
pub const USER_VARIABLE: &str = "USER";
pub const TMP_VARIABLE: &str = "TMPDIR";

/// How the file name of a program ends.
pub const PROGRAM_SUFFIX: &str = "";
/// How the file names of the programs end that a search finds.
pub const PROGRAM_SUFFIXES: &[&str] = &[PROGRAM_SUFFIX];
/// The programs that open a file: the first one that is installed is used.
pub const OPENERS: &[&str] = if IS_APPLE { &["open"] } else { &["xdg-open", "wslview"] };

/// How a user types commands into a POSIX shell. The words that these functions take are already quoted.
pub mod shell {
    /// The characters beside letters and digits that need no quotes.
    pub const PLAIN: &str = "/_-.+,:@%=";
    /// A quote in a quoted word.
    pub const QUOTE: &str = "'\\''";
    /// The word before a quoted program.
    pub const CALL: &str = "";
    /// The word before a command that only root may run.
    pub const SUDO: &str = "sudo ";

    pub fn enter(directory: &str) -> String {
        format!("cd {directory}")
    }

    /// A command in a directory, in which the shell stays.
    pub fn within(directory: &str, command: &str) -> String {
        format!("{} && {command}", enter(directory))
    }

    /// A command with variables of its own.
    pub fn with_variables(variables: &[(&str, String)], command: &str) -> String {
        let variables: Vec<String> =
            variables.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        format!("{}{command}", variables.concat())
    }

    pub fn set_variable(name: &str, value: &str) -> String {
        format!("export {name}={value}")
    }

    pub fn unset_variable(name: &str) -> String {
        format!("unset {name}")
    }

    pub fn remove_directory(directory: &str) -> String {
        format!("rm -r {directory}")
    }

    /// The command that opens a file in an editor, at a line if there is one.
    pub fn edit(file: &str, line: Option<usize>) -> String {
        let line = line.map_or(String::new(), |line| format!("+{line} "));
        format!("${{EDITOR:-vi}} {line}{file}")
    }

    pub fn add_to_search_path(directory: &str) -> String {
        format!("export PATH={directory}:$PATH  # to keep it, add this line to your shell profile")
    }
}
