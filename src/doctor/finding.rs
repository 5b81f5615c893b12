//! The result of a check.

use serde::Serialize;

use super::Code;

/// The verdict, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Ok,
    /// It could not be determined.
    Unknown,
    /// It works, but could be better.
    Warn,
    /// It does not work.
    Bad,
}

/// The result of a check, before [`super::run_checks`] adds the check's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    pub verdict: Verdict,
    pub what: String,
    pub fix: Option<String>,
}

/// No problem.
pub fn ok(what: impl Into<String>) -> Diagnosis {
    Diagnosis { verdict: Verdict::Ok, what: what.into(), fix: None }
}

/// It could not be determined.
pub fn unknown(what: impl Into<String>) -> Diagnosis {
    Diagnosis { verdict: Verdict::Unknown, ..ok(what) }
}

/// It works, but could be better.
pub fn warn(what: impl Into<String>) -> Diagnosis {
    Diagnosis { verdict: Verdict::Warn, ..ok(what) }
}

/// It does not work.
pub fn bad(what: impl Into<String>) -> Diagnosis {
    Diagnosis { verdict: Verdict::Bad, ..ok(what) }
}

impl Diagnosis {
    pub fn with_fix(self, fix: impl Into<String>) -> Diagnosis {
        Diagnosis { fix: Some(fix.into()), ..self }
    }
}

impl From<Diagnosis> for Vec<Diagnosis> {
    fn from(diagnosis: Diagnosis) -> Self {
        vec![diagnosis]
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub code: Code,
    pub verdict: Verdict,
    /// One line. It may quote files, so escape it for a terminal.
    pub what: String,
    /// The command that fixes it, or an instruction.
    #[serde(rename = "mend")]
    pub fix: Option<String>,
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

    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    /// Whether a check found a problem.
    pub fn has_issue(&self, code: Code) -> bool {
        self.findings.iter().any(|finding| finding.code == code && finding.verdict >= Verdict::Warn)
    }
}
