//! A recorded event that `teamkeep policy explain --event` explains.

use std::collections::BTreeMap;

use super::explain::{ExplainInput, team};
use super::policy_source::Source;
use crate::archive::{Archive, RunRecord};
use crate::backtest::{self, Record};
use crate::commands::read_context;
use crate::context::Context;
use crate::enforcement::Overrides;
use crate::error::{Error, Result};
use crate::event::Recorded;
use crate::log::{self, Range, Reader};
use crate::payload::Payload;
use crate::policy::{RecordedVerdict, Verdict};
use crate::retention;
use crate::ui::escape;

/// Maximum number of ids that an error lists.
const MAX_LISTED: usize = 5;

/// The recorded run of an event.
pub struct Found {
    archive: Archive,
    record: Record,
    place: usize,
}

/// Finds an event by its id, a unique prefix of it, or the id of its verdict.
///
/// # Errors
/// When no event or several events match, or the log cannot be read.
pub fn find(context: &Context, id: &str) -> Result<Found> {
    let library = read_context::library(context)?;
    let mut matches: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut take = |recorded: &Recorded| {
        let ruling = recorded.verdict.as_ref().and_then(|verdict| RecordedVerdict::read(verdict));
        let of = ruling.map_or_else(|| recorded.id.clone(), |ruling| ruling.of);
        if recorded.id.starts_with(id) || of.starts_with(id) {
            matches.insert(of, recorded.run.clone().or_else(|| recorded.session.clone()));
        }
    };
    let parts = retention::parts(&library.archive);
    Reader::with(&context.paths.log(), &parts, Range::default())?.for_each(|line| take(&line.recorded));
    for run in library.runs.iter().filter(|run| run.imported.is_some()) {
        if let Some(path) = library.archive.events_file(&run.run) {
            log::read_lines(&path, |line| {
                take(&line.recorded);
                Ok(())
            })?;
        }
    }
    if matches.contains_key(id) {
        matches.retain(|of, _| of == id);
    }
    let mut ids = matches.keys().take(MAX_LISTED + 1).map(String::as_str);
    let (of, key) = match (matches.iter().next(), matches.len()) {
        (Some(one), 1) if !id.is_empty() => one,
        (Some(_), many) if !id.is_empty() => {
            let listed: Vec<&str> = ids.by_ref().take(MAX_LISTED).collect();
            let more = if many > MAX_LISTED { ", …" } else { "" };
            let why = format!("{many} events match: {}{more}", listed.join(", "));
            return Err(Error::caused(format!("ambiguous event ID {id:?}"), why));
        }
        _ => {
            let error = Error::not_found(format!("no event matches {id:?}"));
            return Err(error.hint("to list events with their IDs: teamkeep log --json"));
        }
    };
    let run: Vec<&RunRecord> = library.runs.iter().filter(|run| Some(&run.run) == key.as_ref()).collect();
    let wanted = (!run.is_empty()).then_some(run.as_slice());
    let (records, problems) = backtest::records(&context.paths.log(), &library.archive, wanted)?;
    read_context::unreadable(context, &problems);
    let here = |record: Record| {
        let place = record.events.iter().position(|event| event.id == *of)?;
        Some((record, place))
    };
    let found = records.into_iter().find_map(here);
    let (record, place) =
        found.ok_or_else(|| Error::not_found(format!("the event {of} is no longer recorded")))?;
    Ok(Found { archive: library.archive, record, place })
}

impl Found {
    /// The event.
    ///
    /// # Errors
    /// Never: [`find`] checked that it exists.
    pub fn recorded(&self) -> Result<&Recorded> {
        self.record.events.get(self.place).ok_or_else(|| Error::not_found("the event is no longer recorded"))
    }

    /// The conditions at the time of the event. Pauses and allowances of that time are not known.
    pub fn scene(&self, recorded: &Recorded, payload: &Payload, source: &Source) -> ExplainInput {
        let (state, guard) =
            backtest::before(&self.archive, &self.record, &source.policy, &source.rules, self.place);
        ExplainInput {
            team: team(recorded.team.as_deref(), "recorded"),
            actor: recorded.actor.clone(),
            actor_by: "recorded",
            state,
            guard,
            as_of: Some(recorded.at.clone()),
            attempt: backtest::attempt(&backtest::judged(recorded, payload)),
            overrides: Overrides::default(),
        }
    }

    /// The recorded verdicts, one line each.
    pub fn verdicts(&self, recorded: &Recorded) -> String {
        let verdicts = self.record.verdicts.get(&recorded.id).map(Vec::as_slice).unwrap_or_default();
        let line = |verdict: &Verdict| {
            let text = format!("{} {}: {}", verdict.word(), verdict.source(), verdict.reason);
            format!("recorded   {}\n", escape(text.trim_end()))
        };
        match verdicts {
            [] => "recorded   no verdict\n".to_owned(),
            verdicts => verdicts.iter().map(line).collect(),
        }
    }
}
