//! A file's bytes and text, positions in it, its problems, and the part of it that each is about.

use std::collections::HashMap;
use std::fs::Metadata;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use serde::Serialize;

use teamkeep_system::fs;

/// Maximum size of the user's file in bytes.
pub const MAX_BYTES: u64 = 1 << 20;
/// Maximum size of a project's file in bytes. It is read at every hook call.
pub const LARGEST_PROJECT: u64 = 64 << 10;

/// The text of a file.
#[derive(Debug)]
pub struct Source {
    pub path: PathBuf,
    /// The text, without a byte order mark, and with the line breaks of Unix.
    pub text: String,
    /// The byte offset of each line.
    lines: Vec<usize>,
}

/// A file that could be read.
#[derive(Debug)]
pub struct Read {
    pub source: Source,
    /// The hash of its bytes.
    pub hash: blake3::Hash,
    pub metadata: Metadata,
}

impl Source {
    /// A file with this text.
    pub fn new(path: &Path, text: &str) -> Source {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Source { path: path.to_path_buf(), text, lines }
    }

    /// The line at a byte offset, from 1.
    pub fn line(&self, byte: usize) -> usize {
        self.lines.partition_point(|start| *start <= byte)
    }

    /// Line and column at a byte offset, both from 1; the column counts characters.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let line = self.line(byte);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start..byte).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// A problem with this part of the text.
    pub fn problem(&self, code: Code, span: Range<usize>, message: impl Into<String>) -> Problem {
        let (at, length) = (Some(self.position(span.start)), u32::try_from(span.len()).unwrap_or(0));
        Problem { at, length, ..Problem::of_file(code, &self.path, message.into()) }
    }
}

/// Reads a file, following links; `Ok(None)` if there is none, at the cost of one failed open.
pub fn read(path: &Path, largest: u64) -> Result<Option<Read>, Problem> {
    let (bytes, metadata) = match fs::read_linked(path, largest) {
        Ok(read) => read,
        // If a directory of the path is a file, the file does not exist either.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            let Some(link) = link_to_nothing(path) else { return Ok(None) };
            let what = format!("{} is a broken link", link.display());
            let hint = "create its target, or remove the link";
            return Err(Problem::of_file(Code::Unreadable, path, what).hint(hint));
        }
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            return Err(Problem::of_file(Code::TooLarge, path, error));
        }
        Err(error) => return Err(Problem::of_file(Code::Unreadable, path, error)),
    };
    let hash = blake3::hash(&bytes);
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(Some(Read { source: Source::new(path, text), hash, metadata })),
        Err(error) => {
            let what = format!("{} is not valid UTF-8: {error}", path.display());
            Err(Problem::of_file(Code::NotUtf8, path, what).hint("save the file as UTF-8"))
        }
    }
}

/// Whether nothing exists at a path. A path that cannot be accessed and a broken link count as existing.
pub(crate) fn is_absent(path: &Path) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    let absent = |error: io::Error| kinds.contains(&error.kind());
    path.symlink_metadata().err().is_some_and(absent) && !path.parent().is_some_and(fs::is_broken_link)
}

/// The path or its directory, if it is a broken link: a file is expected there.
fn link_to_nothing(path: &Path) -> Option<&Path> {
    let parent = path.parent()?;
    match parent.symlink_metadata() {
        Ok(found) if found.is_symlink() && !parent.exists() => Some(parent),
        Ok(_) => fs::is_broken_link(path).then_some(path),
        // A missing directory has no links.
        Err(_) => None,
    }
}

/// The hash of a file's bytes, if it can be read.
pub fn hash(path: &Path) -> Option<blake3::Hash> {
    fs::read_linked(path, MAX_BYTES).ok().map(|(bytes, _)| blake3::hash(&bytes))
}

/// The files of some problems, each read once.
#[derive(Debug, Default)]
pub struct Excerpts {
    files: HashMap<PathBuf, Option<Source>>,
}

/// The part of a file that a problem is about.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// The line's number, from 1.
    pub number: usize,
    pub line: &'a str,
    /// The part of the line, in bytes.
    pub marked: Range<usize>,
}

