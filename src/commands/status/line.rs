//! `teamkeep status --line`: one line for Claude Code's status line. It is fast and never fails.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use serde::Deserialize;

use crate::archive::Archive;
use crate::context::Context;
use crate::enforcement::OverrideFile;
use crate::payload;
use crate::render;
use crate::status::{StatusLine, StatusPaths, Wanted};
use crate::ui::Ui;

/// Maximum size of Claude Code's input in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Time limit for Claude Code's input. It is written at once, but a pipe may stay open without a writer.
const TIMEOUT: Duration = Duration::from_millis(30);

/// The used part of Claude Code's input.
#[derive(Deserialize)]
struct LineSegment {
    session_id: Option<String>,
}

/// Prints the line. Failures result in a line, too.
pub fn line() -> ExitCode {
    let ui = Ui::default();
    let text = match Context::lenient(ui) {
        Ok((context, _)) => render::brief(find(&context).as_ref()),
        Err(_) => "teamkeep: status unknown, run `teamkeep status`".to_owned(),
    };
    // Claude Code may have closed the pipe.
    let _ = ui.raw(format!("{text}\n").as_bytes());
    ExitCode::SUCCESS
}

fn find(context: &Context) -> Option<StatusLine> {
    let session = session();
    let wanted = session.as_deref().map_or(Wanted::Latest, Wanted::Session);
    let paths = &context.paths;
    let archive = Archive::new(paths.archive(), context.config.archive.largest_file, Duration::ZERO);
    let (log, policy) = (paths.log(), paths.policy());
    let surroundings = StatusPaths { client: paths.client.as_deref(), log: &log, policy: &policy };
    let overrides = OverrideFile::new(&policy, Duration::ZERO).read();
    StatusLine::find(&archive, wanted, &surroundings, &overrides, context.clock.now())
}

/// The session that Claude Code names on stdin.
fn session() -> Option<String> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return None;
    }
    let input = payload::read(stdin, MAX_BYTES, TIMEOUT);
    serde_json::from_slice::<LineSegment>(&input.bytes).ok()?.session_id
}
