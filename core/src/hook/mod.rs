//! Records one hook call, as a chain of stages. Each stage owns what the stages before it found.
//!
//! [`Parsed`](parse) → [`Captured`](capture) → [`Attributed`](attribute) → [`Recorded`](append) → [`Judged`](judge) →
//! [`Outcome`]. After the response, [`finish()`] and [`prune`] run in a process of their own.

mod append;
mod attribute;
mod background;
mod initial_response;
mod judge;
mod parse;
mod run;
mod run_lifecycle;

use std::fmt::Display;

pub use background::{BackgroundMode, FinishStart, finish, prune};
pub use run::{CalledBy, run};

use crate::client::payload::Input;
use crate::client::response::Answer;
use crate::config::{self, Config, Problem};
use crate::model::{Note, Severity};
use crate::store::archive::Archive;
use crate::store::log::Log;
use crate::sys::clock::Clock;
use crate::sys::env::Env;
use crate::sys::paths::Paths;
use parse::Parsed;

/// Maximum length of a quoted text in a message, in characters.
const MAX_CHARS: usize = 300;

#[derive(Debug)]
pub struct Recorder {
    pub env: Env,
    pub paths: Paths,
    pub config: Config,
    pub problems: Vec<Problem>,
    pub clock: Clock,
    pub finish: BackgroundMode,
}

impl Recorder {
    /// Records one call. `asked` is the event named on the command line.
    pub fn record(&self, input: &Input, asked: Option<&str>) -> Outcome {
        Parsed::new(self, input, asked).capture().attribute(input).append().judge().finish()
    }

    pub fn archive(&self) -> Archive {
        Archive::open(self.paths.archive(), &self.config)
    }

    fn log(&self) -> Log {
        Log::open(self.paths.log(), &self.config.log)
    }

    /// Whether metadata-only mode is on: texts are recorded as sizes and hashes.
    fn is_metadata_only(&self) -> bool {
        self.config.privacy.record == config::RecordMode::Metadata
    }
}

/// Maximum length of notes beside a response, in characters. The diagnostics and the log have the full text.
const MAX_NOTES_CHARS: usize = 1_000;

#[derive(Debug, Default)]
pub struct Outcome {
    pub answer: Answer,
    pub notes: Vec<Note>,
    /// Data that is lost with a TeamDelete that was allowed. It is recorded with the event.
    pub lost_with_team: Option<String>,
}

impl Outcome {
    fn note<T>(&mut self, what: &str, result: Result<T, impl Display>) -> Option<T> {
        result.map_err(|error| self.add(format!("cannot {what}: {error}"))).ok()
    }

    pub fn add(&mut self, text: impl Into<String>) {
        self.notes.push(Note::problem(text));
    }

    fn texts(&self, severities: &[Severity]) -> impl Iterator<Item = &str> {
        let wanted = self.notes.iter().filter(|note| severities.contains(&note.severity));
        wanted.map(|note| note.text.as_str())
    }

    pub fn diagnostics(&self) -> Vec<String> {
        let texts =
            self.texts(&[Severity::Problem, Severity::Loss]).chain(self.texts(&[Severity::Contention]));
        texts.map(str::to_owned).collect()
    }

    /// Adds the notes to stderr on one line if the response has no message. If data was lost, the call fails, because
    /// Claude Code shows only failures; otherwise a response with content is not changed.
    pub fn add_notes(&mut self) {
        if self.answer.exit != 0 || !self.answer.stderr.is_empty() {
            return;
        }
        let shown = self.texts(&[Severity::Problem, Severity::Loss]).chain(self.texts(&[Severity::Payload]));
        let text = shown.collect::<Vec<_>>().join("; ");
        if !text.is_empty() {
            let short: String = text.chars().take(MAX_NOTES_CHARS).collect();
            let cut = if short.len() < text.len() { "…" } else { "" };
            let is_lost = self.notes.iter().any(|note| note.severity == Severity::Loss);
            self.answer.stderr = format!("teamkeep: {short}{cut}");
            self.answer.exit = u8::from(is_lost && self.answer.stdout.is_empty());
        }
    }
}
