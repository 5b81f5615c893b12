//! Text output of `teamkeep search`.

use super::document::Document;
use super::line::{DIM, Line, YELLOW, bold, dim, plain, styled};
use super::values::{actor, one_line};
use teamkeep_history::search::{Hit, TextKind};
use teamkeep_model::time;

/// How much of a text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitDetail {
    Excerpt,
    Text,
}

/// A hit: when, who and what, an excerpt with the matches marked, and the command that shows the place.
pub fn hit(hit: &Hit, detail: HitDetail) -> Document {
    let mut document = Document::default();
    let at = if hit.at.is_valid() { time::moment(hit.at) } else { "unknown time".to_owned() };
    let team = hit.team.as_deref().or(hit.run.as_deref()).unwrap_or("no run");
    document.line([dim(at), bold(actor(&hit.agent)), plain(what(hit)), dim(format!("({team})"))]);
    match detail {
        HitDetail::Text => hit.text.lines().for_each(|line| document.line([plain(" "), plain(line)])),
        HitDetail::Excerpt => document.line(excerpt(hit)),
    }
    if let Some(command) = &hit.command {
        document.code([styled(DIM, format!("  $ {command}"))]);
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

fn excerpt(hit: &Hit) -> Line {
    let mut line = Line::from([plain(" ")]);
    for (place, (text, is_match)) in hit.snippet.pieces().into_iter().enumerate() {
        let span = if is_match { styled(YELLOW.bold(), text) } else { plain(text) };
        if place == 0 { line.push(span) } else { line.attach(span) }
    }
    line
}
