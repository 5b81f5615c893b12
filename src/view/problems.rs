//! Problems of configuration files, each with its line and a caret, as compilers print them.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::config::{Excerpt, Excerpts, Problem};
use crate::ui::escape;

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
    let title = level.primary_title(escape(&problem.message)).id(problem.code.name());
    let mut group = Group::with_title(title);
    if let Some(Excerpt { number, line, marked, .. }) = excerpt {
        let (before, rest) = line.split_at_checked(marked.start).unwrap_or((line, ""));
        let (inside, after) = rest.split_at_checked(marked.len()).unwrap_or((rest, ""));
        let (before, inside, after) = (shown(before), shown(inside), shown(after));
        let range = before.len()..before.len() + inside.len();
        let snippet = Snippet::source(format!("{before}{inside}{after}")).line_start(number);
        let snippet = snippet.path(escape(&path)).annotation(AnnotationKind::Primary.span(range));
        group = group.element(snippet);
    } else {
        let origin = Origin::path(escape(&path));
        group = group.element(match problem.at {
            Some((line, column)) => origin.line(line).char_column(column),
            None => origin,
        });
    }
    if let Some(hint) = &problem.hint {
        group = group.element(Level::HELP.with_name("hint").message(escape(hint)));
    }
    format!("{}\n\n", renderer.render(&[group]))
}

/// A part of a line, safe for a terminal. Tabs are kept: the renderer shows them as spaces.
fn shown(text: &str) -> String {
    text.split('\t').map(escape).collect::<Vec<_>>().join("\t")
}
