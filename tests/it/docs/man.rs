//! The man pages: generated from the parser; the first page also has files, environment and exit codes.

use clap::{Command, CommandFactory};
use teamkeep::cli::Cli;
use teamkeep_system::env::VARIABLES;
use teamkeep_system::error::EXIT_CODES;

/// The files that users see.
const FILES: &[(&str, &str)] = &[
    ("~/.local/share/teamkeep", "The store, on Linux ($XDG_DATA_HOME/teamkeep)."),
    ("~/Library/Application Support/teamkeep", "The store and the configuration, on macOS."),
    (
        "~/.config/teamkeep/teamkeep.toml",
        "The configuration, on Linux ($XDG_CONFIG_HOME/teamkeep/teamkeep.toml).",
    ),
    (".claude/teamkeep.toml", "The policy of a project. It can only tighten the user's policy."),
    ("~/.claude/settings.json", "The user settings of Claude Code, where install adds the hooks."),
    (
        ".claude/settings.json, .claude/settings.local.json",
        "The project settings of Claude Code: shared (--scope project) and personal (--scope local).",
    ),
    (
        "~/.claude/teams, ~/.claude/tasks",
        "The team files of Claude Code. teamkeep reads them; only restore writes them.",
    ),
];

/// The page of a command, named by its words.
pub fn page(words: &[String]) -> Vec<u8> {
    let mut command = Cli::command();
    for word in words {
        command = command.find_subcommand(word).unwrap().clone();
    }
    let name = [&["teamkeep".to_owned()], words].concat().join("-");
    // There is no page of the command that shows pages.
    let bare = command.display_name(name.clone()).bin_name(name.replace('-', " ")).version(None::<&str>);
    let bare = bare.disable_help_subcommand(true);
    let man = clap_mangen::Man::new(bare.clone()).title(&name).date("").source("teamkeep");
    let mut text = Vec::new();
    man.render_title(&mut text).unwrap();
    man.render_name_section(&mut text).unwrap();
    man.render_synopsis_section(&mut text).unwrap();
    man.render_description_section(&mut text).unwrap();
    man.render_options_section(&mut text).unwrap();
    if bare.get_subcommands().any(|below| !below.is_hide_set()) {
        man.render_subcommands_section(&mut text).unwrap();
    }
    let mut rest = after(&bare);
    if words.is_empty() {
        rest += &list("FILES", FILES.iter().copied());
        rest += &list("ENVIRONMENT", VARIABLES.iter().copied());
        let codes = EXIT_CODES.iter().map(|(code, about)| (code.to_string(), *about));
        let codes: Vec<(String, &str)> = codes.collect();
        rest += &list("EXIT STATUS", codes.iter().map(|(code, about)| (code.as_str(), *about)));
    }
    text.extend(rest.into_bytes());
    text
}

/// The text after the options in `--help`: examples, exit codes and notes.
fn after(command: &Command) -> String {
    let text = command.get_after_long_help().or(command.get_after_help());
    let (mut page, mut section) = (String::new(), "");
    let text = text.map(ToString::to_string).unwrap_or_default();
    let mut enter = |page: &mut String, name: &'static str| {
        if section != name {
            page.push_str(&format!(".SH {name}\n"));
            section = name;
        } else {
            page.push_str(".PP\n");
        }
    };
    for block in blocks(&text) {
        match block.as_slice() {
            ["Examples:", lines @ ..] => {
                enter(&mut page, "EXAMPLES");
                page.push_str(&verbatim(lines));
            }
            ["Exit codes:", lines @ ..] => {
                enter(&mut page, "EXIT STATUS");
                page.push_str(&verbatim(lines));
            }
            lines => {
                let name = if lines[0].starts_with("Exit code") { "EXIT STATUS" } else { "NOTES" };
                enter(&mut page, name);
                lines.iter().for_each(|line| page.push_str(&format!("{}\n", escaped(line))));
            }
        }
    }
    page
}

/// A text in parts: a heading with what is indented below it, or a paragraph.
pub fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    let mut is_open = false;
    for line in text.trim_end().lines() {
        let continues = line.is_empty() || line.starts_with(' ') || is_open;
        match blocks.last_mut().filter(|_| continues) {
            Some(block) => block.push(line),
            None => blocks.push(vec![line]),
        }
        is_open = !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
    }
    for block in &mut blocks {
        while block.last().is_some_and(|line| line.is_empty()) {
            block.pop();
        }
    }
    blocks
}

/// Preformatted lines.
fn verbatim(lines: &[&str]) -> String {
    let lines: Vec<String> =
        lines.iter().map(|line| escaped(line.strip_prefix("  ").unwrap_or(line))).collect();
    format!(".RS 4\n.nf\n{}\n.fi\n.RE\n", lines.join("\n"))
}

/// A list of names and descriptions.
fn list<'a>(heading: &str, items: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let items = items.map(|(name, what)| format!(".TP\n\\fB{}\\fR\n{}\n", escaped(name), escaped(what)));
    format!(".SH \"{heading}\"\n{}", items.collect::<String>())
}

/// A line escaped for roff, so that commands can be copied from the page.
fn escaped(line: &str) -> String {
    let mut out = String::new();
    for c in line.chars() {
        match c {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '\'' => out.push_str("\\(aq"),
            '`' => out.push_str("\\(ga"),
            '^' => out.push_str("\\(ha"),
            '~' => out.push_str("\\(ti"),
            c => out.push(c),
        }
    }
    if out.starts_with(['.', '\'']) { format!("\\&{out}") } else { out }
}

#[test]
fn every_page_that_a_page_names_is_there() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/man");
    let mut named = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in text.lines().filter(|line| line.ends_with("(1)")) {
            let page = line.replace("\\-", "-").replace("(1)", ".1");
            assert!(std::path::Path::new(dir).join(&page).exists(), "{page}");
            named += 1;
        }
    }
    assert!(named > 25, "{named}");
}

#[test]
fn examples_are_set_as_they_are_to_be_typed() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let text = |line: &str| String::from_utf8(page(&words(line))).unwrap();
    let replay = text("replay");
    let example = "\\-\\-kind verdict \\-\\-format mermaid > run.mmd\n";
    let (_, examples) = replay.split_once(".SH EXAMPLES\n.RS 4\n.nf\n").unwrap();
    assert!(examples.split(".fi\n").next().unwrap().contains(example), "{examples}");
    let doctor = text("doctor");
    assert!(doctor.ends_with(".SH NOTES\nTo list every check: teamkeep doctor \\-\\-verbose\n"), "{doctor}");
    let prune = text("prune");
    assert!(prune.contains("\n.SH NOTES\nRunning teams"), "{prune}");
    assert!(prune.contains("\n.SH EXIT STATUS\n.RS 4\n.nf\n0   Success"), "{prune}");
}

#[test]
fn the_first_page_tells_of_files_variables_and_ends() {
    let text = String::from_utf8(page(&[])).unwrap();
    for heading in ["FILES", "ENVIRONMENT", "EXIT STATUS"] {
        assert!(text.contains(&format!("\n.SH \"{heading}\"\n.TP\n")), "{heading}");
    }
    assert!(VARIABLES.iter().all(|(name, _)| text.contains(&format!("\\fB{name}\\fR\n"))));
}
