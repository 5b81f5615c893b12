//! The rows above and below the panels: the verdict, the progress, the incidents, the time; and the keys.

use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::terminal::Frame;
use unicode_width::UnicodeWidthStr;

use super::Scene;
use super::panel::{counted, put, row_below, severity, short};
use crate::view::{DIM, GREEN, Span, YELLOW, bold, dim, elapsed, one_line, plain, styled, thousands};
use crate::watch::lists::Panel;
use crate::watch::recording::Playback;
use crate::watch::{Mode, Spot};
use teamkeep_history::report::{RunOutcome, RunVerdict, Severity};
use teamkeep_model::time;
use teamkeep_model::words::dollars;

/// Columns of the bar that shows the progress.
const PROGRESS: usize = 12;

/// The number of rows above the panels.
pub fn rows(scene: Scene<'_>, rows: u16) -> u16 {
    let has_time_bar = !scene.recording.is_running() || !scene.moment.is_end;
    match rows {
        0..6 => 1,
        6..10 => 2,
        _ => 2 + u16::from(has_time_bar),
    }
}

pub fn draw(frame: &mut Frame<'_>, area: Rect, scene: Scene<'_>) {
    if area.height == 1 {
        // Without room for anything else, the incidents are what matters.
        put(frame, area, [name(scene), plain(" ")].into_iter().chain(figures(scene)));
        return;
    }
    first(frame, row_below(area, 0), scene);
    put(frame, row_below(area, 1), figures(scene));
    time_bar(frame, row_below(area, 2), scene);
}

fn name(scene: Scene<'_>) -> Span {
    bold(scene.recording.data.run.name().unwrap_or("(no team)"))
}

/// The name and the verdict; at the right the time.
fn first(frame: &mut Frame<'_>, area: Rect, scene: Scene<'_>) {
    let at = scene.moment.at;
    let time = format!("{} {}", time::local(at).format("%H:%M:%S"), time::offset(at));
    let others = match scene.recording.others {
        0 => String::new(),
        others => format!("  +{others} more running: teamkeep status"),
    };
    let columns = [Constraint::Fill(1), Constraint::Max(u16::try_from(time.len()).unwrap_or(0))];
    let [left, right] = Layout::horizontal(columns).spacing(1).areas(area);
    let [word, more] = verdict(scene);
    put(frame, left, [name(scene), plain("  "), word, styled(YELLOW, others), more]);
    put(frame, right, [plain(time)]);
}

/// How the run goes or ended; of a running team, what it was asked, and of another run, what came out.
fn verdict(scene: Scene<'_>) -> [Span; 2] {
    let (recording, at) = (scene.recording, scene.moment.at);
    let RunVerdict { kind, title, sentence } = &recording.observed.report.verdict;
    let (style, word) = match kind {
        RunOutcome::Running => (GREEN, format!("running for {}", short(recording.data.run.started_at, at))),
        RunOutcome::Completed => (GREEN, "completed".to_owned()),
        RunOutcome::OpenWork => (YELLOW, "ended with open work".to_owned()),
        RunOutcome::Crashed => (severity(Severity::High), "crashed".to_owned()),
    };
    let more = if recording.is_running() { title } else { sentence };
    let more = if *more == name(scene).text { "" } else { more };
    [styled(style, word), dim(format!("  {}", one_line(more)))]
}

/// The incidents and agents that need attention, the progress, and what the run spends.
fn figures(scene: Scene<'_>) -> Vec<Span> {
    let moment = scene.moment;
    let mut pieces = alerts(scene);
    let attention = moment.board.members.iter().filter(|member| member.state.needs_attention());
    let attention = counted(attention);
    if !attention.is_empty() {
        pieces.push(dim(" · "));
        pieces.extend(attention);
    }
    let (done, all) = (moment.board.done(), moment.board.tasks.len());
    if let Some(full) = (PROGRESS * done).checked_div(all) {
        pieces.push(plain(format!("  {done}/{all} done ")));
        pieces.push(styled(GREEN, "━".repeat(full)));
        pieces.push(dim("─".repeat(PROGRESS - full)));
    }
    // At the end of a run, the verdict has what it spent.
    let is_over = moment.is_end && !scene.recording.is_running();
    if let Some(burn) = moment.burn.filter(|_| !is_over) {
        let usd = burn.usd.map(|usd| format!(", {}/h", dollars(usd))).unwrap_or_default();
        pieces.push(dim(format!("  {} tokens/h{usd}", rounded(burn.tokens))));
    }
    pieces
}

