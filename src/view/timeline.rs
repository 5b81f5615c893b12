//! A timeline as text: the heading of the run, and one line per entry: who did what, with the time since the start. And as a
//! Mermaid sequence diagram.

use std::collections::HashSet;
use std::io::{self, Write};

use anstyle::Style;

use super::describe::{ShownEntry, phrase, phrase_with};
use super::document::{Document, references};
use super::line::{DIM, Line, bold, dim, plain, styled};
use super::values::{actor, count, elapsed, end_label, events_missing, first_line, name_style};
use teamkeep_history::timeline::{Entry, EntryKind, Kind, RunData, Summary, Timeline, TurnEvent};
use teamkeep_model::event::LEAD;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_model::unicode::escape;
use teamkeep_policy::{Decision, LiveState};

#[derive(Debug, Default, Clone, Copy)]
pub struct TimelineOptions {
    /// Whether automatic messages and implied entries are shown.
    pub all: bool,
    /// Whether kinds were named explicitly, so that implied entries are shown.
    pub asked: bool,
    /// Whether messages and ends of turns are shown in full.
    pub full: bool,
    /// The width of the terminal; `None` for unlimited.
    pub columns: Option<usize>,
}

impl TimelineOptions {
    pub fn shows(&self, entry: &Entry) -> bool {
        let is_blocked =
            matches!(&entry.kind, EntryKind::Message(message) if message.blocked_event.is_some());
        match is_blocked {
            // The verdict that follows names the message; this entry has its text.
            true => self.all || self.asked || self.full,
            false => self.all || matters(entry) || (self.asked && !entry.is_automatic()),
        }
    }
}

/// Writes a part of the timeline below the heading of the whole run.
///
/// # Errors
/// When `out` cannot be written.
pub fn timeline(
    data: &RunData,
    timeline: &Timeline,
    part: &[&Entry],
    options: TimelineOptions,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    out.write_all(heading(data, timeline).to_terminal(options.columns).as_bytes())?;
    let shown: Vec<&Entry> = part.iter().copied().filter(|entry| options.shows(entry)).collect();
    let lines = EntryLines::of(data.run.started_at, &shown, options);
    let mut entries: Vec<ShownEntry<'_>> = merge_idles(&shown).into_iter().flatten().collect();
    if !options.full && !options.asked {
        fold_turns(&mut entries);
    }
    entries.into_iter().try_for_each(|entry| out.write_all(lines.format(entry).as_bytes()))
}

/// Leaves of consecutive ends of an agent's turns the last, with their number.
fn fold_turns(entries: &mut Vec<ShownEntry<'_>>) {
    entries.dedup_by(|next, before| {
        let is_run = [&*next, &*before].iter().all(|shown| shown.entry.kind() == Kind::TurnEnded)
            && next.entry.actor == before.entry.actor
            && next.entry.agent() == before.entry.agent();
        if is_run {
            *before = ShownEntry { turns: before.turns + 1, ..*next };
        }
        is_run
    });
}

/// The lines above a timeline: the run, its times, its members and tasks.
pub fn heading(data: &RunData, timeline: &Timeline) -> Document {
    let summary = Summary::of(data, timeline);
    let mut document = Document::default();
    document.line([bold(summary.team.as_deref().unwrap_or("(no team)")), dim(&summary.run)]);
    let last = summary.ended_at.or(summary.gone);
    let lasted = last.map(|last| time::duration((last - summary.started_at).num_milliseconds()));
    let by = if summary.ended_by.is_some() { "ended by " } else { "" };
    let times =
        std::iter::once(time::moment(summary.started_at)).chain(lasted.map(|span| format!("lasted {span}")));
    document.list(times.chain([format!("{by}{}", end_label(&summary))]).collect(), 0, Style::new());
    let counts = [(summary.members.len(), "member"), (summary.tasks, "task"), (summary.messages, "message")];
    let counts = counts.iter().filter(|(number, _)| summary.team.is_some() || *number > 0);
    let mut counts: Vec<String> = counts.map(|(number, thing)| count(*number, thing)).collect();
    if let (Some(last), Some((first, others))) = (counts.last_mut(), summary.members.split_first()) {
        *last = format!("{last}; {first}");
        counts.extend_from_slice(others);
    }
    document.list(counts, 0, DIM);
    if let Some(until) = summary.events_missing_until {
        document.list(vec![events_missing(summary.started_at, until)], 0, Style::new());
    }
    document
}

pub fn ending(data: &RunData, timeline: &Timeline) -> String {
    let summary = Summary::of(data, timeline);
    let last = summary.ended_at.or(summary.gone);
    let when = last.map(|last| elapsed(summary.started_at, last));
    let when = when.map(|when| format!(" (+{when})")).unwrap_or_default();
    match summary.ended_by {
        Some(_) => format!("the run has ended: {}{when}", end_label(&summary)),
        None => format!("Claude Code is gone, and no end was recorded; last event{when}"),
    }
}

