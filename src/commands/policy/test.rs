//! `teamkeep policy test RUN|TRACE…`: a backtest.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::policy_source::{self, Wanted};
use super::test_cases::{self, TestCase};
use crate::backtest::{self, Counts, Expectation, Found, Record, Tested};
use crate::commands::read_context;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::view::{self, BacktestRow};

/// Arguments of `teamkeep policy test`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Team name, run ID (or a unique prefix), `latest`, or a file with a recorded run
    #[arg(value_name = "RUN|TRACE", default_value = "latest")]
    cases: Vec<String>,
    #[command(flatten)]
    wanted: Wanted,
    /// Show only the differences from this policy
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Fail unless the verdicts match: {"event": …, "decision": …, "gate": …}, one per line or as an array
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// With --expect: fail if any other event is blocked or warned about
    #[arg(long, requires = "expect")]
    strict: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep policy test latest
  teamkeep policy test --policy stricter.toml --against teamkeep.toml parser-team";

/// Runs it: exit code 1 when an expectation is not met.
///
/// # Errors
/// When a run or file does not exist or cannot be read.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let policy = args.wanted.read(context, context.env.project_dir().as_deref())?;
    let against = args.against.as_deref().map(|file| args.wanted.against(context, file)).transpose()?;
    let expected = args.expect.as_deref().map(expectations).transpose()?;
    let cases = test_cases::open(context, &args.cases)?;
    let mut report = Report { json: args.json, columns: context.ui.columns(), ..Report::default() };
    let mut results: Vec<(&TestCase, &Record, Tested)> = Vec::new();
    for case in &cases {
        for record in &case.records {
            let test = |source: &policy_source::Source| {
                backtest::test(&case.archive, record, &source.policy, &source.rules)
            };
            let tested = test(&policy);
            report.counts += tested.counts();
            match &against {
                Some(other) => {
                    let other = test(other);
                    report.other += other.counts();
                    report.differences(case, record, &tested, &other)?;
                }
                None => report.objections(case, record, &tested)?,
            }
            results.push((case, record, tested));
        }
    }
    if !args.json {
        report.summary(&policy.name, against.as_ref().map(|against| against.name.as_str()));
    }
    match args.json {
        true => read_context::print_lines(context, &report.out)?,
        false => read_context::print(context, &report.out)?,
    }
    for case in &cases {
        read_context::unreadable(context, &case.problems);
    }
    let Some(expected) = expected else { return Ok(ExitCode::SUCCESS) };
    let unmet = held_against(&expected, &results, args.strict);
    for unmet in &unmet {
        context.ui.report(&Error::new(format!("{}: {}", unmet.event, unmet.why)));
    }
    let (unmet, all) = (unmet.len(), expected.len());
    if !args.json && unmet == 0 {
        read_context::print(context, &format!("{all} of {all} expectations met\n"))?;
    }
    Ok(ExitCode::from(u8::from(unmet > 0)))
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

fn held_against(
    expected: &[Expectation],
    results: &[(&TestCase, &Record, Tested)],
    strict: bool,
) -> Vec<backtest::Unmet> {
    let mut found: HashMap<String, &Found> = HashMap::new();
    let mut exists = std::collections::HashSet::new();
    for (case, record, tested) in results {
        exists.extend(record.events.iter().map(|event| case.name(event)));
        for one in &tested.found {
            let event = record.events.get(one.place).map(|event| case.name(event).to_owned());
            found.extend(event.map(|event| (event, one)));
        }
    }
    backtest::check(expected, &found, |event| exists.contains(event), strict)
}

/// The output.
#[derive(Default)]
struct Report {
    out: String,
    json: bool,
    columns: Option<usize>,
    counts: Counts,
    other: Counts,
}

impl Report {
    fn objections(&mut self, case: &TestCase, record: &Record, tested: &Tested) -> Result<()> {
        let shown = tested.found.iter().filter_map(|found| Some((record.events.get(found.place)?, found)));
        let shown = shown.flat_map(|(event, found)| BacktestRow::of(case.name(event), event, found));
        self.print(record, shown.collect())
    }

    fn differences(&mut self, case: &TestCase, record: &Record, this: &Tested, other: &Tested) -> Result<()> {
        let differences = backtest::compare(this, other);
        let shown = differences.iter().filter_map(|one| Some((record.events.get(one.place)?, one)));
        let shown = shown.map(|(event, one)| BacktestRow::between(case.name(event), event, one));
        self.print(record, shown.collect())
    }

    fn print(&mut self, record: &Record, objections: Vec<BacktestRow<'_>>) -> Result<()> {
        if self.json {
            for objection in &objections {
                let line = serde_json::to_string(objection).map_err(Error::from_json)?;
                let _ = writeln!(self.out, "{line}");
            }
        } else if !objections.is_empty() {
            self.out.push_str(&view::backtest_rows(record, &objections).to_terminal(self.columns));
        }
        Ok(())
    }

    fn summary(&mut self, policy: &str, against: Option<&str>) {
        let mut document = view::counts(&self.counts, against.map(|_| policy));
        if against.is_some() {
            document.append(view::counts(&self.other, against));
        }
        self.out.push_str(&document.to_terminal(None));
    }
}
