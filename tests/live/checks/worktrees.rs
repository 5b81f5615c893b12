//! The work in worktrees that are gone is in branches again.

use serde_json::Value;

use super::super::home::Home;
use super::super::record::text;
use super::super::scenarios::{FILES, SPIKE};
use super::{differ, short};

pub fn differences(home: &Home) -> Vec<String> {
    match restored(home) {
        Err(why) => vec![why],
        Ok(told) => {
            let sent = [format!("{SPIKE} agent {}", FILES[0]), format!("agent- agent {}", FILES[1])];
            differ("the work of removed worktrees", sent, told)
        }
    }
}

/// Removes the worktrees that are left, and says of each branch: the worktree's name without its id, the author, the files.
fn restored(home: &Home) -> Result<Vec<String>, String> {
    let remove = "for tree in .claude/worktrees/*/; do [ ! -d \"$tree\" ] || git worktree remove --force --force \"$tree\"; done";
    run(home, "sh", &["-c", remove])?;
    let plan = home.json(&["restore", "latest", "--worktrees"])?;
    let branches = plan.first().and_then(|plan| plan["branches"].as_array());
    let branches = branches.ok_or_else(|| format!("no branches in {}", short(&plan)))?;
    let of = |branch: &Value| {
        let name = text(branch, "name");
        let name = if name.starts_with("agent-") { "agent-" } else { &name };
        let shown = run(home, "git", &["show", "--format=%an", "--name-only", &text(branch, "branch")])?;
        Ok(format!("{name} {}", shown.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    branches.iter().map(of).collect()
}

fn run(home: &Home, program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = home.command(program).args(arguments).output();
    let output = output.map_err(|error| format!("cannot run {program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
