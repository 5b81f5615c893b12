//! Every text that a person reads is plain technical English: help, manual pages, documentation, scripts, and the
//! comments and messages in the sources.

use std::path::Path;

use clap::CommandFactory;
use regex::{Regex, RegexSet};
use teamkeep::cli::Cli;

use super::language_phrases::{HABITS, Habit};
use super::language_prose::{Block, blocks};

/// Files and directories whose texts are checked. Not listed because they are generated from texts that are:
/// docs/completions and docs/teamkeep.schema.json.
const READ: &[&str] = &[
    ".ci",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.toml",
    "README.md",
    "benches",
    "bin",
    "clippy.toml",
    "commands",
    "core",
    "deny.toml",
    "docs",
    "hooks",
    "install.sh",
    "justfile",
    "plugin",
    "scripts",
    "ship",
    "skills",
    "src",
];

/// A phrase in a file that is quoted and not the project's: the file, the phrase, the reason. At most ten.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

/// Habits ready to be matched. Most blocks have none, which the set finds out in one pass.
struct Lint {
    any: RegexSet,
    each: Vec<(Regex, Regex, &'static str)>,
    code: Regex,
}

impl Lint {
    fn new() -> Lint {
        let pattern = |pattern: &str| format!("(?i-u){pattern}");
        let regex = |text: &str| Regex::new(&pattern(text)).unwrap();
        Lint {
            any: RegexSet::new(HABITS.iter().map(|habit| pattern(habit.found))).unwrap(),
            each: HABITS
                .iter()
                .map(|Habit { found, fine, write }| (regex(found), regex(fine), *write))
                .collect(),
            code: Regex::new("`[^`]*`").unwrap(),
        }
    }

    /// Each habit in the block: its line, the words, and the replacement.
    fn found(&self, block: &Block) -> Vec<(usize, String, &'static str)> {
        let blank = |found: &regex::Captures| "_".repeat(found[0].len());
        let text = self.code.replace_all(&block.text, blank);
        let mut hits = Vec::new();
        for (found, fine, write) in self.any.matches(&text).into_iter().map(|index| &self.each[index]) {
            let text = fine.replace_all(&text, blank);
            hits.extend(found.find_iter(&text).map(|hit| {
                let words = hit.as_str().trim_matches(|c: char| !c.is_alphanumeric());
                (block.line_at(hit.end().saturating_sub(1)), words.to_owned(), *write)
            }));
        }
        hits
    }
}

/// Every file of the parts that are checked, by its path from the root, and the help of all commands.
fn texts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<String> = READ.iter().map(|path| (*path).to_owned()).collect();
    let mut texts = Vec::new();
    while let Some(path) = paths.pop() {
        let whole = root.join(&path);
        if whole.is_dir() {
            let below = whole.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
            paths.extend(below.map(|name| format!("{path}/{}", name.to_str().unwrap())));
        } else if let (false, Ok(text)) =
            (path.starts_with("docs/completions/"), std::fs::read_to_string(&whole))
        {
            texts.push((path, text));
        }
    }
    helps(&mut Cli::command(), "teamkeep", &mut texts);
    texts.sort();
    texts
}

fn helps(command: &mut clap::Command, name: &str, texts: &mut Vec<(String, String)>) {
    texts.push((format!("--help/{name}"), command.render_long_help().to_string()));
    for below in command.get_subcommands_mut() {
        let name = format!("{name} {}", below.get_name());
        helps(below, &name, texts);
    }
}

#[test]
fn every_text_is_plain_english() {
    let lint = Lint::new();
    let mut lines = Vec::new();
    for (path, text) in texts() {
        for mut block in blocks(&path, &text).unwrap_or_default() {
            for (_, phrase, _) in EXCEPTIONS.iter().filter(|(file, ..)| *file == path) {
                block.text = block.text.replace(phrase, &"_".repeat(phrase.len()));
            }
            for (line, words, write) in lint.found(&block) {
                lines.push(format!("{path}:{line}: {words:?}: write {write:?}"));
            }
        }
    }
    assert!(lines.is_empty(), "{} phrases to replace:\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn exceptions_are_few_and_used() {
    assert!(EXCEPTIONS.len() <= 10);
    let texts = texts();
    for (file, phrase, reason) in EXCEPTIONS {
        let used = texts.iter().any(|(path, text)| path == file && text.contains(phrase));
        assert!(used && !reason.is_empty(), "{file} no longer has {phrase:?}");
    }
}

/// The words found in a text of a file with this name.
fn words_in(path: &str, text: &str) -> Vec<(usize, String)> {
    let lint = Lint::new();
    let blocks = blocks(path, text).unwrap();
    blocks.iter().flat_map(|block| lint.found(block)).map(|(line, words, _)| (line, words)).collect()
}

#[test]
fn a_habit_is_found_across_lines_and_correct_english_is_not() {
    let source = "/// Read by the\n/// client.\nfn f() {\n    let a = \"it is no\\\n        file\";\n    let b = \"told\";\n}\n";
    assert_eq!(words_in("src/a.rs", source), [(2, "the client".to_owned()), (4, "is no".to_owned())]);
    let tests = "#[cfg(test)]\nmod tests {\n    const A: &str = \"it was told\";\n}\n";
    assert_eq!(words_in("src/a.rs", tests), []);
    let page =
        "There is no file, and it is no longer `told`.\n\n```json\n{\"a\": \"was told\"}\n```\nWhat now?\n";
    assert_eq!(words_in("docs/a.md", page), []);
    let page = "# A\n\nWhat goes is listed.\nIt is\ntold.\n";
    let found = words_in("docs/a.md", page);
    assert_eq!(found, [(5, "told".to_owned()), (3, "What".to_owned())]);
}
