//! Text output of a backtest, one line per verdict.

use serde::Serialize;

use super::document::Document;
use super::line::{DIM, Span, bold, dim, plain, styled};
use super::values::{count, decision, elapsed, name_style};
use crate::backtest::{Counts, Difference, Found, Record};
use teamkeep_model::event::Recorded;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::Verdict;

/// The gate that a backtest does not evaluate, because it runs no commands.
const CHECK: &str = "completion-check";

/// A policy's verdict for an event, beside the recorded one.
#[derive(Debug, Default, Serialize)]
pub struct BacktestRow<'a> {
    /// The event: its id, or its position in a file.
    pub of: &'a str,
    pub at: Timestamp,
    pub event: &'a str,
    pub actor: &'a str,
    /// The policy's verdict; null for none.
    pub verdict: Option<&'a Verdict>,
    /// The verdict of the other policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Option<&'a Verdict>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<&'a Verdict>,
    /// The gate that could not be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_judged: Option<&'static str>,
    /// Which of the two policies could not evaluate it.
    #[serde(skip)]
    unknown: (bool, bool),
}

impl<'a> BacktestRow<'a> {
    /// All verdicts for an event.
    pub fn of(of: &'a str, event: &'a Recorded, found: &'a Found) -> Vec<BacktestRow<'a>> {
        let empty = BacktestRow::empty(of, event);
        let first = found.recorded.first();
        let mut all = Vec::new();
        for verdict in &found.evaluation.verdicts {
            let same = |one: &&Verdict| one.gate == verdict.gate && one.rule == verdict.rule;
            let recorded = found.recorded.iter().find(same).or(first);
            all.push(BacktestRow { verdict: Some(verdict), recorded, ..empty });
        }
        if all.is_empty() && first.is_some() {
            all.push(BacktestRow { recorded: first, ..empty });
        }
        if found.not_judged {
            all.push(BacktestRow { not_judged: Some(CHECK), ..empty });
        }
        all
    }

    /// A difference between two policies in the decisive verdict.
    pub fn between(of: &'a str, event: &'a Recorded, difference: &Difference<'a>) -> BacktestRow<'a> {
        let decisive = |found: Option<&'a Found>| found.and_then(|found| found.evaluation.decisive());
        let unknown = |found: Option<&Found>| found.is_some_and(|found| found.not_judged);
        let unknown = (unknown(difference.this), unknown(difference.other));
        let found = difference.this.or(difference.other);
        BacktestRow {
            verdict: decisive(difference.this),
            against: Some(decisive(difference.other)),
            recorded: found.and_then(|found| found.recorded.first()),
            not_judged: (unknown.0 || unknown.1).then_some(CHECK),
            unknown,
            ..BacktestRow::empty(of, event)
        }
    }

    fn empty(of: &'a str, event: &'a Recorded) -> BacktestRow<'a> {
        let (at, actor) = (event.at, event.actor.shown());
        BacktestRow { of, at, event: &event.event, actor, ..BacktestRow::default() }
    }

    /// Whether the policy decides as it was recorded.
    fn is_as_recorded(&self) -> bool {
        let both = self.verdict.zip(self.recorded).filter(|_| self.against.is_none());
        both.is_some_and(|(now, then)| {
            now.is_same(then) && (now.decision, now.escalated) == (then.decision, then.escalated)
        })
    }

    /// The verdict of the policy, that of the other one, the reason, the recorded verdict, and the event.
    fn spans(&self) -> Vec<Span> {
        let event = dim(self.of);
        if let Some(gate) = self.not_judged.filter(|_| self.against.is_none()) {
            return vec![dim(format!("{gate} not judged: its commands are not run")), event];
        }
        let verdict = |verdict: Option<&Verdict>, is_unknown| {
            let more = if is_unknown { format!(", {CHECK} not judged") } else { String::new() };
            let style = verdict.map_or(DIM, |verdict| decision(verdict.decision));
            styled(style, brief(verdict) + &more)
        };
        let mut spans = vec![verdict(self.verdict, self.against.is_some() && self.unknown.0)];
        spans.extend(
            self.against.map(|other| [dim("against"), verdict(other, self.unknown.1)]).into_iter().flatten(),
        );
        let reason = self.verdict.or(self.against.flatten()).map(|one| one.reason.trim_end_matches('.'));
        spans.push(plain(reason.unwrap_or_default()));
        spans.extend(self.recorded.map(|verdict| dim(format!("(was: {})", brief(Some(verdict))))));
        spans.push(event);
        spans
    }
}

/// Formats them, with the time since the run's first event. Verdicts as recorded and repeated warnings are only counted.
pub fn backtest_rows(record: &Record, rows: &[BacktestRow<'_>]) -> Document {
    let mut document = Document::default();
    document.line([bold(record.name()), dim(&record.run)]);
    let start = record.events.first().map(|event| event.at).unwrap_or_default();
    let is_repeated =
        |row: &&BacktestRow<'_>| row.against.is_none() && row.verdict.is_some_and(|verdict| verdict.repeated);
    let (repeated, rows): (Vec<_>, Vec<_>) = rows.iter().partition(is_repeated);
    let (same, shown): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.is_as_recorded());
    let width = shown.iter().map(|row| row.actor.chars().count()).max().unwrap_or(0).clamp(4, 20);
    for row in &shown {
        let head = [
            dim(elapsed(start, row.at)).right(8),
            plain(row.event).width(13),
            styled(name_style(row.actor), row.actor).width(width),
        ];
        document.line(head.into_iter().chain(row.spans()).collect::<Vec<_>>());
    }
    if !same.is_empty() {
        document.line([dim(format!("{:>8} {} same as recorded", "", count(same.len(), "verdict")))]);
    }
    if !repeated.is_empty() {
        document.line([dim(format!("{:>8} {} repeated, suppressed", "", count(repeated.len(), "warning")))]);
    }
    document
}

/// `premature-shutdown block`.
fn brief(verdict: Option<&Verdict>) -> String {
    verdict.map_or_else(|| "no verdict".to_owned(), |one| format!("{} {}", one.source(), one.word()))
}

/// The counts on one line; `name` is the run.
pub fn counts(counts: &Counts, name: Option<&str>) -> Document {
    let mut parts = vec![format!("{} blocked, {} warned", counts.blocked, counts.warned)];
    if counts.escalated > 0 {
        parts.push(format!("{} allowed after blocks", counts.escalated));
    }
    if counts.not_judged > 0 {
        parts.push(format!("{} not judged", counts.not_judged));
    }
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    let mut document = Document::default();
    document.code([plain(format!("{name}{}: {}", count(counts.events, "event"), parts.join(", ")))]);
    document
}
