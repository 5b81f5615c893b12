//! A recorded verdict with the id of the judged event.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::{Decision, Verdict};

/// The field `verdict` of a log line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// The id of the event that was judged.
    pub of: String,
}

#[derive(Deserialize)]
struct VerdictField {
    of: String,
}

impl RecordedVerdict {
    /// Reads the field; `None` if it is not a verdict, or one that this version does not know.
    pub fn read(raw: &RawValue) -> Option<RecordedVerdict> {
        let verdict = serde_json::from_str(raw.get()).ok()?;
        let VerdictField { of } = serde_json::from_str(raw.get()).ok()?;
        Some(RecordedVerdict { verdict, of })
    }

    /// The field as written.
    ///
    /// # Errors
    /// None in practice: every field is plain data.
    pub fn raw(&self) -> serde_json::Result<Box<RawValue>> {
        let mut fields = serde_json::to_value(&self.verdict)?;
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("of".to_owned(), self.of.as_str().into());
        }
        to_raw_value(&fields)
    }
}

impl Verdict {
    /// The outcome in one or two words.
    pub fn word(&self) -> &'static str {
        match self.decision {
            Decision::Block => "block",
            Decision::Warn if self.repeated => "warn again",
            Decision::Warn => "warn",
            Decision::Allow if self.escalated => "allow after blocks",
            Decision::Allow if self.paused => "paused",
            Decision::Allow => "allow",
        }
    }

    /// The gate; for a rule with its name: `rule no-push`.
    pub fn source(&self) -> String {
        match &self.rule {
            Some(rule) => format!("{} {rule}", self.gate),
            None => self.gate.clone(),
        }
    }
}

impl Serialize for RecordedVerdict {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        self.raw().map_err(serde::ser::Error::custom)?.serialize(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ruling_reads_as_it_was_written_and_anything_else_is_none() {
        let verdict = r#"{"decision":"block","gate":"protect-lead","code":"c","reason":"no","rule":null,"file_line":null,"escalated":false,"paused":false,"of":"e1"}"#;
        let raw = RawValue::from_string(verdict.to_owned()).unwrap();
        let ruling = RecordedVerdict::read(&raw).unwrap();
        assert_eq!((ruling.of.as_str(), ruling.verdict.word()), ("e1", "block"));
        assert_eq!(ruling.raw().unwrap().get(), verdict);
        for other in ["null", "[1]", r#"{"decision":"explode","of":"e1"}"#, &verdict.replace("of", "off")] {
            assert_eq!(
                RecordedVerdict::read(&RawValue::from_string(other.to_owned()).unwrap()),
                None,
                "{other}"
            );
        }
    }
}
