//! Text output of `teamkeep verify`.

use std::fmt::Write;

use super::format::{count, size};
use crate::ui::escape;
use crate::verify::{Findings, VerifyStats};

/// Formats each finding, and how much was checked.
pub fn findings(findings: &Findings) -> String {
    let mut text = String::new();
    for finding in &findings.first {
        let place = match finding.line {
            Some(line) => format!("{}:{line}", finding.path.display()),
            None => finding.path.display().to_string(),
        };
        let what = match finding.what.contains(&place) {
            true => escape(&finding.what).into_owned(),
            false => format!("{}: {}", escape(&place), escape(&finding.what)),
        };
        let _ = writeln!(text, "{}: {what}", finding.kind.word());
        match &finding.run {
            Some(run) if finding.needed_by.is_empty() => {
                let _ = writeln!(text, "  run: {}", escape(run));
            }
            _ => {}
        }
        for use_ in &finding.needed_by {
            let _ = writeln!(text, "  needed by: {}", escape(use_));
        }
        let _ = writeln!(text, "  hint: {}", finding.hint);
    }
    let more = findings.count.saturating_sub(findings.first.len() as u64);
    if more > 0 {
        let _ = writeln!(text, "and {more} more");
    }
    let state = match findings.count {
        0 => "no damage found".to_owned(),
        damaged => format!("{damaged} damaged"),
    };
    let _ = writeln!(text, "checked {}: {state}", checked(&findings.checked));
    text
}

fn checked(checked: &VerifyStats) -> String {
    let number = |number: u64, thing: &str| count(usize::try_from(number).unwrap_or(usize::MAX), thing);
    let bytes = usize::try_from(checked.bytes).unwrap_or(usize::MAX);
    [
        number(checked.runs, "run"),
        format!("{} ({})", number(checked.objects, "object"), size(bytes)),
        number(checked.manifests, "manifest"),
        number(checked.transcripts, "transcript"),
        number(checked.events, "log line"),
    ]
    .join(", ")
}
