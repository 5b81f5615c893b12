//! Text output of the event log: one line per event, and a line for each new day and each change of the clocks.

use std::collections::HashSet;
use std::io::{self, Write};

use anstyle::Style;
use chrono::{FixedOffset, NaiveDate};

use super::detail::detail;
use super::format::decision;
use super::line::{BLUE, CYAN, DIM, GREEN, Line, YELLOW, bold, dim, plain, styled};
use crate::clock;
use crate::event::{ActorKind, Recorded};
use crate::policy::RecordedVerdict;

/// Below this width, an event has a second line for its content.
const NARROW: usize = 60;

/// Formats events as lines.
#[derive(Debug, Default)]
pub struct LogView {
    /// The width of the terminal; `None` for unlimited.
    pub columns: Option<usize>,
    /// The ids of TaskCompleted events whose task was not completed.
    pub not_completed: HashSet<String>,
    /// The day and the zone of the last heading.
    day: Option<(NaiveDate, FixedOffset)>,
}

impl LogView {
    /// Writes one event: time, event, actor, content and team.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write(&mut self, out: &mut impl Write, recorded: &Recorded) -> io::Result<()> {
        let at = clock::parse(&recorded.at);
        let local = at.map(clock::local);
        if let Some((at, local)) = at.zip(local)
            && let day = (local.date_naive(), *local.offset())
            && self.day.replace(day) != Some(day)
        {
            Line::from([bold(format!("{} {}", day.0, clock::offset(at)))]).write(out, self.columns)?;
        }
        let narrow = self.columns.is_some_and(|columns| columns < NARROW);
        let (format, width) = if narrow { ("%H:%M:%S", 8) } else { ("%H:%M:%S%.3f", 12) };
        let time = local.map_or_else(|| recorded.at.clone(), |at| at.format(format).to_string());
        let mut line = Line::from([
            dim(time).width(width),
            styled(CYAN, &recorded.event).width(16),
            styled(actor_style(recorded.actor.kind), recorded.actor.shown()).width(10),
        ]);
        let mut detail = detail(recorded);
        if self.not_completed.contains(&recorded.id) {
            detail.push_str(" (not completed)");
        }
        if narrow {
            line.write(out, self.columns)?;
            if detail.is_empty() {
                return Ok(());
            }
            line = Line::from([plain("").width(1)]);
        }
        line.push(styled(detail_style(recorded), detail));
        // If there is not enough room, the team is cut before the content.
        line.push(dim(recorded.team.as_deref().unwrap_or_default()));
        line.write(out, self.columns)
    }
}

/// A verdict has the color of its decision.
fn detail_style(recorded: &Recorded) -> Style {
    let verdict = recorded.verdict.as_deref().and_then(RecordedVerdict::read);
    verdict.map_or_else(Style::new, |verdict| decision(verdict.verdict.decision))
}

fn actor_style(kind: ActorKind) -> Style {
    match kind {
        ActorKind::Lead => YELLOW,
        ActorKind::Teammate => GREEN,
        ActorKind::Subagent | ActorKind::Helper => BLUE,
        ActorKind::Unknown => DIM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: &str, event: &str, actor: &str, payload: &str) -> Recorded {
        let actor = format!(r#"{{"name":{actor},"id":null,"kind":"teammate"}}"#);
        let line = format!(
            r#"{{"v":1,"at":"{at}","event":"{event}","team":"t1","actor":{actor},"payload":{payload}}}"#
        );
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn a_helper_is_shown_as_one() {
        let helper =
            r#"{"at":"noon","event":"SubagentStop","actor":{"name":null,"id":"a1","kind":"helper"}}"#;
        let mut out = Vec::new();
        LogView::default().write(&mut out, &serde_json::from_str(helper).unwrap()).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("helper"));
    }

    #[test]
    fn a_day_begins_with_its_date_and_nothing_drives_the_terminal() {
        let mut view = LogView::default();
        let mut out = Vec::new();
        for recorded in [
            line("2026-02-03T23:59:59.999Z", "TeammateIdle", r#""bob""#, "{}"),
            line("2026-02-04T00:00:00.000Z", "UserPromptSubmit", "null", r#"{"prompt":"\u001b[31mgo"}"#),
            line("noon", "New\u{202e}", r#""a""#, "{}"),
        ] {
            view.write(&mut out, &recorded).unwrap();
        }
        let plain = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        insta::assert_snapshot!(plain, @r#"
        2026-02-03 UTC
        23:59:59.999 TeammateIdle     bob        t1
        2026-02-04 UTC
        00:00:00.000 UserPromptSubmit unknown    "\u{1b}[31mgo" t1
        noon         New\u{202e}      a          t1
        "#);
    }
}
