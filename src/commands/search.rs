//! `teamkeep search QUERY`: finds texts in everything that is recorded.

use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;

use super::catalog::{self, catalog, parse_time, redactor};
use super::output::{self, JsonOption};
use crate::bundle::unpack;
use crate::context::Context;
use crate::search::{Found, Freshness, IndexDir, Kind, Order, Pattern, Request, find, open_current};
use crate::timeline::RunCatalog;
use crate::view::{self, HitDetail};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::model::event::LEAD;
use teamkeep_core::store::archive::Archive;

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  # Texts with both words, the best match first
  teamkeep search parser fails

  # A phrase in messages of one agent in the last week
  teamkeep search '\"off by one\"' --kind message --agent bob --since 1w

  # A regular expression in the results of tools
  teamkeep search --regex 'E0\\d{3}' --kind result

  # A file that `teamkeep export` wrote
  teamkeep search panicked --file run.teamkeep.tar.gz

Words match whole words in any case. All words and phrases must occur in one text. With --regex,
words before or after other characters, and filters, make it faster.")]
pub struct Args {
    /// Words, and "phrases" in quotes
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Only texts of this run: team name, run ID (or a unique prefix), or `latest`
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only texts of this agent; `lead` is the lead
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only texts of this kind: message, prompt, reply, thinking, task, tool, result or verdict; can be repeated
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Only texts since this time: `2026-02-03 04:05` (local), RFC 3339, `2026-02-03`, `today`, an age (`10m`, `2h`), or with
    /// --run the time since its start (`+1m30s`)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// Only texts until this time (same formats as --since)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
    /// QUERY is a regular expression. It is case-sensitive, and results are sorted by time
    #[arg(long)]
    regex: bool,
    /// Sort by relevance or time (the newest first)
    #[arg(long, value_enum, default_value_t, value_name = "ORDER")]
    sort: Order,
    /// Maximum number of results
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    limit: u16,
    /// Print the texts in full
    #[arg(long)]
    full: bool,
    /// Search this file, which `teamkeep export` wrote, instead of the store; can be repeated
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Replace secrets and personal data in the texts: keys, tokens, email addresses, home directories, and what
    /// [privacy] in the configuration adds
    #[arg(long)]
    redact: bool,
    #[command(flatten)]
    output: JsonOption,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    if !args.file.is_empty() {
        let scratch = TempDir::with_prefix("teamkeep-search-")
            .map_err(|error| Error::caused("cannot create a temporary directory", error))?;
        let catalog = imported(context, scratch.path(), &args.file)?;
        let (mut found, _) = search(context, args, &catalog, &scratch.path().join("search"))?;
        print(context, args, (&catalog, &mut found), Freshness::Current)?;
        if !args.output.json && !found.hits.is_empty() {
            let file = args.file[0].display();
            context.ui.hint(format!("to run these commands, import the file first: teamkeep import {file}"));
        }
        return Ok(());
    }
    context.paths.secure()?;
    let catalog = catalog(context)?;
    let (mut found, freshness) = search(context, args, &catalog, &context.paths.search())?;
    print(context, args, (&catalog, &mut found), freshness)?;
    catalog::damaged(&catalog).for_each(|problem| context.ui.warn(problem));
    Ok(())
}

fn search(context: &Context, args: &Args, catalog: &RunCatalog, index: &Path) -> Result<(Found, Freshness)> {
    let request = args.request(context, catalog)?;
    let (mut found, freshness) = find_current(context, &request, catalog, index)?;
    if args.redact {
        let redactor = redactor(context, &catalog.runs)?;
        let hits = found.hits.iter_mut();
        hits.for_each(|hit| hit.change_texts(&request.pattern, |text| redactor.text(text).into_owned()));
    }
    Ok((found, freshness))
}

