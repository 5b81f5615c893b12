//! What is wrong with a policy file, said as a compiler would.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The whole file is left out, and the defaults stand for it.
    Error,
    /// What it is about is left out or does nothing; the rest of the file stands.
    Warning,
}

macro_rules! codes {
    ($($code:ident $name:literal $severity:ident $about:literal,)*) => {
        /// What kind of problem it is. The names are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each says itself what it is about")]
        pub enum Code { $($code,)* }

        impl Code {
            /// All of them.
            pub const ALL: &[Code] = &[$(Code::$code,)*];

            /// Its name, in kebab-case.
            pub fn name(self) -> &'static str {
                match self { $(Code::$code => $name,)* }
            }

            /// How bad it is.
            pub fn severity(self) -> Severity {
                match self { $(Code::$code => Severity::$severity,)* }
            }

            /// What it means, for the documentation.
            pub fn about(self) -> &'static str {
                match self { $(Code::$code => $about,)* }
            }
        }
    };
}

codes! {
    Unreadable "unreadable" Error "The file cannot be read: a loop of links, a link to nothing, a directory, a pipe, no permission; or `TEAMKEEP_CONFIG` names one that is not there, or by no absolute path.",
    TooLarge "too-large" Error "The file is larger than 1 MiB, or a project's than 64 KiB.",
    NotUtf8 "not-utf8" Error "The file is no UTF-8 text.",
    Syntax "syntax" Error "The file is no TOML. Nothing else is looked for before this is mended.",
    DuplicateKey "duplicate-key" Error "A key or a table stands twice.",
    UnknownKey "unknown-key" Error "There is no such key in this table.",
    MissingKey "missing-key" Error "A check or a rule lacks a key that it must have.",
    WrongType "wrong-type" Error "The value is of another type than the key's: a text for a number, a key for a table.",
    BadValue "bad-value" Error "The value is none of the words that the key takes, too small a number, or blank where something must stand.",
    BadNumber "bad-number" Error "The number is negative or too large.",
    BadDuration "bad-duration" Error "The text is no duration such as \"90d\" or \"1m30s\", or a check would have no time at all.",
    BadSize "bad-size" Error "The text is no size such as \"16 MiB\".",
    BadGlob "bad-glob" Error "The text is no glob: it is empty or longer than 1024 characters, a bracket is not closed, or `**` stands in it.",
    BadRegex "bad-regex" Error "What stands between the slashes is no regular expression.",
    LargeRegex "large-regex" Error "The regular expression is too large: compiled it has more than 64 KiB.",
    BadPointer "bad-pointer" Error "The key is no JSON pointer such as \"/tool_input/command\".",
    UnknownEvent "unknown-event" Error "There is no event of that name.",
    MissingReason "missing-reason" Error "A rule blocks and gives the model no reason.",
    DuplicateRule "duplicate-rule" Error "Two rules of one file have the same name.",
    NeverMatches "never-matches" Warning "The rule can never match: it names tools, and none of its events has one.",
    OnlyWarns "only-warns" Warning "The rule blocks and names an event that cannot be blocked: there it only warns.",
    UselessKey "useless-key" Warning "The key does nothing here: `lasting` at a rule that blocks no tool.",
    NotInProject "not-in-project" Warning "The key cannot be set by a project's file; it is left out.",
    WouldLoosen "would-loosen" Warning "A project's file would loosen what the user's file or the default says; it is left out.",
    RuleNameTaken "rule-name-taken" Warning "A project's rule has the name of one of the user's rules; it is left out.",
    Untrusted "untrusted" Warning "A project's checks and rules do not run before `teamkeep policy trust`, nor after the file changed.",
    TrustGone "trust-gone" Warning "A project's file that was trusted is no longer there, or has no checks and rules any more.",
    RuleNotAsked "rule-not-asked" Warning "The rule is not evaluated for an event or tool that it names, because no installed hook covers it. `teamkeep install` adds the hook.",
    BadTrust "bad-trust" Warning "What was trusted cannot be read; so nothing is.",
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// One problem, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What kind it is.
    pub code: Code,
    /// The file.
    pub path: PathBuf,
    /// Line and column, both from 1; the column counts characters. `None` for a problem with the file itself.
    pub at: Option<(usize, usize)>,
    /// What is wrong. It may quote the file: escape it before a terminal sees it.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem with the file itself.
    pub fn of_file(code: Code, path: impl Into<PathBuf>, message: impl fmt::Display) -> Problem {
        Problem { code, path: path.into(), at: None, message: message.to_string(), hint: None }
    }

    /// Whether the whole file is left out for it.
    pub fn is_error(&self) -> bool {
        self.code.severity() == Severity::Error
    }

    /// The same with something that the user can do.
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// `path:line:column`, or the path alone.
    pub fn place(&self) -> String {
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
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(out, "{}: {severity}[{}]: {}", self.place(), self.code.name(), self.message)
    }
}
