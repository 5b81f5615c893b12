//! The incidents: one row each.

use super::Scene;
use super::canvas::Canvas;
use super::layout::Need;
use super::panel::{PLAIN, Window, severity};
use crate::view::{DIM, dim, styled};
use crate::watch::lists::Panel;

/// The least number of rows, if there are so many incidents.
const LEAST: usize = 3;

pub fn need(scene: Scene<'_>) -> Need {
    let all = scene.lists.alerts.len();
    // Those that are over need no room of their own.
    let lasting = scene.lists.alerts.iter().filter(|alert| !alert.is_over).count();
    Need { least: lasting.max(usize::from(all > 0)).min(LEAST), all }
}

pub fn draw(mut canvas: Canvas<'_>, scene: Scene<'_>) {
    let alerts = scene.lists.alerts;
    let focus = scene.focus(Panel::Alerts);
    let selected = scene.selected(Panel::Alerts);
    let window = Window::from_start(alerts.len(), canvas.rows(), selected);
    for (row, place) in (window.start..window.end).enumerate() {
        let alert = &alerts[place];
        let Some(incident) = scene.recording.observed.incidents().get(alert.place) else { continue };
        let style = if alert.is_over { DIM } else { severity(alert.severity) };
        let word = if alert.is_over { "past".to_owned() } else { alert.severity.name() };
        let remedy = incident.remedy.as_ref().map(|remedy| format!(" → {remedy}")).unwrap_or_default();
        canvas.row(
            row,
            &[
                focus.mark(place, selected),
                styled(style, format!("! {word:<6} ")),
                styled(if alert.is_over { DIM } else { PLAIN }, &incident.summary),
                dim(remedy),
            ],
        );
    }
    if window.is_cut {
        let hidden = alerts.len() - (window.end - window.start);
        let lasting = alerts[..window.start].iter().chain(&alerts[window.end..]);
        let lasting = lasting.filter(|alert| !alert.is_over).count();
        let past = match hidden - lasting {
            0 => String::new(),
            past => format!(", {past} of them past"),
        };
        let text = format!("  +{hidden} more incidents{past}: press !");
        canvas.row(
            window.end - window.start,
            &[styled(severity(teamkeep_history::report::Severity::Medium), text)],
        );
    }
}
