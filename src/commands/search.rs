//! `teamkeep search QUERY`: finds texts in everything that is recorded.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use super::catalog::{self, catalog, redactor};
use super::number;
use super::output::{self, JsonOption};
use crate::bundle::{ImportTarget, import};
use crate::view::{self, Document};
use teamkeep_history::search::{Hit, Pattern, Request, SearchSummary, Step, Syntax, TextKind, find};
use teamkeep_history::timeline::RunCatalog;
use teamkeep_model::event::LEAD;
use teamkeep_redact::Redactor;
use teamkeep_store::archive::Archive;
use teamkeep_store::log::Logs;
use teamkeep_system::command::quoted;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::paths::Paths;
use teamkeep_terminal::{Context, Paged, Progress, RunTimes, parse_time, quiet};

/// Hits are shown after this time at the latest.
const SHOW_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  # Texts with both words, the newest first
  teamkeep search parser fails

  # A phrase in messages of one agent in the last week
  teamkeep search '\"off by one\"' --kind message --agent bob --since 1w

  # A regular expression in the results of tools
  teamkeep search --regex 'E0\\d{3}' --kind result

  # A file that `teamkeep export` wrote
  teamkeep search panicked --file run.teamkeep.tar.gz

A query in lower case matches any case, one with an upper-case letter only this case. A word also
matches inside of words. All words and phrases must occur in one text.")]
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
    /// Only texts since this time: `2h` ago, `17:53`, `2026-02-03 04:05`, and with --run `+1m30s` after its start
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// Only texts until this time
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
    /// Match only whole words
    #[arg(short, long)]
    word: bool,
    /// QUERY is a regular expression
    #[arg(long)]
    regex: bool,
    /// Maximum number of results
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20, value_parser = number::limit)]
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
    /// Stop after this time
    #[arg(long, value_name = "SECONDS", hide = true)]
    time_limit: Option<u64>,
    #[command(flatten)]
    output: JsonOption,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    if !args.file.is_empty() {
        let scratch = TempDir::with_prefix("teamkeep-search-")
            .map_err(|error| Error::caused("cannot create a temporary directory", error))?;
        let catalog = imported(context, scratch.path(), &args.file)?;
        search(context, args, &catalog)?;
        return Ok(());
    }
    context.paths.secure()?;
    let catalog = catalog(context)?;
    search(context, args, &catalog)?;
    catalog::damaged(&catalog).for_each(|problem| context.ui.warn(problem));
    Ok(())
}

fn search(context: &Context, args: &Args, catalog: &RunCatalog) -> Result<()> {
    let request = args.request(context, catalog)?;
    let redactor = if args.redact { Some(redactor(context, &catalog.runs)?) } else { None };
    let mut printer = Printer {
        context,
        args,
        catalog,
        pattern: &request.pattern,
        query: args.quoted_query(),
        redactor,
        progress: None,
        out: context.paged(),
        start: Instant::now(),
        hits: Vec::new(),
        last: None,
        count: 0,
    };
    let found = find(catalog, &request, |step| printer.step(step))?;
    printer.end(&found)
}

/// Prints the hits while others are still searched for.
struct Printer<'a> {
    context: &'a Context,
    args: &'a Args,
    catalog: &'a RunCatalog,
    pattern: &'a Pattern,
    query: String,
    redactor: Option<Redactor>,
    progress: Option<Progress>,
    out: Paged,
    start: Instant,
    /// For JSON, which is one object.
    hits: Vec<Hit>,
    /// The last one that was printed.
    last: Option<Hit>,
    count: usize,
}

