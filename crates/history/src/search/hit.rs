//! One text that was found, the excerpt around its first match, and the command that shows its place.

use super::pattern::Pattern;
use super::texts::TextKind;
use serde::Serialize;
use std::ops::Range;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::QUOTE_CHARS;
use teamkeep_store::archive::RunRecord;
use teamkeep_system::command::quoted;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    pub at: Timestamp,
    pub kind: TextKind,
    pub agent: String,
    pub run: Option<String>,
    pub team: Option<String>,
    /// The start of the run.
    #[serde(skip)]
    pub started_at: Option<Timestamp>,
    pub session: Option<String>,
    /// The tool, the recipient, the task or the gate.
    pub title: String,
    pub snippet: Snippet,
    /// The text, or a part of a long one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    pub tool_use_id: Option<String>,
    /// The path that the transcript had, and the number of the line in it; without a path, in the log; 0 in a team's file.
    pub transcript: Option<String>,
    pub line: u64,
    /// The command that shows the place.
    pub command: Option<String>,
}

/// The part of a longer text around its first match is kept, in bytes.
const MAX_TEXT_BYTES: usize = 32 << 10;

impl Hit {
    /// The part of a text that a hit has.
    pub fn part(text: String, pattern: &Pattern) -> String {
        if text.len() <= MAX_TEXT_BYTES {
            return text;
        }
        let first = pattern.marks(&text).first().map_or(0, |range| range.start);
        let start = text.floor_char_boundary(first.saturating_sub(MAX_TEXT_BYTES / 4));
        let end = text.floor_char_boundary(start + MAX_TEXT_BYTES);
        text[start..end].to_owned()
    }

    /// Fills in what only a shown hit needs. `change` is applied to its texts before the excerpt is taken: in an excerpt, a
    /// secret can be cut. `query` is how the command line calls the search.
    pub fn complete(
        &mut self,
        pattern: &Pattern,
        query: &str,
        record: Option<&RunRecord>,
        change: impl Fn(&str) -> Option<String>,
    ) {
        self.team = record.and_then(|record| record.team.clone());
        self.started_at = record.map(|record| record.started_at);
        let texts =
            [&mut self.text, &mut self.title, &mut self.agent].into_iter().chain(&mut self.transcript);
        for text in texts {
            if let Some(changed) = change(text) {
                *text = changed;
            }
        }
        self.snippet = Snippet::of(&self.text, &pattern.marks(&self.text));
        self.command = self.show_command(query);
    }

    /// Whether the log shows the text. It has no entries for texts that only a transcript or a team's file has, nor for the
    /// prompt of an agent.
    fn is_in_log(&self) -> bool {
        let is_prompt_of_agent = self.kind == TextKind::Prompt && !self.title.is_empty();
        self.transcript.is_none() && self.line > 0 && !is_prompt_of_agent
    }

    /// The command that shows the place, or else the text.
    fn show_command(&self, query: &str) -> Option<String> {
        let around = |seconds: i64| {
            let start = self.started_at.filter(|_| self.at.is_valid())?;
            let offset = (self.at - start).num_milliseconds().div_euclid(1_000) + seconds;
            Some(if offset < 0 { format!("=-{}s", -offset) } else { format!(" +{offset}s") })
        };
        let part = || match (around(-1), around(2)) {
            (Some(from), Some(to)) => format!(" --since{from} --until{to}"),
            _ => String::new(),
        };
        let Some(run) = &self.run else {
            let session = quoted(self.session.as_deref()?);
            let (from, to) =
                (self.at - chrono::TimeDelta::seconds(1), self.at + chrono::TimeDelta::seconds(2));
            return Some(format!("teamkeep log --raw --session {session} --since {from} --until {to}"));
        };
        Some(match self.kind {
            TextKind::Task => {
                let at = around(1).map_or_else(String::new, |at| format!(" --at{at}"));
                format!("teamkeep show {run}{at}")
            }
            kind if !self.is_in_log() => {
                format!("teamkeep search --run {run} --kind {}{} --full {query}", kind.word(), part())
            }
            TextKind::Message | TextKind::Prompt | TextKind::Reply | TextKind::Thinking => {
                format!("teamkeep log {run}{} --full", part())
            }
            TextKind::Tool | TextKind::Result | TextKind::Verdict => {
                format!("teamkeep log {run} --raw{}", part())
            }
        })
    }
}

// The part of a text around its first match.

/// Characters before the first match.
const BEFORE_CHARS: usize = 60;

