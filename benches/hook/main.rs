//! Measures the wall time of a hook call, compared with a program that does nothing in the same run.
//!
//! `cargo bench --bench hook` prints the table. With `-- --check` it fails if a value exceeds its budget.
//! `benches/table.sh` measures the static binary of the release.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods)]

mod measure;
mod scene;

use std::process::ExitCode;
use std::time::Duration;

use measure::{Row, beside_nothing, in_turn, memory, repeated};
use scene::Scene;

/// Number of calls of each kind.
const CALLS: usize = 300;

fn main() -> ExitCode {
    let check = std::env::args().any(|arg| arg == "--check");
    let mut rows = Vec::new();

    // ext4 keeps new files away from inodes that were freed within five seconds, and a build frees many.
    std::thread::sleep(Duration::from_secs(6));
    let mut quiet = Scene::small();
    let unchanged = beside_nothing(CALLS, &mut quiet, |_, _| {});
    rows.push(Row::ratio("event logged, nothing changed", &unchanged, 2.2));
    let changed = beside_nothing(CALLS, &mut quiet, Scene::change_one);
    rows.push(Row::ratio("one file changed", &changed, 3.0));

    let started = in_turn(50, &mut quiet, |scene| scene.session_start("startup"));
    rows.push(Row::ratio("SessionStart", &started, 3.0));
    let compacted = in_turn(50, &mut quiet, |scene| scene.session_start("compact"));
    rows.push(Row::limit("SessionStart after a compaction: facts about the team", &compacted, 100.0));

    let mut mailbox = Scene::mailbox();
    let grown = beside_nothing(CALLS, &mut mailbox, Scene::one_more_message);
    rows.push(Row::limit("one more message in an inbox of 1,000", &grown, 15.0));

    let new = repeated(25, Scene::large, |scene| scene.session_end(true));
    rows.push(Row::limit("SessionEnd, 20 members, 200 tasks, 2,000 messages, all new", &new, 150.0));
    let seen = repeated(25, Scene::large_and_seen, |scene| scene.session_end(true));
    rows.push(Row::limit("  the same, captured before", &seen, 150.0));

    let mut old = Scene::small();
    old.fill_with_history(500, 100 << 20);
    let aged = beside_nothing(CALLS, &mut old, |_, _| {});
    rows.push(Row::ratio("nothing changed, log of 100 MB, 500 runs", &aged, 2.2));
    rows.push(Row::growth("  the same against an empty store", &aged, &unchanged, 1.1));
    let compacted = in_turn(10, &mut old, |scene| scene.session_start("compact"));
    rows.push(Row::limit("facts about the team, log of 100 MB, 500 runs", &compacted, 1_000.0));

    rows.push(Row::memory("resident memory, one file changed", memory(&mut quiet, Scene::change_one), 12.0));

    let mut idling = Scene::small();
    idling.idle();
    let idle = beside_nothing(CALLS, &mut idling, |_, _| {});
    rows.push(Row::ratio("TeammateIdle, judged by the default gates", &idle, 2.5));

    let mut shipped = Scene::small();
    shipped.ship();
    let shipping = beside_nothing(CALLS, &mut shipped, |_, _| {});
    rows.push(Row::ratio("nothing changed, [ship] is configured", &shipping, 2.2));
    rows.push(Row::growth("  the same against no [ship]", &shipping, &unchanged, 1.1));

    quiet.judge();
    let judged = beside_nothing(CALLS, &mut quiet, |_, _| {});
    rows.push(Row::ratio("judged: default gates and ten rules", &judged, 2.5));

    let mut guarded = Scene::small();
    guarded.guard();
    let edited = beside_nothing(CALLS, &mut guarded, Scene::edit);
    rows.push(Row::ratio("Edit, gates for shared files, 256 files used", &edited, 2.8));
    let committed = beside_nothing(CALLS, &mut guarded, Scene::run_git);
    rows.push(Row::limit("  git in Bash with the same gates", &committed, 15.0));

    let mut spent = Scene::small();
    spent.spend(5_000);
    let judged = beside_nothing(CALLS, &mut spent, |_, _| {});
    rows.push(Row::limit("TaskCreate with a budget, 5,000 messages read before", &judged, 15.0));
    let grown = beside_nothing(CALLS, &mut spent, Scene::answer);
    rows.push(Row::limit("  one more message before each call", &grown, 15.0));

    let mut worktree = Scene::small();
    worktree.add_worktree(2_000);
    let stopped = in_turn(25, &mut worktree, Scene::stop_in_worktree);
    rows.push(Row::limit("SubagentStop in a worktree of 2,000 files, new work", &stopped, 250.0));

    println!("binary: {}", measure::binary().display());
    println!("{:<60} {:>10} {:>10} {:>8} {:>8}", "", "median", "no-op", "", "budget");
    rows.iter().for_each(|row| println!("{row}"));
    let over = rows.iter().any(|row| !row.is_ok());
    if check && over { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
