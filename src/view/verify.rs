//! Text output of `teamkeep verify`.

use super::document::Document;
use super::format::{count, size};
use super::line::plain;
use crate::verify::{Findings, VerifyStats};

/// Formats each finding, and how much was checked.
pub fn findings(findings: &Findings) -> Document {
    let mut document = Document::default();
    let mut line = |text: String| document.code([plain(text)]);
    for finding in &findings.first {
        let place = match finding.line {
            Some(line) => format!("{}:{line}", finding.path.display()),
            None => finding.path.display().to_string(),
        };
        let place = if finding.what.contains(&place) { String::new() } else { format!("{place}: ") };
        line(format!("{}: {place}{}", finding.kind.word(), finding.what));
        if let Some(run) = finding.run.as_ref().filter(|_| finding.needed_by.is_empty()) {
            line(format!("  run: {run}"));
        }
        for user in &finding.needed_by {
            line(format!("  needed by: {user}"));
        }
        line(format!("  hint: {}", finding.hint));
    }
    let more = findings.count.saturating_sub(findings.first.len() as u64);
    if more > 0 {
        line(format!("and {more} more"));
    }
    let state = match findings.count {
        0 => "no damage found".to_owned(),
        damaged => format!("{damaged} damaged"),
    };
    line(format!("checked {}: {state}", checked(&findings.checked)));
    document
}

fn checked(checked: &VerifyStats) -> String {
    format!(
        "{}, {} ({}), {}, {}, {}",
        count(checked.runs, "run"),
        count(checked.objects, "object"),
        size(checked.bytes),
        count(checked.manifests, "manifest"),
        count(checked.transcripts, "transcript"),
        count(checked.events, "log line"),
    )
}
