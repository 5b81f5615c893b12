//! The part of a story that a person asks for.

use crate::archive::RunRecord;
use crate::clock::{self, Time};
use crate::commands::moment::{beside, moment};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::timeline::{Filter, Kind, Material, Timeline};

/// Which part.
#[derive(Debug, clap::Args)]
pub struct Part {
    /// Only from this moment on: RFC 3339, `2026-02-03 04:05:06` (UTC), from the start of the run (`+1m30s`), or an age
    /// (`10m`, `2h`)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    from: Option<String>,
    /// Only until this moment, given in the same ways
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    to: Option<String>,
    /// Only what this actor did: a name, an agent id, or `lead`, `teammate`, `subagent`; may be repeated
    #[arg(long, value_name = "NAME")]
    actor: Vec<String>,
    /// Only things of this kind, such as `message` or `task-completed`; may be repeated
    #[arg(long, value_name = "KIND", value_parser = Kind::parse)]
    pub kind: Vec<Kind>,
}

impl Part {
    /// The filter for a run.
    ///
    /// # Errors
    /// When a time is none, or the part ends before it begins.
    pub fn filter(&self, context: &Context, run: &RunRecord) -> Result<Filter> {
        let now = context.clock.now();
        let read = |text: &Option<String>| -> Result<Option<Time>> {
            text.as_deref().map(|text| moment(text, run, now)).transpose()
        };
        let (from, to) = (read(&self.from)?, read(&self.to)?);
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            let (from, to) = (clock::stamp(from), clock::stamp(to));
            return Err(Error::usage(format!("--from {from} is later than --to {to}"))
                .hint("give the earlier moment to --from"));
        }
        let given = |text: &Option<String>, at: Option<Time>| text.clone().zip(at.map(clock::stamp));
        if let Some((text, at)) = given(&self.from, from).filter(|(_, at)| *at >= run.started_at) {
            beside(context, run, &[(&text, &at)]);
        }
        if let Some((text, at)) = given(&self.to, to).filter(|(_, at)| *at < run.started_at) {
            beside(context, run, &[(&text, &at)]);
        }
        Ok(Filter::between(from, to).only(&self.actor, &self.kind))
    }
}

/// An actor that nobody in the story is.
///
/// # Errors
/// When there is one.
pub fn known(filter: &Filter, material: &Material, timeline: &Timeline) -> Result<()> {
    let Some((name, near)) = filter.stranger(&timeline.entries, material) else { return Ok(()) };
    let error = Error::not_found(format!("nobody in this run is called {name:?}"));
    Err(match near.as_slice() {
        [near] => error.hint(format!("did you mean {near}?")),
        all => error.hint(format!("in it are {}; or lead, teammate, subagent", all.join(", "))),
    })
}
