//! Times, sizes and counts as people read them.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use crate::clock::{self, Time};
use crate::event::LEAD;
use crate::json;
use crate::policy::Decision;
use crate::timeline::Summary;

/// A span: `0.0s`, `12.3s`, `1m05s`, `2h03m04s`, `3d04h05m`; `-5.6s` for what was before.
pub fn span(millis: i64) -> String {
    // What is less than a tenth before is shown as nothing.
    if millis <= -100 {
        return format!("-{}", span(-millis));
    }
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{seconds}.{}s", millis % 1_000 / 100),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => {
            format!("{}h{:02}m{:02}s", seconds / 3_600, seconds % 3_600 / 60, seconds % 60)
        }
        _ => format!("{}d{:02}h{:02}m", seconds / 86_400, seconds % 86_400 / 3_600, seconds % 3_600 / 60),
    }
}

/// How long after `start` this was, both RFC 3339: `1m05s`, `-5.6s`; nothing for what is no time.
pub fn since(start: &str, at: &str) -> Option<String> {
    Some(span((clock::parse(at)? - clock::parse(start)?).num_milliseconds()))
}

/// A size: `812 B`, `17.1 KB`, `2.0 MB`.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// `1 task`, `2 tasks`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// A moment: `2026-02-03 04:05:06`.
pub fn moment(time: Time) -> String {
    time.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// A moment without its seconds: `2026-02-03 04:05`.
pub fn minute(time: Time) -> String {
    time.format("%Y-%m-%d %H:%M").to_string()
}

/// What the client says of a tool's failure, without the tags around it.
pub fn untagged(failure: &str) -> &str {
    failure.trim().trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>")
}

/// What ended a run, or that nothing did.
pub fn end_of(run: &Summary) -> String {
    let by = run.ended_by.map(|by| json::word(&by));
    by.unwrap_or_else(|| if run.gone.is_some() { "client gone" } else { "alive" }.to_owned())
}

/// The note that events of a run's beginning are missing.
pub fn events_missing(start: &str, until: &str) -> String {
    let until = since(start, until).map_or_else(|| until.to_owned(), |span| format!("+{span}"));
    format!("events until {until} are missing: the log was pruned before they were copied into the run")
}

/// How much was taken out of texts: `redacted: email 12, home 3`.
pub fn taken_out(counts: &BTreeMap<String, u64>) -> String {
    let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    match counts.as_slice() {
        [] => "redacted: nothing was found".to_owned(),
        counts => format!("redacted: {}", counts.join(", ")),
    }
}

/// The beginning of a run's id that means no other of them: 8 characters, or as many as it takes.
pub fn short<'a>(id: &'a str, ids: &[&str]) -> &'a str {
    let others = |head: &str| ids.iter().filter(|other| **other != id && other.starts_with(head)).count();
    (8..id.len()).filter_map(|end| id.get(..end)).find(|head| others(head) == 0).unwrap_or(id)
}

/// A list with commas, broken into lines where the terminal ends; each begins with so many spaces.
pub fn listed(items: &[String], indent: usize, columns: Option<usize>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let item = format!("{item}{}", if place + 1 < items.len() { "," } else { "" });
        match lines.last_mut() {
            Some(line) if columns.is_none_or(|columns| line.width() + 1 + item.width() <= columns) => {
                line.push(' ');
                line.push_str(&item);
            }
            _ => lines.push(format!("{:indent$}{item}", "")),
        }
    }
    lines
}

/// Sentences, each line of them broken between two words where the terminal ends.
pub fn folded(text: &str, columns: Option<usize>) -> String {
    let mut folded = String::new();
    for line in text.lines() {
        let mut width = 0;
        for word in line.split(' ') {
            let fits = columns.is_none_or(|columns| width + 1 + word.width() <= columns);
            if width > 0 {
                folded.push(if fits { ' ' } else { '\n' });
            }
            width = if width > 0 && fits { width + 1 + word.width() } else { word.width() };
            folded.push_str(word);
        }
        folded.push('\n');
    }
    folded
}

/// The first line of a text, at most 100 characters.
pub fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim();
    if line.chars().count() <= 100 {
        return line.to_owned();
    }
    line.chars().take(99).chain(['…']).collect()
}

/// A decision's colour.
pub fn decision(decision: Decision) -> Style {
    match decision {
        Decision::Block => AnsiColor::Red.on_default(),
        Decision::Warn => AnsiColor::Yellow.on_default(),
        Decision::Allow => Style::new().dimmed(),
    }
}

/// A name's colour, the same wherever it stands.
pub fn voice(name: &str) -> Style {
    const COLOURS: [AnsiColor; 5] =
        [AnsiColor::Green, AnsiColor::Cyan, AnsiColor::Magenta, AnsiColor::Blue, AnsiColor::BrightGreen];
    match name {
        LEAD | "lead" => AnsiColor::Yellow.on_default(),
        "client" | "unknown" => Style::new().dimmed(),
        _ => {
            let sum: usize = name.bytes().map(usize::from).sum();
            COLOURS.get(sum % COLOURS.len()).map_or_else(Style::new, |colour| colour.on_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_sizes_are_short() {
        let spans = [0, 90, -99, -100, 12_345, 65_000, 7_384_000, 273_900_000, -5_640].map(span);
        assert_eq!(
            spans,
            ["0.0s", "0.0s", "0.0s", "-0.1s", "12.3s", "1m05s", "2h03m04s", "3d04h05m", "-5.6s"]
        );
        assert_eq!([812, 17_123, 2_000_000].map(size), ["812 B", "17.1 KB", "2.0 MB"]);
        assert_eq!((count(1, "task"), count(0, "task")), ("1 task".to_owned(), "0 tasks".to_owned()));
        assert_eq!((short("0123456789abcdef", &["0123456789abcdef"])), "01234567");
        assert_eq!(short("0123456789abcdef", &["0123456789abcdef", "0123456789ffffff"]), "0123456789a");
        let names = ["alice", "bob", "carol"].map(str::to_owned);
        assert_eq!(listed(&names, 2, Some(13)), ["  alice, bob,", "  carol"]);
        assert_eq!(folded("one two three\n\nfour", Some(7)), "one two\nthree\n\nfour\n");
        assert_eq!(folded("one two three", Some(3)), "one\ntwo\nthree\n");
        assert_eq!(folded("one two three", None), "one two three\n");
        assert_eq!(first_line("\n  one \ntwo"), "one");
        assert_eq!(first_line(&"x".repeat(200)).chars().count(), 100);
    }
}
