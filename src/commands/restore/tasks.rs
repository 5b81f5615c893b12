//! `teamkeep restore RUN --tasks TEAM|SESSION`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use super::{DRY_RUN, RestoreSource};
use crate::context::Context;
use crate::restore::{
    self, ClientLock, DirHandle, List, Options, Plan, Source, TaskList, UndoLog, UndoRecord,
};
use crate::view;
use teamkeep_core::client::settings::command::shell_invocation;
use teamkeep_core::client::team::mailbox;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::model::event::SafeName;
use teamkeep_core::store::archive::{Archive, CaptureScope};

/// Prints the plan, and writes with `--yes`. After an error, the list is unchanged.
pub fn restore_tasks(source: &RestoreSource<'_>, list: &str) -> Result<ExitCode> {
    let RestoreSource { context, args, archive, run, at } = source;
    let client = client(context)?;
    let list = list_in_use(archive, List::of(list, &client)?);
    let own = run.history.ids.main().is_some_and(|main| list.is(main));
    let session = list.session.clone().or_else(|| {
        // Before 2.1.178 a team's list is not found again by its session.
        run.run.lead_session.clone().filter(|lead| is_list_of(&list.name, lead))
    });
    let restore = TaskRestore {
        source,
        recorded: Source::of(archive, run, *at),
        options: Options { all: args.all, keep_owners: args.keep_owners, own },
        records: UndoLog::at(context.paths.restores()),
        client,
        session,
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
    args.output.print(context, &plan, || view::restored_tasks(&plan))?;
    Ok(restore.report(&plan))
}

/// The canonical path of Claude Code's directory, because a restore record may be read from any directory.
fn client(context: &Context) -> Result<PathBuf> {
    let client = context.paths.client.clone().ok_or_else(|| {
        Error::new("cannot find Claude Code's directory: HOME is not set")
            .hint("set HOME or CLAUDE_CONFIG_DIR")
    })?;
    client.canonicalize().or_else(|_| std::path::absolute(&client)).map_err(|error| {
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

fn is_list_of(list: &str, session: &str) -> bool {
    list == session || list.strip_prefix("session-").is_some_and(|head| session.get(..8) == Some(head))
}

struct TaskRestore<'a> {
    source: &'a RestoreSource<'a>,
    recorded: Source,
    options: Options,
    records: UndoLog,
    client: PathBuf,
    list: List,
    /// The session of the list, if known.
    session: Option<String>,
}

impl TaskRestore<'_> {
    /// Plans for the current list, and returns its content as well.
    fn plan(&self, dir: Option<&DirHandle>) -> Result<(Plan, TaskList)> {
        let content = TaskList::read(dir)?;
        let plan = restore::plan(&self.recorded, &content, &self.earlier(&content), self.options)?;
        let plan = Plan {
            run: self.source.run.run.run.clone(),
            team: self.source.run.run.team.clone(),
            at: self.source.at,
            list: self.list.name.clone(),
            directory: self.client.join("tasks").join(&self.list.name).to_string_lossy().into_owned(),
            held_by: restore::holder(&self.client, &self.list.name)
                .or_else(|| restore::user(self.source.archive, &self.list.name)),
            ..plan
        };
        Ok((plan, content))
    }

    fn check_not_in_use(&self, plan: &Plan) -> Result<()> {
        let Some(holder) = plan.held_by.as_ref().filter(|_| !self.source.args.force) else { return Ok(()) };
        let what = format!("cannot restore into task list {}", self.list.name);
        Err(Error::caused(what, holder.clone())
            .hint("end that session first, or pass --force to add the tasks while it runs"))
    }

    /// The tasks of this run that earlier restores added to the list and that still exist. An interrupted restore records
    /// more tasks than it wrote, and their IDs may now belong to other tasks.
    fn earlier(&self, content: &TaskList) -> BTreeMap<String, String> {
        let client = self.client.to_string_lossy();
        let is_same = |record: &UndoRecord| {
            record.run == self.source.run.run.run && record.list == self.list.name && record.client == client
        };
        let written = self.records.all().into_iter().filter(is_same).flat_map(|record| record.tasks);
        let existing = written.filter(|task| {
            let now = content.tasks.get(&task.id).and_then(Option::as_ref);
            let then = self.recorded.tasks.get(&task.was);
            let subject = |subject: &Option<String>| subject.clone().unwrap_or_default();
            now.zip(then).is_some_and(|(now, then)| subject(&now.subject) == subject(&then.task.subject))
        });
        existing.map(|task| (task.was, task.id)).collect()
    }

    /// Plans again under Claude Code's lock, and writes.
    fn write(&self) -> Result<Plan> {
        let failed = |error| Error::caused(format!("cannot open {}", self.client.display()), error);
        let root = DirHandle::open(&self.client.canonicalize().map_err(failed)?)?;
        let (tasks, _) = root.open_or_create_dir("tasks")?;
        let (dir, created_list) = tasks.open_or_create_dir(&self.list.name)?;
        let at = self.source.context.clock.now();
        let record = UndoRecord {
            v: 1,
            id: self.records.next(&self.source.run.run.run, at, &dir.path),
            at,
            run: self.source.run.run.run.clone(),
            client: self.client.to_string_lossy().into_owned(),
            list: self.list.name.clone(),
            tasks: Vec::new(),
            highwatermark_before: None,
            highwatermark_after: String::new(),
            created_list,
        };
        let plan = self.write_into(&dir, record.clone());
        if !plan.as_ref().is_ok_and(|plan| plan.done) {
            // Nothing was written, so the created directory is removed.
            restore::remove_created_list(&tasks, &dir, &record);
        }
        plan
    }

    fn write_into(&self, dir: &DirHandle, record: UndoRecord) -> Result<Plan> {
        let mut list_lock = ClientLock::list(dir)?;
        let (mut plan, content) = self.plan(Some(dir))?;
        if plan.tasks.is_empty() {
            return Ok(plan);
        }
        self.check_not_in_use(&plan)?;
        let record = restore::apply(&mut list_lock, &plan, &content, record, &self.records)?;
        plan.done = true;
        plan.undo = Some(record.id);
        Ok(plan)
    }

    /// The command that starts a session with the list. Since 2.1.178 the session ID determines the team's name. In every
    /// version, `CLAUDE_CODE_TASK_LIST_ID` overrides it.
    fn start_command(&self) -> String {
        let name = &self.list.name;
        let is_overridden =
            self.source.context.env.task_list.as_deref().is_some_and(|list| mailbox(list) != *name);
        let variable = match &self.session {
            Some(session) if is_list_of(name, session) && !is_overridden => String::new(),
            _ => format!("CLAUDE_CODE_TASK_LIST_ID={name} "),
        };
        let Some(session) = &self.session else { return format!("{variable}claude") };
        let mut projects = std::fs::read_dir(self.client.join("projects")).into_iter().flatten().flatten();
        let is_known = projects.any(|project| project.path().join(format!("{session}.jsonl")).exists());
        format!("{variable}claude {} {session}", if is_known { "--resume" } else { "--session-id" })
    }

    fn report(&self, plan: &Plan) -> ExitCode {
        let ui = &self.source.context.ui;
        if plan.tasks.is_empty() {
            return ExitCode::SUCCESS;
        }
        if let Some(undo) = &plan.undo {
            let count = view::count(plan.tasks.len(), "task");
            ui.eprint_line(&format!("restored {count} into task list {}", plan.list));
            let program = shell_invocation(&self.source.context.env);
            ui.eprint_line(&format!("to undo: {program} restore --undo {undo}"));
            if plan.held_by.is_none() {
                ui.eprint_line(&format!("hint: start a session with this list: {}", self.start_command()));
            }
            return ExitCode::SUCCESS;
        }
        if let Some(holder) = &plan.held_by {
            ui.eprint_line(&format!("note: {holder}: --yes needs --force"));
        }
        if self.source.args.dry_run || ui.is_terminal() {
            ui.eprint_line(&format!("{DRY_RUN} Re-run with --yes to write."));
            return ExitCode::SUCCESS;
        }
        let error = Error::new("dry run only: nothing was written");
        ui.report(&error.hint("pass --yes to write, or --dry-run to exit with 0"));
        ExitCode::FAILURE
    }
}
