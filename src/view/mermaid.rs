//! A run as a Mermaid sequence diagram.

use std::fmt::Write;

use super::describe::{ShownEntry, phrase};
use super::format::{actor, elapsed, first_line};
use super::timeline::{TimelineOptions, merge_idles};
use crate::timeline::{Entry, Kind, RunData};
use crate::ui;
use teamkeep_core::policy::Decision;

/// Maximum length in characters of a diagram that Mermaid draws without `maxTextSize`.
pub const MAX_MERMAID_CHARS: usize = 50_000;

/// Maximum length of a text on an arrow, in characters.
const MAX_CHARS: usize = 60;

/// Draws it: participants in order of appearance, messages as arrows, everything else as notes.
pub fn mermaid(material: &RunData, part: &[&Entry], options: TimelineOptions) -> String {
    let shown: Vec<&Entry> = part.iter().copied().filter(|entry| options.shows(entry)).collect();
    let mut drawing = Drawing { material, names: Vec::new(), present: Vec::new(), body: String::new() };
    merge_idles(&shown).into_iter().flatten().for_each(|entry| drawing.draw(entry));
    let mut diagram = String::from("sequenceDiagram\n");
    for (number, name) in drawing.names.iter().enumerate() {
        let _ = writeln!(diagram, "    participant p{number} as {}", safe(actor(name)));
    }
    diagram + &drawing.body
}

struct Drawing<'a> {
    material: &'a RunData,
    /// Participants; the index is the number in the diagram.
    names: Vec<String>,
    /// The recipients of a message to everyone.
    present: Vec<String>,
    body: String,
}

impl Drawing<'_> {
    fn draw(&mut self, shown: ShownEntry<'_>) {
        let entry = shown.entry;
        let actor = self.number(&entry.actor);
        match entry.kind() {
            Kind::MemberJoined => self.present.push(entry.actor.clone()),
            Kind::MemberLeft => self.present.retain(|name| *name != entry.actor),
            _ => {}
        }
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
        let text = entry.summary().or(entry.text()).unwrap_or_default();
        let text = match entry.kind() {
            // Claude Code's automatic messages are JSON; they are shown in words.
            Kind::Message if entry.is_automatic() => phrase(shown).1,
            _ => format!("{marks}{}", first_line(text)),
        };
        for to in self.recipients(entry) {
            let to = self.number(&to);
            self.line(&format!("p{actor}{arrow}p{to}"), &text);
        }
    }

    /// An entry that is not a message is a note over its actor. A block is highlighted.
    fn note(&mut self, shown: ShownEntry<'_>, actor: usize) {
        let entry = shown.entry;
        let blocked = entry.verdict().is_some_and(|verdict| verdict.decision == Decision::Block);
        let time = elapsed(self.material.run.started_at, entry.at);
        let text = format!("{time} {}", phrase(shown).1);
        if blocked {
            self.body.push_str("    rect rgba(220, 40, 40, 0.25)\n");
        }
        self.line(&format!("Note over p{actor}"), &text);
        if blocked {
            self.body.push_str("    end\n");
        }
    }

    fn line(&mut self, head: &str, text: &str) {
        let text = safe(text);
        // An arrow needs a text.
        let _ = writeln!(self.body, "    {head}: {}", if text.is_empty() { "#8230;" } else { &text });
    }

    fn recipients(&self, entry: &Entry) -> Vec<String> {
        let to = entry.message().and_then(|message| message.to.as_deref()).unwrap_or("unknown");
        let others: Vec<String> = self.present.iter().filter(|name| **name != entry.actor).cloned().collect();
        match to {
            "*" if !others.is_empty() => others,
            "*" => vec!["everyone".to_owned()],
            // A teammate can be addressed with its team.
            to => vec![match to.split_once('@') {
                Some((name, _)) if self.material.is_member(name) => name.to_owned(),
                _ => to.to_owned(),
            }],
        }
    }

    fn number(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }
}

/// Text that is safe in Mermaid and in its page: everything but letters, digits and known harmless characters is a
/// character reference, and so is the start of a keyword.
fn safe(text: &str) -> String {
    let text = ui::escape(text);
    let short = text.chars().count() > MAX_CHARS;
    let text: String = match short {
        true => text.chars().take(MAX_CHARS - 1).chain(['…']).collect(),
        false => text.into_owned(),
    };
    let mut safe = String::with_capacity(text.len());
    for word in text.trim().split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_lowercase();
        let is_keyword = KEYWORDS.split(' ').any(|keyword| keyword == bare);
        for (place, c) in word.chars().enumerate() {
            let harmless = c.is_alphanumeric() || " .,_/()'!?=*@…".contains(c);
            // A dash between letters is not an arrow.
            let joins = c == '-' && place > 0;
            if (harmless || joins) && !(is_keyword && place == 0) {
                safe.push(c);
            } else {
                let _ = write!(safe, "#{};", u32::from(c));
            }
        }
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
