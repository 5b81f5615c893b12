//! The agents, worst first: state, last activity, unread messages and tasks.

use super::Scene;
use super::canvas::{Canvas, column, right};
use super::layout::Need;
use super::panel::{PLAIN, Window, counted, short, state, title};
use crate::status::Member;
use crate::view::{FOR_APPROVAL, Span, YELLOW, bold, dim, name_style, plain, styled};
use crate::watch::lists::Panel;

/// Columns of the longest shown name.
const MAX_NAME: usize = 18;
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

pub fn draw(mut canvas: Canvas<'_>, scene: Scene<'_>) {
    let (agents, moment) = (&scene.lists.agents, scene.moment);
    let focus = scene.focus(Panel::Agents);
    let mut heading = vec![bold("Agents ")];
    heading.extend(counted(&moment.board.members));
    if agents.len() < moment.board.members.len() {
        heading.push(styled(YELLOW, format!("; {} match", agents.len())));
    }
    if scene.lists.hidden_attention > 0 {
        let text = format!(", {} that need attention do not", scene.lists.hidden_attention);
        heading.push(styled(YELLOW, text));
    }
    title(&mut canvas, focus, &heading);
    let rows = canvas.rows().saturating_sub(1);
    let selected = scene.selected(Panel::Agents);
    let window = Window::from_start(agents.len(), rows, selected);
    let widths = Widths::of(agents);
    for (row, place) in (window.start..window.end).enumerate() {
        let mut pieces = vec![focus.mark(place, selected)];
        pieces.extend(widths.row(scene, agents[place]));
        canvas.row(row + 1, &pieces);
    }
    if window.is_cut {
        let hidden = agents[..window.start].iter().chain(&agents[window.end..]).copied();
        let mut pieces = vec![dim(format!("  +{} more: ", hidden.clone().count()))];
        pieces.extend(counted(hidden));
        pieces.push(dim(" (Tab, j)"));
        canvas.row(window.end - window.start + 1, &pieces);
    }
}

struct Widths {
    name: usize,
    state: usize,
}

impl Widths {
    fn of(agents: &[&Member]) -> Widths {
        let names = agents.iter().map(|member| member.name.chars().count());
        let states = agents.iter().map(|member| member.state.word().len());
        Widths {
            name: names.max().unwrap_or_default().clamp(4, MAX_NAME),
            state: states.max().unwrap_or_default(),
        }
    }

    fn row(&self, scene: Scene<'_>, member: &Member) -> Vec<Span> {
        let (style, sign) = state(member.state);
        let active = member.active_at.unwrap_or(member.since);
        let unread = match member.unread {
            0 => String::new(),
            unread => format!("{unread} unread"),
        };
        let mut pieces = vec![
            styled(style, format!("{sign} ")),
            column(name_style(&member.name), &member.name, self.name),
            plain(" "),
            column(style, member.state.word(), self.state),
            right(PLAIN, short(active, scene.moment.at), 6),
            plain(" "),
            right(YELLOW, unread, 10),
            plain(" "),
        ];
        let mut comma = "";
        if member.awaits_approval {
            pieces.push(styled(style, FOR_APPROVAL));
            comma = ", ";
        }
        for id in &member.tasks {
            let Some(task) = scene.moment.board.tasks.iter().find(|task| task.id == *id) else { continue };
            pieces.push(plain(format!("{comma}#{id}")));
            comma = ", ";
            for blocker in &task.blocked_by {
                pieces.push(styled(YELLOW, format!(" ⛔#{blocker}")));
            }
            pieces.push(plain(format!(" {}", task.subject)));
        }
        if let Some(why) = &member.why {
            let colon = if comma.is_empty() { "" } else { ": " };
            pieces.push(styled(style, format!("{colon}{why}")));
        }
        pieces
    }
}