/// An excerpt on one line, with ` · ` for line breaks, as between a subject and its text. The marks are the places of the
/// matches, in characters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Snippet {
    pub text: String,
    pub marks: Vec<[usize; 2]>,
}

impl Snippet {
    /// The excerpt of a text with these matches, which are sorted.
    pub fn of(text: &str, matches: &[Range<usize>]) -> Snippet {
        let first = matches.first().map_or(0, |range| range.start);
        let start = text[..first].char_indices().rev().take(BEFORE_CHARS).last().map_or(first, |(at, _)| at);
        // Not in the middle of a word.
        let start = match text[start..first].find(char::is_whitespace).filter(|_| start > 0) {
            Some(space) => start + space,
            None => start,
        };
        let mut snippet = Snippet { text: String::new(), marks: Vec::new() };
        let mut matches = matches.iter().peekable();
        let (mut length, mut opened, mut is_break) = (0, None, false);
        if start > 0 {
            snippet.text.push('…');
            length = 1;
        }
        for (at, c) in text[start..].char_indices().map(|(at, c)| (start + at, c)) {
            if length >= QUOTE_CHARS {
                snippet.text.push('…');
                break;
            }
            while matches.next_if(|range| range.end <= at).is_some() {
                close(&mut snippet.marks, &mut opened, length);
            }
            let is_space = c.is_whitespace();
            if is_break && !is_space && !snippet.text.is_empty() {
                snippet.text.push_str("· ");
                length += 2;
            }
            is_break = c == '\n' || (is_break && is_space);
            if matches.peek().is_some_and(|range| range.contains(&at)) && opened.is_none() {
                opened = Some(length);
            }
            if is_space && (snippet.text.is_empty() || snippet.text.ends_with(' ')) {
                continue;
            }
            snippet.text.push(if is_space { ' ' } else { c });
            length += 1;
        }
        close(&mut snippet.marks, &mut opened, length);
        snippet
    }

    /// The pieces of the text, each with whether it is a match.
    pub fn pieces(&self) -> Vec<(String, bool)> {
        let chars: Vec<char> = self.text.chars().collect();
        let (mut pieces, mut at) = (Vec::new(), 0);
        for [from, to] in &self.marks {
            pieces.push((chars[at..*from].iter().collect(), false));
            pieces.push((chars[*from..*to].iter().collect(), true));
            at = *to;
        }
        pieces.push((chars[at..].iter().collect(), false));
        pieces.retain(|(text, _): &(String, bool)| !text.is_empty());
        pieces
    }
}

fn close(marks: &mut Vec<[usize; 2]>, opened: &mut Option<usize>, end: usize) {
    marks.extend(opened.take().map(|from| [from, end]).filter(|[from, to]| from < to));
}

#[cfg(test)]
mod tests {
    use super::super::pattern::{Pattern, Syntax};
    use super::*;
    use proptest::prelude::*;

    fn snippet(text: &str, words: &str) -> Snippet {
        Snippet::of(text, &Pattern::parse(words, Syntax::default()).unwrap().marks(text))
    }

    fn marked(snippet: &Snippet) -> Vec<String> {
        snippet.pieces().into_iter().filter(|(_, is_match)| *is_match).map(|(text, _)| text).collect()
    }

    #[test]
    fn a_snippet_is_one_line_around_the_first_match() {
        let text = format!("{}the parser\n\n  fails; parser {}", "before ".repeat(30), "after ".repeat(60));
        let found = snippet(&text, "parser");
        assert!(found.text.starts_with("… before before"), "{}", found.text);
        assert!(found.text.contains("the parser · fails; parser after") && found.text.ends_with('…'));
        assert_eq!(marked(&found), ["parser", "parser"]);
        assert_eq!(snippet("parser", "parser").text, "parser");
        assert_eq!(marked(&snippet("x a\n  b y", "\"a\n  b\"")), ["a · b"]);
    }

    proptest! {
        #[test]
        fn a_snippet_of_any_text_is_short_and_its_marks_are_in_it(text in "[a-c é💥\n\u{301}]{0,600}") {
            let found = snippet(&text, "a");
            // A line break at the end has two characters more, and an ellipsis is one.
            prop_assert!(found.text.chars().count() <= QUOTE_CHARS + 3);
            prop_assert!(found.marks.iter().all(|[from, to]| from < to && *to <= found.text.chars().count()));
            prop_assert!(found.marks.windows(2).all(|pair| pair[0][1] <= pair[1][0]));
            prop_assert!(marked(&found).iter().all(|text| text == "a"));
        }
    }
}
