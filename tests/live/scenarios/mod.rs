//! The plays: what the user types, and what each part answers.

mod delegate;
mod halfway;
mod parser;

pub use halfway::LATER;

use super::conversation::Cue;
use super::moves::{Move, say};
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

/// One play.
pub struct Scenario {
    /// Its name: a word of the command line, and a row of the table.
    pub name: &'static str,
    /// How the client is started.
    pub topology: Topology,
    /// Whether the client has its task tools.
    pub tasks: bool,
    /// What the user types, until the client is left.
    pub steps: fn(Generation) -> Vec<Step>,
    /// What a part answers at its cue.
    pub reply: fn(Generation, &Cue) -> Vec<Move>,
    /// How often the default policy refuses the lead to stop a teammate before it lets it through.
    pub refusals: usize,
    /// Whether the tasks are restored into a list for a second session.
    pub restored: bool,
}

/// Every play.
pub const ALL: &[Scenario] = &[
    Scenario {
        name: "in-process",
        topology: Topology::InProcess,
        tasks: true,
        steps: parser::steps,
        reply: parser::reply,
        refusals: 0,
        restored: false,
    },
    Scenario {
        name: "panes",
        topology: Topology::Panes,
        tasks: true,
        steps: parser::steps,
        reply: parser::reply,
        refusals: 0,
        restored: false,
    },
    Scenario {
        name: "no-tasks",
        topology: Topology::InProcess,
        tasks: false,
        steps: parser::steps,
        reply: parser::reply_without_tasks,
        refusals: 0,
        restored: false,
    },
    Scenario {
        name: "headless",
        topology: Topology::Headless,
        tasks: true,
        steps: delegate::steps,
        reply: delegate::reply,
        refusals: 0,
        restored: false,
    },
    Scenario {
        name: "policy",
        topology: Topology::InProcess,
        tasks: true,
        steps: halfway::steps_of_stopping,
        reply: halfway::reply,
        refusals: 3,
        restored: false,
    },
    Scenario {
        name: "restore",
        topology: Topology::InProcess,
        tasks: true,
        steps: halfway::steps_of_leaving,
        reply: halfway::reply,
        refusals: 0,
        restored: true,
    },
];

impl Scenario {
    /// Says why a client cannot play it; `None` when it can.
    pub fn lacks(&self, version: Version) -> Option<&'static str> {
        (!self.tasks && !version.can_do_without_tasks()).then_some("it always has its task tools")
    }
}

/// The answer at a turn of a plan; the last one is given for ever.
fn at(mut plan: Vec<Vec<Move>>, turn: usize) -> Vec<Move> {
    let last = plan.len().saturating_sub(1);
    if plan.is_empty() { vec![say("Noted.")] } else { plan.swap_remove(turn.min(last)) }
}
