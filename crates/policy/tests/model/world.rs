//! What Claude Code does and writes: the members and their turns, the tasks, the inboxes. It knows nothing of the policy.

use std::cell::RefCell;
use std::collections::BTreeMap;

use teamkeep_model::team::{FileFacts, Lists, Task, TeamFile};
use teamkeep_policy::{Ledger, TeamState};

pub const TEAM: &str = "parser-team";
/// The agents; the lead is the first.
pub const NAMES: [&str; 4] = ["team-lead", "alice", "bob", "carol"];
pub const LEAD: Agent = 0;
pub const MAX_TASKS: usize = 3;

/// The position of a name in [`NAMES`].
pub type Agent = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    Pending,
    InProgress,
    Completed,
}

/// The file of a task. Task 2 depends on task 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskFile {
    pub status: Status,
    pub owner: Option<Agent>,
    /// Whether its metadata marks it as waiting.
    pub waits: bool,
}

/// A member. What depends on the order of two hook calls that overlap, or was lost with the state file, is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Member {
    pub is_here: bool,
    pub is_working: bool,
    /// Whether its inbox has a message. It gets it with its next turn.
    pub has_mail: bool,
    /// Whether a message arrived during its turn. It gets it with its next turn, too, but the inbox is empty.
    pub has_queued: bool,
    /// Whether it has an instruction and has not reported since.
    pub is_unreported: Option<bool>,
    /// Whether it has asked the lead something and has no answer.
    pub awaits_lead: Option<bool>,
    /// Whether it went idle and has no new instruction.
    pub is_idle: Option<bool>,
    /// Whether a shutdown request to it is open.
    pub is_asked: Option<bool>,
    /// Whether the state file was lost since it last did something.
    pub is_forgotten: bool,
}

/// The team, as Claude Code has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct World {
    /// The lead is a member, too.
    pub members: [Member; NAMES.len()],
    pub tasks: [Option<TaskFile>; MAX_TASKS],
    /// Whether the history has a task of the team, also if its file is gone.
    pub had_tasks: bool,
    /// The ids of the tasks that were ever completed, as bits.
    pub completed: u8,
    /// Whether TeamDelete has ended the team.
    pub is_over: bool,
}

impl World {
    /// A team with these teammates, and with this number of pending tasks without an owner.
    pub fn new(tasks: usize) -> World {
        let mut world = World { had_tasks: tasks > 0, ..World::default() };
        world.join(LEAD);
        world.members[LEAD].has_mail = false;
        let file = TaskFile { status: Status::Pending, owner: None, waits: false };
        world.tasks.iter_mut().take(tasks).for_each(|task| *task = Some(file));
        world
    }

    pub fn teammates(&self) -> impl Iterator<Item = Agent> + use<> {
        let members = self.members;
        (1..NAMES.len()).filter(move |agent| members[*agent].is_here)
    }

    /// The unfinished task that a task depends on.
    pub fn blocker(&self, task: usize) -> Option<usize> {
        let blocker = (task == 1).then_some(0)?;
        self.tasks[blocker].filter(|file| file.status != Status::Completed).map(|_| blocker)
    }

    pub fn owned(&self, agent: Agent, status: Status) -> Vec<usize> {
        let is_it = |file: TaskFile| file.owner == Some(agent) && file.status == status;
        (0..MAX_TASKS).filter(|task| self.tasks[*task].is_some_and(is_it)).collect()
    }

    /// Whether a teammate has work that its end would lose: a task in progress, a turn, or, in a team without tasks, an
    /// instruction without a report.
    pub fn is_busy(&self, agent: Agent) -> bool {
        let member = &self.members[agent];
        let has_task = !self.owned(agent, Status::InProgress).is_empty();
        let is_unreported = !self.is_tasked() && member.is_unreported == Some(true);
        has_task || is_unreported || (member.is_working && !member.is_forgotten)
    }

    /// Whether the team has or had tasks, as far as the policy can know.
    pub fn is_tasked(&self) -> bool {
        self.had_tasks || self.tasks.iter().any(Option::is_some)
    }

