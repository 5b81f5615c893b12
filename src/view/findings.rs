//! Text output of `doctor`, `verify` and the problems of configuration files.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use anstyle::Style;

use super::document::Document;
use super::line::{GREEN, Line, RED, YELLOW, bold, dim, plain, styled};
use super::values::{count, size};
use crate::doctor::{CheckVerdict, DoctorCheck, Finding, Health};
use crate::verify::{Findings, VerifyStats};
use teamkeep_config::{Excerpt, Excerpts, Problem};
use teamkeep_model::unicode::escape;

#[derive(Debug)]
pub struct Commands {
    /// Applies the safe fixes, if there are any.
    pub fix: Option<String>,
    /// Lists all checks; `None` if they are listed.
    pub verbose: Option<String>,
}

/// Formats the number of the problems, each problem with its fix, then the number of the other checks, or these.
pub fn health(health: &Health, commands: &Commands) -> Document {
    let (mut shown, others): (Vec<&Finding>, Vec<&Finding>) = health.findings.iter().partition(|finding| {
        finding.verdict >= CheckVerdict::Warn
            || (finding.verdict == CheckVerdict::Unknown && finding.fix.is_some())
    });
    shown.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    let mut document = Document::default();
    document.line([match (health.count(CheckVerdict::Bad), health.count(CheckVerdict::Warn)) {
        (0, 0) => styled(GREEN, "no problems found"),
        (0, warnings) => styled(YELLOW, format!("{} found", count(warnings, "warning"))),
        (errors, 0) => styled(RED, format!("{} found", count(errors, "error"))),
        (errors, warnings) => {
            styled(RED, format!("{} and {} found", count(errors, "error"), count(warnings, "warning")))
        }
    }]);
    for (at, finding) in shown.iter().enumerate() {
        let (style, prefix) = match finding.verdict {
            CheckVerdict::Bad => (RED.bold(), "error:"),
            CheckVerdict::Warn => (YELLOW.bold(), "warning:"),
            CheckVerdict::Ok | CheckVerdict::Unknown => (Style::new().bold(), "note:"),
        };
        let what = [styled(style, prefix), plain(format!("{}: {}", finding.code.name(), finding.what))];
        document.line(Line::from(what).hanging(2));
        let next = shown.get(at + 1).and_then(|next| next.fix.as_ref());
        if let Some(fix) = finding.fix.as_ref().filter(|fix| next != Some(*fix)) {
            document.line(Line::from([bold("  hint:"), plain(fix)]).hanging(8));
        }
    }
    if let Some(fix) = &commands.fix {
        document.line(
            Line::from([bold("hint:"), plain(format!("run `{fix}` to apply the safe fixes"))]).hanging(6),
        );
    }
    document.blank();
    let skipped = match others.iter().filter(|finding| finding.verdict == CheckVerdict::Unknown).count() {
        0 => String::new(),
        skipped => format!(", {skipped} skipped"),
    };
    let verbose = match &commands.verbose {
        Some(verbose) => format!(" (to list them: {verbose})"),
        None => {
            let width = DoctorCheck::ALL.iter().map(|code| code.name().len()).max().unwrap_or(0);
            for finding in &others {
                let result =
                    if finding.verdict == CheckVerdict::Ok { styled(GREEN, "ok") } else { dim("skipped") };
                let code = plain(finding.code.name()).width(width);
                document.line([result.width(7), code, plain(&finding.what)]);
            }
            document.blank();
            String::new()
        }
    };
    let passed = count(health.count(CheckVerdict::Ok), "check");
    document.line([plain(format!("{passed} passed{skipped}{verbose}"))]);
    document
}

pub fn findings(findings: &Findings) -> Document {
    let mut document = Document::default();
    let mut line = |text: String| document.code([plain(text)]);
    for finding in findings.first.iter().chain(&findings.notes) {
        let place = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
        let place = format!("{}{place}", finding.path.display());
        let place = if finding.what.contains(&place) { String::new() } else { format!("{place}: ") };
        line(format!("{}: {place}{}", finding.kind.name(), finding.what));
        if let Some(run) = finding.run.as_ref().filter(|_| finding.needed_by.is_empty()) {
            line(format!("  run: {run}"));
        }
        finding.needed_by.iter().for_each(|user| line(format!("  needed by: {user}")));
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
    document.line([plain(format!("checked {}: {state}", checked(&findings.checked)))]);
    document
}

fn checked(checked: &VerifyStats) -> String {
    format!(
        "{}, {} ({}), {}, {}",
        count(checked.runs, "run"),
        count(checked.contents, "content"),
        size(checked.bytes),
        count(checked.transcripts, "transcript"),
        count(checked.events, "log line"),
    )
}

/// A width that no line has: text in a pipe is not cut.
const UNLIMITED: usize = 1 << 24;

/// Formats the problems, each followed by an empty line. `columns` is the width of the terminal.
pub fn problems(problems: &[Problem], columns: Option<usize>) -> String {
    let renderer = Renderer::styled().term_width(columns.unwrap_or(UNLIMITED));
    let mut excerpts = Excerpts::default();
    problems.iter().map(|problem| one(problem, excerpts.of(problem), &renderer)).collect()
}

fn one(problem: &Problem, excerpt: Option<Excerpt<'_>>, renderer: &Renderer) -> String {
    let level = if problem.is_error() { Level::ERROR } else { Level::WARNING };
    let path = problem.path.display().to_string();
    let group = Group::with_title(level.primary_title(escape(&problem.message)).id(problem.code.name()));
    let mut group = match excerpt {
        Some(Excerpt { number, line, marked }) => {
            let (before, rest) = line.split_at_checked(marked.start).unwrap_or((line, ""));
            let (inside, after) = rest.split_at_checked(marked.len()).unwrap_or((rest, ""));
            let [before, inside, after] = [before, inside, after].map(shown);
            let range = before.len()..before.len() + inside.len();
            let snippet = Snippet::source(before + &inside + &after).line_start(number).path(escape(&path));
            group.element(snippet.annotation(AnnotationKind::Primary.span(range)))
        }
        None => {
            let origin = Origin::path(escape(&path));
            group.element(match problem.at {
                Some((line, column)) => origin.line(line).char_column(column),
                None => origin,
            })
        }
    };
    if let Some(hint) = &problem.hint {
        group = group.element(Level::HELP.with_name("hint").message(escape(hint)));
    }
    format!("{}\n\n", renderer.render(&[group]))
}

/// A part of a line, safe for a terminal. Tabs are kept: the renderer shows them as spaces.
fn shown(text: &str) -> String {
    text.split('\t').map(escape).collect::<Vec<_>>().join("\t")
}
