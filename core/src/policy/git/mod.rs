//! The git commands of a shell command line that change commits, the index or files, with their effects.

mod effects;
mod options;
mod shell;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use shell::{Line, Part, UNKNOWN, is_keyword};

/// Maximum number of commands of a line, and of paths of a command, that are judged: each path is looked up on the disk.
const MAX_COMMANDS: usize = 16;
const MAX_PATHS: usize = 64;
/// Maximum depth of command lines in each other, as in `bash -c`.
const MAX_DEPTH: usize = 2;

/// An effect of a git command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitEffect<P> {
    /// Adds changes of these paths to the index.
    Stages(P, Affected),
    Commits,
    /// Replaces the last commit.
    Amends,
    /// Replaces or removes commits.
    Rewrites,
    /// Loses changes that are not committed.
    Discards(P, Affected),
}

impl<P> GitEffect<P> {
    /// The same effect with other paths.
    pub fn with_paths<Q>(&self, resolve: impl FnOnce(&P) -> Q) -> GitEffect<Q> {
        match self {
            GitEffect::Stages(paths, files) => GitEffect::Stages(resolve(paths), *files),
            GitEffect::Discards(paths, files) => GitEffect::Discards(resolve(paths), *files),
            GitEffect::Commits => GitEffect::Commits,
            GitEffect::Amends => GitEffect::Amends,
            GitEffect::Rewrites => GitEffect::Rewrites,
        }
    }
}

/// The files on which a command acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Affected {
    /// Those that git knows: committed, or in the index.
    Tracked,
    /// Those that git does not know.
    Untracked,
    Both,
}

/// A path as an argument of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathArgument {
    /// The whole working tree.
    Top,
    /// This path from the directory of the command.
    Below(String),
}

/// A git command with an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitCommand {
    /// The directory in which it runs; links and `..` are not resolved.
    pub directory: PathBuf,
    /// Its subcommand and the decisive option, for a reason: `reset --hard`.
    pub name: &'static str,
    pub effects: Vec<GitEffect<Vec<PathArgument>>>,
}

impl GitCommand {
    /// Whether it may have more paths.
    fn is_cut(&self) -> bool {
        let is_cut = |effect: &GitEffect<Vec<PathArgument>>| match effect {
            GitEffect::Stages(paths, _) | GitEffect::Discards(paths, _) => paths.len() >= MAX_PATHS,
            _ => false,
        };
        self.effects.iter().any(is_cut)
    }
}

/// The git commands of a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitCommands {
    pub commands: Vec<GitCommand>,
    /// Whether every part of the line is understood.
    pub is_complete: bool,
}

impl GitCommands {
    /// The git commands of a line that a shell runs in this directory.
    pub fn parse(line: &str, directory: &Path) -> GitCommands {
        let mut found = GitCommands { is_complete: true, ..GitCommands::default() };
        found.add_line(line, Some(directory.to_owned()), 0);
        found
    }

    fn add_line(&mut self, line: &str, mut directory: Option<PathBuf>, depth: usize) {
        let line = Line::parse(line);
        self.is_complete &= line.is_complete;
        let mut outer = Vec::new();
        for part in &line.parts {
            match part {
                Part::Open => outer.push(directory.clone()),
                Part::Close => directory = outer.pop().unwrap_or_default(),
                Part::Command(words) => self.add_command(words, &mut directory, depth),
            }
        }
    }

    /// Adds a simple command. An unknown directory makes the git commands in it unknown.
    fn add_command(&mut self, words: &[String], directory: &mut Option<PathBuf>, depth: usize) {
        let Some((program, arguments, is_moved)) = program(words) else { return };
        let name = program.rsplit('/').next().unwrap_or(program);
        match name {
            name if !is_known(name) => self.is_complete = false,
            "cd" | "pushd" => {
                let target = arguments.iter().find(|word| !word.starts_with('-'));
                *directory = directory.take().zip(target).and_then(|(from, to)| below(&from, to));
                self.is_complete &= directory.is_some();
            }
            "popd" => *directory = None,
            "declare" | "export" | "readonly" | "typeset"
                if arguments.iter().any(|word| names_repository(word)) =>
            {
                *directory = None;
            }
            "bash" | "dash" | "sh" | "zsh" => {
                let script = arguments.iter().position(|word| word.starts_with('-') && word.ends_with('c'));
                match script.and_then(|at| arguments.get(at + 1)) {
                    Some(script) if is_known(script) && depth < MAX_DEPTH => {
                        self.add_line(script, directory.clone(), depth + 1)
                    }
                    _ => self.is_complete = false,
                }
            }
            "eval" | "source" | "." => self.is_complete = false,
            "find" | "parallel" | "xargs" => {
                self.is_complete &= !arguments.iter().any(|word| word.ends_with("git"));
            }
            "git" => match directory.as_deref().filter(|_| !is_moved).map(|from| git(arguments, from)) {
                Some(Understood::Effects(command)) if self.commands.len() < MAX_COMMANDS => {
                    self.is_complete &= !command.is_cut();
                    self.commands.push(command);
                }
                Some(Understood::NoEffect) => {}
                Some(Understood::NewTree) => *directory = None,
                Some(Understood::Effects(_) | Understood::No) | None => self.is_complete = false,
            },
            _ => {}
        }
    }
}

