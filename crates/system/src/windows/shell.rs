//! How a user types commands into PowerShell. The words that these functions take are already quoted.

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