impl Excerpts {
    /// The part that a problem is about; `None` for a problem with the file itself.
    pub fn of(&mut self, problem: &Problem) -> Option<Excerpt<'_>> {
        let file = self
            .files
            .entry(problem.path.clone())
            .or_insert_with(|| read(&problem.path, MAX_BYTES).ok().flatten().map(|read| read.source));
        file.as_ref()?.excerpt(problem)
    }
}

impl Source {
    fn excerpt(&self, problem: &Problem) -> Option<Excerpt<'_>> {
        let (number, column) = problem.at?;
        let text = self.text.get(*self.lines.get(number.checked_sub(1)?)?..)?;
        let line = text.lines().next().unwrap_or_default();
        let (start, _) = line.char_indices().chain([(line.len(), ' ')]).nth(column.checked_sub(1)?)?;
        let word = line[start..].split([' ', '=']).next().unwrap_or_default();
        let length = if problem.length == 0 { word.len() } else { problem.length as usize };
        let marked = start..line.len().min(start + length);
        Some(Excerpt { number, line, marked })
    }
}

// Problems of a configuration file, reported as a compiler does.

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemSeverity {
    /// The whole file is ignored and the defaults apply.
    Error,
    /// The key or rule is ignored or has no effect; the rest of the file applies.
    Warning,
}

macro_rules! codes {
    ($($code:ident $name:literal $severity:ident $about:literal,)*) => {
        /// The kind of a problem. The codes are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($code,)* }

        impl Code {
            pub const ALL: &[Code] = &[$(Code::$code,)*];

            pub fn name(self) -> &'static str {
                match self { $(Code::$code => $name,)* }
            }

            pub fn severity(self) -> ProblemSeverity {
                match self { $(Code::$code => ProblemSeverity::$severity,)* }
            }

            pub fn about(self) -> &'static str {
                match self { $(Code::$code => $about,)* }
            }
        }
    };
}

codes! {
    Unreadable "unreadable" Error "The file cannot be read: no permission, a directory, a pipe, a broken link or a loop of links; or `TEAMKEEP_CONFIG` names a missing file or a relative path.",
    TooLarge "too-large" Error "The file is larger than 1 MiB, or a project's file larger than 64 KiB.",
    NotUtf8 "not-utf8" Error "The file is not valid UTF-8.",
    Syntax "syntax" Error "The file is not valid TOML. Nothing else is checked until this is fixed.",
    DuplicateKey "duplicate-key" Error "A key or a table occurs twice.",
    UnknownKey "unknown-key" Error "This table has no such key.",
    MissingKey "missing-key" Error "A check or a rule lacks a required key.",
    WrongType "wrong-type" Error "The value has the wrong type, such as a string for a number.",
    BadValue "bad-value" Error "The value is not one of the allowed words, is too small, or is blank.",
    BadNumber "bad-number" Error "The number is negative or too large.",
    BadDuration "bad-duration" Error "The value is not a valid duration such as \"90d\" or \"1m30s\", or a check's timeout is zero.",
    BadSize "bad-size" Error "The value is not a valid size such as \"16 MiB\".",
    BadGlob "bad-glob" Error "The glob is invalid: it is empty, has an open bracket, or contains `**`.",
    BadRegex "bad-regex" Error "The regular expression is invalid.",
    LargeRegex "large-regex" Error "The compiled regular expression is larger than 64 KiB.",
    BadPointer "bad-pointer" Error "The key is not a valid JSON pointer such as \"/tool_input/command\".",
    UnknownEvent "unknown-event" Error "There is no event of this name.",
    MissingReason "missing-reason" Error "A rule blocks without a reason for the model.",
    DuplicateRule "duplicate-rule" Error "Two rules of one file have the same name.",
    NeverMatches "never-matches" Warning "The rule can never match: it names tools, but none of its events has a tool, or a tool is written in another case than Claude Code's.",
    OnlyWarns "only-warns" Warning "The rule blocks, but it names an event that cannot be blocked. There it only warns.",
    UselessKey "useless-key" Warning "The key has no effect: `lasting` in a rule that blocks no tool.",
    NotInProject "not-in-project" Warning "A project's file cannot set this key. The key is ignored.",
    WouldLoosen "would-loosen" Warning "A project's file would loosen the user's policy or the default, or a user's file a value that the organization has fixed. The key is ignored.",
    NotInUserFile "not-in-user-file" Warning "Only the organization's file can set this key. The key is ignored.",
    OrganizationBroken "organization-broken" Warning "The organization's file cannot be used. Its last valid content applies.",
    RuleNameTaken "rule-name-taken" Warning "A rule has the name of a rule of the organization, or a project's rule that of a user's rule. The rule is ignored.",
    Untrusted "untrusted" Warning "A project's checks and rules do not run until `teamkeep policy trust`, and again after the file changes.",
    TrustGone "trust-gone" Warning "A trusted project file is gone, or no longer has checks and rules.",
    RuleNotAsked "rule-not-asked" Warning "The installed hooks are not those that the rules and gates need, so some are not evaluated. `teamkeep install` adds the hooks.",
    BadTrust "bad-trust" Warning "The list of trusted files cannot be read, so nothing is trusted.",
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// One problem with its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub code: Code,
    pub path: PathBuf,
    /// Line and column, both from 1; the column counts characters. `None` for a problem with the file itself.
    pub at: Option<(usize, usize)>,
    /// The message. It may quote the file, so escape it for a terminal.
    pub message: String,
    pub hint: Option<String>,
    /// The length of the key or value, in bytes; 0 for a word.
    #[serde(skip)]
    pub length: u32,
}

