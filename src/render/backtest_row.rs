//! Text output of a backtest, one line per verdict.

use anstyle::Style;
use serde::Serialize;

use super::format::{count, decision, elapsed, first_line, name_style};
use super::styled_line::StyledLine;
use crate::backtest::{Counts, Difference, Found, Record};
use crate::event::Recorded;
use crate::policy::Verdict;

/// The gate that a backtest does not evaluate, because it runs no commands.
const CHECK: &str = "completion-check";

/// A policy's verdict for an event, beside the recorded one.
#[derive(Debug, Serialize)]
pub struct BacktestRow<'a> {
    /// The event: its id, or its position in a file.
    pub of: &'a str,
    /// The time.
    pub at: &'a str,
    /// The event's name.
    pub event: &'a str,
    /// The actor.
    pub actor: &'a str,
    /// The policy's verdict; null for none.
    pub verdict: Option<&'a Verdict>,
    /// The verdict of the other policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Option<&'a Verdict>>,
    /// The recorded verdict.
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
        let plain = BacktestRow::plain(of, event);
        let mut all: Vec<BacktestRow<'a>> = Vec::new();
        for verdict in &found.judgement.verdicts {
            let recorded = same(found, verdict).or_else(|| found.recorded.first());
            all.push(BacktestRow { verdict: Some(verdict), recorded, ..plain });
        }
        let unasked = found.recorded.first().filter(|_| all.is_empty());
        if let Some(recorded) = unasked {
            all.push(BacktestRow { recorded: Some(recorded), ..plain });
        }
        if found.not_judged {
            all.push(BacktestRow { not_judged: Some(CHECK), ..plain });
        }
        all
    }

    /// A difference between two policies in the decisive verdict.
    pub fn between(of: &'a str, event: &'a Recorded, difference: &Difference<'a>) -> BacktestRow<'a> {
        let decisive = |found: Option<&'a Found>| found.and_then(|found| found.judgement.decisive());
        let unknown = |found: Option<&Found>| found.is_some_and(|found| found.not_judged);
        let unknown = (unknown(difference.this), unknown(difference.other));
        let found = difference.this.or(difference.other);
        BacktestRow {
            verdict: decisive(difference.this),
            against: Some(decisive(difference.other)),
            recorded: found.and_then(|found| found.recorded.first()),
            not_judged: (unknown.0 || unknown.1).then_some(CHECK),
            unknown,
            ..BacktestRow::plain(of, event)
        }
    }

    fn plain(of: &'a str, event: &'a Recorded) -> BacktestRow<'a> {
        let (at, actor) = (event.at.as_str(), event.actor.shown());
        BacktestRow {
            of,
            at,
            event: &event.event,
            actor,
            verdict: None,
            against: None,
            recorded: None,
            not_judged: None,
            unknown: (false, false),
        }
    }
}

fn same<'a>(found: &'a Found, verdict: &Verdict) -> Option<&'a Verdict> {
    found.recorded.iter().find(|one| one.gate == verdict.gate && one.rule == verdict.rule)
}

/// Formats them, with the time since the run's first event. Repeated warnings are only counted.
pub fn objections(record: &Record, objections: &[BacktestRow<'_>], columns: Option<usize>) -> String {
    let mut out = Vec::new();
    let mut head = StyledLine::default();
    head.add(Style::new().bold(), record.name(), 0);
    head.add(Style::new().dimmed(), &record.run, 0);
    let _ = head.write(&mut out, columns);
    let start = record.events.first().map(|event| event.at.as_str()).unwrap_or_default();
    let is_shown =
        |one: &&BacktestRow<'_>| one.against.is_some() || one.verdict.is_none_or(|verdict| !verdict.repeated);
    let shown: Vec<&BacktestRow<'_>> = objections.iter().filter(is_shown).collect();
    let widest = shown.iter().map(|one| one.actor.chars().count()).max().unwrap_or(0).clamp(4, 20);
    for one in &shown {
        let mut cells = StyledLine::default();
        cells.add(Style::new().dimmed(), &format!("{:>8}", elapsed(start, one.at).unwrap_or_default()), 8);
        cells.add(Style::new(), one.event, 13);
        cells.add(name_style(one.actor), one.actor, widest);
        one.say(&mut cells);
        cells.add(Style::new().dimmed(), one.of, 0);
        let _ = cells.write(&mut out, columns);
    }
    let repeated = objections.len() - shown.len();
    if repeated > 0 {
        let mut cells = StyledLine::default();
        let told = format!("{:>8} {} repeated, suppressed", "", count(repeated, "warning"));
        cells.add(Style::new().dimmed(), &told, 0);
        let _ = cells.write(&mut out, columns);
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl BacktestRow<'_> {
    fn say(&self, cells: &mut StyledLine) {
        if let Some(gate) = self.not_judged.filter(|_| self.against.is_none()) {
            cells.add(Style::new().dimmed(), &format!("{gate} not judged: its commands are not run"), 0);
            return;
        }
        match self.against {
            Some(other) => {
                let words = |verdict: Option<&Verdict>, unknown: bool| match unknown {
                    true => format!("{}, {CHECK} not judged", brief(verdict)),
                    false => brief(verdict),
                };
                cells.add(style(self.verdict), &words(self.verdict, self.unknown.0), 0);
                cells.add(Style::new().dimmed(), "against", 0);
                cells.add(style(other), &words(other, self.unknown.1), 0);
            }
            None => cells.add(style(self.verdict), &brief(self.verdict), 0),
        }
        let told = self.verdict.or(self.against.flatten());
        cells.add(Style::new(), &told.map(|verdict| first_line(&verdict.reason)).unwrap_or_default(), 0);
        if self.recorded.is_some() {
            cells.add(Style::new().dimmed(), &format!("(was: {})", brief(self.recorded)), 0);
        }
    }
}

/// `premature-shutdown block`.
fn brief(verdict: Option<&Verdict>) -> String {
    verdict.map_or_else(|| "nothing".to_owned(), |one| format!("{} {}", one.source(), one.word()))
}

fn style(verdict: Option<&Verdict>) -> Style {
    verdict.map_or_else(|| Style::new().dimmed(), |verdict| decision(verdict.decision))
}

/// The counts on one line; `name` is the run.
pub fn counts(counts: &Counts, name: Option<&str>) -> String {
    let mut parts = vec![format!("{} blocked, {} warned", counts.blocked, counts.warned)];
    if counts.escalated > 0 {
        parts.push(format!("{} allowed after blocks", counts.escalated));
    }
    if counts.not_judged > 0 {
        parts.push(format!("{} not judged", counts.not_judged));
    }
    let name = name.map(|name| format!("{}: ", crate::ui::escape(name))).unwrap_or_default();
    format!("{name}{}: {}\n", count(counts.events, "event"), parts.join(", "))
}
