//! `teamkeep status --line`: one line below the client's prompt, quick and without fail.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use serde::Deserialize;

use crate::archive::Archive;
use crate::context::Context;
use crate::gatekeeper::OverrideFile;
use crate::payload;
use crate::render;
use crate::status::{Brief, Surroundings, Wanted};
use crate::ui::Ui;

/// What the client says is a few kilobytes.
const LARGEST: usize = 1 << 20;
/// How long the client's word is waited for: it is written at once, and a pipe that nobody writes to stays open.
const PATIENCE: Duration = Duration::from_millis(30);

/// What of the client's word is of use.
#[derive(Deserialize)]
struct Word {
    session_id: Option<String>,
}

/// Prints the line. Whatever goes wrong, it is a line, and no error.
pub fn line() -> ExitCode {
    let ui = Ui;
    let text = match Context::lenient() {
        Ok((context, _)) => render::brief(find(&context).as_ref()),
        Err(_) => "teamkeep: cannot tell, see `teamkeep status`".to_owned(),
    };
    // A client that has had enough is no concern.
    let _ = ui.raw(format!("{text}\n").as_bytes());
    ExitCode::SUCCESS
}

fn find(context: &Context) -> Option<Brief> {
    let session = session();
    let wanted = session.as_deref().map_or(Wanted::Latest, Wanted::Session);
    let paths = &context.paths;
    let archive = Archive::new(paths.archive(), context.config.archive.largest_file, Duration::ZERO);
    let (log, policy) = (paths.log(), paths.policy());
    let surroundings = Surroundings { client: paths.client.as_deref(), log: &log, policy: &policy };
    let overrides = OverrideFile::new(&policy, Duration::ZERO).read();
    Brief::find(&archive, wanted, &surroundings, &overrides, context.clock.now())
}

/// The session that the client names on stdin.
fn session() -> Option<String> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return None;
    }
    let input = payload::read(stdin, LARGEST, PATIENCE);
    serde_json::from_slice::<Word>(&input.bytes).ok()?.session_id
}
