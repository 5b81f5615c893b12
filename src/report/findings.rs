//! What was lost or looks wrong.

use serde::{Deserialize, Serialize};

use super::case::Case;
use super::messages::Mail;
use super::tasks::TaskLife;
use super::trouble;
use super::turns::Turn;

/// One thing that was lost or looks wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What kind of thing.
    pub code: Code,
    /// When, RFC 3339; `None` for what is true of the whole run.
    pub at: Option<String>,
    /// Whom it is about.
    pub who: Option<String>,
    /// The task that it is about.
    pub task: Option<String>,
    /// What happened, in a sentence.
    pub what: String,
    /// A share or a number that says how much, where there is one.
    pub amount: Option<f64>,
}

/// The kinds of findings, the gravest first. Kinds are only ever added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// Somebody agreed to stop, or was stopped, with a task in progress.
    StoppedAtWork,
    /// The client took a task from who owned it and made it pending again.
    WorkReturned,
    /// The run ended, or the task was erased, and it was not completed.
    Unfinished,
    /// The client erased a task's file.
    TaskErased,
    /// A message did not reach its recipient.
    NotDelivered,
    /// The client or a hook refused a message.
    Refused,
    /// A teammate never sent a message but to stop.
    NeverReported,
    /// The lead was woken by nothing but notices of idle teammates.
    IdlePingPong,
    /// A gate held something back.
    Blocked,
    /// A gate let something through because it had held it back too often.
    Escalated,
    /// A gate warned.
    Warned,
    /// No end of the run is on record, and its client's process is gone.
    NoEnd,
    /// Events of the run's beginning are missing, so information that only they have is unknown.
    EventsMissing,
    /// A part of the record cannot be read.
    Unreadable,
}

impl Code {
    /// Every code.
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

/// Finds them: by kind, then by time.
pub fn findings(case: &Case<'_>, mail: &Mail, tasks: &[TaskLife], turns: &[Turn]) -> Vec<Finding> {
    let mut found = trouble::stopped_at_work(case, tasks);
    found.extend(trouble::tasks(case, tasks));
    found.extend(trouble::mail(case, mail));
    found.extend(trouble::ping_pong(case, turns));
    found.extend(trouble::verdicts(case));
    found.extend(trouble::record(case));
    found.sort_by(|a, b| (a.code, &a.at).cmp(&(b.code, &b.at)));
    found
}

impl Finding {
    /// A finding with nothing but the essentials.
    pub fn new(code: Code, what: impl Into<String>) -> Finding {
        Finding { code, at: None, who: None, task: None, what: what.into(), amount: None }
    }

    /// When it was.
    pub fn at(self, at: &str) -> Finding {
        Finding { at: Some(at.to_owned()), ..self }
    }

    /// Whom it is about.
    pub fn of(self, who: &str) -> Finding {
        Finding { who: Some(who.to_owned()), ..self }
    }

    /// The task that it is about.
    pub fn task(self, task: &str) -> Finding {
        Finding { task: Some(task.to_owned()), ..self }
    }
}
