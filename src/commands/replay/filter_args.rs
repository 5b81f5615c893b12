//! The options of `replay` that select a part of the timeline.

use crate::archive::RunRecord;
use crate::clock::{self, Time};
use crate::commands::time_arg::{parse_time, warn_outside_run};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::timeline::{Filter, Kind, RunData, Timeline};

/// The selected part.
#[derive(Debug, clap::Args)]
pub struct Part {
    /// Start time: time since the start of the run (`+1m30s`), `2026-02-03 04:05` (local), RFC 3339, `2026-02-03`,
    /// `today`, or an age (`10m`, `2h`)
    #[arg(long, alias = "from", value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// End time (same formats as --since)
    #[arg(long, alias = "to", value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
    /// Only events of this actor: a name, an agent ID, `lead`, `teammate` or `subagent`; can be repeated
    #[arg(long, value_name = "NAME")]
    actor: Vec<String>,
    /// Only events by this actor or that concern it: messages to it, its tasks, verdicts about it; can be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "actor")]
    involving: Vec<String>,
    /// Only events of this kind, such as `message` or `task-completed`; can be repeated
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<String>,
}

impl Part {
    /// The filter for a run.
    ///
    /// # Errors
    /// A time is invalid, or the part ends before it starts.
    pub fn filter(&self, context: &Context, run: &RunRecord) -> Result<Filter> {
        let now = context.clock.now();
        let read = |text: &Option<String>| -> Result<Option<Time>> {
            text.as_deref().map(|text| parse_time(text, run, now)).transpose()
        };
        let kinds = self.kind.iter().map(|kind| Kind::parse(kind)).collect::<Result<Vec<Kind>>>()?;
        let (from, to) = (read(&self.since)?, read(&self.until)?);
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            let (from, to) = (clock::moment(from), clock::moment(to));
            return Err(Error::usage(format!("--since {from} is later than --until {to}"))
                .hint("give the earlier time to --since"));
        }
        let given = |text: &Option<String>, at: Option<Time>| text.clone().zip(at.map(clock::stamp));
        if let Some((text, at)) = given(&self.since, from).filter(|(_, at)| *at >= run.started_at) {
            warn_outside_run(context, run, &[(&text, &at)]);
        }
        if let Some((text, at)) = given(&self.until, to).filter(|(_, at)| *at < run.started_at) {
            warn_outside_run(context, run, &[(&text, &at)]);
        }
        Ok(Filter::between(from, to).only(&self.actor, &kinds).involving(&self.involving))
    }
}

/// Checks that the actors of the filter are in the run.
///
/// # Errors
/// One of them is not.
pub fn known(filter: &Filter, material: &RunData, timeline: &Timeline) -> Result<()> {
    filter.unknown_actor(&timeline.entries, material).map_or(Ok(()), Err)
}
