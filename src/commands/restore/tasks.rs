//! `teamkeep restore RUN --tasks TEAM|SESSION`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{Args, target};
use crate::archive::{Archive, CaptureScope};
use crate::clock;
use crate::commands::read_context;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::event::SafeName;
use crate::restore::{
    self, ClientLock, DirHandle, List, Options, Plan, Source, TaskList, UndoLog, UndoRecord,
};
use crate::settings::command::shell_invocation;
use crate::team::mailbox;
use crate::timeline::{OpenedRun, RunCatalog};
use crate::view;

/// Prints the plan, and writes with `--yes`.
///
/// # Errors
/// The list is invalid or in use by Claude Code, or writing fails. The list is unchanged then.
pub fn run(
    context: &Context,
    args: &Args,
    library: &RunCatalog,
    opened: &OpenedRun,
    named: &str,
) -> Result<ExitCode> {
    let (archive, data, at) = target(context, library, opened, args)?;
    let client = client(context)?;
    let list = list_in_use(&library.archive, List::of(named, &client)?);
    let own = data.history.ids.main().is_some_and(|main| list.is(main));
    let restore = RestoreContext {
        context,
        archive: &library.archive,
        source: Source::of(archive, data, at.as_deref()),
        options: Options { all: args.all, keep_owners: args.keep_owners, own },
        records: UndoLog::at(context.paths.restores()),
        run: data.run.run.clone(),
        team: data.run.team.clone(),
        at,
        client,
        session: list.session.clone().or_else(|| {
            // Before 2.1.178 a team's list is not found again by its session.
            let lead = data.run.lead_session.clone();
            lead.filter(|lead| list.name == *lead || list.name.strip_prefix("session-") == lead.get(..8))
        }),
        force: args.force,
        list,
    };
    let writes = args.yes && !args.dry_run;
    let lock = if writes { Some(restore.records.lock()?) } else { None };
    let (mut plan, _) = restore.plan(TaskList::open(&restore.client, &restore.list)?.as_ref())?;
    if writes && !plan.tasks.is_empty() {
        restore.check_not_in_use(&plan)?;
        plan = restore.write()?;
    }
    drop(lock);
    read_context::print_value(context, args.json, &plan, || view::restored_tasks(&plan))?;
    let code = restore.conclude(&plan, args);
    read_context::warn(context, library, opened);
    Ok(code)
}

/// The canonical path of Claude Code's directory, because a restore record may be read from any directory.
///
/// # Errors
/// `HOME` and `CLAUDE_CONFIG_DIR` are not set, or the directory does not exist.
fn client(context: &Context) -> Result<PathBuf> {
    let client = context.paths.client.clone().ok_or_else(|| {
        Error::new("cannot find Claude Code's directory: HOME is not set")
            .hint("set HOME or CLAUDE_CONFIG_DIR")
    })?;
    let absolute = || std::path::absolute(&client);
    client.canonicalize().or_else(|_| absolute()).map_err(|error| {
        Error::caused(format!("cannot find Claude Code's directory {}", client.display()), error)
    })
}

/// The list that a team or a session uses: the last one that `CLAUDE_CODE_TASK_LIST_ID` named for it, if there is one.
fn list_in_use(archive: &Archive, list: List) -> List {
    let index = SafeName::new(&list.name).and_then(|team| archive.index(&CaptureScope::Team(team)));
    match index.as_ref().and_then(|index| Some((index.list_of_lead()?, index.lead_session.clone()))) {
        Some((name, session)) => List { name: name.to_owned(), session },
        None => list,
    }
}

/// The input of a task restore.
struct RestoreContext<'a> {
    context: &'a Context,
    archive: &'a Archive,
    source: Source,
    options: Options,
    records: UndoLog,
    run: String,
    team: Option<String>,
    at: Option<String>,
    client: PathBuf,
    list: List,
    /// The session of the list, if known.
    session: Option<String>,
    /// Whether to write even if Claude Code uses the list.
    force: bool,
}

