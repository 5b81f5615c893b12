//! What `--help` says, and what is generated from the same parser.

use std::path::Path;

use clap::{CommandFactory, Parser};
use teamkeep::cli::{Cli, is_documented};

use super::completion;
use super::man;
use crate::support::sandbox::Sandbox;

/// Every command that a person sees, as its words.
fn commands(command: &clap::Command, before: &[String], found: &mut Vec<Vec<String>>) {
    for below in command.get_subcommands().filter(|below| is_documented(below)) {
        let words = [before, &[below.get_name().to_owned()]].concat();
        if below.has_subcommands() && below.get_name() != "hook" {
            commands(below, &words, found);
        } else {
            found.push(words);
        }
    }
}

/// The calls of teamkeep in a line for the shell, in words.
pub fn calls(line: &str) -> Vec<Vec<String>> {
    let (mut calls, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), String::new(), None);
    for c in line.chars().chain(['\n']) {
        match c {
            '\'' | '"' if quote.is_none() => quote = Some(c),
            c if quote == Some(c) => quote = None,
            '|' | '&' | '<' | '>' | '\n' if quote.is_none() => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                calls.push(std::mem::take(&mut words));
            }
            ' ' if quote.is_none() => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            c => word.push(c),
        }
    }
    calls.retain(|call| call.first().is_some_and(|word| word == "teamkeep"));
    calls
}

#[test]
fn the_help_of_every_command_has_two_examples() {
    let sandbox = Sandbox::new();
    let mut all = Vec::new();
    commands(&Cli::command(), &[], &mut all);
    assert!(all.len() > 20, "{all:?}");
    let mut without = Vec::new();
    for words in all {
        let args: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let help = sandbox.printed(&args);
        let examples = help.split_once("Examples:\n").map_or("", |(_, examples)| examples);
        let call = format!("teamkeep {}", words.join(" "));
        let mut count = 0;
        for line in examples.lines().filter(|line| line.starts_with("  ") && line.contains(&call)) {
            count += 1;
            for args in calls(line) {
                let parsed = Cli::try_parse_from(&args);
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
        if count < 2 {
            without.push(words.join(" "));
        }
    }
    assert_eq!(without, [""; 0]);
}

/// What is generated from the parser: the path and the text.
fn generated() -> Vec<(String, Vec<u8>)> {
    let scripts = completion::scripts().into_iter();
    let mut files: Vec<(String, Vec<u8>)> =
        scripts.map(|(name, text)| (format!("docs/completions/{name}"), text)).collect();
    let mut all = vec![Vec::new()];
    every(&Cli::command(), &[], &mut all);
    files.extend(all.into_iter().map(|words| {
        let name = [&["teamkeep".to_owned()], words.as_slice()].concat().join("-");
        (format!("docs/man/{name}.1"), man::page(&words))
    }));
    files
}

/// Every command that is not hidden, those with commands of their own too.
fn every(command: &clap::Command, before: &[String], found: &mut Vec<Vec<String>>) {
    for below in command.get_subcommands().filter(|below| is_documented(below)) {
        let words = [before, &[below.get_name().to_owned()]].concat();
        found.push(words.clone());
        if below.get_name() != "hook" {
            every(below, &words, found);
        }
    }
}

/// `TEAMKEEP_GENERATE=1 cargo test --test it docs` updates them.
#[test]
fn the_man_pages_and_completions_are_those_of_the_parser() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = generated();
    let write = std::env::var_os("TEAMKEEP_GENERATE").is_some();
    if write {
        for dir in ["docs/man", "docs/completions"] {
            let _ = std::fs::remove_dir_all(root.join(dir));
            std::fs::create_dir_all(root.join(dir)).unwrap();
        }
        files.iter().for_each(|(path, text)| std::fs::write(root.join(path), text).unwrap());
    }
    for (path, text) in &files {
        let there = std::fs::read(root.join(path)).unwrap_or_default();
        assert!(there == *text, "{path} is stale: TEAMKEEP_GENERATE=1 cargo test --test it docs");
    }
    let there = ["docs/man", "docs/completions"].iter().flat_map(|dir| root.join(dir).read_dir().unwrap());
    assert_eq!(there.count(), files.len(), "files of commands that are no longer there");
}