/// `incidents: 2 high, 1 medium, 3 past, 1 later`.
fn alerts(scene: Scene<'_>) -> Vec<Span> {
    let moment = scene.moment;
    let levels = [Severity::High, Severity::Medium, Severity::Low];
    let lasting = levels.map(|level| (severity(level), moment.lasting(level), level.name()));
    let past = (DIM, moment.over(), "past".to_owned());
    let later = (DIM, scene.recording.observed.incidents().len() - moment.alerts.len(), "later".to_owned());
    let counts: Vec<_> =
        lasting.into_iter().chain([past, later]).filter(|(_, count, _)| *count > 0).collect();
    if counts.is_empty() {
        return vec![styled(GREEN, "no incidents")];
    }
    let mut pieces = vec![plain("incidents: ")];
    for (index, (style, count, word)) in counts.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        pieces.extend([plain(comma), styled(*style, format!("{count} {word}"))]);
    }
    pieces
}

/// The time within the run, with a mark for each incident.
fn time_bar(frame: &mut Frame<'_>, area: Rect, scene: Scene<'_>) {
    let (recording, player, at) = (scene.recording, scene.state.player, scene.moment.at);
    let (start, end) = (recording.start(), recording.end().max(at));
    let sign = match player.playback {
        Playback::Playing(_) => format!("▶ {}", player.speed.label()),
        Playback::Paused(_) => format!("‖ {}, f: end", player.speed.label()),
        Playback::End => "■ end".to_owned(),
    };
    let times = format!(" +{} of {} ", elapsed(start, at), elapsed(start, end));
    let used = u16::try_from(sign.width() + times.width()).unwrap_or(area.width);
    put(frame, area, [styled(YELLOW, sign), plain(times)]);
    let room = area.width.saturating_sub(used);
    if room < 8 {
        return;
    }
    let all = (end - start).num_milliseconds().max(1) as f64;
    let place = |time: teamkeep_model::time::Timestamp| {
        let part = (time - start).num_milliseconds().max(0) as f64 / all;
        ((part * f64::from(room - 1)) as u16).min(room - 1)
    };
    let from = |column: u16| Rect { x: area.x + used + column, width: room - column, ..area };
    let now = place(at);
    scene.put_spot(from(0), Spot::Time(start, end));
    put(frame, from(0), [styled(GREEN, "━".repeat(now.into()))]);
    put(frame, from(now), [dim("─".repeat((room - now).into()))]);
    for incident in recording.observed.incidents() {
        put(frame, from(place(incident.from)), [styled(severity(incident.severity), "!")]);
    }
    put(frame, from(now), [bold("●")]);
}

/// The keys, or the filter.
pub fn footer(frame: &mut Frame<'_>, area: Rect, scene: Scene<'_>) {
    let state = scene.state;
    if let Mode::Filter { .. } = state.mode {
        let text = format!("/{}▏", state.filter);
        put(frame, area, [bold(text), dim("  Enter keeps the filter, Esc discards it")]);
        return;
    }
    let mut pieces = Vec::new();
    if !state.filter.is_empty() {
        pieces.push(styled(YELLOW, format!("/{} ", state.filter)));
        pieces.push(dim("Esc clears  "));
    }
    let (is_now, player) = (scene.recording.is_running() && scene.moment.is_end, state.player.playback);
    let time = match player {
        _ if is_now => "← past",
        Playback::Playing(_) => "space pause  +/- speed  f end",
        _ => "←/→ seek  space play  f end",
    };
    let columns = if state.panel == Panel::Tasks { "h/l " } else { "" };
    let keys = format!("Tab j/k {columns}Enter  / filter  ! incident  {time}  ? help  q quit");
    pieces.push(dim(keys));
    put(frame, area, pieces);
}

/// A number in at most four digits: `9,999`, `12k`, `2.2M`.
fn rounded(number: u64) -> String {
    match number {
        0..10_000 => thousands(number),
        10_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_few_digits() {
        let rates = [0, 9_999, 10_000, 999_999, 1_000_000, 2_182_800].map(rounded);
        assert_eq!(rates, ["0", "9,999", "10k", "999k", "1.0M", "2.2M"]);
    }
}