impl RestoreContext<'_> {
    /// Plans for the current list, and returns its content as well.
    fn plan(&self, dir: Option<&DirHandle>) -> Result<(Plan, TaskList)> {
        let list_now = TaskList::read(dir)?;
        let plan = restore::plan(&self.source, &list_now, &self.earlier(&list_now), self.options)?;
        let plan = Plan {
            run: self.run.clone(),
            team: self.team.clone(),
            at: self.at.clone(),
            list: self.list.name.clone(),
            directory: self.directory().to_string_lossy().into_owned(),
            held_by: restore::holder(&self.client, &self.list.name)
                .or_else(|| restore::user(self.archive, &self.list.name)),
            ..plan
        };
        Ok((plan, list_now))
    }

    /// Fails if Claude Code uses the list.
    fn check_not_in_use(&self, plan: &Plan) -> Result<()> {
        match &plan.held_by {
            Some(holder) if !self.force => {
                let what = format!("cannot restore into task list {}", self.list.name);
                Err(Error::caused(what, holder.clone())
                    .hint("end that session first, or pass --force to add the tasks while it runs"))
            }
            _ => Ok(()),
        }
    }

    fn directory(&self) -> PathBuf {
        self.client.join("tasks").join(&self.list.name)
    }

    /// The tasks of this run that earlier restores added to the list and that still exist. An interrupted restore records
    /// more tasks than it wrote, and their IDs may now belong to other tasks.
    fn earlier(&self, list_now: &TaskList) -> BTreeMap<String, String> {
        let client = self.client.to_string_lossy();
        let mine =
            |one: &UndoRecord| one.run == self.run && one.list == self.list.name && one.client == client;
        let written = self.records.all().into_iter().filter(mine).flat_map(|record| record.tasks);
        let there = written.filter(|task| {
            let now = list_now.tasks.get(&task.id).and_then(Option::as_ref);
            let then = self
                .source
                .tasks
                .get(&task.was)
                .map(|recorded| recorded.task.subject.clone().unwrap_or_default());
            now.is_some_and(|now| Some(now.subject.clone().unwrap_or_default()) == then)
        });
        there.map(|task| (task.was, task.id)).collect()
    }

    /// Plans again under Claude Code's lock, and writes.
    fn write(&self) -> Result<Plan> {
        let failed = |error| Error::caused(format!("cannot open {}", self.client.display()), error);
        let root = DirHandle::open(&Path::new(&self.client).canonicalize().map_err(failed)?)?;
        let (tasks, _) = root.open_or_create_dir("tasks")?;
        let (dir, created_list) = tasks.open_or_create_dir(&self.list.name)?;
        let written = self.write_into(&dir, created_list);
        if written.as_ref().is_ok_and(|(plan, _)| plan.done) {
            return written.map(|(plan, _)| plan);
        }
        // Nothing was written, so the created directory is removed.
        let nothing = UndoRecord { created_list, ..self.record(&dir) };
        restore::remove_created_list(&tasks, &dir, &nothing);
        written.map(|(plan, _)| plan)
    }

    fn write_into(&self, dir: &DirHandle, created_list: bool) -> Result<(Plan, Option<UndoRecord>)> {
        let mut list_lock = ClientLock::list(dir)?;
        let (mut plan, list_now) = self.plan(Some(dir))?;
        if plan.tasks.is_empty() {
            return Ok((plan, None));
        }
        self.check_not_in_use(&plan)?;
        let record = UndoRecord { created_list, ..self.record(dir) };
        let record = restore::apply(&mut list_lock, &plan, &list_now, record, &self.records)?;
        plan.done = true;
        plan.undo = Some(record.id.clone());
        Ok((plan, Some(record)))
    }

    fn record(&self, dir: &DirHandle) -> UndoRecord {
        let at = clock::stamp(self.context.clock.now());
        UndoRecord {
            v: 1,
            id: self.records.next(&self.run, &at, &dir.path),
            at,
            run: self.run.clone(),
            client: self.client.to_string_lossy().into_owned(),
            list: self.list.name.clone(),
            tasks: Vec::new(),
            highwatermark_before: None,
            highwatermark_after: String::new(),
            created_list: false,
        }
    }

    /// The command that starts a session with the list. Since 2.1.178 the session ID determines the team's name. In every
    /// version, `CLAUDE_CODE_TASK_LIST_ID` overrides it.
    fn start_command(&self) -> String {
        let name = &self.list.name;
        let elsewhere = self.context.env.task_list.as_deref().is_some_and(|list| mailbox(list) != *name);
        let of_session = |session: &String| {
            name == session
                || name.strip_prefix("session-").is_some_and(|head| session.get(..8) == Some(head))
        };
        let by_name = match &self.session {
            Some(session) if of_session(session) && !elsewhere => String::new(),
            _ => format!("CLAUDE_CODE_TASK_LIST_ID={name} "),
        };
        let Some(session) = &self.session else { return format!("{by_name}claude") };
        let projects = std::fs::read_dir(self.client.join("projects")).into_iter().flatten().flatten();
        let known =
            projects.map(|project| project.path().join(format!("{session}.jsonl"))).any(|path| path.exists());
        format!("{by_name}claude {} {session}", if known { "--resume" } else { "--session-id" })
    }

    /// Prints the result and the next commands.
    fn conclude(&self, plan: &Plan, args: &Args) -> ExitCode {
        let ui = &self.context.ui;
        let program = shell_invocation(&self.context.env);
        if plan.tasks.is_empty() {
            return ExitCode::SUCCESS;
        }
        if let Some(undo) = &plan.undo {
            let count = view::count(plan.tasks.len(), "task");
            ui.eprint_line(&format!("restored {count} into task list {}", plan.list));
            ui.eprint_line(&format!("to undo: {program} restore --undo {undo}"));
            if plan.held_by.is_none() {
                ui.eprint_line(&format!("hint: start a session with this list: {}", self.start_command()));
            }
            return ExitCode::SUCCESS;
        }
        if let Some(holder) = &plan.held_by {
            ui.eprint_line(&format!("note: {holder}: --yes needs --force"));
        }
        if args.dry_run || ui.is_terminal() {
            ui.eprint_line("Dry run: nothing was written. Re-run with --yes to write.");
            return ExitCode::SUCCESS;
        }
        let error = Error::new("dry run only: nothing was written");
        ui.report(&error.hint("pass --yes to write, or --dry-run to exit with 0"));
        ExitCode::FAILURE
    }
}
