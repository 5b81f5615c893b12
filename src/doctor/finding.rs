//! What a check came to.

use serde::Serialize;

use super::code::Code;

/// How it is, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// It cannot be told.
    Unknown,
    /// It works, and could be better.
    Warn,
    /// Something does not work.
    Bad,
}

impl Verdict {
    /// Every one of them.
    pub const ALL: &[Verdict] = &[Verdict::Ok, Verdict::Unknown, Verdict::Warn, Verdict::Bad];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Unknown => "unknown",
            Verdict::Warn => "warn",
            Verdict::Bad => "bad",
        }
    }
}

/// What one check came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub code: Code,
    /// How it is.
    pub verdict: Verdict,
    /// One line. It may quote files: escape it before a terminal sees it.
    pub what: String,
    /// The command that mends it, or what to do where no command does.
    pub mend: Option<String>,
}

impl Finding {
    fn new(code: Code, verdict: Verdict, what: impl Into<String>) -> Finding {
        Finding { code, verdict, what: what.into(), mend: None }
    }

    /// As it should be.
    pub fn ok(code: Code, what: impl Into<String>) -> Finding {
        Finding::new(code, Verdict::Ok, what)
    }

    /// It cannot be told.
    pub fn unknown(code: Code, what: impl Into<String>) -> Finding {
        Finding::new(code, Verdict::Unknown, what)
    }

    /// It works, and could be better.
    pub fn warn(code: Code, what: impl Into<String>) -> Finding {
        Finding::new(code, Verdict::Warn, what)
    }

    /// Something does not work.
    pub fn bad(code: Code, what: impl Into<String>) -> Finding {
        Finding::new(code, Verdict::Bad, what)
    }

    /// The same with what mends it.
    pub fn mend(mut self, mend: impl Into<String>) -> Finding {
        self.mend = Some(mend.into());
        self
    }
}

/// What all checks came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// One or more of each check, in the order of the checks.
    pub findings: Vec<Finding>,
}

impl Health {
    /// Whether nothing is bad. Warnings and what cannot be told are allowed.
    pub fn is_well(&self) -> bool {
        self.count(Verdict::Bad) == 0
    }

    /// How many findings have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    /// The findings of a check.
    pub fn of(&self, code: Code) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.code == code)
    }

    /// Whether a check found something to mend.
    pub fn is_amiss(&self, code: Code) -> bool {
        self.of(code).any(|finding| finding.verdict >= Verdict::Warn)
    }
}
