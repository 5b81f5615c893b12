//! The git commands of a shell command line that change commits, the index or files, with their effects.

mod effects;
mod shell;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use shell::{Part, ShellLine, UNKNOWN, is_keyword};
use teamkeep_model::paths;

/// Maximum number of judged commands of a line: git is asked about each.
const MAX_COMMANDS: usize = 16;
/// Maximum depth of command lines in each other, as in `bash -c`.
const MAX_DEPTH: usize = 2;

/// An effect of a git command, as a question to git. Paths are pathspecs from the directory of the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Loses uncommitted changes.
    Discards(Files),
    /// Removes the files that `git clean` lists with these arguments, below these paths.
    Cleans(Vec<String>, Vec<String>),
    /// Adds changes to the index, or commits them.
    Stages(Files),
    /// Replaces or removes the commits that `git log` lists with these arguments.
    Drops(Vec<String>),
    /// Replaces the commits of a branch that its upstream does not have; all of them without one.
    Rebases {
        branch: String,
        upstream: Option<String>,
        forces: bool,
    },
    /// Removes an entry of the stash; all of them without a number.
    TakesStash(Option<usize>),
    /// Checks out a branch or paths: only git can distinguish them.
    ChecksOut(Vec<String>),
    /// Puts the working tree on another branch; empty if its name is not known.
    Switches(String),
    RemovesTree(String),
    /// Makes commits or entries of the stash, which then are the agent's.
    Makes(Makes),
}

/// The files that a command affects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    pub paths: Vec<String>,
    pub affected: Affected,
}

/// The changes that a command affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Affected {
    /// Of files that git knows: in the index, or not.
    Tracked,
    /// Of files that git knows, without changes only in the index.
    Unstaged,
    /// Those in the index.
    Staged,
    /// Also files that git does not know.
    Both,
    /// Also ignored files.
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Makes {
    Commits,
    Stash,
}

/// A git command with an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitCommand {
    /// The directory in which it runs; links and `..` are not resolved.
    pub directory: PathBuf,
    /// Its subcommand and the decisive option, for a reason: `reset --hard`.
    pub name: &'static str,
    pub effects: Vec<Effect>,
}

/// The git commands of a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitCommands {
    pub commands: Vec<GitCommand>,
    /// Whether every part of the line is understood.
    pub is_complete: bool,
}

/// Programs that run another one, after options of their own.
const WRAPPERS: [&str; 14] = [
    "builtin", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo",
    "time", "timeout", "xargs",
];
const SHELLS: [&str; 4] = ["bash", "dash", "sh", "zsh"];

impl GitCommands {
    /// The git commands of a line that a shell runs in this directory.
    pub fn parse(line: &str, directory: &Path) -> GitCommands {
        let mut found = GitCommands { is_complete: true, ..GitCommands::default() };
        found.add_line(line, Some(directory.to_owned()), 0);
        found
    }

    fn add_line(&mut self, line: &str, mut directory: Option<PathBuf>, depth: usize) {
        let line = ShellLine::parse(line);
        self.is_complete &= line.is_complete;
        let mut outer = Vec::new();
        for part in line.parts {
            match part {
                Part::Open => outer.push(directory.clone()),
                Part::Close => directory = outer.pop().unwrap_or_default(),
                Part::Command(words) => self.add_command(&words, &mut directory, depth),
            }
        }
    }

    /// Adds a simple command. In an unknown directory, git commands are unknown, too.
    fn add_command(&mut self, words: &[String], shell: &mut Option<PathBuf>, depth: usize) {
        let (mut rest, mut directory) = (words, shell.clone());
        let (program, arguments) = loop {
            let Some((first, more)) = rest.split_first() else { return };
            let assigned = first.split_once('=').map(|(name, _)| name).filter(|name| is_variable(name));
            if let Some(name) = assigned {
                directory = directory.filter(|_| !names_repository(name));
                rest = more;
            } else if is_keyword(first) {
                rest = more;
            } else if first == "function" {
                rest = more.get(1..).unwrap_or_default();
            } else if WRAPPERS.contains(&program_name(first)) {
                let Some(inner) = unwrap(more, directory) else {
                    self.is_complete = false;
                    return;
                };
                (rest, directory) = inner;
                if program_name(first) == "xargs" {
                    // The arguments that it adds are not known.
                    let words = rest.iter().cloned().chain([UNKNOWN.to_string()]).collect();
                    return self.add_inner(words, directory, depth);
                }
            } else {
                break (program_name(first), more);
            }
        };
        match program {
            name if !is_known(name) => self.is_complete = false,
            "cd" | "pushd" => {
                let target = arguments.iter().find(|word| !word.starts_with('-') || *word == "-");
                *shell = directory.zip(target).and_then(|(from, to)| below(&from, to));
                self.is_complete &= shell.is_some();
            }
            "popd" => *shell = None,
            "declare" | "export" | "readonly" | "typeset" => {
                let moves = arguments.iter().any(|word| names_repository(word));
                *shell = shell.take().filter(|_| !moves);
            }
            "eval" => self.add_script(Some(arguments.join(" ")), directory, depth),
            shell if SHELLS.contains(&shell) => {
                let script = arguments.iter().position(|word| word.starts_with('-') && word.ends_with('c'));
                let script = script.and_then(|at| arguments.get(at + 1)).cloned();
                self.add_script(script, directory, depth);
            }
            "source" | "." | "parallel" => self.is_complete = false,
            "find" => {
                let run =
                    arguments.split(|word| word.starts_with("-exec") || word.starts_with("-ok")).skip(1);
                for words in run {
                    let words = words.iter().take_while(|word| !matches!(word.as_str(), ";" | "+"));
                    let words = words.map(|word| word.replace("{}", "\0")).collect();
                    self.add_inner(words, directory.clone(), depth);
                }
            }
            "git" => self.add_git(arguments, directory, shell),
            _ => {}
        }
    }

