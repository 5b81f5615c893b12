//! The result of a check.

use serde::Serialize;

use super::code::Code;

/// The verdict, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No problem.
    Ok,
    /// It could not be determined.
    Unknown,
    /// It works, but could be better.
    Warn,
    /// It does not work.
    Bad,
}

impl Verdict {
    /// All verdicts.
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

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check.
    pub code: Code,
    /// The verdict.
    pub verdict: Verdict,
    /// One line. It may quote files, so escape it for a terminal.
    pub what: String,
    /// The command that fixes it, or an instruction.
    #[serde(rename = "mend")]
    pub fix: Option<String>,
}

impl Finding {
    fn new(code: Code, verdict: Verdict, what: impl Into<String>) -> Finding {
        Finding { code, verdict, what: what.into(), fix: None }
    }

    /// No problem.
    pub fn ok(code: Code, what: impl Into<String>) -> Finding {
        Finding::new(code, Verdict::Ok, what)
    }

    /// It could not be determined.
    pub fn unknown(code: Code, what: impl Into<String>) -> Finding {
        Finding::new(code, Verdict::Unknown, what)
    }

    /// It works, but could be better.
    pub fn warn(code: Code, what: impl Into<String>) -> Finding {
        Finding::new(code, Verdict::Warn, what)
    }

    /// It does not work.
    pub fn bad(code: Code, what: impl Into<String>) -> Finding {
        Finding::new(code, Verdict::Bad, what)
    }

    /// The same with a fix.
    pub fn with_fix(mut self, fix: impl Into<String>) -> Finding {
        self.fix = Some(fix.into());
        self
    }
}

impl From<Finding> for Vec<Finding> {
    fn from(finding: Finding) -> Self {
        vec![finding]
    }
}

/// The results of all checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// One or more per check, in the order of the checks.
    pub findings: Vec<Finding>,
}

impl Health {
    /// Whether there is no error. Warnings and unknown results are allowed.
    pub fn is_ok(&self) -> bool {
        self.count(Verdict::Bad) == 0
    }

    /// The number of results with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    /// The results of a check.
    pub fn of(&self, code: Code) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.code == code)
    }

    /// Whether a check found a problem.
    pub fn has_issue(&self, code: Code) -> bool {
        self.of(code).any(|finding| finding.verdict >= Verdict::Warn)
    }
}
