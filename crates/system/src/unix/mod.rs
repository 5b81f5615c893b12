//! Unix: all that other systems do in another way. The folder `windows` has the same items.

pub mod access;
#[cfg_attr(target_vendor = "apple", path = "apple.rs")]
#[cfg_attr(not(target_vendor = "apple"), path = "proc.rs")]
mod details;
pub mod files;
pub mod process;
pub mod shell;
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
/// The programs that open a file: the first one that is installed is used.
pub const OPENERS: &[&str] = if IS_APPLE { &["open"] } else { &["xdg-open", "wslview"] };
