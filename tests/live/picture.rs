//! A screen of the client for docs/pictures: the lead asks a busy teammate to stop, and is blocked.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::conversation::Cue;
use super::ending::{SKIP, exit};
use super::home::Home;
use super::hooks::Hooks;
use super::ledger::{CacheWrites, Ledger};
use super::moves::{Move, say};
use super::play::{command, is};
use super::scenarios::halfway;
use super::server;
use super::terminal::Terminal;
use super::version::Version;

/// The path of the hooks is in the picture, so it is a short one: in the namespace, /var/lib is empty.
const ROOT: &str = "/var/lib/teamkeep";

/// The size of the terminal: on a phone, a wider picture cannot be read.
const SIZE: (u16, u16) = (60, 40);

/// The last line that the user types, and the end of it, which is for the script.
const TYPED: &str = "Stop bob, we continue tomorrow. act=heed";
const CUE: &str = " act=heed";

/// Plays the team, and writes the screen with its colors.
pub fn take(version: Version, client: &[String], file: &Path) -> Result<(), String> {
    let generation = version.generation();
    let reply = move |cue: &Cue| match (cue.act.as_str(), cue.turn) {
        ("heed", 0) => vec![generation.ask_to_stop("bob", "We continue tomorrow"), Move::Wait(1)],
        ("heed", _) => vec![say("bob still works on #2. I let it finish the review first.")],
        _ => halfway::reply(generation, cue),
    };
    let ledger = Arc::new(Ledger::new(CacheWrites::Short));
    let port =
        server::start(Arc::new(reply), ledger.clone()).map_err(|error| format!("cannot listen: {error}"))?;
    let variables = [("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")];
    let mut home = Home::new(PathBuf::from(ROOT), version, client, port, &[], &variables)
        .map_err(|error| format!("cannot make {ROOT}: {error}"))?;
    Hooks::Settings.bring(&mut home)?;
    let terminal = Terminal::start(&home, &command("", SKIP, "--teammate-mode in-process"), SIZE)?;
    terminal.wait_for_prompt()?;
    let setup = halfway::setup();
    for (typed, until) in [(setup.typed, setup.until), (TYPED, vec![("lead", "still works on #2")])] {
        terminal.enter(typed)?;
        terminal.wait(Duration::from_secs(120), &format!("what follows {typed:?}"), || {
            let entries = ledger.entries();
            until.iter().all(|mark| entries.iter().any(|entry| is(entry, *mark)))
                && ledger.quiet_for().1 > Duration::from_secs(4)
        })?;
    }
    std::fs::write(file, cropped(&terminal.screen_with_colors()))
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    exit(&terminal)
}

/// What follows the last line that was typed, without the client's hint about tmux and the prompt.
fn cropped(screen: &str) -> String {
    let lines = screen.lines().skip_while(|line| !line.contains(TYPED));
    let lines = lines.take_while(|line| !line.contains("tmux focus-events") && !line.contains("────"));
    lines.map(|line| line.replace(CUE, "") + "\n").collect()
}
