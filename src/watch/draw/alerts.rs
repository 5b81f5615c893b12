//! The incidents: one row each.

use ratatui_core::layout::Rect;
use ratatui_core::terminal::Frame;

use super::Scene;
use super::layout::Need;
use super::panel::{PLAIN, fitting, list, put, row_below, severity};
use crate::view::{DIM, Span, dim, styled};
use crate::watch::lists::Panel;
use crate::watch::recording::Alert;
use teamkeep_history::report::Severity;

/// The least number of rows, if there are so many incidents.
const LEAST: usize = 3;

pub fn need(scene: Scene<'_>) -> Need {
    let all = scene.lists.alerts.len();
    // Those that are over need no room of their own.
    let lasting = scene.lists.alerts.iter().filter(|alert| !alert.is_over).count();
    Need { least: lasting.max(usize::from(all > 0)).min(LEAST), all }
}

pub fn draw(frame: &mut Frame<'_>, area: Rect, scene: Scene<'_>) {
    let alerts = scene.lists.alerts;
    let selected = scene.selected(Panel::Alerts);
    let shown = fitting(alerts.len(), area, selected);
    let marked = scene.marked(Panel::Alerts);
    list(frame, area, shown.clone(), marked, |place| row(scene, &alerts[place]));
    let hidden = alerts.len() - shown.len();
    if hidden > 0 {
        let past = alerts.iter().filter(|alert| alert.is_over).count();
        let past = past - alerts[shown.clone()].iter().filter(|alert| alert.is_over).count();
        let past = if past == 0 { String::new() } else { format!(", {past} of them past") };
        let text = format!("  +{hidden} more incidents{past}: press !");
        put(frame, row_below(area, shown.len()), [styled(severity(Severity::Medium), text)]);
    }
}

fn row(scene: Scene<'_>, alert: &Alert) -> Vec<Span> {
    let Some(incident) = scene.recording.observed.incidents().get(alert.place) else { return Vec::new() };
    let (style, text) = if alert.is_over { (DIM, DIM) } else { (severity(alert.severity), PLAIN) };
    let word = if alert.is_over { "past".to_owned() } else { alert.severity.name() };
    let remedy = incident.remedy.as_ref().map(|remedy| format!(" → {remedy}")).unwrap_or_default();
    vec![styled(style, format!("! {word:<6} ")), styled(text, &incident.summary), dim(remedy)]
}
