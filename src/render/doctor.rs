//! Text output of `teamkeep doctor`.

use anstyle::{AnsiColor, Style};

use super::format::count;
use super::styled_line::StyledLine;
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
pub fn health(health: &Health, all: bool, commands: &Commands, columns: Option<usize>) -> String {
    let mut out = Vec::new();
    let mut shown: Vec<&Finding> = health.findings.iter().filter(|finding| is_shown(finding)).collect();
    shown.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    for (at, finding) in shown.iter().enumerate() {
        let (style, prefix) = match finding.verdict {
            Verdict::Bad => (AnsiColor::Red.on_default().bold(), "error:"),
            Verdict::Warn => (AnsiColor::Yellow.on_default().bold(), "warning:"),
            Verdict::Ok | Verdict::Unknown => (Style::new().bold(), "note:"),
        };
        // Problems are never wrapped or shortened: their lines can be pasted into a shell.
        line(&mut out, style, prefix, &format!("{}: {}", finding.code.name(), finding.what));
        let next = shown.get(at + 1).and_then(|next| next.fix.as_ref());
        if let Some(mend) = finding.fix.as_ref().filter(|mend| next != Some(*mend)) {
            line(&mut out, Style::new().bold(), "  hint:", mend);
        }
    }
    if let Some(fix) = &commands.fix {
        line(&mut out, Style::new().bold(), "hint:", &format!("run `{fix}` to apply the safe fixes"));
    }
    if !out.is_empty() {
        out.push(b'\n');
    }
    if all {
        others(&mut out, health, columns);
    }
    let mut text = String::from_utf8_lossy(&out).into_owned();
    let rest = rest(health);
    match all {
        true => text.push_str(&format!("{rest}\n")),
        false => text.push_str(&format!("{rest} (to list them: {})\n", commands.verbose)),
    }
    text.push_str(&match health.count(Verdict::Bad) + health.count(Verdict::Warn) {
        0 => "no problems found\n".to_owned(),
        problems => format!("{} found\n", count(problems, "problem")),
    });
    text
}

/// Whether a finding needs attention.
fn is_shown(finding: &Finding) -> bool {
    finding.verdict >= Verdict::Warn || (finding.verdict == Verdict::Unknown && finding.fix.is_some())
}

fn line(out: &mut Vec<u8>, style: Style, prefix: &str, text: &str) {
    let mut cells = StyledLine::default();
    cells.add(style, prefix, prefix.len());
    cells.add(Style::new(), text, 0);
    let _ = cells.write(out, None);
}

/// The table of the checks that passed or were skipped.
fn others(out: &mut Vec<u8>, health: &Health, columns: Option<usize>) {
    let width = Code::ALL.iter().map(|code| code.name().len()).max().unwrap_or(0);
    for finding in health.findings.iter().filter(|finding| !is_shown(finding)) {
        let mut cells = StyledLine::default();
        match finding.verdict {
            Verdict::Ok => cells.add(AnsiColor::Green.on_default(), "ok", 7),
            _ => cells.add(Style::new().dimmed(), "skipped", 7),
        }
        cells.add(Style::new(), finding.code.name(), width);
        cells.add(Style::new(), &finding.what, 0);
        let _ = cells.write(out, columns);
    }
    out.push(b'\n');
}

/// `24 checks passed, 3 skipped`.
fn rest(health: &Health) -> String {
    let skipped =
        health.findings.iter().filter(|finding| finding.verdict == Verdict::Unknown && !is_shown(finding));
    let passed = format!("{} passed", count(health.count(Verdict::Ok), "check"));
    match skipped.count() {
        0 => passed,
        skipped => format!("{passed}, {skipped} skipped"),
    }
}
