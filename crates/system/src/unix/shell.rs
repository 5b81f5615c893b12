//! How a user types commands into a POSIX shell. The words that these functions take are already quoted.

/// The characters beside letters and digits that need no quotes.
pub const PLAIN: &str = "/_-.+,:@%=";
/// A quote in a quoted word.
pub const QUOTE: &str = "'\\''";
/// What comes before a quoted word for the shell to run it.
pub const CALL: &str = "";

/// What comes before a command for it to run in a directory.
pub fn enter(directory: &str) -> String {
    format!("cd {directory} && ")
}

/// What comes before a command for it to run with a variable.
pub fn with_variable(name: &str, value: &str) -> String {
    format!("{name}={value} ")
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

/// Opens a file in an editor, at a line if there is one.
pub fn edit(file: &str, line: Option<usize>) -> String {
    let line = line.map_or(String::new(), |line| format!("+{line} "));
    format!("${{EDITOR:-vi}} {line}{file}")
}

pub fn add_to_search_path(directory: &str) -> String {
    format!("export PATH={directory}:$PATH  # to keep it, add this line to your shell profile")
}
