//! What teamkeep's commands show of a run, while it lasts and after it.

use super::home::Home;

/// What a command must show, and what it must not.
pub struct Look {
    /// After which step, by what was typed; `None` after the run.
    pub after: Option<&'static str>,
    pub command: &'static [&'static str],
    pub shows: &'static [&'static str],
    pub lacks: &'static [&'static str],
}

/// What the commands print otherwise at this moment. What they print is kept beside the run.
pub fn differences(looks: &[Look], after: Option<&str>, home: &Home) -> Vec<String> {
    let mut found = Vec::new();
    for (number, look) in looks.iter().enumerate().filter(|(_, look)| look.after == after) {
        let line = look.command.join(" ");
        let when = after.unwrap_or("the end");
        let printed = match home.output(&[&["--utc", "--no-pager"], look.command].concat()) {
            Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
            Err(error) => error,
        };
        let kept = home.root.join(format!("look-{number}.txt"));
        if let Err(error) = std::fs::write(&kept, format!("after {when}: teamkeep {line}\n{printed}")) {
            found.push(format!("cannot write {}: {error}", kept.display()));
        }
        let missing = look.shows.iter().filter(|piece| !printed.contains(**piece));
        found.extend(
            missing.map(|piece| format!("{line}, after {when}: does not show {piece:?}; it is\n{printed}")),
        );
        let extra = look.lacks.iter().filter(|piece| printed.contains(**piece));
        found.extend(extra.map(|piece| format!("{line}, after {when}: shows {piece:?}; it is\n{printed}")));
    }
    found
}
