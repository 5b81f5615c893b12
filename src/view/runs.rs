//! The recorded runs, one per line.

use anstyle::Style;
use teamkeep_model::words::dollars;

use super::document::{Column, Document, Table};
use super::line::{GREEN, RED, Span, YELLOW, bold, dim, plain, styled};
use super::values::{cut_to, short_id, thousands};
use teamkeep_history::report::{RunOutcome, RunSummary, Severity};
use teamkeep_model::time::{self, Timestamp};

/// Titles of the columns; `#` marks numbers.
const TITLES: [&str; 8] = ["", "RUN", "TITLE", "TASKS#", "INCIDENTS", "COST#", "DURATION#", "AGE#"];
const TITLE: usize = 2;
/// A title is not cut to less than this.
const MIN_TITLE_COLUMNS: usize = 12;

/// Lists runs in this order. `ids` are the IDs of all recorded runs: a shortened ID must be unique. `total` is the number
/// of runs, of which these can be a part.
pub fn runs(
    runs: &[RunSummary],
    ids: &[&str],
    total: usize,
    now: Timestamp,
    columns: Option<usize>,
) -> Document {
    let column =
        |title: &str| Column { title: bold(title.trim_end_matches('#')), is_number: title.ends_with('#') };
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    let row = |run: &RunSummary| row(run, short_id(&run.counts.run, &ids), now);
    let mut table = Table {
        columns: TITLES.into_iter().map(column).collect(),
        rows: runs.iter().map(row).collect(),
        indent: 0,
    };
    if let Some(columns) = columns {
        fit(&mut table, columns);
    }
    let mut document = Document::from(table);
    if runs.len() < total {
        document.line([dim(format!("{} of {} runs", thousands(runs.len()), thousands(total)))]);
    }
    document
}

/// Cuts the titles to what the other columns leave. In a narrow terminal, the last columns are left out.
fn fit(table: &mut Table, columns: usize) {
    let others = |table: &Table| {
        let widths = table.widths();
        widths.iter().map(|width| width + 1).sum::<usize>() - widths[TITLE] - 1
    };
    while table.columns.len() > TITLE + 1 && others(table) + MIN_TITLE_COLUMNS > columns {
        let last = table.columns.len() - 1;
        *table = table.only(|place| place != last);
    }
    let room = columns.saturating_sub(others(table)).max(MIN_TITLE_COLUMNS);
    for row in &mut table.rows {
        row[TITLE] = plain(cut_to(row[TITLE].text(), room));
    }
}

fn row(run: &RunSummary, id: &str, now: Timestamp) -> Vec<Span> {
    let counts = &run.counts;
    let last = counts.ended_at.or(counts.gone);
    let tasks = match counts.tasks {
        0 => String::new(),
        all => format!("{}/{}", thousands(run.completed), thousands(all)),
    };
    let missing = if counts.events_missing_until.is_some() { "events missing: " } else { "" };
    let (style, mark) = mark(run);
    vec![
        styled(style, mark),
        dim(id),
        plain(format!("{missing}{}", run.title)),
        plain(tasks),
        incidents(run),
        plain(run.cost.map_or_else(String::new, dollars)),
        plain(time::duration((last.unwrap_or(now) - counts.started_at).num_seconds() * 1_000)),
        dim(last.map_or_else(|| "now".to_owned(), |last| time::ago(last, now))),
    ]
}

/// The number of the worst incidents.
fn incidents(run: &RunSummary) -> Span {
    let worst = run.incidents.iter().find(|(severity, _)| **severity < Severity::Low);
    worst.map_or_else(
        || plain(""),
        |(severity, number)| {
            let style = if *severity == Severity::High { RED } else { YELLOW };
            styled(style, format!("{} {}", thousands(*number), severity.name()))
        },
    )
}

/// The outcome as a mark.
fn mark(run: &RunSummary) -> (Style, &'static str) {
    match run.outcome {
        RunOutcome::Running => (GREEN, "●"),
        RunOutcome::Crashed => (RED, "✗"),
        _ if run.tasks_lost > 0 => (RED, "✗"),
        RunOutcome::OpenWork => (YELLOW, "○"),
        RunOutcome::Completed => (GREEN, "✓"),
    }
}
