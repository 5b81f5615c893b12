//! The result of a hook call: the response, and the problems on the way.

use std::fmt::Display;

use crate::response::Answer;

/// Maximum length of notes beside a response, in characters. The diagnostics and the log have the full text.
const MAX_CHARS: usize = 1_000;

/// The result of a hook call.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The response to Claude Code.
    pub answer: Answer,
    /// Problems, for the diagnostics.
    pub notes: Vec<String>,
    /// Harmless effects of concurrent writers, for the diagnostics only.
    pub usual: Vec<String>,
    /// Oddities of the payload. They are recorded with the event.
    pub warnings: Vec<String>,
    /// Whether data on disk could not be archived.
    pub lost: bool,
    /// Data that is lost with a TeamDelete that was allowed. It is recorded with the event.
    pub lost_with_team: Option<String>,
}

impl Outcome {
    pub(super) fn note<T>(&mut self, what: &str, result: Result<T, impl Display>) -> Option<T> {
        result.map_err(|error| self.notes.push(format!("cannot {what}: {error}"))).ok()
    }

    /// Adds the notes to stderr on one line if the response has no message. If data was lost, the call fails, because
    /// Claude Code shows only failures; otherwise a response with content is not changed.
    pub fn tell_notes(&mut self) {
        let answer = &mut self.answer;
        if answer.exit != 0 || !answer.stderr.is_empty() {
            return;
        }
        let told: Vec<&str> = self.notes.iter().chain(&self.warnings).map(String::as_str).collect();
        if !told.is_empty() {
            let told = told.join("; ");
            let short: String = told.chars().take(MAX_CHARS).collect();
            let cut = if short.len() < told.len() { "…" } else { "" };
            answer.stderr = format!("teamkeep: {short}{cut}");
            answer.exit = u8::from(self.lost && answer.stdout.is_empty());
        }
    }
}