    /// Adds a command that another one runs.
    fn add_inner(&mut self, words: Vec<String>, mut directory: Option<PathBuf>, depth: usize) {
        match depth < MAX_DEPTH {
            true => self.add_command(&words, &mut directory, depth + 1),
            false => self.is_complete = false,
        }
    }

    fn add_script(&mut self, script: Option<String>, directory: Option<PathBuf>, depth: usize) {
        match script {
            Some(script) if is_known(&script) && depth < MAX_DEPTH => {
                self.add_line(&script, directory, depth + 1);
            }
            _ => self.is_complete = false,
        }
    }

    /// Adds a git command. `shell` is the directory of the next ones.
    fn add_git(&mut self, arguments: &[String], directory: Option<PathBuf>, shell: &mut Option<PathBuf>) {
        let (mut directory, mut rest) = (directory, arguments);
        let (subcommand, rest) = loop {
            let Some((first, more)) = rest.split_first() else { return };
            rest = match first.as_str() {
                "-C" => {
                    directory = directory.zip(more.first()).and_then(|(from, to)| below(&from, to));
                    more.get(1..).unwrap_or_default()
                }
                "-c" | "--config-env" | "--namespace" => more.get(1..).unwrap_or_default(),
                moved if moved.starts_with("--git-dir") || moved.starts_with("--work-tree") => {
                    directory = None;
                    if moved.contains('=') { more } else { more.get(1..).unwrap_or_default() }
                }
                option if option.starts_with('-') => more,
                subcommand => break (subcommand, more),
            }
        };
        let is_help = |word: &String| word == "--help";
        if rest.iter().take_while(|word| *word != "--").any(is_help) || rest == ["-h"] {
            return;
        }
        // The directory becomes another working tree.
        if subcommand == "init" {
            *shell = None;
        }
        match effects::of(subcommand, rest) {
            Some(((_, effects), is_complete)) if effects.is_empty() => self.is_complete &= is_complete,
            Some(((name, effects), is_complete)) if self.commands.len() < MAX_COMMANDS => {
                self.is_complete &= is_complete && directory.is_some();
                if let Some(directory) = directory {
                    self.commands.push(GitCommand { directory, name, effects });
                }
            }
            Some(_) | None => self.is_complete = false,
        }
    }
}

/// The command after the options of a wrapper, and the directory in which it runs. Each option can have a value. `None` for
/// another command line, or a shell.
fn unwrap(mut rest: &[String], mut directory: Option<PathBuf>) -> Option<(&[String], Option<PathBuf>)> {
    let mut option = "";
    while let Some((word, more)) = rest.split_first() {
        let name = program_name(word);
        let is_program = name == "git" || SHELLS.contains(&name) || WRAPPERS.contains(&name);
        let is_own =
            word.starts_with('-') || !option.is_empty() || word.starts_with(|c: char| c.is_ascii_digit());
        if matches!(option, "-C" | "-D" | "--chdir") {
            directory = directory.and_then(|from| below(&from, word));
        } else if is_program || !is_own {
            break;
        }
        if matches!(word.as_str(), "-S" | "--split-string" | "-s" | "-i" | "--login") {
            return None;
        }
        option = if word.starts_with('-') { word } else { "" };
        rest = more;
    }
    Some((rest, directory))
}

fn program_name(word: &str) -> &str {
    let name = paths::parts(word).next_back().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Whether a word sets, or names, a variable that leads git to another repository.
fn names_repository(word: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    matches!(name, "GIT_DIR" | "GIT_WORK_TREE" | "GIT_INDEX_FILE")
}

/// Whether a word before `=` is the name of a variable.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a word is known without the shell: it has no expansion.
fn is_known(word: &str) -> bool {
    !word.contains(UNKNOWN) && !word.starts_with('~')
}

/// A directory below another, if it is known. On Windows, the shell is Git Bash.
fn below(from: &Path, to: &str) -> Option<PathBuf> {
    if !is_known(to) || to == "-" {
        return None;
    }
    let below = match from.to_str().filter(|from| paths::is_of_windows(from)) {
        Some(from) => PathBuf::from(paths::joined(from, paths::of_git_bash(to).as_deref().unwrap_or(to))),
        None => from.join(to),
    };
    Some(below)
}
