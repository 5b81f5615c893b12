//! The commands and files that the pages show are valid.

use std::path::{Path, PathBuf};

use clap::Parser;
use teamkeep::cli::Cli;

use super::help::calls;
use crate::support::sandbox::below;

/// Every page of the README and docs/, with its text.
fn pages() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = below(&root.join("docs"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    pages
        .chain([root.join("README.md")])
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
        .collect()
}

/// A line without its comment.
fn code(line: &str) -> &str {
    line.split(" #").next().unwrap().trim()
}

#[test]
fn every_command_in_a_page_is_accepted() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (path, text) in pages() {
        let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        // A span names a command without what it needs; one with an option is meant to be typed.
        let spans = spans
            .filter(|span| span.starts_with("teamkeep ") && span.contains(" -") && !span.contains("hook"));
        for line in blocks.flat_map(str::lines).chain(spans) {
            for args in calls(code(line)) {
                count += 1;
                // `--help` is an error of the parser that succeeds.
                if let Some(error) = Cli::try_parse_from(&args).err().filter(clap::Error::use_stderr) {
                    let why = error.to_string();
                    wrong.push(format!("{}: {}: {}", path.display(), line, why.lines().next().unwrap()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "{count}");
}
