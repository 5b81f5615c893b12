//! What is said of a call: to the client, and in the diagnostics.

use std::process::ExitCode;
use std::time::Duration;

use crate::context::oddities;
use crate::diagnostics;
use crate::error::Error;
use crate::recorder::{Outcome, Recorder};
use crate::response::Answer;
use crate::ui::Ui;

/// The exit code that holds the action back.
const HELD: u8 = 2;

/// Notes what went wrong in a call that took so long.
pub(super) fn note(recorder: &Recorder, outcome: &mut Outcome, event: Option<&str>, took: Duration) {
    outcome.notes.extend(recorder.paths.warning.clone());
    let odd = oddities(&recorder.env);
    outcome.notes.extend(odd.iter().map(|odd| format!("{odd}; the default stands instead")));
    outcome.tell_notes();
    outcome.notes.append(&mut outcome.usual);
    // What is wrong with a policy's files is told when a session begins.
    let errors = recorder.problems.iter().filter(|problem| problem.is_error());
    outcome.notes.extend(errors.map(ToString::to_string));
    if took > recorder.config.hook.slow {
        outcome.notes.push(format!("a call of {} took {} ms", event.unwrap_or("hook"), took.as_millis()));
    }
    if !outcome.notes.is_empty() {
        diagnostics::note(&recorder.paths.diagnostics(), &recorder.clock, &outcome.notes.join("; "));
    }
}

/// Answers the client. What may not be written is told beside it.
pub(super) fn answer(answer: &Answer, unsafe_store: Option<&Error>) -> ExitCode {
    let ui = Ui;
    if let Some(error) = unsafe_store {
        // One line: the client shows no more of a hook's.
        let hints = error.hints.iter().map(|hint| format!("; hint: {hint}"));
        ui.say(&format!("teamkeep: {error}{}", hints.collect::<String>()));
        if answer.exit != HELD {
            return ExitCode::from(error.exit_code());
        }
    }
    if !answer.stderr.is_empty() {
        ui.say(answer.stderr.trim_end());
    }
    let told = ui.raw(answer.stdout.as_bytes());
    ExitCode::from(if told.is_err() { 1 } else { answer.exit })
}
