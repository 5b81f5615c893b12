//! Blocks of pages with the output of a command: each is what the command prints on the bundled run, on a terminal of 80
//! columns. A block begins with the command, as in `$ teamkeep report`. With a line `<!-- output: 12 lines -->` before it, it has
//! the first lines only, and ends with `…`. `TEAMKEEP_GENERATE=1 cargo test --test it outputs` writes them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use teamkeep_model::time;

use crate::support::sandbox::{Sandbox, below};
use crate::support::terminal;

/// The width of the terminal.
const COLUMNS: u16 = 80;

/// The home directory in pages, and the directory of the kept demo.
const HOME: &str = "/home/sam";
const KEPT: &str = "/tmp/demo";

/// The bundled run, in a store of its own, two hours after its end.
struct Demo {
    sandbox: Sandbox,
    /// Where the run's lead worked.
    project: Option<String>,
    now: String,
}

impl Demo {
    fn kept() -> Demo {
        let sandbox = Sandbox::judging();
        std::fs::remove_dir_all(sandbox.keep("")).unwrap_or_default();
        sandbox.printed(&["demo", "--keep", sandbox.keep("").to_str().unwrap()]);
        let runs: Value = serde_json::from_str(&sandbox.printed(&["list", "--json"])).unwrap();
        let ends = runs.as_array().unwrap().iter().filter_map(|run| run["ended_at"].as_str());
        let now = time::parse(ends.max().unwrap()).unwrap() + chrono::TimeDelta::hours(2);
        let project = runs[0]["project"].as_str().map(str::to_owned);
        Demo { sandbox, project, now: now.to_string() }
    }

    /// What a command prints, without white space at the ends of lines.
    fn output(&self, typed: &str) -> Vec<String> {
        let mut command = Command::new("sh");
        self.sandbox.dress(&mut command);
        if let Some(project) = self.project.as_ref().filter(|project| Path::new(project).is_dir()) {
            command.current_dir(project);
        }
        let programs = Path::new(env!("CARGO_BIN_EXE_teamkeep")).parent().unwrap();
        command.args(["-c", typed]).env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
        command.envs([
            ("TERM", "dumb"),
            ("NO_COLOR", "1"),
            ("PAGER", "cat"),
            ("TEAMKEEP_NOW", self.now.as_str()),
        ]);
        let text = terminal::output(&mut command, COLUMNS);
        let text = text.replace(&programs.display().to_string(), &format!("{HOME}/.local/bin"));
        let text = text.replace(&self.sandbox.home().display().to_string(), HOME);
        let text = text.replace(self.sandbox.keep("").to_str().unwrap().trim_end_matches('/'), KEPT);
        // Progress is erased before the next text in its line.
        let last = |line: &str| line.rsplit("\u{1b}[K").next().unwrap_or_default().trim_end().to_owned();
        text.trim_end().lines().map(last).collect()
    }
}

/// The limit of a block: `<!-- output: 12 lines -->`.
fn limit(line: &str) -> Option<usize> {
    line.strip_prefix("<!-- output: ")?.strip_suffix(" lines -->")?.parse().ok()
}

/// A page with the output in each of its blocks, and the number of blocks.
fn filled(page: &str, mut output: impl FnMut(&str) -> Vec<String>) -> (String, usize) {
    let (mut text, mut count, mut before) = (String::new(), 0, "");
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        let command = lines.peek().and_then(|next| next.strip_prefix("$ "));
        let Some(command) = command.filter(|next| line == "```text" && next.starts_with("teamkeep ")) else {
            before = line;
            continue;
        };
        count += 1;
        text += &format!("$ {command}\n");
        let printed = output(command);
        let shown = limit(before).unwrap_or(printed.len()).min(printed.len());
        text += printed[..shown].join("\n").trim_end();
        text += if shown < printed.len() { "\n…\n```\n" } else { "\n```\n" };
        before = lines.by_ref().find(|line| *line == "```").unwrap_or_default();
    }
    (text, count)
}

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = below(&root.join("docs"));
    let pages = pages.into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    pages.chain([root.join("README.md")]).collect()
}

#[test]
fn every_output_in_a_page_is_that_of_the_program() {
    let (demo, mut stale, mut blocks) = (Demo::kept(), Vec::new(), 0);
    for path in pages() {
        let page = std::fs::read_to_string(&path).unwrap();
        let (text, count) = filled(&page, |command| demo.output(command));
        blocks += count;
        if text != page && std::env::var_os("TEAMKEEP_GENERATE").is_some() {
            std::fs::write(&path, &text).unwrap();
        } else if text != page {
            let differs = text.lines().zip(page.lines()).find(|(new, old)| new != old);
            stale.push(format!("{}: {differs:?}", path.display()));
        }
    }
    assert!(stale.is_empty(), "TEAMKEEP_GENERATE=1 cargo test --test it outputs\n{}", stale.join("\n"));
    assert!(blocks > 5, "{blocks}");
}

#[test]
fn a_block_is_filled_to_its_limit_and_other_blocks_stay() {
    let page = "<!-- output: 2 lines -->\n```text\n$ teamkeep list\nold\n```\n\n```text\n$ teamkeep status\n```\n\n```text\nfree\n```\n";
    let printed = |command: &str| (1..4).map(|n| format!("{command} {n}")).collect();
    let (text, count) = filled(page, printed);
    insta::assert_snapshot!(text, @r"
    <!-- output: 2 lines -->
    ```text
    $ teamkeep list
    teamkeep list 1
    teamkeep list 2
    …
    ```

    ```text
    $ teamkeep status
    teamkeep status 1
    teamkeep status 2
    teamkeep status 3
    ```

    ```text
    free
    ```
    ");
    assert_eq!(count, 2);
    assert_eq!(filled(&text, printed).0, text, "a filled page stays");
}
