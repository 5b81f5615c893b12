//! The output of a hook call: the response, and the notes in the diagnostics.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use super::{Outcome, Recorder};
use crate::diagnostics;
use crate::error::Error;
use crate::model::Note;
use crate::response::{Answer, BLOCK_EXIT_CODE};
use crate::unicode::escape;

/// Writes the problems of a call, which took this long, to the diagnostics.
pub(super) fn note(recorder: &Recorder, outcome: &mut Outcome, event: Option<&str>, took: Duration) {
    outcome.notes.extend(recorder.paths.warning.clone().map(Note::problem));
    recorder.env.problems().iter().for_each(|odd| outcome.add(format!("{odd}; using the default")));
    outcome.tell_notes();
    let mut notes = outcome.diagnostics();
    // Problems of the policy files are reported at the start of a session.
    let errors = recorder.problems.iter().filter(|problem| problem.is_error());
    notes.extend(errors.map(ToString::to_string));
    if took > recorder.config.hook.slow {
        notes.push(format!("hook call {} took {} ms", event.unwrap_or("hook"), took.as_millis()));
    }
    if !notes.is_empty() {
        diagnostics::note(&recorder.paths.diagnostics(), &recorder.clock, &notes.join("; "));
    }
}

/// Prints the response. A store that must not be written is reported on stderr.
pub(super) fn answer(answer: &Answer, unsafe_store: Option<&Error>) -> ExitCode {
    if let Some(error) = unsafe_store {
        // One line: Claude Code shows no more of a hook's stderr.
        let hints = error.hints.iter().map(|hint| format!("; hint: {hint}"));
        eprint_line(&format!("teamkeep: {error}{}", hints.collect::<String>()));
        if answer.exit != BLOCK_EXIT_CODE {
            return ExitCode::from(error.exit_code());
        }
    }
    if !answer.stderr.is_empty() {
        eprint_line(answer.stderr.trim_end());
    }
    ExitCode::from(if print(&answer.stdout).is_ok() { answer.exit } else { 1 })
}

fn eprint_line(line: &str) {
    let _ = writeln!(io::stderr(), "{}", escape(line));
}

/// Writes to stdout in one write. A closed pipe counts as success.
fn print(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}
