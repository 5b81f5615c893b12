//! Names of commands and options that have changed. They are replaced before the command line is parsed, so that the
//! parser, the help and the documentation know only the present ones. They go with the next release.

use std::ffi::OsString;

/// Former words of a command, and the present ones.
const COMMANDS: &[(&[&str], &[&str])] = &[
    (&["policy", "allow", "shutdown"], &["allow"]),
    (&["policy", "pauses"], &["status"]),
    (&["policy", "pause"], &["pause"]),
    (&["policy", "resume"], &["resume"]),
    (&["policy", "check"], &["config", "check"]),
    (&["policy", "show"], &["config", "show", "policy"]),
    (&["notify", "test"], &["config", "test-notify"]),
];

/// A command, a former option of it, and the present one. An empty one is left out: its value is an argument now.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("log", "--actor", "--agent"),
    ("replay", "--actor", "--agent"),
    ("log", "--lines", "--limit"),
    ("brief", "--for", "--agent"),
    ("restore", "--to", "--files"),
    ("restore", "--worktree", "--worktrees"),
    ("pause", "--gate", ""),
    ("resume", "--gate", ""),
];

/// Options that only the raw events have. `log` printed those before.
const RAW: &[&str] = &["--event", "--team", "--session"];

#[derive(Debug)]
pub struct Replaced {
    pub args: Vec<OsString>,
    /// The present names, to print.
    pub notes: Vec<String>,
}

/// Replaces former names. Words after `--` and values of options are not names.
pub fn replaced(args: &[OsString]) -> Replaced {
    let mut replaced = Replaced { args: args.to_vec(), notes: Vec::new() };
    let Some(start) = command_place(args) else { return replaced };
    for (former, present) in COMMANDS {
        let end = start + former.len();
        if args.len() >= end && args[start..end].iter().zip(*former).all(|(arg, word)| arg == *word) {
            let words = present.iter().map(OsString::from);
            replaced.args.splice(start..end, words);
            replaced.note(&former.join(" "), &present.join(" "));
            break;
        }
    }
    let Some(command) = replaced.args[start].to_str().map(str::to_owned) else { return replaced };
    for (_, former, present) in OPTIONS.iter().filter(|(of, ..)| *of == command) {
        replaced.option(start, former, present);
    }
    let is_named = |args: &[OsString], name: &str| {
        let mut options = args.iter().take_while(|arg| *arg != "--").filter_map(|arg| arg.to_str());
        options.any(|arg| arg == name || arg.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
    };
    let after = &replaced.args[start..];
    if let Some(option) = RAW.iter().find(|option| is_named(after, option))
        && matches!(command.as_str(), "log" | "replay")
        && !is_named(after, "--raw")
    {
        replaced.args.insert(start + 1, "--raw".into());
        replaced.note(&format!("log {option}"), &format!("log --raw {option}"));
    }
    replaced
}

/// The place of the first word that is neither the program nor an option of it.
fn command_place(args: &[OsString]) -> Option<usize> {
    let mut place = 1;
    while let Some(arg) = args.get(place)?.to_str().filter(|arg| arg.starts_with('-')) {
        place += if arg == "--color" { 2 } else { 1 };
    }
    Some(place)
}

impl Replaced {
    fn note(&mut self, former: &str, present: &str) {
        self.notes.push(format!("note: `teamkeep {former}` is now `teamkeep {present}`"));
    }

    fn option(&mut self, start: usize, former: &str, present: &str) {
        let end = self.args.iter().position(|arg| arg == "--").unwrap_or(self.args.len());
        for place in start..end {
            let Some(arg) = self.args[place].to_str() else { continue };
            let value = match arg.strip_prefix(former) {
                Some("") => None,
                Some(rest) if rest.starts_with('=') => Some(rest.trim_start_matches('=').to_owned()),
                _ => continue,
            };
            match (present, value) {
                ("", Some(value)) => self.args[place] = value.into(),
                ("", None) => drop(self.args.remove(place)),
                (present, Some(value)) => self.args[place] = format!("{present}={value}").into(),
                (present, None) => self.args[place] = present.into(),
            }
            let shown = if present.is_empty() { "an argument" } else { present };
            let note = format!("note: `{former}` is now {shown}");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
            return self.option(place, former, present);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> (String, usize) {
        let args: Vec<OsString> = text.split(' ').map(OsString::from).collect();
        let replaced = replaced(&args);
        let words: Vec<String> = replaced.args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        (words.join(" "), replaced.notes.len())
    }

    #[test]
    fn former_names_are_replaced_with_a_note() {
        for (former, present) in [
            ("teamkeep policy allow shutdown bob", "teamkeep allow bob"),
            ("teamkeep -q --color never policy pauses", "teamkeep -q --color never status"),
            ("teamkeep policy pause --gate rule 1h", "teamkeep pause rule 1h"),
            ("teamkeep policy show --json", "teamkeep config show policy --json"),
            ("teamkeep log --event idle", "teamkeep log --raw --event idle"),
            ("teamkeep restore r --to=x", "teamkeep restore r --files=x"),
            ("teamkeep restore r --worktree=x", "teamkeep restore r --worktrees=x"),
            ("teamkeep notify test --url u", "teamkeep config test-notify --url u"),
        ] {
            assert_eq!(
                line(former),
                (present.to_owned(), 1 + usize::from(former.contains("--gate"))),
                "{former}"
            );
        }
        assert_eq!(
            line("teamkeep replay --actor bob --actor=al"),
            ("teamkeep replay --agent bob --agent=al".to_owned(), 1)
        );
    }

    #[test]
    fn other_words_stay() {
        for same in [
            "teamkeep",
            "teamkeep -q",
            "teamkeep search -- policy allow shutdown --to",
            "teamkeep log --raw --event idle",
            "teamkeep policy test",
            "teamkeep hook stop",
            "teamkeep restore --worktrees",
            "teamkeep brief --format",
        ] {
            assert_eq!(line(same), (same.to_owned(), 0), "{same}");
        }
    }
}
