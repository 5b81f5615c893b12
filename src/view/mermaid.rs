//! A run as a Mermaid sequence diagram.

use super::describe::{ShownEntry, phrase};
use super::timeline::{TimelineOptions, merge_idles};
use super::values::{actor, elapsed, first_line};
use teamkeep_history::timeline::{Entry, Kind, RunData};
use teamkeep_model::unicode::escape;
use teamkeep_policy::{Decision, LiveState};

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

/// Text that is safe in Mermaid and in its page: everything but letters, digits and these characters is a character
/// reference.
pub(super) fn references(text: &str, harmless: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || harmless.contains(c);
    let reference = |c: char| if is_safe(c) { c.to_string() } else { format!("#{};", u32::from(c)) };
    text.chars().map(reference).collect()
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