    /// A member leaves. Its unfinished tasks go back to pending without an owner.
    pub fn remove(&mut self, agent: Agent) {
        self.members[agent] = Member::default();
        for file in self.tasks.iter_mut().flatten() {
            if file.owner == Some(agent) && file.status != Status::Completed {
                (file.owner, file.status) = (None, Status::Pending);
            }
        }
    }

    /// A message is delivered: to an idle agent by its inbox, to one in a turn after that turn.
    pub fn deliver(&mut self, to: Agent) {
        let member = &mut self.members[to];
        match member.is_working {
            true => member.has_queued = true,
            false => member.has_mail = true,
        }
    }

    /// An instruction from an agent, which is an answer as well. The call may overlap with others.
    pub fn instruct(&mut self, from: Agent, to: Agent, overlaps: bool) {
        let member = &mut self.members[to];
        let known = |value: bool| (!overlaps).then_some(value);
        (member.is_unreported, member.is_idle) = (known(true), known(false));
        if from == LEAD {
            member.awaits_lead = known(false);
        }
    }

    /// The state file is lost.
    pub fn forget(&mut self) {
        self.had_tasks = false;
        for member in self.members.iter_mut().filter(|member| member.is_here) {
            member.is_forgotten = true;
            (member.is_unreported, member.awaits_lead, member.is_idle) = (None, None, None);
            member.is_asked = member.is_asked.filter(|is_asked| !is_asked);
        }
    }

    /// A teammate joins, with an instruction.
    pub fn join(&mut self, agent: Agent) {
        let none = Some(false);
        self.members[agent] = Member {
            is_here: true,
            has_mail: true,
            is_unreported: Some(true),
            awaits_lead: none,
            is_idle: none,
            is_asked: none,
            ..Member::default()
        };
    }

    /// The files of the team as hooks read them, and its history.
    pub fn state(&self, ledger: Ledger) -> TeamState {
        let mut team =
            TeamState { name: Some(TEAM.to_owned()), ledger, delivers_answers: true, ..TeamState::default() };
        for (agent, member) in self.members.iter().enumerate().filter(|(_, member)| member.is_here) {
            team.members.push(NAMES[agent].to_owned());
            team.mail.insert(NAMES[agent].to_owned(), usize::from(member.has_mail));
        }
        for (task, file) in self.tasks.iter().enumerate() {
            if let Some(file) = file {
                let parsed = parsed(task, *file);
                team.tasks.insert(parsed.id.clone(), parsed);
            }
        }
        team
    }
}

/// The text of a task's file.
fn text(task: usize, file: TaskFile) -> String {
    let status = match file.status {
        Status::Pending => "pending",
        Status::InProgress => "in_progress",
        Status::Completed => "completed",
    };
    let owner = file.owner.map_or(String::new(), |owner| format!(r#""owner":"{}","#, NAMES[owner]));
    let blocked = if task == 1 { r#""1""# } else { "" };
    let waiting = if file.waits { r#"{"waiting":"for the review"}"# } else { "{}" };
    let id = task + 1;
    format!(
        r#"{{"id":"{id}","subject":"Task {id}",{owner}"status":"{status}","blockedBy":[{blocked}],"metadata":{waiting}}}"#
    )
}

/// A task, parsed from its file as a hook does. There are few contents, so each is parsed once.
fn parsed(task: usize, file: TaskFile) -> Task {
    thread_local! {
        static PARSED: RefCell<BTreeMap<(usize, TaskFile), Task>> = const { RefCell::new(BTreeMap::new()) };
    }
    let parse = || {
        let path = format!("tasks/{TEAM}/{}.json", task + 1);
        let content = TeamFile::of(&path, &Lists::of_team(Some(TEAM)));
        match content.and_then(|content| content.parse(text(task, file).as_bytes())) {
            Some(FileFacts::Task(Some(task))) => task,
            other => unreachable!("{other:?}"),
        }
    };
    PARSED.with_borrow_mut(|known| known.entry((task, file)).or_insert_with(parse).clone())
}
