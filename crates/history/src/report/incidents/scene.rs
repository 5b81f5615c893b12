//! The input of all detectors: the parts of the report, the times at which each agent was active, and its tokens. And their output: an
//! incident while its evidence is collected, and the words that summaries share.

use std::collections::{HashMap, HashSet};

use super::{Incident, IncidentCost, IncidentKind, Remedy, Severity, Step};
use crate::report::input::{ReportInput, Spans};
use crate::report::messages::MessageStats;
use crate::report::overview::Parts;
use crate::report::spending::Spending;
use crate::report::tasks::TaskHistory;
use crate::report::turns::{ActivityTimes, Turn};
use crate::timeline::{Entry, Kind};
use teamkeep_config::Incidents;
use teamkeep_model::TaskStatus;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::listed;
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

#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub kind: IncidentKind,
    pub severity: Severity,
    pub agents: Vec<String>,
    /// The tasks that it is about.
    pub tasks: Vec<String>,
    /// The tasks that it lost: see [`assign`](super::departures::assign).
    pub lost: Vec<String>,
    /// Begin and end, in milliseconds.
    pub span: (i64, i64),
    /// The moment that people look for, if not the begin: that of the loss.
    pub dated: Option<i64>,
    /// How long it lasted in milliseconds, if not all the time between them.
    pub lasted: Option<i64>,
    /// The ids of entries that it counts, apart from those in the chain.
    pub counted: Vec<String>,
    /// When which agent was silent with work, in milliseconds.
    pub silences: Vec<(String, (i64, i64))>,
    pub summary: String,
    /// What followed from it, after the summary: `; #2 was never completed`. At a moment of the run it is not known yet.
    pub consequence: String,
    pub chain: Vec<Step>,
    pub cost: IncidentCost,
    pub remedy: Option<Remedy>,
    /// Whether tasks were lost by it, or by a symptom of it.
    pub is_loss: bool,
    /// Its first task, for its id: it stays the first when the run is over and the completed tasks are left out.
    first_task: Option<String>,
    /// The end of its last symptom.
    explained_until: i64,
}

impl Draft {
    pub(super) fn new(kind: IncidentKind, severity: Severity, span: (i64, i64)) -> Draft {
        Draft {
            is_loss: kind.is_loss(),
            kind,
            severity,
            agents: Vec::new(),
            tasks: Vec::new(),
            lost: Vec::new(),
            first_task: None,
            explained_until: i64::MIN,
            span,
            dated: None,
            lasted: None,
            counted: Vec::new(),
            silences: Vec::new(),
            summary: String::new(),
            consequence: String::new(),
            chain: Vec::new(),
            cost: IncidentCost::default(),
            remedy: None,
        }
    }

    pub(super) fn agent(&mut self, name: &str) {
        if !self.agents.iter().any(|known| known == name) {
            self.agents.push(name.to_owned());
        }
    }

    pub(super) fn task(&mut self, id: &str) {
        if !self.tasks.iter().any(|known| known == id) {
            self.tasks.push(id.to_owned());
        }
        self.first_task.get_or_insert_with(|| id.to_owned());
    }

    /// Leaves out completed tasks if others were lost: those are what the incident is about.
    pub(super) fn keep_lost(&mut self, scene: &Scene<'_>) {
        if self.tasks.iter().any(|id| scene.has_lost(id)) {
            self.tasks.retain(|id| scene.has_lost(id));
        }
    }

    /// The end of it and of its symptoms.
    pub(super) fn until(&self) -> i64 {
        self.span.1.max(self.explained_until)
    }

    pub(super) fn step(&mut self, entry: &Entry, what: impl Into<String>) {
        let step = Step::of(entry, what);
        if !self.chain.iter().any(|known| known.id == step.id) {
            self.chain.push(step);
        }
    }

    /// Adds tokens and their price, if known.
    pub(super) fn spend(&mut self, spent: Option<(u64, Option<f64>)>) {
        let Some((tokens, usd)) = spent else { return };
        let (known, price) = match self.cost.tokens {
            Some(known) => (known, self.cost.usd),
            None => (0, Some(0.0)),
        };
        let usd = price.zip(usd).map(|(price, usd)| price + usd);
        (self.cost.tokens, self.cost.usd) = (Some(known + tokens), usd);
    }

    pub(super) fn advise(&mut self, advice: impl Into<String>) {
        self.remedy = Some(Remedy::Advice(advice.into()));
    }

