//! Text output of `teamkeep doctor`.

use anstyle::Style;

use super::document::Document;
use super::format::count;
use super::line::{GREEN, RED, YELLOW, bold, dim, plain, styled};
use crate::doctor::{Code, Finding, Health, Verdict};

/// The commands that the output names.
#[derive(Debug)]
pub struct Commands {
    /// Applies the safe fixes, if there are any.
    pub fix: Option<String>,
    /// Lists all checks.
    pub verbose: String,
}

/// Formats the problems, each with its fix, then the number of the other checks; `all` lists these, too.
pub fn health(health: &Health, all: bool, commands: &Commands) -> Document {
    let (mut shown, others): (Vec<&Finding>, Vec<&Finding>) = health.findings.iter().partition(|finding| {
        finding.verdict >= Verdict::Warn || (finding.verdict == Verdict::Unknown && finding.fix.is_some())
    });
    shown.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    let mut document = Document::default();
    for (at, finding) in shown.iter().enumerate() {
        let (style, prefix) = match finding.verdict {
            Verdict::Bad => (RED.bold(), "error:"),
            Verdict::Warn => (YELLOW.bold(), "warning:"),
            Verdict::Ok | Verdict::Unknown => (Style::new().bold(), "note:"),
        };
        document.code([styled(style, prefix), plain(format!("{}: {}", finding.code.name(), finding.what))]);
        let next = shown.get(at + 1).and_then(|next| next.fix.as_ref());
        if let Some(fix) = finding.fix.as_ref().filter(|fix| next != Some(*fix)) {
            document.code([bold("  hint:"), plain(fix)]);
        }
    }
    if let Some(fix) = &commands.fix {
        document.code([bold("hint:"), plain(format!("run `{fix}` to apply the safe fixes"))]);
    }
    if !document.blocks.is_empty() {
        document.blank();
    }
    let skipped = others.iter().filter(|finding| finding.verdict == Verdict::Unknown).count();
    let mut rest = format!("{} passed", count(health.count(Verdict::Ok), "check"));
    if skipped > 0 {
        rest.push_str(&format!(", {skipped} skipped"));
    }
    if all {
        table(&others, &mut document);
        document.blank();
    } else {
        rest.push_str(&format!(" (to list them: {})", commands.verbose));
    }
    document.code([plain(rest)]);
    document.code([plain(match health.count(Verdict::Bad) + health.count(Verdict::Warn) {
        0 => "no problems found".to_owned(),
        problems => format!("{} found", count(problems, "problem")),
    })]);
    document
}

/// The checks that passed or were skipped.
fn table(findings: &[&Finding], document: &mut Document) {
    let width = Code::ALL.iter().map(|code| code.name().len()).max().unwrap_or(0);
    for finding in findings {
        let result = match finding.verdict {
            Verdict::Ok => styled(GREEN, "ok"),
            _ => dim("skipped"),
        };
        document.line([result.width(7), plain(finding.code.name()).width(width), plain(&finding.what)]);
    }
}
