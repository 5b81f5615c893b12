//! The plays: what the user types, and what each part answers.

mod answered;
mod budget;
mod cleared;
mod compacted;
mod delegate;
mod demo;
mod failed;
mod forbidden;
pub mod halfway;
mod interrupted;
mod namesake;
mod parser;
mod planned;
mod races;
mod served;
pub mod skill;
mod stopped;
mod trouble;
mod working;
mod worktrees;

pub use budget::{BUDGET, WARNINGS};
pub use cleared::CLEAR;
pub use forbidden::RULE;
pub use halfway::LATER;
pub use served::CALLS;
pub use worktrees::{FILES, SPIKE};

use serde_json::json;

use super::conversation::Cue;
use super::ending::Ending;
use super::hooks::Hooks;
use super::ledger::{AGAIN, CacheWrites};
use super::look::Look;
use super::moves::{Move, change_task, say};
use super::version::{Generation, Version};

/// How a run of the client is set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topology {
    /// Teammates in the lead's process.
    InProcess,
    /// Each teammate in a pane of tmux, a process of its own.
    Panes,
    /// No terminal: `claude -p`.
    Headless,
}

/// One line that the user types.
pub struct Step {
    /// What is typed.
    pub typed: &'static str,
    /// What must have been done before the next is typed: by whom, and a piece of it.
    pub until: Vec<(&'static str, &'static str)>,
}

/// A rule that forbids something.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// The policy file with it.
    pub policy: &'static str,
    /// The tool that it looks at.
    pub tool: &'static str,
    /// A piece of every input that it forbids.
    pub forbidden: &'static str,
    /// A piece of what the model reads.
    pub reason: &'static str,
}

/// Gates that are off by default.
#[derive(Clone, Copy)]
pub struct Guarded {
    /// What they are, in the table.
    pub name: &'static str,
    /// The policy file with them.
    pub policy: &'static str,
    /// The hooks that only they need, by event and tools.
    pub tools: &'static [(&'static str, &'static str)],
    /// Their decisions.
    pub verdicts: fn(Generation) -> Vec<(&'static str, &'static str)>,
    /// Of each call that is refused: who made it, a piece of its input, and a piece of what the model reads.
    pub read: fn(Generation) -> Vec<(&'static str, &'static str, &'static str)>,
    /// The edits and commits of the teammates: who made each, for which task, and the commit's subject.
    pub made: &'static [(&'static str, &'static str, Option<&'static str>)],
}

/// What follows in a second session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Nothing,
    /// The tasks are restored into its list.
    Restored,
    /// It is the first session again.
    Resumed,
}

/// The facts about the team in a request.
#[derive(Clone, Copy)]
pub struct Facts {
    /// Whose first request of the act holds them.
    pub part: &'static str,
    pub act: &'static str,
    /// The state of the other teammates.
    pub state: &'static str,
}

/// One play.
pub struct Scenario {
    /// Its name: a word of the command line, and a row of the table.
    pub name: &'static str,
    /// How the client is started.
    pub topology: Topology,
    /// Where it has our hooks from.
    pub hooks: Hooks,
    /// More arguments of a client without a terminal: its MCP servers.
    pub arguments: &'static [&'static str],
    /// Whether the client has its task tools.
    pub tasks: bool,
    /// What the user types, until the client ends.
    pub steps: fn(Generation) -> Vec<Step>,
    /// What a part answers at its cue.
    pub reply: fn(Generation, &Cue) -> Vec<Move>,
    /// How often the default policy refuses the lead to stop a teammate before it lets it through.
    pub refusals: usize,
    /// A rule of the user's policy file, written before the hooks are installed.
    pub rule: Option<Rule>,
    /// Gates of the user's policy file, written before the hooks are installed.
    pub guarded: Option<Guarded>,
    /// How often it also forbids a line of a skill.
    pub blocked_lines: usize,
    /// Files of the project.
    pub files: &'static [(&'static str, &'static str)],
    /// The role of the agents that are no teammates.
    pub role: &'static str,
    /// What teamkeep's commands show during the run and after it.
    pub looks: fn(Generation) -> Vec<Look>,
    /// What follows in a second session.
    pub then: Then,
    /// Where a request holds the facts about the team. In the other scenarios no request does.
    pub facts: Option<Facts>,
    /// How the client ends.
    pub ending: Ending,
    /// The verdict of the report.
    pub verdict: &'static str,
    /// The kind and the first agent of each incident.
    pub incidents: &'static [&'static str],
    /// The kind and the agent of each turn that its agent did not end, if that is compared.
    pub halts: &'static [&'static str],
}

