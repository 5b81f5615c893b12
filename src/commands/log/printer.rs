//! Prints recorded events, for people or as recorded.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::Args;
use crate::archive::RunRecord;
use crate::context::Context;
use crate::log::Line;
use crate::payload::Kind;
use crate::timeline::{RunCatalog, merge, not_completed};
use crate::ui::Ui;
use crate::view::LogView;

/// Whether a task was completed is known from the timeline of a run. At most so many are built.
const MAX_MARKED: usize = 20;

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

    /// Marks completions among these lines that Claude Code reported too early, in the newest [`MAX_MARKED`] runs that have
    /// any. JSON stays as recorded.
    pub(super) fn mark<'a>(
        &mut self,
        library: Option<&RunCatalog>,
        lines: impl Iterator<Item = &'a Line>,
    ) -> io::Result<()> {
        let (Some(view), Some(library)) = (&mut self.view, library) else { return Ok(()) };
        let reports = lines.filter(|line| Kind::named(&line.recorded.event) == Kind::TaskCompleted);
        let ids: BTreeSet<String> = reports.filter_map(|line| line.recorded.run.clone()).collect();
        let runs = library.runs.iter().rev().filter(|run| ids.contains(&run.run));
        let runs: Vec<&RunRecord> = runs.take(MAX_MARKED).collect();
        if !runs.is_empty() {
            let opened = library.open_stories(&runs).map_err(io::Error::other)?;
            let marked = opened.runs.iter().flat_map(|material| not_completed(material, &merge(material)));
            view.not_completed = marked.collect();
        }
        Ok(())
    }

    /// Whether events are printed for people.
    pub(super) fn is_for_people(&self) -> bool {
        self.view.is_some()
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
