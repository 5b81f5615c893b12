//! What the doctor found, told to people: one line a check, then what to do.

use anstyle::{AnsiColor, Style};

use super::cells::Cells;
use super::words::count;
use crate::doctor::{Code, Health, Verdict};

/// Writes the findings in a table, then what mends them; `fix` is the command that does what is safe of it.
pub fn health(health: &Health, fix: Option<&str>, columns: Option<usize>) -> String {
    let mut out = Vec::new();
    let width = Code::ALL.iter().map(|code| code.name().len()).max().unwrap_or(0);
    for finding in &health.findings {
        let mut cells = Cells::default();
        // The word is the sign: it is read without colours, and in every alphabet.
        cells.add(style(finding.verdict), finding.verdict.word(), 7);
        cells.add(Style::new(), finding.code.name(), width);
        cells.add(Style::new(), &finding.what, 0);
        // What is wrong is told whole.
        let columns = columns.filter(|_| finding.verdict <= Verdict::Unknown);
        let _ = cells.write(&mut out, columns);
    }
    let mends = mends(health);
    if !mends.is_empty() {
        out.push(b'\n');
    }
    for (mend, codes) in mends {
        let mut cells = Cells::default();
        cells.add(Style::new().bold(), "hint:", 5);
        cells.add(Style::new(), mend, 0);
        // A whole line can be pasted into a shell.
        cells.add(Style::new().dimmed(), &format!(" # {}", codes.join(", ")), 0);
        let _ = cells.write(&mut out, None);
    }
    if let Some(fix) = fix {
        let mut cells = Cells::default();
        cells.add(Style::new().bold(), "hint:", 5);
        cells.add(Style::new(), &format!("{fix}, which does what is safe of this"), 0);
        let _ = cells.write(&mut out, None);
    }
    let mut text = String::from_utf8_lossy(&out).into_owned();
    text.push_str(&format!("\n{}\n", end(health)));
    text
}

/// What mends something, each once, and the checks that it is for.
fn mends(health: &Health) -> Vec<(&str, Vec<&'static str>)> {
    let mut mends: Vec<(&str, Vec<&'static str>)> = Vec::new();
    for finding in &health.findings {
        let (Some(mend), code) = (&finding.mend, finding.code.name()) else { continue };
        match mends.iter_mut().find(|(known, _)| known == mend) {
            Some((_, codes)) if codes.contains(&code) => {}
            Some((_, codes)) => codes.push(code),
            None => mends.push((mend, vec![code])),
        }
    }
    mends
}

/// `22 ok, 2 warnings: all well`.
fn end(health: &Health) -> String {
    let number = |verdict| health.count(verdict);
    let mut parts = vec![format!("{} ok", number(Verdict::Ok))];
    for (verdict, thing) in [(Verdict::Warn, "warning"), (Verdict::Unknown, "unknown"), (Verdict::Bad, "bad")]
    {
        match (number(verdict), thing) {
            (0, _) => {}
            (several, "warning") => parts.push(count(several, thing)),
            (several, _) => parts.push(format!("{several} {thing}")),
        }
    }
    let state = if health.is_well() { "all well" } else { "there is something to mend" };
    format!("{}: {}", parts.join(", "), state)
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Ok => AnsiColor::Green.on_default(),
        Verdict::Unknown => Style::new().dimmed(),
        Verdict::Warn => AnsiColor::Yellow.on_default(),
        Verdict::Bad => AnsiColor::Red.on_default().bold(),
    }
}