/// The role of agents for which no other is named.
pub const GENERAL: &str = "general-purpose";

/// A whole team in one process, with our hooks in the settings: what others differ from.
const TEAM: Scenario = Scenario {
    name: "in-process",
    topology: Topology::InProcess,
    hooks: Hooks::Settings,
    arguments: &[],
    tasks: true,
    steps: parser::steps,
    reply: parser::reply,
    refusals: 0,
    rule: None,
    guarded: None,
    blocked_lines: 0,
    files: &[],
    role: GENERAL,
    looks: |_| Vec::new(),
    then: Then::Nothing,
    facts: None,
    ending: Ending::Exit,
    verdict: "completed",
    incidents: &[],
    halts: &[],
};

/// The same in panes.
const PANES: Scenario =
    Scenario { name: "panes", topology: Topology::Panes, steps: parser::steps_in_panes, ..TEAM };

/// Every play.
pub const ALL: &[Scenario] = &[
    TEAM,
    PANES,
    Scenario { name: "no-tasks", tasks: false, reply: parser::reply_without_tasks, ..TEAM },
    Scenario {
        name: "headless",
        topology: Topology::Headless,
        steps: delegate::steps,
        reply: delegate::reply,
        ..TEAM
    },
    Scenario {
        name: "mcp",
        topology: Topology::Headless,
        arguments: served::ARGUMENTS,
        steps: served::steps,
        reply: served::reply,
        ..TEAM
    },
    Scenario {
        name: "rule",
        topology: Topology::Headless,
        steps: forbidden::steps,
        reply: forbidden::reply,
        rule: Some(RULE),
        ..TEAM
    },
    Scenario {
        name: "policy",
        steps: halfway::steps_of_stopping,
        reply: halfway::reply,
        refusals: 3,
        verdict: "open-work",
        incidents: &["lost-work bob"],
        ..TEAM
    },
    Scenario {
        name: "managed",
        hooks: Hooks::Managed,
        steps: halfway::steps_of_stopping,
        reply: halfway::reply,
        refusals: 3,
        verdict: "open-work",
        incidents: &["lost-work bob"],
        ..TEAM
    },
    Scenario {
        name: "restore",
        steps: halfway::steps_of_leaving,
        reply: halfway::reply,
        then: Then::Restored,
        verdict: "open-work",
        incidents: &["unfinished-work bob"],
        ..TEAM
    },
    Scenario {
        name: "git-races",
        steps: races::steps,
        reply: races::reply,
        guarded: Some(races::RACES),
        ..TEAM
    },
    Scenario {
        name: "git-races-panes",
        steps: races::steps,
        reply: races::reply,
        guarded: Some(races::RACES_IN_PANES),
        ..PANES
    },
    Scenario {
        name: "git-calm",
        steps: races::steps,
        reply: races::calm,
        guarded: Some(races::CALM),
        ..TEAM
    },
    Scenario { name: "budget", steps: budget::steps, reply: budget::reply, guarded: Some(BUDGET), ..TEAM },
    Scenario {
        name: "budget-panes",
        steps: budget::steps,
        reply: budget::reply,
        guarded: Some(BUDGET),
        ..PANES
    },
    Scenario {
        name: "worktrees",
        topology: Topology::Headless,
        steps: worktrees::steps,
        reply: worktrees::reply,
        ..TEAM
    },
    Scenario {
        name: "cleared",
        steps: cleared::steps,
        reply: cleared::reply,
        facts: Some(Facts { part: "lead", act: "resume", state: "idle for " }),
        ..TEAM
    },
    Scenario {
        name: "compacted",
        steps: compacted::steps,
        reply: cleared::reply,
        facts: Some(Facts { part: "lead", act: "resume", state: "idle for " }),
        ..TEAM
    },
    Scenario {
        name: "compacted-panes",
        steps: compacted::steps,
        reply: cleared::reply,
        facts: Some(Facts { part: "lead", act: "resume", state: "idle for " }),
        ..PANES
    },
    Scenario {
        name: "compacted-teammate",
        steps: compacted::steps_of_teammate,
        reply: compacted::reply_of_teammate,
        facts: Some(Facts { part: "bob", act: AGAIN, state: "idle for " }),
        verdict: "open-work",
        incidents: &["unfinished-work -"],
        ..TEAM
    },
    Scenario {
        name: "resumed",
        steps: halfway::steps_of_leaving,
        reply: halfway::reply,
        ending: Ending::Killed,
        then: Then::Resumed,
        facts: Some(Facts { part: "lead", act: "list", state: "left" }),
        verdict: "crashed",
        incidents: &["crashed-lead team-lead"],
        ..TEAM
    },
    Scenario {
        name: "killed",
        steps: working::steps,
        reply: working::reply,
        ending: Ending::Killed,
        verdict: "crashed",
        incidents: &["crashed-lead team-lead"],
        ..TEAM
    },
    Scenario {
        name: "hung-up",
        steps: working::steps,
        reply: working::reply,
        ending: Ending::HungUp,
        verdict: "open-work",
        incidents: &["unfinished-work bob"],
        ..TEAM
    },
    Scenario {
        name: "trouble",
        steps: trouble::steps,
        reply: trouble::reply,
        ending: Ending::ExitAfterTrouble,
        verdict: "open-work",
        incidents: trouble::INCIDENTS,
        ..TEAM
    },
    Scenario {
        name: "trouble-panes",
        steps: trouble::steps_in_panes,
        reply: trouble::reply_in_panes,
        ending: Ending::ExitAfterTrouble,
        verdict: "open-work",
        incidents: trouble::INCIDENTS_IN_PANES,
        ..PANES
    },
    Scenario {
        name: "failed",
        steps: failed::steps,
        reply: failed::reply,
        verdict: "open-work",
        incidents: failed::INCIDENTS,
        halts: failed::HALTS,
        ..TEAM
    },
    Scenario {
        name: "failed-panes",
        steps: failed::steps,
        reply: failed::reply,
        verdict: "open-work",
        incidents: failed::INCIDENTS,
        halts: failed::HALTS,
        ..PANES
    },
    Scenario {
        name: "interrupted",
        steps: interrupted::steps,
        reply: interrupted::reply,
        verdict: "open-work",
        incidents: &["unfinished-work bob"],
        halts: interrupted::HALTS,
        ..TEAM
    },
    Scenario {
        name: "answered",
        steps: answered::steps,
        reply: answered::reply,
        looks: answered::looks,
        ..TEAM
    },
    Scenario {
        name: "stopped",
        steps: stopped::steps,
        reply: stopped::reply,
        looks: stopped::looks,
        verdict: "open-work",
        incidents: &["unfinished-work bob"],
        ..TEAM
    },
    Scenario { name: "planned", steps: planned::steps, reply: planned::reply, looks: planned::looks, ..TEAM },
    Scenario {
        name: "namesake",
        files: namesake::FILES,
        role: namesake::ROLE,
        steps: namesake::steps,
        reply: namesake::reply,
        looks: namesake::looks,
        verdict: "open-work",
        incidents: &["unfinished-work bob"],
        ..TEAM
    },
    Scenario {
        name: "skill",
        files: skill::FILES,
        steps: skill::steps,
        reply: skill::reply,
        looks: skill::looks,
        rule: Some(RULE),
        blocked_lines: skill::LOADS,
        ..TEAM
    },
    Scenario {
        name: "demo",
        files: demo::FILES,
        steps: demo::steps,
        reply: demo::reply,
        refusals: 3,
        facts: Some(demo::FACTS),
        verdict: "open-work",
        incidents: &["lost-work bob", "unfinished-work carol"],
        ..TEAM
    },
    Scenario { name: "telemetry", ..TEAM },
    Scenario { name: "telemetry-panes", ..PANES },
    Scenario { name: "plugin", hooks: Hooks::Plugin, ..TEAM },
    Scenario { name: "plugin-panes", hooks: Hooks::Plugin, ..PANES },
    Scenario { name: "plugin-and-settings", hooks: Hooks::Both, ..TEAM },
    Scenario { name: "marketplace", hooks: Hooks::Marketplace, ..TEAM },
    Scenario { name: "marketplace-panes", hooks: Hooks::Marketplace, ..PANES },
];

