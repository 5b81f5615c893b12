//! Findings: the problems of a run.

use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use super::issues;
use super::messages::MessageStats;
use super::tasks::TaskHistory;
use super::turns::Turn;

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind.
    pub code: Code,
    /// When, RFC 3339; `None` for the whole run.
    pub at: Option<String>,
    /// The agent.
    pub who: Option<String>,
    /// The task.
    pub task: Option<String>,
    /// The description, in a sentence.
    pub what: String,
    /// A share or a number, if there is one.
    pub amount: Option<f64>,
}

/// The kinds of findings, most severe first. Kinds are only added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// A teammate approved its shutdown, or was stopped, with a task in progress.
    StoppedAtWork,
    /// Claude Code returned a task to pending and removed its owner.
    WorkReturned,
    /// The run ended, or the task was erased, before it was completed.
    Unfinished,
    /// Claude Code erased a task's file.
    TaskErased,
    /// A message did not reach its recipient.
    NotDelivered,
    /// A message was blocked by a hook or rejected by Claude Code.
    Refused,
    /// A teammate never sent a message except to approve its shutdown.
    NeverReported,
    /// The lead's turn was triggered only by idle notices.
    IdlePingPong,
    /// A gate blocked an action.
    Blocked,
    /// The loop guard allowed an action.
    Escalated,
    /// A gate warned.
    Warned,
    /// No end of the run is recorded, and Claude Code's process is gone.
    NoEnd,
    /// Events of the run's beginning are missing, so information that only they have is unknown.
    EventsMissing,
    /// Recorded data cannot be read.
    Unreadable,
}

impl Code {
    /// All codes.
    pub const ALL: &[Code] = &[
        Code::StoppedAtWork,
        Code::WorkReturned,
        Code::Unfinished,
        Code::TaskErased,
        Code::NotDelivered,
        Code::Refused,
        Code::NeverReported,
        Code::IdlePingPong,
        Code::Blocked,
        Code::Escalated,
        Code::Warned,
        Code::NoEnd,
        Code::EventsMissing,
        Code::Unreadable,
    ];
}

/// Collects the findings, by kind and then by time.
pub fn findings(
    case: &ReportInput<'_>,
    mail: &MessageStats,
    tasks: &[TaskHistory],
    turns: &[Turn],
) -> Vec<Finding> {
    let mut found = issues::stopped_at_work(case, tasks);
    found.extend(issues::tasks(case, tasks));
    found.extend(issues::mail(case, mail));
    found.extend(issues::ping_pong(case, turns));
    found.extend(issues::verdicts(case));
    found.extend(issues::record(case));
    found.sort_by(|a, b| (a.code, &a.at).cmp(&(b.code, &b.at)));
    found
}

impl Finding {
    /// A finding with only the required fields.
    pub fn new(code: Code, what: impl Into<String>) -> Finding {
        Finding { code, at: None, who: None, task: None, what: what.into(), amount: None }
    }

    /// Sets the time.
    pub fn at(self, at: &str) -> Finding {
        Finding { at: Some(at.to_owned()), ..self }
    }

    /// Sets the agent.
    pub fn of(self, who: &str) -> Finding {
        Finding { who: Some(who.to_owned()), ..self }
    }

    /// Sets the task.
    pub fn task(self, task: &str) -> Finding {
        Finding { task: Some(task.to_owned()), ..self }
    }
}
