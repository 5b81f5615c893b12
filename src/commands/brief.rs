//! `teamkeep brief [RUN]`: the facts about a team for an agent that has lost its context.

use super::catalog::{moment_of_run, surroundings, time_of_run, with_run};
use super::number;
use super::output::{self, JsonOption};
use crate::brief::Brief;
use crate::status::Observed;
use crate::view;
use teamkeep_config::{ContextLoss, ContextPart};
use teamkeep_history::report::restore_command;
use teamkeep_history::timeline::DetailLevel;
use teamkeep_model::event::LEAD;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_store::archive::RunRecord;
use teamkeep_system::error::{Error, Result, unknown};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep brief parser-team --agent bob
  teamkeep brief latest --prompt | claude -p")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Write it for this agent: its tasks, its messages and its blocked calls. Default: team-lead
    #[arg(long = "agent", value_name = "NAME")]
    reader: Option<String>,
    /// Show the facts as of this time, as in show --at. Default: now, or the end of the run
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: Option<String>,
    /// Maximum size in bytes. Default: unlimited
    #[arg(long, value_name = "BYTES", value_parser = number::brief_size)]
    max_bytes: Option<u32>,
    /// Write a prompt for a new session that continues the work
    #[arg(long, conflicts_with = "json")]
    prompt: bool,
    /// The call of a hook, for an agent that has lost its context: the parts of `[context]`, and nothing without a team
    #[arg(long, value_name = "LOSS", hide = true, conflicts_with_all = ["json", "prompt"])]
    after: Option<String>,
    #[command(flatten)]
    output: JsonOption,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    with_run(context, &args.run, DetailLevel::Timeline, |catalog, data| {
        let at = moment(context, args, &data.run)?;
        let around = surroundings(context, catalog);
        let observed = Observed::without_task_files(data, around, context.clock.now());
        let known = || observed.report.overview.members.iter().map(|member| member.name.as_str());
        // The agent that a hook does not name can be any of them.
        let reader = args.reader.as_deref().or(args.after.is_none().then_some(LEAD));
        let is_known = reader.is_none_or(|reader| known().any(|name| name == reader));
        if args.after.is_some() && (!is_known || data.run.team.is_none() || known().count() < 2) {
            return Ok(());
        }
        if !is_known && data.run.team.is_none() {
            let hint = format!("see what happened in it: teamkeep log {}", data.run.run);
            return Err(Error::new(format!("run {} has no team", data.run.run)).hint(hint));
        }
        if !is_known {
            let names: Vec<&str> = known().collect();
            return Err(unknown("agent", reader.unwrap_or_default(), &names));
        }
        let mut brief = Brief::of(data, &observed, reader, at);
        if args.after.as_deref() == Some(ContextLoss::Resume.name()) {
            brief = brief.resumed(&data.run);
        }
        if args.output.json {
            return output::print_json(context, &brief);
        }
        let parts = if args.after.is_some() { &context.config.context.parts } else { &ContextPart::ALL[..] };
        let text = view::brief(&brief, parts, args.max_bytes.map_or(usize::MAX, |max| max as usize));
        let text = if args.prompt { prompt(&data.run, &brief, &observed, &text) } else { text };
        match context.ui.columns() {
            Some(_) => {
                let mut document = view::Document::default();
                text.lines().for_each(|line| document.line([view::plain(line)]));
                output::print_document(context, &document)
            }
            // For a model, each item stays on one line.
            None => output::print(context, &text),
        }
    })
}

/// The time of `--at`, which must be in the run: there are no facts before it, and after it they do not change.
fn moment(context: &Context, args: &Args, run: &RunRecord) -> Result<Option<Timestamp>> {
    let text = args.at.as_deref();
    if time_of_run(context, text, run)?.is_some_and(|at| at < run.started_at) {
        let what = format!("invalid time {:?}: the run starts at", text.unwrap_or_default());
        return Err(Error::usage(format!("{what} {}", time::moment(run.started_at))));
    }
    moment_of_run(context, text, run)
}

/// The text with which a new session continues the work of a team.
fn prompt(run: &RunRecord, brief: &Brief, observed: &Observed, text: &str) -> String {
    let start = match observed.is_running {
        true => {
            "Take over the work of an agent team. Its agents belong to another session: messages from this one do not reach them."
        }
        false => "Continue the work of an earlier agent team.",
    };
    let restore = match brief.open.is_empty() {
        true => "No task is unfinished.\n".to_owned(),
        false => {
            let command = restore_command(run, Some(brief.at).filter(|_| brief.is_past));
            format!(
                "If TaskList does not have these tasks, work from this list. The user can start another session that has \
                 them: {command}\n"
            )
        }
    };
    let worktrees = match brief.has_worktrees {
        true => format!(
            "Work that is only in git worktrees is recorded. To get it as branches: teamkeep restore {} --worktrees\n",
            brief.run
        ),
        false => String::new(),
    };
    format!("{start}\n\n{text}{restore}{worktrees}")
}
