//! Text output of `teamkeep search`.

use super::document::Document;
use super::line::{DIM, Line, Span, YELLOW, bold, dim, plain, styled};
use super::values::{actor, minute, one_line};
use teamkeep_history::search::{Hit, TextKind};

/// The run of the hits below it.
pub fn run_of_hits(hit: &Hit) -> Document {
    let mut document = Document::default();
    let team = hit.team.as_deref().or(hit.session.as_deref()).unwrap_or("no run");
    document.line([bold(team), dim(hit.run.as_deref().unwrap_or_default())]);
    document
}

/// A hit: when, who and what, and an excerpt with the matches marked.
pub fn hit(hit: &Hit) -> Document {
    let mut document = Document::default();
    let mut line = Line::from(head(hit));
    line.attach(plain(":"));
    document.line(excerpt(hit, line).hanging(2));
    document
}

/// A hit with the whole text, and the command that shows the place.
pub fn hit_in_full(hit: &Hit) -> Document {
    let mut document = Document::default();
    document.line(head(hit));
    hit.text.lines().for_each(|line| document.line([plain(" "), plain(line)]));
    document.append(command("  $", hit));
    document
}

fn head(hit: &Hit) -> [Span; 3] {
    let at = if hit.at.is_valid() { minute(hit.at) } else { "unknown time".to_owned() };
    [dim(at), bold(actor(&hit.agent)), plain(what(hit))]
}

/// The command that shows the place of a hit, after these words.
pub fn command(words: &str, hit: &Hit) -> Document {
    let mut document = Document::default();
    if let Some(command) = &hit.command {
        document.code([styled(DIM, format!("{words} {command}"))]);
    }
    document
}

/// The kind and the title: `message to bob`.
fn what(hit: &Hit) -> String {
    let title = one_line(&hit.title);
    let kind = hit.kind.word();
    match hit.kind {
        _ if title.is_empty() => kind,
        TextKind::Message => format!("message to {title}"),
        TextKind::Prompt => format!("prompt for {title}"),
        TextKind::Result => format!("result of {title}"),
        _ => format!("{kind} {title}"),
    }
}

fn excerpt(hit: &Hit, mut line: Line) -> Line {
    for (place, (text, is_match)) in hit.snippet.pieces().into_iter().enumerate() {
        let span = if is_match { styled(YELLOW.bold(), text) } else { plain(text) };
        if place == 0 { line.push(span) } else { line.attach(span) }
    }
    line
}
