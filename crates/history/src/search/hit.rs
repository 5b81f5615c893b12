//! One text that was found, and the command that shows its place.

use serde::Serialize;

use super::document::TextKind;
use super::pattern::Pattern;
use super::snippet::Snippet;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::RunRecord;
use teamkeep_system::command::quoted;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    pub at: Timestamp,
    pub kind: TextKind,
    pub agent: String,
    pub run: Option<String>,
    pub team: Option<String>,
    /// The start of the run.
    #[serde(skip)]
    pub started_at: Option<Timestamp>,
    pub session: Option<String>,
    /// The tool, the recipient, the task or the gate.
    pub title: String,
    pub snippet: Snippet,
    /// The text, or a part of a long one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    pub tool_use_id: Option<String>,
    /// The path that the transcript had, and the number of the line in it; without a path, in the log; 0 in a team's file.
    pub transcript: Option<String>,
    pub line: u64,
    /// The command that shows the place.
    pub command: Option<String>,
}

/// The part of a longer text around its first match is kept, in bytes.
const MAX_TEXT_BYTES: usize = 32 << 10;

impl Hit {
    /// The part of a text that a hit has.
    pub fn part(text: String, pattern: &Pattern) -> String {
        if text.len() <= MAX_TEXT_BYTES {
            return text;
        }
        let first = pattern.marks(&text).first().map_or(0, |range| range.start);
        let start = text.floor_char_boundary(first.saturating_sub(MAX_TEXT_BYTES / 4));
        let end = text.floor_char_boundary(start + MAX_TEXT_BYTES);
        text[start..end].to_owned()
    }

    /// Fills in what only a shown hit needs. `change` is applied to its texts before the excerpt is taken: in an excerpt, a
    /// secret can be cut.
    pub fn complete(
        &mut self,
        pattern: &Pattern,
        record: Option<&RunRecord>,
        change: impl Fn(&str) -> Option<String>,
    ) {
        self.team = record.and_then(|record| record.team.clone());
        self.started_at = record.map(|record| record.started_at);
        let texts =
            [&mut self.text, &mut self.title, &mut self.agent].into_iter().chain(&mut self.transcript);
        for text in texts {
            if let Some(changed) = change(text) {
                *text = changed;
            }
        }
        self.snippet = Snippet::of(&self.text, &pattern.marks(&self.text));
        self.command = self.show_command();
    }

    /// The command that shows the place.
    fn show_command(&self) -> Option<String> {
        let around = |seconds: i64| {
            let start = self.started_at.filter(|_| self.at.is_valid())?;
            let offset = (self.at - start).num_milliseconds().div_euclid(1_000) + seconds;
            Some(if offset < 0 { format!("=-{}s", -offset) } else { format!(" +{offset}s") })
        };
        let part = || match (around(-1), around(2)) {
            (Some(from), Some(to)) => format!(" --since{from} --until{to}"),
            _ => String::new(),
        };
        let Some(run) = &self.run else {
            let session = quoted(self.session.as_deref()?);
            let (from, to) =
                (self.at - chrono::TimeDelta::seconds(1), self.at + chrono::TimeDelta::seconds(2));
            return Some(format!("teamkeep log --raw --session {session} --since {from} --until {to}"));
        };
        Some(match self.kind {
            TextKind::Task => {
                let at = around(1).map_or_else(String::new, |at| format!(" --at{at}"));
                format!("teamkeep show {run}{at}")
            }
            TextKind::Message | TextKind::Prompt | TextKind::Reply | TextKind::Thinking => {
                format!("teamkeep log {run}{} --full", part())
            }
            TextKind::Tool | TextKind::Result | TextKind::Verdict => {
                format!("teamkeep log {run} --raw{}", part())
            }
        })
    }
}