/// Formats entries as lines with aligned columns.
#[derive(Debug, Clone)]
pub struct EntryLines {
    started_at: Timestamp,
    pub options: TimelineOptions,
    /// Width of the longest name, limited.
    name_width: usize,
    time_width: usize,
}

impl EntryLines {
    pub fn of(started_at: Timestamp, shown: &[&Entry], options: TimelineOptions) -> EntryLines {
        let names = shown.iter().map(|entry| actor(&entry.actor).chars().count());
        // Times increase, so the last is the longest; times before the run are at the start.
        let ends = shown.iter().take(64).chain(shown.last());
        let times = ends.map(|entry| elapsed(started_at, entry.at).len());
        EntryLines {
            started_at,
            options,
            name_width: names.max().unwrap_or(0).clamp(4, 20),
            time_width: times.max().unwrap_or(0).max(8),
        }
    }

    /// Lines for entries that are not known yet, with these names.
    pub fn ahead(started_at: Timestamp, names: &[String], options: TimelineOptions) -> EntryLines {
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        EntryLines { name_width: widest.clamp(9, 20), ..EntryLines::of(started_at, &[], options) }
    }

    /// Formats one entry.
    pub fn format(&self, shown: ShownEntry<'_>) -> String {
        let entry = shown.entry;
        let below = speech(entry).filter(|_| self.options.full);
        let (style, words) = below.map_or_else(|| phrase(shown), |_| phrase_with(shown, ""));
        let line = Line::from([
            dim(elapsed(self.started_at, entry.at)).right(self.time_width),
            styled(name_style(&entry.actor), actor(&entry.actor)).width(self.name_width),
            styled(style, words),
        ]);
        let mut text = line.wrapped(self.options.columns);
        let would_block = entry
            .verdict()
            .is_some_and(|verdict| verdict.decision == Decision::Allow && verdict.blocks.is_some());
        let below = below.map(|text| match would_block {
            true => format!("would have been blocked: {text}"),
            false => text.to_owned(),
        });
        for below in below.unwrap_or_default().trim_end().lines().map(str::trim_end) {
            let below = if below.is_empty() { String::new() } else { format!("{:10}{below}", "") };
            // The full text is not shortened.
            text += &Line::from([plain(below)]).wrapped(None);
        }
        text
    }
}

/// Whether an entry matters to a reader: not that the lead is in its own team, nor Claude Code's notices of what is
/// shown anyway.
fn matters(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::MemberJoined(_) | EntryKind::MemberLeft => entry.actor != LEAD,
        EntryKind::Turn(turn) if turn.event == TurnEvent::Started => turn.text.is_some() || turn.by_subagent,
        EntryKind::Verdict(verdict) => !verdict.repeated,
        // Also a plan that Claude Code approved itself.
        EntryKind::Message(message) if message.approve.is_some() => true,
        _ => !entry.is_automatic(),
    }
}

/// Its text of an agent or a person. A delivered answer that the end of the turn shows is not shown again.
fn speech(entry: &Entry) -> Option<&str> {
    match &entry.kind {
        EntryKind::MemberJoined(_) | EntryKind::Verdict(_) => entry.text(),
        EntryKind::Turn(turn) if turn.event != TurnEvent::Idle => entry.text(),
        EntryKind::Message(message) => match &message.answer {
            Some(answer) => Some(answer.text.as_str()).filter(|_| !answer.is_in_turn),
            None => entry.text().filter(|_| !message.automatic),
        },
        _ => None,
    }
}

/// Each entry as shown. An idle entry that follows the end of a turn is `None`: the pair is one line.
fn merge_idles<'a>(shown: &[&'a Entry]) -> Vec<Option<ShownEntry<'a>>> {
    let next = |place: usize| {
        let actor = &shown[place].actor;
        (place + 1..shown.len()).find(|next| shown[*next].actor == *actor && !shown[*next].is_automatic())
    };
    let ends = (0..shown.len()).filter(|place| shown[*place].kind() == Kind::TurnEnded);
    let pairs =
        ends.filter_map(|end| Some((next(end).filter(|idle| shown[*idle].kind() == Kind::Idle)?, end)));
    let (idles, ends): (HashSet<usize>, HashSet<usize>) = pairs.unzip();
    let entries = shown.iter().enumerate().map(|(place, entry)| {
        (!idles.contains(&place)).then(|| ShownEntry { entry, then_idle: ends.contains(&place), turns: 1 })
    });
    entries.collect()
}

/// Maximum length in characters of a diagram that Mermaid draws without `maxTextSize`.
pub const MAX_MERMAID_CHARS: usize = 50_000;

/// Characters without a meaning in a diagram, at the start of a word and in it: a dash between letters is not an arrow.
const HARMLESS: &str = " .,_/()'!?=*@…";
const HARMLESS_INSIDE: &str = "- .,_/()'!?=*@…";

/// Maximum length of a text on an arrow, in characters.
const MAX_CHARS: usize = 60;