impl Scenario {
    /// Whether the second session continues the run: before 2.1.178, a team has a name of its own and outlives its session.
    pub fn continues(&self, version: Version) -> bool {
        self.then == Then::Resumed && version.generation() != Generation::Session
    }

    /// Whether the team has a budget.
    pub fn has_budget(&self) -> bool {
        self.name.starts_with("budget")
    }

    /// Whether Claude Code and teamkeep send their telemetry to a collector.
    pub fn has_telemetry(&self) -> bool {
        self.name.starts_with("telemetry")
    }

    /// The cost of a team with a budget is compared with that of every client.
    pub fn cache_writes(&self) -> CacheWrites {
        match self.name {
            _ if self.has_budget() => CacheWrites::Short,
            "demo" => CacheWrites::Long,
            _ => CacheWrites::Mixed,
        }
    }

    /// The model of a team with a budget, if it is not the default: 2.1.47 does not know the price of its own, Sonnet 4.6.
    pub fn model(&self, generation: Generation) -> Option<&'static str> {
        (self.has_budget() && generation == Generation::Flat).then_some("claude-opus-4-6")
    }

    /// Whether the facts are for a certain agent: 2.1.47 does not name the agent whose conversation it compacts.
    pub fn has_reader(&self, version: Version) -> bool {
        version.generation() != Generation::Flat || !self.name.starts_with("compacted")
    }

    /// The verdict with this client.
    pub fn verdict_with(&self, version: Version) -> &'static str {
        if self.continues(version) { "open-work" } else { self.verdict }
    }

    /// The incidents with this client. Older ones run no hook for a permission request in the lead's process.
    pub fn incidents_with(&self, version: Version) -> Vec<&'static str> {
        if self.continues(version) {
            return vec!["unfinished-work bob"];
        }
        let is_silent = self.topology == Topology::InProcess && version.generation() != Generation::Session;
        let all = self.incidents.iter().copied();
        all.filter(|name| !(is_silent && name.starts_with("waiting-permission "))).collect()
    }

    /// Says why a client cannot play it; `None` when it can.
    pub fn lacks(&self, version: Version) -> Option<&'static str> {
        if !self.tasks && !version.can_do_without_tasks() {
            return Some("it always has its task tools");
        }
        if self.name == "compacted-teammate" && version.generation() == Generation::Create {
            return Some("a teammate in the lead's process was not compacted, whatever its number of tokens");
        }
        if self.name.starts_with("failed") && !version.knows("StopFailure") {
            return Some("it runs no hook for a turn that failed");
        }
        let has_session_team = version.generation() == Generation::Session;
        if self.name.starts_with("failed") && !has_session_team {
            return Some("it asks an overloaded API again for longer than the scenario lasts");
        }
        if self.name == "interrupted" && version.generation() == Generation::Create {
            return Some("what the user types after Escape waits until all teammates are idle");
        }
        if self.name == "demo" && !has_session_team {
            return Some("the demo has one run, of the latest version");
        }
        if self.name == "skill" && !version.knows("PreSkillShellCommand") {
            return Some("it runs no hook for a line of a skill");
        }
        if self.name == "answered" && !has_session_team {
            return Some("its idle notices have no answer");
        }
        if self.name == "stopped" && !has_session_team {
            return Some("its TaskStop finds no teammate by name");
        }
        if self.name == "planned" && version.generation() != Generation::Create {
            return Some("its teammates do not ask for the approval of a plan");
        }
        if self.has_telemetry() && version.generation() == Generation::Flat {
            return Some("its hooks get no trace context");
        }
        if self.name == "worktrees" && version.generation() == Generation::Flat {
            return Some("it has no worktrees");
        }
        if self.hooks == Hooks::Managed && !version.reads_drop_ins() {
            return Some("it reads no drop-in files of managed settings");
        }
        // Before 2.1.69.
        if self.guarded.is_some_and(|gates| !gates.tools.is_empty())
            && self.topology == Topology::InProcess
            && version.generation() == Generation::Flat
        {
            return Some("its tool calls name no agent in the lead's process");
        }
        let by_plugin = matches!(self.hooks, Hooks::Plugin | Hooks::Marketplace);
        let in_panes = by_plugin && self.topology == Topology::Panes;
        (in_panes && !version.has_plugins_in_panes())
            .then_some("its teammates in panes run only hooks of the settings, not of plugins")
    }
}

/// The answer at a turn of a plan; the last one is given for ever.
fn at(mut plan: Vec<Vec<Move>>, turn: usize) -> Vec<Move> {
    let last = plan.len().saturating_sub(1);
    if plan.is_empty() { vec![say("Noted.")] } else { plan.swap_remove(turn.min(last)) }
}

/// The step in which the lead deletes the team, of clients that have a tool for it.
fn delete_step(generation: Generation) -> Option<Step> {
    let until = vec![("lead", "Nobody is left")];
    generation.delete_team().map(|_| Step { typed: "act=delete", until })
}

/// The lead's answers at [`delete_step`].
fn delete_team(generation: Generation) -> Vec<Vec<Move>> {
    let deletes = generation.delete_team().map(|delete| vec![delete]);
    deletes.into_iter().chain([vec![say("Nobody is left.")]]).collect()
}

fn begin(task: &str) -> Vec<Move> {
    vec![change_task(task, json!({"status": "in_progress"}))]
}