impl Printer<'_> {
    /// Returns whether more hits can be printed.
    fn step(&mut self, step: Step) -> Result<bool> {
        match step {
            Step::Begin(size) => self.progress = Some(self.context.ui.progress("searching", size)),
            Step::Read(size) => {
                self.progress.iter_mut().for_each(|progress| progress.add(size));
                if self.count > 0 && self.start.elapsed() > SHOW_INTERVAL {
                    return self.written(|out| out.show());
                }
            }
            Step::Hit(hit) => return self.hit(*hit),
        }
        Ok(true)
    }

    fn hit(&mut self, mut hit: Hit) -> Result<bool> {
        let record = self.catalog.runs.iter().find(|record| Some(&record.run) == hit.run.as_ref());
        let redacted = |text: &str| self.redactor.as_ref().map(|redactor| redactor.text(text).into_owned());
        hit.complete(self.pattern, &self.query, record, redacted);
        self.count += 1;
        if self.args.output.json {
            if !self.args.full {
                hit.text.clear();
            }
            self.hits.push(hit);
            return Ok(true);
        }
        // The line of the progress is on the same terminal.
        if self.context.ui.is_terminal() {
            self.progress = None;
        }
        let is_of_same = |last: &Hit| match hit.run {
            None => last.run.is_none() && last.session == hit.session,
            _ => last.run == hit.run,
        };
        let is_new = !self.last.as_ref().is_some_and(is_of_same);
        let mut document = Document::default();
        if self.count > 1 && (is_new || self.args.full) {
            document.blank();
        }
        if is_new {
            document.append(view::run_of_hits(&hit));
        }
        document.append(if self.args.full { view::hit_in_full(&hit) } else { view::hit(&hit) });
        self.last = Some(hit);
        let text = document.to_terminal(self.context.ui.columns());
        self.written(|out| out.write_all(text.as_bytes()))
    }

    /// Writes to stdout. Returns false if its reader has stopped reading.
    fn written(&mut self, write: impl FnOnce(&mut Paged) -> std::io::Result<()>) -> Result<bool> {
        match write(&mut self.out) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Error::caused("cannot write to stdout", error)),
        }
    }

    fn end(mut self, found: &SearchSummary) -> Result<()> {
        self.progress = None;
        let (context, args) = (self.context, self.args);
        let stopped = args.time_limit.filter(|_| found.is_late);
        let stopped =
            stopped.map(|seconds| format!("stopped after {seconds} s; to search less, set since and until"));
        if args.output.json {
            let object = json!({"v": 1, "hits": self.hits, "more": found.has_more, "stopped": stopped});
            output::print_json(context, &object)?;
        } else {
            let last = self.last.as_ref().filter(|_| !args.full);
            let command = last.map(|last| view::command("to open the last hit:", last).to_terminal(None));
            let written = self.out.write_all(command.unwrap_or_default().as_bytes());
            quiet(written.and_then(|()| self.out.flush()))
                .map_err(|error| Error::caused("cannot write to stdout", error))?;
            match (self.count, found.has_more) {
                (0, _) => self.print_no_match(found),
                (_, true) => {
                    let limit = args.limit;
                    context.ui.eprint_line(&format!("showing the first {limit} matches; for more: -n COUNT"));
                }
                _ => {}
            }
            stopped.iter().for_each(|stopped| context.ui.warn(stopped));
            if let Some(file) = args.file.first().filter(|_| self.count > 0) {
                let file = file.display();
                context
                    .ui
                    .hint(format!("to run these commands, import the file first: teamkeep import {file}"));
            }
        }
        found.problems.iter().for_each(|problem| context.ui.warn(problem));
        Ok(())
    }

    /// Prints why nothing can match, if that is known.
    fn print_no_match(&self, found: &SearchSummary) {
        let (ui, args) = (&self.context.ui, self.args);
        if self.catalog.runs.is_empty() {
            let empty = self.catalog.empty();
            ui.eprint_line(&format!("no matches: {empty}"));
            empty.hints.iter().for_each(|hint| ui.hint(hint));
            return;
        }
        match &args.agent {
            Some(agent) if !found.other_agents.is_empty() => {
                ui.eprint_line(&format!("no matches: no text of agent {agent:?} matches"));
                let others = found.other_agents.iter().map(String::as_str).collect::<Vec<_>>();
                ui.hint(format!("agents with matching texts: {}", others.join(", ")));
            }
            _ => ui.eprint_line("no matches"),
        }
    }
}

impl Args {
    /// The query with its options, as the end of a command line.
    fn quoted_query(&self) -> String {
        let begins_like_option = self.query.iter().any(|word| word.starts_with('-'));
        let options = [("--word", self.word), ("--regex", self.regex), ("--", begins_like_option)];
        let options = options.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.to_owned());
        options.chain(self.query.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ")
    }

    fn request<'a>(&self, context: &Context, catalog: &'a RunCatalog) -> Result<Request<'a>> {
        let query = self.query.join(" ");
        let run = self.run.as_deref().map(|name| catalog::find(catalog, name)).transpose()?;
        let times = run.map(RunTimes::from);
        let parse = |text: &Option<String>| {
            let parsed = text.as_ref().map(|text| parse_time(text, times, context.clock.now())).transpose();
            parsed.map_err(|error| match times {
                None => error.hint("for a time since the start of a run, add --run RUN"),
                Some(_) => error,
            })
        };
        Ok(Request {
            pattern: Pattern::parse(&query, Syntax { is_regex: self.regex, is_word: self.word })?,
            run,
            agents: match self.agent.as_deref() {
                // In a session without a team, the lead is recorded as `lead`.
                Some("lead") => vec![LEAD.to_owned(), "lead".to_owned()],
                agent => agent.map(str::to_owned).into_iter().collect(),
            },
            kinds: self.kind.iter().map(|kind| TextKind::parse(kind)).collect::<Result<_>>()?,
            since: parse(&self.since)?,
            until: parse(&self.until)?,
            limit: self.limit.into(),
            deadline: self.time_limit.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        })
    }
}

/// A scratch store with these exports.
fn imported(context: &Context, store: &Path, files: &[PathBuf]) -> Result<RunCatalog> {
    let paths = Paths { store: store.to_owned(), ..context.paths.clone() };
    let archive = Archive::open(paths.store.clone(), &context.config);
    let exclusive = archive.maintain(context.config.log.lock_patience)?;
    let (config, now) = (&context.config, context.clock.now());
    let target = ImportTarget { right: &exclusive, paths: &paths, config, now };
    for path in files {
        let failed = |error: Error| error.within(format!("cannot read {}", path.display()));
        let file = std::fs::File::open(path).map_err(|error| failed(error.into()))?;
        import(file, &target, None).map_err(failed)?;
    }
    Ok(RunCatalog::open(archive, Logs::of(&paths)))
}
