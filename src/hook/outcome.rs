//! The result of a hook call: the response, and the problems on the way.

use std::fmt::Display;

use crate::model::{Note, Severity};
use crate::response::Answer;

/// Maximum length of notes beside a response, in characters. The diagnostics and the log have the full text.
const MAX_CHARS: usize = 1_000;

/// The result of a hook call.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The response to Claude Code.
    pub answer: Answer,
    /// Problems on the way.
    pub notes: Vec<Note>,
    /// Data that is lost with a TeamDelete that was allowed. It is recorded with the event.
    pub lost_with_team: Option<String>,
}

impl Outcome {
    pub(super) fn note<T>(&mut self, what: &str, result: Result<T, impl Display>) -> Option<T> {
        result.map_err(|error| self.add(format!("cannot {what}: {error}"))).ok()
    }

    /// Adds a problem that loses nothing.
    pub fn add(&mut self, text: impl Into<String>) {
        self.notes.push(Note::problem(text));
    }

    /// The texts of the notes with one of these severities.
    fn texts(&self, severities: &[Severity]) -> impl Iterator<Item = &str> {
        let wanted = self.notes.iter().filter(|note| severities.contains(&note.severity));
        wanted.map(|note| note.text.as_str())
    }

    /// The texts for the diagnostics.
    pub fn diagnostics(&self) -> Vec<String> {
        let texts =
            self.texts(&[Severity::Problem, Severity::Loss]).chain(self.texts(&[Severity::Contention]));
        texts.map(str::to_owned).collect()
    }

    /// Adds the notes to stderr on one line if the response has no message. If data was lost, the call fails, because
    /// Claude Code shows only failures; otherwise a response with content is not changed.
    pub fn tell_notes(&mut self) {
        if self.answer.exit != 0 || !self.answer.stderr.is_empty() {
            return;
        }
        let shown = self.texts(&[Severity::Problem, Severity::Loss]).chain(self.texts(&[Severity::Payload]));
        let text = shown.collect::<Vec<_>>().join("; ");
        if !text.is_empty() {
            let short: String = text.chars().take(MAX_CHARS).collect();
            let cut = if short.len() < text.len() { "…" } else { "" };
            let is_lost = self.notes.iter().any(|note| note.severity == Severity::Loss);
            self.answer.stderr = format!("teamkeep: {short}{cut}");
            self.answer.exit = u8::from(is_lost && self.answer.stdout.is_empty());
        }
    }
}
