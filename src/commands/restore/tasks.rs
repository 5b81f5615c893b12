//! `teamkeep restore RUN --tasks TEAM|SESSION`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{Args, meant};
use crate::archive::{Archive, Subject};
use crate::clock;
use crate::commands::reading;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::event::SafeName;
use crate::render;
use crate::restore::{self, Board, Folder, Guard, List, Options, Plan, Record, Records, Source};
use crate::settings::command::typed;
use crate::team::mailbox;
use crate::timeline::{Library, Opened};

/// Plans, and with `--yes` writes.
///
/// # Errors
/// When the list is no list, a client that runs holds it, or the disk refuses; the list is as it was then.
pub fn run(
    context: &Context,
    args: &Args,
    library: &Library,
    opened: &Opened,
    named: &str,
) -> Result<ExitCode> {
    let (archive, material, at) = meant(context, library, opened, args)?;
    let client = client(context)?;
    let list = used(&library.archive, List::of(named, &client)?);
    let own = material.history.ids.main().is_some_and(|main| list.is(main));
    let desk = Desk {
        context,
        archive: &library.archive,
        source: Source::of(archive, material, at.as_deref()),
        options: Options { all: args.all, keep_owners: args.keep_owners, own },
        records: Records::at(context.paths.restores()),
        run: material.run.run.clone(),
        team: material.run.team.clone(),
        at,
        client,
        session: list.session.clone().or_else(|| {
            // Before 2.1.178 a team's list is not found again by its session.
            let lead = material.run.lead_session.clone();
            lead.filter(|lead| list.name == *lead || list.name.strip_prefix("session-") == lead.get(..8))
        }),
        force: args.force,
        list,
    };
    let writes = args.yes && !args.dry_run;
    let lock = if writes { Some(desk.records.lock()?) } else { None };
    let (mut plan, _) = desk.plan(Board::open(&desk.client, &desk.list)?.as_ref())?;
    if writes && !plan.tasks.is_empty() {
        desk.refuse_held(&plan)?;
        plan = desk.write()?;
    }
    drop(lock);
    if args.json {
        reading::print_json(context, &plan)?;
    } else {
        reading::print(context, &render::restored_tasks(&plan, context.ui.columns()))?;
    }
    let code = desk.conclude(&plan, args);
    reading::warn(context, library, opened);
    Ok(code)
}

/// The client's directory, by its whole and real path: a record of ours is read in other places as well.
///
/// # Errors
/// When nothing says where it is.
fn client(context: &Context) -> Result<PathBuf> {
    let client = context.paths.client.clone().ok_or_else(|| {
        Error::new("cannot find the client's directory: HOME is not set")
            .hint("set HOME or CLAUDE_CONFIG_DIR")
    })?;
    let absolute = || std::path::absolute(&client);
    client.canonicalize().or_else(|_| absolute()).map_err(|error| {
        Error::caused(format!("cannot find the client's directory {}", client.display()), error)
    })
}

/// The list that a team or a session uses: the last one that `CLAUDE_CODE_TASK_LIST_ID` named for it, if there is one.
fn used(archive: &Archive, list: List) -> List {
    let index = SafeName::new(&list.name).and_then(|team| archive.index(&Subject::Team(team)));
    match index.as_ref().and_then(|index| Some((index.list_of_lead()?, index.lead_session.clone()))) {
        Some((name, session)) => List { name: name.to_owned(), session },
        None => list,
    }
}

/// What a restore of tasks works with.
struct Desk<'a> {
    context: &'a Context,
    archive: &'a Archive,
    source: Source,
    options: Options,
    records: Records,
    run: String,
    team: Option<String>,
    at: Option<String>,
    client: PathBuf,
    list: List,
    /// The session whose list it is, where that is known.
    session: Option<String>,
    /// Whether it does not matter that a client holds it.
    force: bool,
}

