//! An incident while its evidence is collected, and the words that summaries share.

use std::collections::HashSet;

use super::scene::Scene;
use super::{Incident, IncidentCost, IncidentKind, Severity, Step};
use crate::timeline::Entry;
use teamkeep_core::model::TaskStatus;
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug, Clone)]
pub struct Draft {
    pub kind: IncidentKind,
    pub severity: Severity,
    pub agents: Vec<String>,
    pub tasks: Vec<String>,
    /// Begin and end, in milliseconds.
    pub span: (i64, i64),
    /// How long it lasted in milliseconds, if not all the time between them.
    pub lasted: Option<i64>,
    pub summary: String,
    pub chain: Vec<Step>,
    pub cost: IncidentCost,
    pub remedy: Option<String>,
    /// Whether tasks were lost by it, or by a symptom of it.
    is_loss: bool,
}

impl Draft {
    pub fn new(kind: IncidentKind, severity: Severity, span: (i64, i64)) -> Draft {
        use IncidentKind::{BlockedChain, CrashedAgent, LostWork, TasksDeleted};
        Draft {
            is_loss: matches!(kind, LostWork | CrashedAgent | TasksDeleted | BlockedChain),
            kind,
            severity,
            agents: Vec::new(),
            tasks: Vec::new(),
            span,
            lasted: None,
            summary: String::new(),
            chain: Vec::new(),
            cost: IncidentCost::default(),
            remedy: None,
        }
    }

    pub fn agent(&mut self, name: &str) {
        if !self.agents.iter().any(|known| known == name) {
            self.agents.push(name.to_owned());
        }
    }

    pub fn task(&mut self, id: &str) {
        if !self.tasks.iter().any(|known| known == id) {
            self.tasks.push(id.to_owned());
        }
    }

    pub fn step(&mut self, entry: &Entry, what: impl Into<String>) {
        let step = Step::of(entry, what);
        if !self.chain.iter().any(|known| known.id == step.id) {
            self.chain.push(step);
        }
    }

    /// Whether it explains that its tasks, and those that wait for them, were never completed: it is a loss itself, or its
    /// agent did nothing after it.
    fn explains_loss(&self, scene: &Scene<'_>) -> bool {
        let mut agents = self.agents.iter();
        self.is_loss || agents.all(|agent| scene.next_activity(agent, self.span.1 + LEAVING).is_none())
    }

    /// Adds tokens and their price, if known.
    pub fn spend(&mut self, spent: Option<(u64, Option<f64>)>) {
        let Some((tokens, usd)) = spent else { return };
        let (known, price) = match self.cost.tokens {
            Some(known) => (known, self.cost.usd),
            None => (0, Some(0.0)),
        };
        let usd = price.zip(usd).map(|(price, usd)| price + usd);
        (self.cost.tokens, self.cost.usd) = (Some(known + tokens), usd);
    }

    /// Takes the evidence of a symptom.
    pub fn explain(&mut self, symptom: Draft) {
        self.severity = self.severity.min(symptom.severity);
        self.is_loss |= symptom.is_loss;
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

    pub fn overlaps(&self, (from, to): (i64, i64)) -> bool {
        self.span.0 <= to && from <= self.span.1
    }

    pub fn finish(mut self, scene: &Scene<'_>) -> Incident {
        let time = |at: i64| Timestamp::from_millis(at).unwrap_or_default();
        self.chain.sort_by_key(|step| step.at);
        let (from, to) = self.span;
        self.cost.seconds = u64::try_from(self.lasted.unwrap_or(to - from) / 1_000).unwrap_or_default();
        self.cost.tasks_lost = self.cost.tasks_lost.max(scene.lost(&self.tasks));
        let resolved = self.is_resolved(scene);
        if resolved {
            (self.severity, self.remedy) = (Severity::Low, None);
        }
        let mut hasher = blake3::Hasher::new();
        let (agent, task) = (self.agents.first(), self.tasks.first());
        for part in [Some(&self.kind.name()), agent, task] {
            hasher.update(part.map_or("", String::as_str).as_bytes()).update(&[0]);
        }
        hasher.update(&from.to_le_bytes());
        Incident {
            id: hasher.finalize().to_hex()[..10].to_owned(),
            kind: self.kind,
            severity: self.severity,
            agents: self.agents,
            tasks: self.tasks,
            from: time(from),
            to: (!scene.lasts(to)).then(|| time(to)),
            summary: self.summary,
            evidence: self.chain.iter().map(|step| step.id.clone()).collect(),
            chain: self.chain,
            cost: self.cost,
            remedy: self.remedy,
            resolved,
        }
    }

    /// Whether all the work that an agent left was completed later. Its symptoms are then over as well.
    fn is_resolved(&self, scene: &Scene<'_>) -> bool {
        let is_left = matches!(self.kind, IncidentKind::LostWork | IncidentKind::CrashedAgent);
        let mut tasks = scene.tasks.iter().filter(|task| self.tasks.contains(&task.id)).peekable();
        is_left && tasks.peek().is_some() && tasks.all(|task| task.status == TaskStatus::Completed)
    }
}

/// The tasks of which one of these incidents explains that they were never completed.
pub fn explained_losses<'a>(scene: &'a Scene<'_>, drafts: &'a [Draft]) -> HashSet<&'a str> {
    let losses = drafts.iter().filter(|draft| draft.explains_loss(scene));
    losses.flat_map(|draft| scene.with_dependents(&draft.tasks)).collect()
}

/// Activity so soon after an incident is its end, in milliseconds.
const LEAVING: i64 = 60_000;

/// A duration in words: `40 s`, `12 min`, `3 h 18 min`, `2 d 4 h`.
pub fn duration(millis: i64) -> String {
    let seconds = millis.max(0) / 1_000;
    let two = |large: i64, unit: &str, small: i64, unit_of_small: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {unit_of_small}"),
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

/// `#4`, `#4 and #5`, `#4, #5 and 3 more`.
pub fn task_names<'a>(ids: impl IntoIterator<Item = &'a String>) -> String {
    listed(&ids.into_iter().map(|id| format!("#{id}")).collect::<Vec<String>>())
}

/// `a`, `a and b`, `a, b and c`, `a, b and 3 more`.
pub fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, third] => format!("{first}, {second} and {third}"),
        [first, second, more @ ..] => format!("{first}, {second} and {} more", more.len()),
    }
}

pub fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
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
    fn durations_and_lists_are_written_in_words() {
        let minute = 60_000;
        let millis =
            [0, 59_999, minute, 59 * minute, 60 * minute, 198 * minute, 1_440 * minute, 1_560 * minute];
        let shown = millis.map(duration);
        assert_eq!(shown, ["0 s", "59 s", "1 min", "59 min", "1 h", "3 h 18 min", "1 d", "1 d 2 h"]);
        let ids = ["1", "2", "3", "4", "5"].map(str::to_owned);
        let listed = [1, 2, 3, 5].map(|most| task_names(&ids[..most]));
        assert_eq!(listed, ["#1", "#1 and #2", "#1, #2 and #3", "#1, #2 and 3 more"]);
    }
}
