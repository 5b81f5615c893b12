//! An incident while its evidence is collected, and the words that summaries share.

use super::scene::Scene;
use super::{Incident, IncidentCost, IncidentKind, Remedy, Severity, Step};
use crate::timeline::Entry;
use teamkeep_model::TaskStatus;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::listed;

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
