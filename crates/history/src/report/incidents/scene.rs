//! The input of all detectors: the parts of the report, the times at which each agent was active, and its tokens.

use std::collections::{HashMap, HashSet};

use crate::report::input::{ReportInput, Spans};
use crate::report::messages::MessageStats;
use crate::report::overview::Parts;
use crate::report::spending::Spending;
use crate::report::tasks::TaskHistory;
use crate::report::turns::{ActivityTimes, Turn};
use crate::timeline::{Entry, Kind};
use teamkeep_config::Incidents;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::EndedBy;

pub(crate) struct Scene<'a> {
    pub case: &'a ReportInput<'a>,
    pub mail: &'a MessageStats,
    pub tasks: &'a [TaskHistory],
    pub turns: &'a [Turn],
    pub limits: &'a Incidents,
    pub spending: &'a Spending<'a>,
    /// The moment up to which the run is judged, in milliseconds: its end or its crash; for a running team now.
    pub end: i64,
    activity: ActivityTimes,
    /// The changes of each task.
    task_entries: HashMap<&'a str, Vec<&'a Entry>>,
    /// The ids of the lost tasks.
    lost: HashSet<&'a str>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(
        case: &'a ReportInput<'a>,
        parts: Parts<'a>,
        limits: &'a Incidents,
        now: Timestamp,
    ) -> Scene<'a> {
        let Parts { mail, tasks, turns, spending } = parts;
        let activity = ActivityTimes::of_case(case);
        let last = activity.each().filter_map(|(_, own)| own.last()).max().copied();
        let end = match () {
            // The crash itself is not recorded. It came after the last activity.
            () if is_crashed(case) => last.unwrap_or_else(|| case.end.millis()),
            () => case.until(now).millis(),
        };
        let mut task_entries: HashMap<&str, Vec<&Entry>> = HashMap::new();
        for entry in case.entries {
            if let Some(change) = entry.task() {
                task_entries.entry(&change.id).or_default().push(entry);
            }
        }
        let lost = tasks.iter().filter(|task| is_lost(case, task)).map(|task| task.id.as_str()).collect();
        Scene { case, mail, tasks, turns, limits, spending, end, activity, task_entries, lost }
    }

    pub(crate) fn is_crashed(&self) -> bool {
        is_crashed(self.case)
    }

    /// Whether something lasts until now, because the team runs and it lasts until the end.
    pub(crate) fn lasts(&self, to: i64) -> bool {
        to >= self.end && !self.case.is_over()
    }

    /// When the agent was part of the team.
    pub(crate) fn presence(&self, name: &str) -> Spans {
        self.case.presence(name, self.end)
    }

    /// Whether the agent was part of the team until its end. The files of a team go before the end of its session.
    pub(crate) fn is_there_at_end(&self, name: &str) -> bool {
        self.presence(name).iter().last().is_some_and(|(_, to)| self.end - to <= GRACE)
    }

    /// The times without activity of the agent while it was there that are at least so long.
    pub(crate) fn silences(&self, name: &str, at_least: i64) -> Vec<(i64, i64)> {
        let own = self.activity.of_agent(name);
        let mut silences = Vec::new();
        for (from, to) in self.presence(name).iter() {
            let inside = own.iter().copied().filter(|at| (from..=to).contains(at));
            let mut last = from;
            for at in inside.chain([to]) {
                if at - last >= at_least {
                    silences.push((last, at));
                }
                last = at;
            }
        }
        silences
    }

    /// The agent's first activity after that time.
    pub(crate) fn next_activity(&self, name: &str, after: i64) -> Option<i64> {
        self.activity.of_agent(name).iter().copied().find(|at| *at > after)
    }

    /// Whether any other agent showed activity within that time, except near its ends.
    pub(crate) fn is_anyone_else_active(&self, name: &str, (from, to): (i64, i64)) -> bool {
        let margin = ((to - from) / 4).min(NEAR_END);
        let (from, to) = (from + margin, to - margin);
        let mut others = self.activity.each().filter(|(other, _)| *other != name);
        others.any(|(_, own)| own.iter().any(|at| from < *at && *at < to))
    }

    /// The tasks that the agent had in progress at that moment.
    pub(crate) fn held(&self, name: &str, at: i64) -> Vec<&'a TaskHistory> {
        self.tasks.iter().filter(|task| task.is_held(name, at)).collect()
    }

    pub(crate) fn is_lost(&self, task: &TaskHistory) -> bool {
        is_lost(self.case, task)
    }

    pub(crate) fn has_lost(&self, id: &str) -> bool {
        self.lost.contains(id)
    }

    /// The entry with the change of a task at that moment, in milliseconds.
    pub(crate) fn task_entry(&self, task: &str, at: i64) -> Option<&'a Entry> {
        self.changes_of(task).iter().copied().find(|entry| entry.at.millis() == at)
    }

    /// The changes of a task, in order.
    pub(crate) fn changes_of(&self, task: &str) -> &[&'a Entry] {
        self.task_entries.get(task).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn entries(&self, kind: Kind) -> impl Iterator<Item = &'a Entry> {
        self.case.entries.iter().filter(move |entry| entry.kind() == kind)
    }
}

fn is_lost(case: &ReportInput<'_>, task: &TaskHistory) -> bool {
    task.is_unfinished() && case.is_over()
}

/// Time between the files of a team and the end of its session, in milliseconds.
pub(super) const GRACE: i64 = 5_000;

/// Agents that stop and continue at the same time differ by less, in milliseconds.
const NEAR_END: i64 = 60_000;

fn is_crashed(case: &ReportInput<'_>) -> bool {
    case.data.client_gone && case.data.run.imported.is_none()
        || case.data.run.ended_by == Some(EndedBy::Crashed)
}
