//! Incidents for people.

use super::document::{Document, Table};
use super::values::{count, since, thousands};
use teamkeep_history::report::Incident;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::dollars;

/// Number of steps shown at the start and at the end of an incident's chain.
const SHOWN_STEPS: usize = 4;

/// Each incident with its evidence, its cost and its remedy below it.
pub(super) fn incidents(incidents: &[Incident], started_at: Timestamp) -> Document {
    let mut document = Document::default();
    if incidents.is_empty() {
        document.paragraph("none found");
    }
    let row = |when: String, what: String| [String::new(), String::new(), when, what];
    let rows = incidents.iter().flat_map(|incident| {
        let when = since(started_at, incident.from);
        let first = [rank(incident), incident.kind.name(), when, incident.summary.clone()];
        let hidden = incident.chain.len().saturating_sub(2 * SHOWN_STEPS);
        let mut rows = vec![first];
        for (place, step) in incident.chain.iter().enumerate() {
            match place {
                SHOWN_STEPS if hidden > 0 => rows.push(row(String::new(), format!("- … {hidden} more"))),
                _ if (SHOWN_STEPS..SHOWN_STEPS + hidden).contains(&place) => {}
                _ => rows.push(row(since(started_at, step.at), format!("- {}", step.what))),
            }
        }
        rows.extend(incident_cost(incident).map(|cost| row(String::new(), format!("cost: {cost}"))));
        let remedy = incident.remedy.as_ref().map(|remedy| format!("remedy: {remedy}"));
        rows.extend(remedy.map(|remedy| row(String::new(), remedy)));
        rows
    });
    document.table(Table::of(&["severity", "kind", "when#", "incident"], rows));
    document
}

/// Its severity, or that the work was completed later.
pub(super) fn rank(incident: &Incident) -> String {
    if incident.resolved { "resolved".to_owned() } else { incident.severity.name() }
}

/// The cost of an incident: `1 task lost, 480 tokens, $0.02`.
pub fn incident_cost(incident: &Incident) -> Option<String> {
    let cost = &incident.cost;
    let parts = [
        (cost.tasks_lost > 0).then(|| format!("{} lost", count(cost.tasks_lost, "task"))),
        cost.tokens.filter(|tokens| *tokens > 0).map(|tokens| format!("{} tokens", thousands(tokens))),
        cost.usd.filter(|usd| *usd > 0.0).map(dollars),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