/// The program of a simple command, its arguments, and whether a variable of git names another repository. `None` without a
/// program.
fn program(words: &[String]) -> Option<(&str, &[String], bool)> {
    let (mut rest, mut is_moved, mut wrapper) = (words, false, None);
    loop {
        let (first, more) = rest.split_first()?;
        let assigned = first.split_once('=').map(|(name, _)| name).filter(|name| is_variable(name));
        rest = match (wrapper, first.as_str()) {
            (_, word) if assigned.is_some() => {
                is_moved |= names_repository(word);
                more
            }
            (_, word) if is_keyword(word) => more,
            (_, "builtin" | "command" | "env" | "exec" | "nice" | "nohup" | "sudo" | "timeout") => {
                wrapper = Some(first.as_str());
                more
            }
            // Another directory.
            (Some("env"), "-C" | "--chdir" | "-S") | (Some("sudo"), "-D" | "--chdir" | "-s" | "-i") => {
                return Some(("\0", more, is_moved));
            }
            (Some("sudo" | "env"), "-u" | "-g") | (Some("nice"), "-n") | (Some("timeout"), "-k" | "-s") => {
                more.get(1..)?
            }
            (Some(_), option) if option.starts_with('-') => more,
            (Some("timeout"), time) if time.starts_with(|c: char| c.is_ascii_digit()) => more,
            (_, program) => return Some((program, more, is_moved)),
        };
    }
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

fn is_known(word: &str) -> bool {
    !word.contains(UNKNOWN)
}

/// A directory below another, if it is known.
fn below(from: &Path, to: &str) -> Option<PathBuf> {
    (is_known(to) && !to.starts_with('~') && to != "-").then(|| from.join(to))
}

/// How far a git command is understood.
enum Understood {
    Effects(GitCommand),
    NoEffect,
    /// It makes a working tree, in which the commands that follow may run.
    NewTree,
    No,
}

/// A git command, from its arguments and the directory of the shell.
fn git(arguments: &[String], from: &Path) -> Understood {
    let (mut directory, mut rest) = (from.to_owned(), arguments);
    let (subcommand, rest) = loop {
        let Some((first, more)) = rest.split_first() else { return Understood::NoEffect };
        match first.as_str() {
            "-C" => match more.split_first().and_then(|(to, more)| Some((below(&directory, to)?, more))) {
                Some((to, more)) => (directory, rest) = (to, more),
                None => return Understood::No,
            },
            "-c" | "--config-env" | "--namespace" => rest = more.get(1..).unwrap_or_default(),
            moved if moved.starts_with("--git-dir") || moved.starts_with("--work-tree") => {
                return Understood::No;
            }
            option if option.starts_with('-') => rest = more,
            subcommand if is_known(subcommand) => break (subcommand, more),
            _ => return Understood::No,
        }
    };
    let is_help = |word: &String| word == "--help";
    if rest.iter().take_while(|word| *word != "--").any(is_help) || rest == ["-h"] {
        return Understood::NoEffect;
    }
    let adds_worktree = subcommand == "worktree" && rest.first().is_some_and(|what| what == "add");
    if adds_worktree || matches!(subcommand, "clone" | "init") {
        return Understood::NewTree;
    }
    let (name, effects) = effects::of(subcommand, rest);
    match effects.is_empty() {
        true => Understood::NoEffect,
        false => Understood::Effects(GitCommand { directory, name, effects }),
    }
}
