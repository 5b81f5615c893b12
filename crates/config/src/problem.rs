//! Problems of a configuration file, reported as a compiler does.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
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

            pub fn severity(self) -> Severity {
                match self { $(Code::$code => Severity::$severity,)* }
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
    /// The key that is ignored.
    #[serde(skip)]
    pub key: Option<&'static str>,
}

impl Problem {
    /// A problem with the file itself.
    pub fn of_file(code: Code, path: impl Into<PathBuf>, message: impl fmt::Display) -> Problem {
        let (path, message) = (path.into(), message.to_string());
        Problem { code, path, at: None, message, hint: None, length: 0, key: None }
    }

    /// Whether it makes the whole file unusable.
    pub fn is_error(&self) -> bool {
        self.code.severity() == Severity::Error
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
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(out, "{}: {severity}[{}]: {}", self.location(), self.code.name(), self.message)
    }
}
