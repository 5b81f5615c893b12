//! `teamkeep policy test RUN|TRACE…`: a backtest of runs in the store, or of files, which are replayed into a temporary
//! store first.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{PolicyOptions, PolicySource};
use crate::backtest::{self, Counts, Expectation, Found, Record, Unmet, Verdicts};
use crate::commands::catalog::{self, catalog};
use crate::commands::output;
use crate::demo::{self, DemoOutcome};
use crate::view::{self, BacktestRow};
use teamkeep_config::{Config, Policy};
use teamkeep_history::{Range, ReadErrors, Reader};
use teamkeep_model::event::Recorded;
use teamkeep_store::archive::{Archive, RunRecord};
use teamkeep_store::log::Logs;
use teamkeep_system::command::quoted;
use teamkeep_system::error::{Cause, Error, Result};
use teamkeep_terminal::Context;

/// How a file begins that is compressed with gzip.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep policy test latest
  teamkeep policy test --policy stricter.toml --against teamkeep.toml parser-team")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), `latest`, or a file with a recorded run
    #[arg(value_name = "RUN|TRACE", default_value = "latest")]
    cases: Vec<String>,
    #[command(flatten)]
    policy: PolicyOptions,
    /// Show only the differences from this policy
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Fail unless the verdicts match: {"event": …, "decision": …, "gate": …}, one per line or as an array. `event` is
    /// an ID or a unique prefix of one
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// With --expect: fail if any other event is blocked or warned about
    #[arg(long, requires = "expect")]
    strict: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Exit code 1 when an expectation is not met.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let policy = args.policy.read(context, context.env.project_dir().as_deref())?;
    let against = args.against.as_deref().map(|file| args.policy.read_file(context, file)).transpose()?;
    let expected = args.expect.as_deref().map(expectations).transpose()?;
    let mut cases = open(context, &args.cases)?;
    let policies: Vec<&Policy> =
        [Some(&policy), against.as_ref()].into_iter().flatten().map(|source| &source.policy).collect();
    for TestCase { archive, records, .. } in &mut cases {
        let prices = &context.config.report.price;
        records.iter_mut().for_each(|record| record.read_spending(archive, &policies, prices));
    }
    let (mut counts, mut other_counts) = (Counts::default(), Counts::default());
    let mut out = String::new();
    let mut verdicts = Verdicts::new();
    let mut results: Vec<(&TestCase, Vec<Found<'_>>)> = Vec::new();
    for (case, record) in cases.iter().flat_map(|case| case.records.iter().map(move |record| (case, record)))
    {
        let test =
            |source: &PolicySource| backtest::test(&case.archive, record, &source.policy, &source.rules);
        let found = test(&policy);
        counts.add(record.events.len(), &found);
        let other = against.as_ref().map(test);
        other.iter().for_each(|other| other_counts.add(record.events.len(), other));
        let rows = rows(case, &found, other.as_deref());
        if args.json {
            for row in &rows {
                out += &serde_json::to_string(row).map_err(Error::from_json)?;
                out.push('\n');
            }
        } else if !rows.is_empty() {
            out += &view::backtest_rows(record, &rows).to_terminal(context.ui.columns());
        }
        verdicts.extend(record.events.iter().map(|event| (case.name(event), [].as_slice())));
        results.push((case, found));
    }
    for (case, found) in &results {
        verdicts.extend(found.iter().map(|one| (case.name(one.event), one.evaluation.verdicts.as_slice())));
    }
    if args.json {
        output::print_json_text(context, &out)?;
    } else {
        let mut summary = view::counts(&counts, against.as_ref().map(|_| policy.name.as_str()));
        if let Some(other) = &against {
            summary.append(view::counts(&other_counts, Some(&other.name)));
        }
        output::print(context, &(out + &summary.to_terminal(None)))?;
    }
    cases.iter().for_each(|case| catalog::warn_unreadable(context, &case.problems));
    let Some(expected) = expected else { return Ok(ExitCode::SUCCESS) };
    let mut unmet: Vec<Unmet> = backtest::check(&expected, &verdicts);
    if args.strict {
        unmet.extend(backtest::unexpected(&expected, &verdicts));
    }
    for unmet in &unmet {
        context.ui.report(&Error::new(format!("{}: {}", unmet.event, unmet.why)));
    }
    if !unmet.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    if !args.json {
        let all = expected.len();
        output::print(context, &format!("{all} of {all} expectations met\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The verdicts, or the differences from another policy.
fn rows<'a>(
    case: &'a TestCase,
    found: &'a [Found<'a>],
    other: Option<&'a [Found<'a>]>,
) -> Vec<BacktestRow<'a>> {
    let Some(other) = other else {
        let rows = found.iter().map(|found| BacktestRow::of(case.name(found.event), found.event, found));
        return rows.flatten().collect();
    };
    let differences = backtest::compare(found, other);
    differences.iter().map(|one| BacktestRow::between(case.name(one.event), one.event, one)).collect()
}