impl Problem {
    /// A problem with the file itself.
    pub fn of_file(code: Code, path: impl Into<PathBuf>, message: impl fmt::Display) -> Problem {
        let (path, message) = (path.into(), message.to_string());
        Problem { code, path, at: None, message, hint: None, length: 0 }
    }

    /// Whether it makes the whole file unusable.
    pub fn is_error(&self) -> bool {
        self.code.severity() == ProblemSeverity::Error
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// `path:line:column`, or only the path.
    pub fn location(&self) -> String {
        match self.at {
            Some((line, column)) => format!("{}:{line}:{column}", self.path.display()),
            None => self.path.display().to_string(),
        }
    }
}

/// `path:line:column: error[code]: message`.
impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.code.severity() {
            ProblemSeverity::Error => "error",
            ProblemSeverity::Warning => "warning",
        };
        write!(out, "{}: {severity}[{}]: {}", self.location(), self.code.name(), self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;

    /// The marked texts of all problems of a file.
    fn marked(text: &str) -> Vec<String> {
        let source = Source::new(Path::new("x"), text);
        let problems = check(&source).problems;
        let excerpts = problems.iter().map(|problem| source.excerpt(problem).unwrap());
        excerpts.map(|one| one.line[one.marked.clone()].to_owned()).collect()
    }

    #[test]
    fn the_key_or_the_value_is_marked() {
        let text = "[log]\nkeep = \"90\" # days\n[polcy]\n[policy]\nmax-blocks = true\n[[rule]]\nname = \"x\"\naction = \"warn\"\nevents = [\"Stop\", \"Stoop\"]\n";
        assert_eq!(marked(text), ["\"90\"", "polcy", "true", "\"Stoop\""]);
    }

    #[test]
    fn an_invalid_file_has_a_line_too() {
        assert_eq!(marked("[log]\nkeep = \n"), [""]);
        assert_eq!(marked("[policy]\nmax-blocks = 1\nmax-blocks = 2\n"), ["max-blocks"]);
        let source = Source::new(Path::new("x"), "a = \"ä\"\n  b = 1\n");
        let at = |at| Problem { at: Some(at), ..Problem::of_file(Code::Syntax, "x", "") };
        let word = source.excerpt(&at((2, 3))).unwrap();
        assert_eq!((&word.line[word.marked.clone()], word.number), ("b", 2));
        assert_eq!(source.excerpt(&at((9, 1))), None);
    }
}