impl Desk<'_> {
    /// Plans for the list as it is now; gives what it holds as well.
    fn plan(&self, folder: Option<&Folder>) -> Result<(Plan, Board)> {
        let board = Board::read(folder)?;
        let plan = restore::plan(&self.source, &board, &self.earlier(&board), self.options)?;
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
        Ok((plan, board))
    }

    /// Refuses a list that a client holds.
    fn refuse_held(&self, plan: &Plan) -> Result<()> {
        match &plan.held_by {
            Some(holder) if !self.force => {
                let what = format!("cannot restore into the list {}", self.list.name);
                Err(Error::caused(what, holder).hint(
                    "end that session first, or add --force: the tasks go in beside what it does, under its own lock",
                ))
            }
            _ => Ok(()),
        }
    }

    fn directory(&self) -> PathBuf {
        self.client.join("tasks").join(&self.list.name)
    }

    /// The tasks of this run that earlier restores put into the list, and that are still there. A restore that was
    /// killed noted more than it wrote, and its numbers may be other tasks' now.
    fn earlier(&self, board: &Board) -> BTreeMap<String, String> {
        let client = self.client.to_string_lossy();
        let mine = |one: &Record| one.run == self.run && one.list == self.list.name && one.client == client;
        let written = self.records.all().into_iter().filter(mine).flat_map(|record| record.tasks);
        let there = written.filter(|task| {
            let now = board.tasks.get(&task.id).and_then(Option::as_ref);
            let then =
                self.source.tasks.get(&task.was).map(|past| past.task.subject.clone().unwrap_or_default());
            now.is_some_and(|now| Some(now.subject.clone().unwrap_or_default()) == then)
        });
        there.map(|task| (task.was, task.id)).collect()
    }

    /// Plans again under the client's lock, and writes.
    fn write(&self) -> Result<Plan> {
        let failed = |error| Error::caused(format!("cannot open {}", self.client.display()), error);
        let root = Folder::open(&Path::new(&self.client).canonicalize().map_err(failed)?)?;
        let (tasks, _) = root.make("tasks")?;
        let (folder, made_list) = tasks.make(&self.list.name)?;
        let written = self.write_into(&folder, made_list);
        if written.as_ref().is_ok_and(|(plan, _)| plan.done) {
            return written.map(|(plan, _)| plan);
        }
        // Nothing was written, so nothing of ours is to stay.
        let nothing = Record { made_list, ..self.record(&folder) };
        restore::remove_made(&tasks, &folder, &nothing);
        written.map(|(plan, _)| plan)
    }

    fn write_into(&self, folder: &Folder, made_list: bool) -> Result<(Plan, Option<Record>)> {
        let mut guard = Guard::list(folder)?;
        let (mut plan, board) = self.plan(Some(folder))?;
        if plan.tasks.is_empty() {
            return Ok((plan, None));
        }
        self.refuse_held(&plan)?;
        let record = Record { made_list, ..self.record(folder) };
        let record = restore::apply(folder, &mut guard, &plan, &board, record, &self.records)?;
        plan.done = true;
        plan.undo = Some(record.id.clone());
        Ok((plan, Some(record)))
    }

    fn record(&self, folder: &Folder) -> Record {
        let at = clock::stamp(self.context.clock.now());
        Record {
            v: 1,
            id: self.records.next(&self.run, &at, &folder.path),
            at,
            run: self.run.clone(),
            client: self.client.to_string_lossy().into_owned(),
            list: self.list.name.clone(),
            tasks: Vec::new(),
            highwatermark_before: None,
            highwatermark_after: String::new(),
            made_list: false,
        }
    }

    /// The command that opens a session with the list: from 2.1.178 on a session's id names its team, and any client
    /// takes a list's name from its environment, which counts more.
    fn opening(&self) -> String {
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

    /// Says what came of it, and what can be done now.
    fn conclude(&self, plan: &Plan, args: &Args) -> ExitCode {
        let ui = &self.context.ui;
        let program = typed(&self.context.env);
        if plan.tasks.is_empty() {
            ui.say("nothing to restore");
            return ExitCode::SUCCESS;
        }
        if let Some(undo) = &plan.undo {
            let count = render::count(plan.tasks.len(), "task");
            ui.say(&format!("restored {count} into the list {}", plan.list));
            ui.say(&format!("to undo: {program} restore --undo {undo}"));
            if plan.held_by.is_none() {
                ui.say(&format!("hint: a session with this list: {}", self.opening()));
            }
            return ExitCode::SUCCESS;
        }
        if let Some(holder) = &plan.held_by {
            ui.say(&format!("note: {holder}: --yes needs --force"));
        }
        if args.dry_run || ui.is_terminal() {
            ui.say("nothing was written; --yes writes it");
            return ExitCode::SUCCESS;
        }
        ui.say("teamkeep: nothing was written: this is the plan alone; --yes writes it, --dry-run asks for the plan");
        ExitCode::FAILURE
    }
}