fn find_current(
    context: &Context,
    request: &Request<'_>,
    catalog: &RunCatalog,
    index: &Path,
) -> Result<(Found, Freshness)> {
    let dir = IndexDir::at(index.to_owned());
    let current = || {
        let mut progress = context.ui.progress("indexing", 0);
        open_current(&dir, catalog, &mut |bytes| progress.add(bytes))
    };
    let (open, freshness) = current()?;
    // Damage that is only seen when the index is read: it is built again.
    match find(&open, catalog, request) {
        Ok(found) => Ok((found, freshness)),
        Err(error) => {
            if !dir.remove(context.config.log.lock_patience)? {
                return Err(error);
            }
            let (open, freshness) = current()?;
            Ok((find(&open, catalog, request)?, freshness))
        }
    }
}

impl Args {
    fn request<'a>(&self, context: &Context, catalog: &'a RunCatalog) -> Result<Request<'a>> {
        let query = self.query.join(" ");
        let run = self.run.as_deref().map(|name| catalog.find(name)).transpose()?;
        let start = run.map(|run| run.started_at);
        let parse = |text: &Option<String>| {
            let parsed = text.as_ref().map(|text| parse_time(text, start, context.clock.now())).transpose();
            parsed.map_err(|error| match start {
                None => error.hint("for a time since the start of a run, add --run RUN"),
                Some(_) => error,
            })
        };
        Ok(Request {
            pattern: if self.regex { Pattern::regex(&query)? } else { Pattern::words(&query)? },
            run,
            agents: match self.agent.as_deref() {
                // In a session without a team, the lead is recorded as `lead`.
                Some("lead") => vec![LEAD.to_owned(), "lead".to_owned()],
                agent => agent.map(str::to_owned).into_iter().collect(),
            },
            kinds: self.kind.iter().map(|kind| Kind::parse(kind)).collect::<Result<_>>()?,
            since: parse(&self.since)?,
            until: parse(&self.until)?,
            order: self.sort,
            limit: self.limit.into(),
        })
    }
}

/// A scratch store with these exports.
fn imported(context: &Context, store: &Path, files: &[PathBuf]) -> Result<RunCatalog> {
    let archive = Archive::open(store.join("archive"), &context.config);
    let exclusive = archive.maintain(context.config.log.lock_patience)?;
    let open = || RunCatalog::open(archive.clone(), store.join("log"));
    for path in files {
        let failed = |error: Error| error.within(format!("cannot read {}", path.display()));
        let file = std::fs::File::open(path).map_err(|error| failed(error.into()))?;
        let unpacked = unpack(file, exclusive.staging()?, None, &mut |_| ()).map_err(failed)?;
        unpacked.install(&open(), &exclusive, context.clock.now()).map_err(failed)?;
    }
    Ok(open())
}

fn print(
    context: &Context,
    args: &Args,
    (catalog, found): (&RunCatalog, &mut Found),
    freshness: Freshness,
) -> Result<()> {
    if args.output.json {
        if !args.full {
            found.hits.iter_mut().for_each(|hit| hit.text.clear());
        }
        let is_current = freshness == Freshness::Current;
        let object = json!({"v": 1, "hits": found.hits, "more": found.more, "is_current": is_current});
        return output::print_json(context, &object);
    }
    let detail = if args.full { HitDetail::Text } else { HitDetail::Excerpt };
    output::page_document(context, &view::hits(&found.hits, detail))?;
    match (found.hits.is_empty(), found.more) {
        (true, _) => print_no_match(context, args, (catalog, found)),
        (_, true) => context
            .ui
            .eprint_line(&format!("showing the first {} matches; for more: --limit COUNT", args.limit)),
        _ => {}
    }
    if freshness == Freshness::Older {
        context.ui.warn("another search is updating the index; the newest texts may be missing");
    }
    Ok(())
}

/// Prints why nothing can match, if that is known.
fn print_no_match(context: &Context, args: &Args, (catalog, found): (&RunCatalog, &Found)) {
    if catalog.runs.is_empty() {
        let empty = catalog.empty();
        context.ui.eprint_line(&format!("no matches: {empty}"));
        empty.hints.iter().for_each(|hint| context.ui.hint(hint));
        return;
    }
    match (&args.agent, &found.other_agents) {
        (Some(agent), Some(others)) => {
            context.ui.eprint_line(&format!("no matches: no text of agent {agent:?} is recorded"));
            context.ui.hint(format!("agents with texts: {}", others.join(", ")));
        }
        _ => context.ui.eprint_line("no matches"),
    }
}
