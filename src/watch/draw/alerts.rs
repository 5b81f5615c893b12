//! The incidents: one row each.

use ratatui_core::layout::Rect;
use ratatui_core::terminal::Frame;

use super::Scene;
use super::panel::{Need, PLAIN, fitting, put, severity};
use crate::status::{Item, lasts_at};
use crate::view::{DIM, Span, bold, dim, lasted, plain, styled};
use crate::watch::Spot;
use crate::watch::lists::{Panel, Subject};
use crate::watch::recording::{Alert, Moment};
use teamkeep_history::report::{Incident, IncidentKind, Severity};
use teamkeep_model::TaskStatus;
use teamkeep_model::time::{self, Timestamp};

/// The least number of rows, if there are so many incidents.
const LEAST: usize = 3;
/// The start of the row of a remedy, below the summary.
const REMEDY: &str = "          → ";

pub fn need(scene: Scene<'_>) -> Need {
    let all = scene.lists.alerts.len();
    // Those that are over need no room of their own.
    let lasting = scene.lists.alerts.iter().filter(|alert| !alert.is_over).count();
    let remedy = usize::from(scene.state.remedy(scene.recording, scene.lists).is_some());
    Need { least: lasting.max(usize::from(all > 0)).min(LEAST), all: all + remedy }
}

pub fn draw(frame: &mut Frame<'_>, area: Rect, scene: Scene<'_>) {
    let alerts = scene.lists.alerts;
    let selected = scene.selected(Panel::Alerts);
    // Its row is below that of the incident, if no panel lacks a row.
    let has_room = usize::from(area.height) > need(scene).least;
    let remedy = scene.state.remedy(scene.recording, scene.lists).filter(|_| has_room);
    let height = area.height - u16::from(remedy.is_some());
    let shown = fitting(alerts.len(), Rect { height, ..area }, selected);
    let marked = scene.marked(Panel::Alerts);
    let mut rows = area.rows();
    for place in shown.clone() {
        let mark = bold(if marked == Some(place) { "▸" } else { " " });
        let own = remedy.as_ref().filter(|_| place == selected);
        let row = row(scene, &alerts[place], own.is_none());
        let area = rows.next().unwrap_or_default();
        scene.put_spot(area, Spot::Item(Subject::Incident(alerts[place].id.clone())));
        put(frame, area, [mark].into_iter().chain(row));
        if let Some(remedy) = own {
            let note = if scene.state.copied.as_ref() == Some(remedy) { "copied" } else { "y: copy" };
            let pieces = [dim(REMEDY), plain(remedy), dim(format!("  {note}"))];
            put(frame, rows.next().unwrap_or_default(), pieces);
        }
    }
    let hidden = alerts.len() - shown.len();
    if hidden > 0 {
        let past = alerts.iter().filter(|alert| alert.is_over).count();
        let past = past - alerts[shown.clone()].iter().filter(|alert| alert.is_over).count();
        let past = if past == 0 { String::new() } else { format!(", {past} of them past") };
        let text = format!("  +{hidden} more incidents{past}: press !");
        put(frame, rows.next().unwrap_or_default(), [styled(severity(Severity::Medium), text)]);
    }
}

/// The text of an incident at the moment that is shown: at the end its summary; before that, how long a condition has
/// lasted, and no consequences.
pub fn summary(incident: &Incident, moment: &Moment) -> String {
    if moment.is_end {
        return incident.summary.clone();
    }
    if !incident.kind.is_condition() || !lasts_at(incident, moment.at) {
        return incident.happened.clone();
    }
    let what = match incident.kind {
        IncidentKind::StalledAgent => "silent",
        IncidentKind::FailedAgent => "failed",
        IncidentKind::WaitingPermission => "waiting for permission",
        IncidentKind::WaitingApproval => "waiting for approval",
        IncidentKind::UnreadMessage => "with unread messages",
        IncidentKind::DuplicateAgents => "with the same prompt",
        IncidentKind::IdlePingPong => "busy with idle notices",
        _ => "waiting",
    };
    let begins = incident.silences.iter().filter_map(|(_, (from, _))| Timestamp::from_millis(*from));
    let from = begins.filter(|from| *from <= moment.at).max().unwrap_or(incident.from);
    let is_open = |task: &&Item| incident.tasks.contains(&task.id) && task.status == TaskStatus::InProgress;
    let open: Vec<String> =
        moment.board.tasks.iter().filter(is_open).map(|task| format!("#{}", task.id)).collect();
    let with = if open.is_empty() { String::new() } else { format!(" with {} in progress", open.join(", ")) };
    let who = match incident.kind {
        // The others sent the messages.
        IncidentKind::UnreadMessage => incident.agents.first().cloned().unwrap_or_default(),
        _ => incident.agents.join(", "),
    };
    let since = time::local(from).format("%H:%M:%S");
    format!("{who} {what} since {since} ({}){with}", lasted(from, moment.at))
}

fn row(scene: Scene<'_>, alert: &Alert, has_remedy: bool) -> Vec<Span> {
    let Some(incident) = scene.recording.observed.incidents().get(alert.place) else { return Vec::new() };
    let (style, text) = if alert.is_over { (DIM, DIM) } else { (severity(alert.severity), PLAIN) };
    let word = if alert.is_over { "past".to_owned() } else { alert.severity.name() };
    let remedy = incident
        .remedy
        .as_ref()
        .filter(|_| has_remedy)
        .map(|remedy| format!(" → {remedy}"))
        .unwrap_or_default();
    vec![styled(style, format!("! {word:<6} ")), styled(text, summary(incident, scene.moment)), dim(remedy)]
}
