//! Lines for people on stderr. On a terminal they are wrapped with a hanging indent; a command in them is never broken, so
//! that it can be pasted. In a pipe nothing is wrapped.

use std::io::{self, IsTerminal, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use teamkeep_model::unicode::escape;
use teamkeep_system::os::terminal::stderr_size;

/// Longer lines are hard to read.
const MAX_COLUMNS: usize = 100;
/// In a narrower terminal nothing is wrapped.
const MIN_COLUMNS: usize = 20;

/// The programs that messages name in commands.
const PROGRAMS: &[&str] = &[
    "teamkeep",
    "teamkeep-hook",
    "teamkeep-ship",
    "claude",
    "git",
    "chmod",
    "chown",
    "mv",
    "sudo",
    "cargo",
    "echo",
];
/// The labels of messages: text continues to the right of them.
const LABELS: [&str; 4] = ["error:", "warning:", "hint:", "note:"];

/// Prints a line that begins with a label in this style.
pub fn print_labeled(style: Style, label: &str, text: &str) {
    let body = wrapped(&escape(text), label.width() + 1, columns());
    let mut err = anstream::AutoStream::auto(io::stderr());
    let _ = writeln!(err, "{style}{label}{style:#} {body}");
}

/// Prints a line.
pub fn print(line: &str) {
    let line = escape(line);
    let label = LABELS.iter().find_map(|label| Some((*label, line.strip_prefix(label)?.strip_prefix(' ')?)));
    let text = match label {
        Some((label, rest)) => format!("{label} {}", wrapped(rest, label.width() + 1, columns())),
        // A list below another line has its own indent.
        None => {
            let rest = line.trim_start();
            let indent = line.len() - rest.len();
            format!("{:indent$}{}", "", hanging(rest, indent, indent + 2, columns()))
        }
    };
    let _ = writeln!(io::stderr(), "{text}");
}

/// The width of the terminal at stderr; `None` in a pipe.
fn columns() -> Option<usize> {
    let (columns, _) = stderr_size().filter(|_| io::stderr().is_terminal())?;
    Some(columns.min(MAX_COLUMNS)).filter(|columns| *columns >= MIN_COLUMNS)
}

/// Text after this many columns; its other lines are indented as far.
fn wrapped(text: &str, indent: usize, columns: Option<usize>) -> String {
    hanging(text, indent, indent, columns)
}

fn hanging(text: &str, first: usize, indent: usize, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    let (mut out, mut width, mut is_start) = (String::new(), first, true);
    for unit in units(text) {
        let space = usize::from(!is_start);
        if !is_start && width + space + unit.width() > columns {
            out += &format!("\n{:indent$}", "");
            width = indent;
        } else if space > 0 {
            out.push(' ');
            width += 1;
        }
        out += unit;
        width += unit.width();
        is_start = false;
    }
    out
}

/// The parts that are not broken: words, and commands as a whole.
fn units(text: &str) -> Vec<&str> {
    let mut units = Vec::new();
    let mut rest = text;
    // Whether a command can begin here: at the start, and after a colon.
    let mut is_open = true;
    while !rest.is_empty() {
        let word = rest.split(' ').next().unwrap_or_default();
        let end = match word.strip_prefix('`') {
            Some(_) => rest[1..].find('`').map_or(word.len(), |end| with_punctuation(rest, end + 2)),
            None if is_open && is_program(word) => end_of_command(rest),
            None => word.len(),
        };
        let unit = &rest[..end];
        is_open = unit.ends_with(':');
        units.push(unit);
        rest = rest[end..].strip_prefix(' ').unwrap_or(&rest[end..]);
    }
    units
}

/// The end of the word that begins or continues at `end`.
fn with_punctuation(text: &str, end: usize) -> usize {
    text[end..].find(' ').map_or(text.len(), |more| end + more)
}

fn is_program(word: &str) -> bool {
    let name = word.trim_matches(['\'', '"', ',', ';']).rsplit('/').next().unwrap_or_default();
    let variable = word.split_once('=').map_or("", |(name, _)| name);
    let is_variable = !variable.is_empty() && variable.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    PROGRAMS.contains(&name) || is_variable
}

/// A command ends before a remark in brackets and after a comma or a semicolon that is not in quotes.
fn end_of_command(text: &str) -> usize {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (',' | ';', None) if text[at + 1..].starts_with(' ') => return at + 1,
            (' ', None) if text[at + 1..].starts_with('(') => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, columns: usize) -> Vec<String> {
        wrapped(text, "hint: ".len(), Some(columns)).lines().map(str::to_owned).collect()
    }

    #[test]
    fn text_continues_below_its_first_word() {
        assert_eq!(
            lines("restore the directory, then check what is missing in it", 30),
            ["restore the directory,", "      then check what is", "      missing in it"]
        );
    }

    #[test]
    fn a_command_stays_on_one_line() {
        let hint =
            "to fix it in this shell: chmod u+rwx '/home/a user/.local/share/teamkeep/log'; then try again";
        assert_eq!(
            lines(hint, 40),
            [
                "to fix it in this shell:",
                "      chmod u+rwx '/home/a user/.local/share/teamkeep/log';",
                "      then try again"
            ]
        );
        let other = "list sessions without a team: /opt/bin/teamkeep list --all";
        assert_eq!(lines(other, 40)[1], "      /opt/bin/teamkeep list --all");
        let quoted = "create it with `teamkeep config init`, or unset it";
        assert_eq!(lines(quoted, 40)[1], "      `teamkeep config init`, or unset");
        let variable = "to start a session with them: CLAUDE_CODE_TASK_LIST_ID=again claude --resume 1";
        assert_eq!(lines(variable, 40)[1], "      CLAUDE_CODE_TASK_LIST_ID=again claude --resume 1");
    }

    #[test]
    fn a_name_of_a_program_in_a_sentence_is_a_word() {
        let text = "hooks call teamkeep of another version; the name git is only a word here";
        assert!(lines(text, 40).iter().all(|line| line.width() <= 40));
    }

    #[test]
    fn spaces_and_wide_characters_keep_their_place() {
        assert_eq!(wrapped("two  spaces", 6, Some(80)), "two  spaces");
        assert_eq!(wrapped("no limit ".repeat(40).trim_end(), 6, None), "no limit ".repeat(40).trim_end());
        assert_eq!(lines("日本語 日本語 日本語", 22), ["日本語 日本語", "      日本語"]);
    }
}
