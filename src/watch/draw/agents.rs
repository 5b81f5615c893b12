//! The agents, worst first: state, last activity, unread messages and tasks.

use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::terminal::Frame;
use unicode_width::UnicodeWidthStr;

use super::Scene;
use super::panel::{Need, counted, fitting, put, row_below, short, state, title};
use super::tasks::after;
use crate::status::Member;
use crate::view::{FOR_APPROVAL, Span, YELLOW, bold, dim, name_style, plain, styled};
use crate::watch::Spot;
use crate::watch::lists::{Panel, Subject};

/// Columns of the longest shown name.
const MAX_NAME: usize = 18;
/// Columns in which there is room for all cells.
const LEAST_COLUMNS: u16 = 60;
/// Rows that the panel has at least if there are so many agents: three, and six if so many need attention.
const LEAST: usize = 3;
const LEAST_WITH_ATTENTION: usize = 6;

pub fn need(scene: Scene<'_>) -> Need {
    let agents = &scene.lists.agents;
    let attention = agents.iter().filter(|member| member.state.needs_attention()).count();
    // One more row is for the number of hidden agents.
    let least = (attention + 1).clamp(LEAST, LEAST_WITH_ATTENTION).min(agents.len());
    Need { least: 1 + least, all: 1 + agents.len().max(1) }
}

pub fn draw(frame: &mut Frame<'_>, area: Rect, scene: Scene<'_>) {
    let (agents, moment) = (&scene.lists.agents, scene.moment);
    let mut heading = vec![bold("Agents ")];
    heading.extend(counted(&moment.board.members));
    if agents.len() < moment.board.members.len() {
        heading.push(styled(YELLOW, format!("; {} match", agents.len())));
    }
    if scene.lists.hidden_attention > 0 {
        let text = format!(", {} that need attention do not", scene.lists.hidden_attention);
        heading.push(styled(YELLOW, text));
    }
    let area = title(frame, area, scene.has_focus(Panel::Agents), heading);
    let selected = scene.selected(Panel::Agents);
    let shown = fitting(agents.len(), area, selected);
    let name = agents.iter().map(|member| member.name.width()).max().unwrap_or_default().clamp(4, MAX_NAME);
    let state = agents.iter().map(|member| member.state.word().len()).max().unwrap_or_default();
    let columns = [2, name, state, 6, 10].map(|width| Constraint::Length(u16::try_from(width).unwrap_or(0)));
    let columns = Layout::horizontal(columns.into_iter().chain([Constraint::Fill(1)])).spacing(1);
    // Without enough room, the last columns are missing.
    let columns = columns.split(Rect { width: area.width.max(LEAST_COLUMNS), ..area });
    let marked = scene.marked(Panel::Agents);
    for (place, row) in shown.clone().zip(area.rows()) {
        let mark = if marked == Some(place) { "▸" } else { " " };
        scene.put_spot(row, Spot::Item(Subject::Agent(agents[place].name.clone())));
        for (cell, column) in cells(scene, mark, agents[place]).into_iter().zip(columns.iter()) {
            put(frame, column.intersection(row), cell);
        }
    }
    if shown.len() < agents.len() {
        let hidden = agents[..shown.start].iter().chain(&agents[shown.end..]).copied();
        let mut pieces = vec![dim(format!("  +{} more: ", hidden.clone().count()))];
        pieces.extend(counted(hidden));
        pieces.push(dim(" (Tab, j)"));
        put(frame, row_below(area, shown.len()), pieces);
    }
}

/// Mark and sign, name, state, time since the last activity, unread messages, work.
fn cells(scene: Scene<'_>, mark: &str, member: &Member) -> [Vec<Span>; 6] {
    let (style, sign) = state(member.state);
    let active = short(member.active_at.unwrap_or(member.since), scene.moment.at);
    let unread = if member.unread == 0 { String::new() } else { format!("{} unread", member.unread) };
    [
        vec![bold(mark), styled(style, sign)],
        vec![styled(name_style(&member.name), &member.name)],
        vec![styled(style, member.state.word())],
        vec![plain(format!("{active:>6}"))],
        vec![styled(YELLOW, format!("{unread:>10}"))],
        work(scene, member),
    ]
}

/// The tasks of the agent, and why it waits.
fn work(scene: Scene<'_>, member: &Member) -> Vec<Span> {
    let (style, _) = state(member.state);
    let mut pieces = Vec::new();
    if member.awaits_approval {
        pieces.push(styled(style, FOR_APPROVAL));
    }
    for id in &member.tasks {
        let Some(task) = scene.moment.board.tasks.iter().find(|task| task.id == *id) else { continue };
        let comma = if pieces.is_empty() { "" } else { ", " };
        pieces.push(plain(format!("{comma}#{id}")));
        pieces.push(plain(" "));
        pieces.extend(after(&scene.moment.board, task));
        pieces.push(plain(&task.subject));
    }
    if let Some(why) = &member.why {
        let colon = if pieces.is_empty() { "" } else { ": " };
        pieces.push(styled(style, format!("{colon}{why}")));
    }
    pieces
}
