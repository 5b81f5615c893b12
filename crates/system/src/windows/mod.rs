//! Windows: all that other systems do in another way. The folder `unix` has the same items.

pub mod access;
pub mod files;
pub mod process;
pub mod shell;
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