/// Draws it: participants in order of appearance, messages as arrows, everything else as notes.
pub fn mermaid(data: &RunData, part: &[&Entry], options: TimelineOptions) -> String {
    let shown: Vec<&Entry> = part.iter().copied().filter(|entry| options.shows(entry)).collect();
    let mut drawing = Drawing { data, names: Vec::new(), team: LiveState::default(), body: String::new() };
    merge_idles(&shown).into_iter().flatten().for_each(|entry| drawing.draw(entry));
    let mut diagram = String::from("sequenceDiagram\n");
    for (number, name) in drawing.names.iter().enumerate() {
        diagram += &format!("    participant p{number} as {}\n", safe(actor(name)));
    }
    diagram + &drawing.body
}

struct Drawing<'a> {
    data: &'a RunData,
    /// Participants; the index is the number in the diagram.
    names: Vec<String>,
    /// The team at the entry. Its members are the recipients of a message to everyone.
    team: LiveState,
    body: String,
}

impl Drawing<'_> {
    fn draw(&mut self, shown: ShownEntry<'_>) {
        let entry = shown.entry;
        let actor = self.number(&entry.actor);
        entry.apply_to(&mut self.team);
        let (arrow, marks) = match entry.kind() {
            Kind::Message if entry.message().is_some_and(|message| message.unconfirmed) => {
                ("-->>", "(not confirmed) ")
            }
            Kind::Message => ("->>", ""),
            Kind::ShutdownRequested => ("->>", "shutdown request: "),
            Kind::ShutdownApproved => ("-->>", "shutdown approved "),
            Kind::ShutdownRejected => ("-->>", "shutdown rejected: "),
            Kind::MessageRefused => ("-x", "not sent: "),
            _ => return self.note(shown, actor),
        };
        let text = match entry.kind() {
            // Claude Code's automatic messages are JSON; they are shown in words.
            Kind::Message if entry.is_automatic() => phrase(shown).1,
            _ => format!("{marks}{}", first_line(entry.summary().or(entry.text()).unwrap_or_default())),
        };
        for to in self.recipients(entry) {
            let to = self.number(&to);
            self.line(&format!("p{actor}{arrow}p{to}"), &text);
        }
    }

    /// An entry that is not a message is a note over its actor. A block is highlighted.
    fn note(&mut self, shown: ShownEntry<'_>, actor: usize) {
        let is_block = shown.entry.verdict().is_some_and(|verdict| verdict.decision == Decision::Block);
        let time = elapsed(self.data.run.started_at, shown.entry.at);
        self.body += if is_block { "    rect rgba(220, 40, 40, 0.25)\n" } else { "" };
        self.line(&format!("Note over p{actor}"), &format!("{time} {}", phrase(shown).1));
        self.body += if is_block { "    end\n" } else { "" };
    }

    fn line(&mut self, head: &str, text: &str) {
        let text = safe(text);
        // An arrow needs a text.
        self.body += &format!("    {head}: {}\n", if text.is_empty() { "#8230;" } else { &text });
    }

    fn recipients(&self, entry: &Entry) -> Vec<String> {
        let to = entry.message().and_then(|message| message.to.as_deref()).unwrap_or("unknown");
        let others = self.team.present().map(|member| member.name.clone());
        let others: Vec<String> = others.filter(|name| *name != entry.actor).collect();
        match (to, to.split_once('@')) {
            ("*", _) if !others.is_empty() => others,
            ("*", _) => vec!["everyone".to_owned()],
            // A teammate can be addressed with its team.
            (_, Some((name, _))) if self.data.is_member(name) => vec![name.to_owned()],
            _ => vec![to.to_owned()],
        }
    }

    fn number(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }
}

/// A short text in a sequence diagram. The start of a keyword is a character reference.
fn safe(text: &str) -> String {
    let mut text = escape(text).into_owned();
    if text.chars().count() > MAX_CHARS {
        text = text.chars().take(MAX_CHARS - 1).chain(['…']).collect();
    }
    let mut safe = String::with_capacity(text.len());
    for word in text.trim().split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_lowercase();
        let is_keyword = KEYWORDS.split(' ').any(|keyword| keyword == bare);
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        match is_keyword {
            true => safe.extend(first.chars().map(|c| format!("#{};", u32::from(c)))),
            false => safe += &references(first, HARMLESS),
        }
        safe += &references(rest, HARMLESS_INSIDE);
    }
    safe
}

const KEYWORDS: &str = "end participant actor create destroy box loop rect opt alt else par and critical option break note \
    activate deactivate autonumber title links link properties details as style wrap nowrap";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_no_special_characters_of_mermaid_or_html() {
        assert_eq!(safe("end"), "#101;nd");
        assert_eq!(
            safe("the END; #1 <b>%%{init: 1}%%"),
            "the #69;ND#59; #35;1 #60;b#62;#37;#37;#123;init#58; 1#125;#37;#37;"
        );
        assert_eq!(safe("bend\nover -->> p1: x"), "bend#92;nover #45;#45;#62;#62; p1#58; x");
        assert_eq!(safe("größer 日本 💥"), "größer 日本 #128165;");
        assert_eq!(safe(&"x".repeat(100)).chars().count(), MAX_CHARS);
    }
}
