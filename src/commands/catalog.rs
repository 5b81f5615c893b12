//! Opens the store for the commands that read it: the runs, times of a run, and warnings about damage.

use std::collections::BTreeSet;
use teamkeep_model::words::{FEW, count};

use crate::status::{Observed, Surroundings};
use crate::view;
use teamkeep_history::ReadErrors;
use teamkeep_history::timeline::{DetailLevel, OpenedRun, RunCatalog, RunData, homes};
use teamkeep_model::time::{self, Timestamp};
use teamkeep_redact::Redactor;
use teamkeep_store::access;
use teamkeep_store::archive::{Archive, RunRecord};
use teamkeep_store::log::Logs;
use teamkeep_system::command::quoted;
use teamkeep_system::error::Result;
use teamkeep_terminal::{Context, When, parse_time};

/// Lists the recorded runs. Fails when they cannot be listed: an empty list would look like an empty store.
pub fn catalog(context: &Context) -> Result<RunCatalog> {
    let catalog = lenient_catalog(context);
    catalog.listing_error().map_or(Ok(catalog), |error| Err(context.with_fix(error)))
}

/// Lists the recorded runs as far as possible, for commands that report damage themselves.
pub fn lenient_catalog(context: &Context) -> RunCatalog {
    let mut catalog = RunCatalog::open(archive(context), Logs::of(&context.paths));
    catalog.missing_store = access::missing(&context.paths, &context.env);
    catalog
}

pub fn archive(context: &Context) -> Archive {
    Archive::open(context.paths.store.clone(), &context.config)
}

/// The run with this name. If an agent of the last run has the name, the error shows how to see what it did.
pub fn find<'a>(catalog: &'a RunCatalog, name: &str) -> Result<&'a RunRecord> {
    catalog.find(name).map_err(|error| {
        let last = catalog.find("latest").ok().filter(|_| !catalog.runs.is_empty());
        let opened = last.and_then(|last| catalog.open_timelines(&[last]).ok());
        match opened.is_some_and(|opened| opened.runs.iter().any(|run| run.is_member(name))) {
            true => {
                let name = quoted(name);
                error
                    .hint(format!("{name} is an agent of the last run: teamkeep log --involving {name}"))
                    .hint(format!("the files that it changed: teamkeep files --agent {name}"))
            }
            false => error,
        }
    })
}

/// Opens the run with this name, passes it on, and then warns about damage.
pub fn with_run<T>(
    context: &Context,
    name: &str,
    level: DetailLevel,
    each: impl FnOnce(&RunCatalog, &RunData) -> Result<T>,
) -> Result<T> {
    let catalog = catalog(context)?;
    let run = find(&catalog, name)?;
    let progress = context.ui.progress("reading the run", 0);
    let opened = catalog.load(&[run], level)?;
    drop(progress);
    let data = opened.runs.first().ok_or_else(|| catalog.empty())?;
    let result = each(&catalog, data)?;
    data.clock_note().iter().for_each(|note| context.ui.warn(note));
    warn_damaged(context, &catalog, &opened);
    // The process ends soon. To free a million texts would take a tenth of its time.
    std::mem::forget(opened);
    Ok(result)
}

/// A run as of now, as status, watch and brief show.
pub fn observe(context: &Context, catalog: &RunCatalog, data: &RunData) -> Observed {
    Observed::of(data, surroundings(context, catalog), context.clock.now())
}

pub fn surroundings<'a>(context: &'a Context, catalog: &'a RunCatalog) -> Surroundings<'a> {
    Surroundings { archive: &catalog.archive, paths: &context.paths, config: &context.config }
}

/// Removes secrets and personal data from the texts of these runs, including the home directories of their users and of
/// the present one.
pub fn redactor<'a>(context: &Context, runs: impl IntoIterator<Item = &'a RunRecord>) -> Result<Redactor> {
    let own = context.env.home.iter().map(|home| home.display().to_string());
    let homes: BTreeSet<String> = runs.into_iter().flat_map(homes).chain(own).collect();
    Redactor::new(&context.config.privacy, &Vec::from_iter(homes))
}

pub fn time_of_run(context: &Context, text: Option<&str>, run: &RunRecord) -> Result<Option<Timestamp>> {
    text.map(|text| parse_time(text, Some(run.into()), context.clock.now())).transpose()
}

/// The time of `--at`; warns when it is outside of the run.
pub fn moment_of_run(context: &Context, text: Option<&str>, run: &RunRecord) -> Result<Option<Timestamp>> {
    let at = time_of_run(context, text, run)?;
    if let (Some(text), Some(at)) = (text, at) {
        warn_outside_run(context, run, &[(text, at)]);
    }
    Ok(at)
}

/// Prints a notice if a time is outside of the run. Each time is given as text and as parsed; an age may have been
/// intended as the time since the start.
pub fn warn_outside_run(context: &Context, run: &RunRecord, times: &[(&str, Timestamp)]) {
    let print = |line: String| context.ui.eprint_line(&line);
    let early = times.iter().find(|(_, at)| *at < run.started_at);
    let late = run.ended_at.and_then(|ended| times.iter().find(|(_, at)| *at > ended).zip(Some(ended)));
    if early.is_some() {
        print(format!("the run starts at {}", time::moment(run.started_at)));
    }
    if let Some((_, ended)) = late {
        let since = view::elapsed(run.started_at, ended);
        print(format!("the run had ended at {} (+{since})", time::moment(ended)));
    }
    let is_age = |text: &str| When::parse(text).is_some() && When::parse(&format!("+{text}")).is_some();
    if let Some((age, _)) = early.or(late.map(|(time, _)| time)).filter(|(text, _)| is_age(text)) {
        print(format!("{age} means {age} ago; for the time since the start of the run, use +{age}"));
    }
}

pub fn warn_unreadable(context: &Context, errors: &ReadErrors) {
    errors.first.iter().for_each(|error| context.ui.warn(error));
    let more = errors.count.saturating_sub(errors.first.len() as u64);
    if more > 0 {
        context.ui.warn(format!("{} cannot be read", count(more, "more log line")));
    }
}

/// Why the `run.json` of each damaged run cannot be read. If the run has a log, it is shown as the log describes it.
pub fn damaged(catalog: &RunCatalog) -> impl Iterator<Item = String> {
    catalog.damaged.iter().map(|run| {
        let why = catalog.archive.why_damaged(run);
        format!("{why}; to check it: teamkeep verify {run}")
    })
}

pub fn warn_damaged(context: &Context, catalog: &RunCatalog, opened: &OpenedRun) {
    let mut problems: Vec<String> = opened.problems.first.iter().map(ToString::to_string).collect();
    let unlisted = opened.problems.count.saturating_sub(problems.len() as u64) as usize;
    problems.extend(damaged(catalog));
    problems.extend(opened.runs.iter().flat_map(|run| run.problems()));
    let more = unlisted + problems.len().saturating_sub(FEW);
    problems.iter().take(FEW).for_each(|problem| context.ui.warn(problem));
    if more > 0 {
        let more = count(more, "more problem");
        context.ui.warn(format!("{more} with the recorded data; see: teamkeep verify"));
    }
}
