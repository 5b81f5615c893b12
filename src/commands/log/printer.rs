//! Prints recorded events, for people or as recorded.

use std::io::{self, Write};

use super::Args;
use crate::archive::RunRecord;
use crate::context::Context;
use crate::log::Line;
use crate::payload::Kind;
use crate::render::LogView;
use crate::timeline::{Library, merge, not_completed};
use crate::ui::Ui;

/// Prints events in the form that is asked for.
pub(super) struct Printer {
    pub(super) out: Box<dyn Write>,
    /// `None` for programs.
    view: Option<LogView>,
    /// The number of printed events.
    pub(super) printed: u64,
}

impl Printer {
    pub(super) fn new(context: &Context, args: &Args) -> Printer {
        let ui = &context.ui;
        let out: Box<dyn Write> = match (args.json, args.follow || !ui.is_terminal()) {
            (true, _) => Box::new(ui.json()),
            (false, true) => Box::new(ui.out()),
            (false, false) => Box::new(context.paged()),
        };
        let mut printer = Printer { out, view: (!args.json).then(LogView::default), printed: 0 };
        printer.measure(ui);
        printer
    }

    /// Marks completions in a run that Claude Code reported too early. JSON stays as recorded.
    pub(super) fn mark(&mut self, run: Option<(&Library, &RunRecord)>, lines: &[Line]) -> io::Result<()> {
        let is_report = |line: &Line| Kind::named(&line.recorded.event) == Kind::TaskCompleted;
        let (Some(view), Some((library, run))) = (&mut self.view, run) else { return Ok(()) };
        if lines.iter().any(is_report) {
            let opened = library.open_stories(&[run]).map_err(io::Error::other)?;
            let marked = opened.runs.iter().flat_map(|material| not_completed(material, &merge(material)));
            view.not_completed = marked.collect();
        }
        Ok(())
    }

    /// Asks for the width of the terminal, which may change.
    pub(super) fn measure(&mut self, ui: &Ui) {
        if let Some(view) = &mut self.view {
            view.columns = ui.columns();
        }
    }

    pub(super) fn print(&mut self, line: &Line) -> io::Result<()> {
        self.printed += 1;
        match &mut self.view {
            Some(view) => view.write(&mut self.out, &line.recorded),
            None => writeln!(self.out, "{}", line.text),
        }
    }
}
