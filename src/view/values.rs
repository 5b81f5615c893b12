//! Formats single values for people: times, sizes, counts, names.

use std::collections::BTreeMap;
use teamkeep_model::words::cut;

use anstyle::Style;
use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::line::{BLUE, DIM, GREEN, RED, YELLOW};
use teamkeep_history::timeline::Summary;
use teamkeep_model::json;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_policy::Decision;

pub use teamkeep_model::words::{count, one_line, short_id, size, thousands};

/// The place of a moment on the time axis of a run, in milliseconds from its start, with as many digits as its neighbors
/// have: `0.0s`, `12.3s`, `1m05s`, `2h03m04s`, `3d04h05m`; `-5.6s` before the start. `--at=+1m05s` names the same moment.
/// A duration is written by [`time::duration`].
fn offset(millis: i64) -> String {
    // Less than a tenth of a second is shown as zero.
    if millis <= -100 {
        return format!("-{}", offset(-millis));
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

/// The place of a moment on the time axis of a run: `1m05s`, `-5.6s`.
pub fn elapsed(start: Timestamp, at: Timestamp) -> String {
    offset((at - start).num_milliseconds())
}

/// How long something has lasted, for text that is refreshed, where milliseconds would flicker: `12 s`.
pub fn lasted(start: Timestamp, now: Timestamp) -> String {
    time::duration((now - start).num_seconds() * 1_000)
}

/// The same place with its sign: `+1m05s`, `-5.6s`.
pub fn since(start: Timestamp, at: Timestamp) -> String {
    let offset = elapsed(start, at);
    if offset.starts_with('-') { offset } else { format!("+{offset}") }
}

/// A moment and the time since the start of the run: `2026-02-03 04:05:06 UTC (+1m05s)`.
pub fn moment_since(start: Timestamp, at: Timestamp) -> String {
    format!("{} ({})", time::moment(at), since(start, at))
}

/// A moment without its seconds and its zone: `2026-02-03 04:05`.
pub fn minute(time: Timestamp) -> String {
    time::local(time).format("%Y-%m-%d %H:%M").to_string()
}

/// An agent's name. Claude Code itself is recorded as `client`.
pub fn actor(name: &str) -> &str {
    if name == "client" { "Claude Code" } else { name }
}

/// Claude Code's error text of a tool call, without its tags.
pub fn strip_tags(failure: &str) -> &str {
    failure.trim().trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>")
}

/// How a run ended, or that it has no end.
pub fn end_label(run: &Summary) -> String {
    let by = run.ended_by.map(|by| json::serde_name(&by));
    by.unwrap_or_else(|| if run.gone.is_some() { "process gone" } else { "running" }.to_owned())
}

/// The note that events at the start of a run are missing.
pub fn events_missing(start: Timestamp, until: Timestamp) -> String {
    let until = elapsed(start, until);
    format!("events until +{until} are missing: the run has no log from before")
}

/// The number of redacted texts: `redacted: email 12, home 3`.
pub fn redaction_summary(counts: &BTreeMap<String, u64>) -> String {
    let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    match counts.as_slice() {
        [] => "redacted: nothing".to_owned(),
        counts => format!("redacted: {}", counts.join(", ")),
    }
}

/// The start of a text that fits into so many columns, with a mark if it was cut.
pub fn cut_to(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let (mut cut, mut width) = (String::new(), 1);
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width > columns {
            break;
        }
        cut.push(c);
    }
    cut.trim_end().to_owned() + "…"
}

/// The first line of a text, at most 100 characters.
pub fn first_line(text: &str) -> String {
    cut(text.trim().lines().next().unwrap_or_default().trim(), 100)
}

/// A text in a JSON object; `None` for an empty one.
pub fn text_field<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The tasks for which a task waits, in parentheses; empty if there are none.
pub fn blocked_by<S: AsRef<str>>(ids: &[S]) -> String {
    let ids: Vec<&str> = ids.iter().map(AsRef::as_ref).collect();
    if ids.is_empty() { String::new() } else { format!("(blocked by {})", ids.join(", ")) }
}

pub fn task_style(status: &str) -> Style {
    match status {
        "completed" => GREEN,
        "in_progress" => BLUE,
        "deleted" | "erased" => RED,
        _ => Style::new(),
    }
}

pub fn decision(decision: Decision) -> Style {
    match decision {
        Decision::Block => RED,
        Decision::Warn => YELLOW,
        Decision::Allow => DIM,
    }
}

/// The style of an agent's name. It has no color: colors are for states.
pub fn name_style(name: &str) -> Style {
    match name {
        "client" | "unknown" | "-" => DIM,
        _ => Style::new().bold(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_color() {
        for name in ["team-lead", "alice", "client", "-"] {
            assert_eq!(name_style(name).get_fg_color(), None, "{name}");
        }
    }

    #[test]
    fn offsets_sizes_counts_and_ids_are_short() {
        let offsets = [0, 90, -99, -100, 12_345, 65_000, 7_384_000, 273_900_000, -5_640].map(offset);
        assert_eq!(
            offsets,
            ["0.0s", "0.0s", "0.0s", "-0.1s", "12.3s", "1m05s", "2h03m04s", "3d04h05m", "-5.6s"]
        );
        assert_eq!([812, 17_123, 2_000_000].map(size), ["812 B", "17.1 KB", "2.0 MB"]);
        assert_eq!(first_line("\n  one \ntwo"), "one");
        assert_eq!([9, 8, 5].map(|columns| cut_to("naïve 本本", columns)), ["naïve 本…", "naïve…", "naïv…"]);
        assert_eq!(cut_to("naïve 本本", 10), "naïve 本本");
        assert_eq!(first_line(&"x".repeat(200)).chars().count(), 100);
    }
}