fn expectations(file: &Path) -> Result<Vec<Expectation>> {
    let what = || format!("cannot read the expectations {}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| Error::caused(what(), error))?;
    let expected = backtest::expectations(&text).map_err(|why| Error::caused(what(), why))?;
    if expected.is_empty() {
        let hint = "add at least one: {\"event\": \"<id>\", \"decision\": \"allow\"}";
        return Err(Error::caused(what(), "the file has no expectations").hint(hint));
    }
    Ok(expected)
}

/// The runs of one store.
struct TestCase {
    archive: Archive,
    records: Vec<Record>,
    problems: ReadErrors,
    /// For a file: the name of each event, by id.
    names: HashMap<String, String>,
    /// Keeps the temporary store into which a file was replayed.
    _replayed: Option<DemoOutcome>,
}

impl TestCase {
    /// The name of an event: its id, or `<file name>:<line>` for a file, because ids in a file are new each time.
    fn name<'a>(&'a self, event: &'a Recorded) -> &'a str {
        self.names.get(&event.id).unwrap_or(&event.id)
    }
}

fn open(context: &Context, names: &[String]) -> Result<Vec<TestCase>> {
    let (files, runs): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| Path::new(name).is_file());
    let mut cases = Vec::new();
    if !runs.is_empty() {
        cases.push(recorded(context, &runs)?);
    }
    for file in files {
        cases.push(replayed(Path::new(file))?);
    }
    Ok(cases)
}

fn recorded(context: &Context, names: &[&String]) -> Result<TestCase> {
    if let Some(path) = names.iter().find(|name| name.ends_with(".jsonl")) {
        return Err(Error::not_found(format!("no such file: {path}")));
    }
    let catalog = catalog(context)?;
    let runs: Vec<&RunRecord> =
        names.iter().map(|name| catalog::find(&catalog, name)).collect::<Result<_>>()?;
    let (mut records, problems) = backtest::records(&catalog.logs, &catalog.archive, Some(&runs))?;
    // In the order of the arguments.
    records.sort_by_key(|record| runs.iter().position(|run| run.run == record.run));
    Ok(TestCase { archive: catalog.archive, records, problems, names: HashMap::new(), _replayed: None })
}

fn replayed(file: &Path) -> Result<TestCase> {
    let failed = |what: &str, error: Cause| {
        Error::caused(format!("cannot {what} the recorded run {}", file.display()), error)
    };
    let bytes = std::fs::read(file).map_err(|error| failed("read", error.into()))?;
    if bytes.starts_with(&GZIP_MAGIC) {
        let import = format!("import it first: teamkeep import {}", quoted(&file.to_string_lossy()));
        return Err(
            failed("read", "it is compressed, like the files of `teamkeep export`".into()).hint(import)
        );
    }
    let text = String::from_utf8(bytes).map_err(|error| failed("read", error.into()))?;
    let replayed = demo::replay(&text).map_err(|error| failed("replay", error.into()))?;
    let archive = Archive::open(replayed.paths.store.clone(), &Config::default());
    let logs = Logs::of(&replayed.paths);
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let events = Reader::of(&logs.all()?, Range::default()).filter(|line| line.recorded.verdict.is_none());
    let names =
        events.zip(&replayed.lines).map(|(event, line)| (event.recorded.id, format!("{stem}:{line}")));
    let names = names.collect();
    let (mut records, problems) = backtest::records(&logs, &archive, None)?;
    // The verdicts of the replay itself did not happen in the run.
    records.iter_mut().for_each(|record| record.verdicts.clear());
    Ok(TestCase { archive, records, problems, names, _replayed: Some(replayed) })
}