    /// Takes the evidence of a symptom.
    pub(super) fn explain(&mut self, symptom: Draft) {
        self.severity = self.severity.min(symptom.severity);
        self.is_loss |= symptom.is_loss;
        self.explained_until = self.explained_until.max(symptom.until());
        self.counted.extend(symptom.counted);
        self.silences.extend(symptom.silences);
        symptom.tasks.iter().for_each(|task| self.task(task));
        let new =
            symptom.chain.into_iter().filter(|step| !self.chain.iter().any(|known| known.id == step.id));
        let new: Vec<Step> = new.collect();
        self.chain.extend(new);
        if self.cost.tokens.is_none() {
            (self.cost.tokens, self.cost.usd) = (symptom.cost.tokens, symptom.cost.usd);
        }
        self.remedy = self.remedy.take().or(symptom.remedy);
    }

    pub(super) fn overlaps(&self, (from, to): (i64, i64)) -> bool {
        self.span.0 <= to && from <= self.span.1
    }

    pub(super) fn finish(mut self, scene: &Scene<'_>) -> Incident {
        let time = |at: i64| Timestamp::from_millis(at).unwrap_or_default();
        self.chain.sort_by_key(|step| step.at);
        let (from, to) = self.span;
        self.cost.seconds = u64::try_from(self.lasted.unwrap_or(to - from) / 1_000).unwrap_or_default();
        self.cost.tasks_lost = self.lost.len();
        let resolved = self.is_resolved(scene);
        if resolved {
            (self.severity, self.remedy) = (Severity::Low, None);
        }
        let mut hasher = blake3::Hasher::new();
        let (agent, task) = (self.agents.first(), self.first_task.as_ref().or(self.tasks.first()));
        for part in [Some(&self.kind.name()), agent, task] {
            hasher.update(part.map_or("", String::as_str).as_bytes()).update(&[0]);
        }
        hasher.update(&from.to_le_bytes());
        Incident {
            id: hasher.finalize().to_hex()[..10].to_owned(),
            kind: self.kind,
            severity: self.severity,
            agents: self.agents,
            tasks: if self.lost.is_empty() { self.tasks } else { self.lost },
            from: time(self.dated.unwrap_or(from)),
            to: (!scene.lasts(to)).then(|| time(to)),
            summary: format!("{}{}", self.summary, self.consequence),
            happened: self.summary,
            evidence: self.chain.iter().map(|step| step.id.clone()).collect(),
            chain: self.chain,
            cost: self.cost,
            remedy: self.remedy,
            resolved,
            counted: self.counted,
            silences: self.silences,
        }
    }

    /// Whether all the work that an agent left was completed later. Its symptoms are then over as well.
    fn is_resolved(&self, scene: &Scene<'_>) -> bool {
        let is_left = matches!(self.kind, IncidentKind::LostWork | IncidentKind::CrashedAgent);
        let mut tasks = scene.tasks.iter().filter(|task| self.tasks.contains(&task.id)).peekable();
        is_left && tasks.peek().is_some() && tasks.all(|task| task.status == TaskStatus::Completed)
    }
}

/// `#4`, `#4 and #5`, `#4, #5 and 3 more`.
pub(super) fn task_names<'a>(ids: impl IntoIterator<Item = &'a String>) -> String {
    listed(&ids.into_iter().map(|id| format!("#{id}")).collect::<Vec<String>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_of_an_incident_is_unknown_if_a_part_of_it_is() {
        let cost = |parts: &[(u64, Option<f64>)]| {
            let mut draft = Draft::new(IncidentKind::StalledAgent, Severity::Low, (0, 0));
            parts.iter().for_each(|part| draft.spend(Some(*part)));
            (draft.cost.tokens, draft.cost.usd)
        };
        assert_eq!(cost(&[(1, Some(0.5)), (2, Some(0.25))]), (Some(3), Some(0.75)));
        assert_eq!(cost(&[(1, None), (2, Some(0.25))]), (Some(3), None));
        assert_eq!(cost(&[(1, Some(0.5)), (2, None)]), (Some(3), None));
    }

    #[test]
    fn lists_are_written_in_words() {
        let ids = ["1", "2", "3", "4", "5"].map(str::to_owned);
        assert_eq!(task_names(&ids), "#1, #2 and 3 more");
    }
}
