//! Names of commands and options that have changed. They are replaced before the command line is parsed, so that the
//! parser, the help and the documentation know only the present ones. They go with the next release.

use std::ffi::OsString;

use crate::usage::command_place;

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

/// A command, a former option of it, and the present one. If there is none, the value is the first argument now.
const OPTIONS: &[(&str, &str, Option<&str>)] = &[
    ("log", "--actor", Some("--agent")),
    ("replay", "--actor", Some("--agent")),
    ("log", "--lines", Some("--limit")),
    ("brief", "--for", Some("--agent")),
    ("restore", "--to", Some("--files")),
    ("restore", "--worktree", Some("--worktrees")),
    ("pause", "--gate", None),
    ("resume", "--gate", None),
];

/// Options that only the raw events have. `log` printed those before.
const RAW: &[&str] = &["--event", "--team", "--session"];

#[derive(Debug)]
pub struct Replaced {
    pub args: Vec<OsString>,
    /// The present names, to print.
    pub notes: Vec<String>,
}

/// Replaces former names. Words after `--` are not names.
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
        replaced.option(start, former, *present);
    }
    let is_raw = replaced.place_of(start, "--raw").is_some();
    if let Some(option) = RAW.iter().find(|option| replaced.place_of(start, option).is_some())
        && matches!(command.as_str(), "log" | "replay")
        && !is_raw
    {
        replaced.args.insert(start + 1, "--raw".into());
        replaced.note(&format!("log {option}"), &format!("log --raw {option}"));
    }
    replaced
}

impl Replaced {
    fn note(&mut self, former: &str, present: &str) {
        self.notes.push(format!("note: `teamkeep {former}` is now `teamkeep {present}`"));
    }

    /// The place of an option of the command that begins at `start`, and the value after its `=`, if it has one.
    fn place_of(&self, start: usize, option: &str) -> Option<(usize, Option<String>)> {
        let args = self.args.iter().enumerate().skip(start).take_while(|(_, arg)| *arg != "--");
        args.filter_map(|(place, arg)| Some((place, arg.to_str()?.strip_prefix(option)?))).find_map(
            |(place, rest)| match rest.strip_prefix('=') {
                Some(value) => Some((place, Some(value.to_owned()))),
                None => rest.is_empty().then_some((place, None)),
            },
        )
    }

    /// Replaces each occurrence of an option.
    fn option(&mut self, start: usize, former: &str, present: Option<&str>) {
        let mut is_found = false;
        while let Some((place, value)) = self.place_of(start, former) {
            match (present, value) {
                (Some(present), Some(value)) => self.args[place] = format!("{present}={value}").into(),
                (Some(present), None) => self.args[place] = present.into(),
                (None, Some(value)) => {
                    self.args.remove(place);
                    self.args.insert(start + 1, value.into());
                }
                // Without a value, the parser reports it.
                (None, None) if self.args.len() == place + 1 => return,
                (None, None) => {
                    self.args.remove(place);
                    let value = self.args.remove(place);
                    self.args.insert(start + 1, value);
                }
            }
            is_found = true;
        }
        if is_found {
            self.notes.push(format!("note: `{former}` is now {}", present.unwrap_or("an argument")));
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
            ("teamkeep policy pause 1h --gate rule", "teamkeep pause rule 1h"),
            ("teamkeep policy pause 1h --team t --gate=rule", "teamkeep pause rule 1h --team t"),
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
            "teamkeep pause 1h --gate",
        ] {
            assert_eq!(line(same), (same.to_owned(), 0), "{same}");
        }
    }
}
