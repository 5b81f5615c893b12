//! What shells complete a command line with: generated from the parser, and told what it does not know of its values.

use std::process::Command as Process;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell::{Bash, Fish, Zsh};
use teamkeep::cli::Cli;
use teamkeep::payload::KNOWN;
use teamkeep::timeline::Kind;

/// The script of each shell: its file name and its text.
pub fn scripts() -> Vec<(&'static str, Vec<u8>)> {
    let mut scripts = Vec::new();
    for (shell, name) in [(Bash, "teamkeep.bash"), (Zsh, "_teamkeep"), (Fish, "teamkeep.fish")] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut seen(), "teamkeep", &mut text);
        let text =
            if shell == Bash { no_files(&String::from_utf8(text).unwrap()).into_bytes() } else { text };
        scripts.push((name, text));
    }
    scripts
}

/// The parser with what a person sees alone, and with a hint for each value.
fn seen() -> Command {
    let all = Cli::command();
    let below = all.get_subcommands().filter(|below| !below.is_hide_set()).cloned().map(hinted);
    // A command cannot be taken out of a parser.
    Command::new("teamkeep").version(env!("CARGO_PKG_VERSION")).subcommands(below)
}

fn hinted(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command.mut_args(|arg| hint(&name, arg)).mut_subcommands(hinted)
}

/// A value is one of a closed list, a path, or free: then nothing is offered, where a shell would offer files.
fn hint(command: &str, arg: Arg) -> Arg {
    let of = |words: &[&'static str]| {
        PossibleValuesParser::new(words.iter().map(|word| PossibleValue::new(*word)).collect::<Vec<_>>())
    };
    let events: Vec<&str> = KNOWN.iter().map(|(_, _, event)| *event).collect();
    match (command, arg.get_id().as_str()) {
        ("replay", "kind") => arg.value_parser(PossibleValuesParser::new(kinds())),
        ("replay", "actor") => arg.value_parser(of(&["lead", "teammate", "subagent"])),
        ("log", "actor") => arg.value_parser(of(&["lead", "teammate", "subagent", "helper", "unknown"])),
        ("log", "event") => arg.value_parser(of(&[&events[..], &["verdict"]].concat())),
        ("hook", "event") => arg.value_parser(of(&events)),
        ("test", "cases") | ("install", "command") => arg.value_hint(ValueHint::AnyPath),
        _ if arg.get_action().takes_values() && arg.get_value_hint() == ValueHint::Unknown => {
            arg.value_hint(ValueHint::Other)
        }
        _ => arg,
    }
}

fn kinds() -> Vec<PossibleValue> {
    // The parser wants words that last.
    let word = |kind: &Kind| -> &'static str { kind.word().leak() };
    Kind::ALL.iter().map(|kind| PossibleValue::new(word(kind))).collect()
}

/// The script of bash without the names of positional values among the words, and without files where no value is one.
fn no_files(script: &str) -> String {
    let parser = seen();
    let mut lines: Vec<String> = Vec::new();
    let mut before = String::new();
    for line in script.lines() {
        let Some(words) = line.trim().strip_prefix("opts=\"").and_then(|rest| rest.strip_suffix('"')) else {
            lines.push(line.to_owned());
            before = line.trim().to_owned();
            continue;
        };
        let indent = &line[..line.len() - line.trim_start().len()];
        let words: Vec<&str> = words.split(' ').filter(|word| !word.starts_with(['[', '<'])).collect();
        lines.push(format!("{indent}opts=\"{}\"", words.join(" ")));
        let path = before.trim_end_matches(')');
        if path != before && !takes_files(&parser, path) {
            lines.push(format!("{indent}compopt +o default +o bashdefault 2>/dev/null"));
        }
    }
    lines.join("\n") + "\n"
}

/// Whether a positional value of the command of this name in the script (`teamkeep__subcmd__show`) is a path.
fn takes_files(parser: &Command, path: &str) -> bool {
    let mut words = path.split("__").skip(1).filter(|word| *word != "subcmd");
    let found = words.try_fold(parser, |at, word| at.find_subcommand(word));
    found.is_some_and(|command| {
        command.get_positionals().any(|arg| {
            matches!(arg.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath)
        })
    })
}

/// What bash offers behind these words, the last of which is being typed.
fn offered(words: &[&str]) -> Vec<String> {
    let root = env!("CARGO_MANIFEST_DIR");
    // Where no completion is running there is no compopt.
    let script = r#"compopt() { :; }
source "$1/docs/completions/teamkeep.bash"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_teamkeep teamkeep "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}""#;
    let output = Process::new("bash")
        .args(["--norc", "-c", script, "bash", root, "teamkeep"])
        .args(words)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn closed_lists_are_offered_and_free_values_never_files() {
    assert_eq!(offered(&["replay", "--kind", "message"]), ["message", "message-refused"]);
    assert_eq!(offered(&["replay", "--kind", ""]).len(), Kind::ALL.len());
    assert_eq!(offered(&["log", "--event", "task-c"]), ["task-completed", "task-created"]);
    assert_eq!(offered(&["log", "--actor", "t"]), ["teammate"]);
    assert_eq!(offered(&["log", "--team", "src"]), ["src"], "it is free");
    assert_eq!(offered(&["replay", "Car"]), [""; 0]);
    assert!(offered(&["show", ""]).iter().all(|word| word.starts_with('-')));
    assert_eq!(offered(&["report", "-o", "Cargo.t"]), ["Cargo.toml"]);
    assert_eq!(offered(&["fini"]), [""; 0], "it is hidden");
    assert_eq!(offered(&["rep"]), ["replay", "report"]);
}

#[test]
fn a_run_is_no_file_in_any_shell() {
    for (name, text) in scripts() {
        let text = String::from_utf8(text).unwrap();
        assert!(!text.replace("unfinished", "").contains("finish"), "{name}");
        assert!(!text.contains("_default"), "{name}: a value without a hint");
    }
    let page = |name: &str| {
        std::fs::read_to_string(format!("{}/docs/completions/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    };
    let bash = page("teamkeep.bash");
    let show = bash.split("teamkeep__subcmd__show)").last().unwrap().split(";;").next().unwrap();
    assert!(show.contains("compopt +o default"), "{show}");
    let import = bash.split("teamkeep__subcmd__import)").last().unwrap().split(";;").next().unwrap();
    assert!(!import.contains("compopt +o default"), "{import}");
}
