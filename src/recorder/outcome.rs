//! What came of a call: the answer, and what went wrong on the way.

use std::fmt::Display;

use crate::response::Answer;

/// Characters of what is told beside an answer; the diagnostics and the record have it all.
const LONGEST: usize = 1_000;

/// What came of a call.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What the client is told.
    pub answer: Answer,
    /// What went wrong on the way, for the diagnostics.
    pub notes: Vec<String>,
    /// What comes of many writers at once, and costs nothing: for the diagnostics alone.
    pub usual: Vec<String>,
    /// What was odd about the payload. It is on record with the event.
    pub warnings: Vec<String>,
    /// Whether something that stood on disk could not be kept.
    pub lost: bool,
    /// Data that is lost with a TeamDelete that was allowed. It is recorded with the event.
    pub lost_with_team: Option<String>,
}

impl Outcome {
    pub(super) fn note<T>(&mut self, what: &str, result: Result<T, impl Display>) -> Option<T> {
        result.map_err(|error| self.notes.push(format!("cannot {what}: {error}"))).ok()
    }

    /// Tells who runs the hook by hand what went wrong, on one line, where the answer itself says nothing. What was
    /// lost makes the call a failed one, which the client shows; else an answer that carries something stands.
    pub fn tell_notes(&mut self) {
        let answer = &mut self.answer;
        if answer.exit != 0 || !answer.stderr.is_empty() {
            return;
        }
        let told: Vec<&str> = self.notes.iter().chain(&self.warnings).map(String::as_str).collect();
        if !told.is_empty() {
            let told = told.join("; ");
            let short: String = told.chars().take(LONGEST).collect();
            let cut = if short.len() < told.len() { "…" } else { "" };
            answer.stderr = format!("teamkeep: {short}{cut}");
            answer.exit = u8::from(self.lost && answer.stdout.is_empty());
        }
    }
}
