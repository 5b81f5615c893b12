//! Text output of the changes between two moments.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use super::format::{elapsed, first_line, name_style};
use super::styled_line::StyledLine;
use super::system_message::notice;
use crate::clock;
use crate::timeline::{Diff, RunData, Things};

/// Formats them: `+` for new, `-` for gone, `~` for changed.
pub fn diff(material: &RunData, diff: &Diff, columns: Option<usize>) -> String {
    let mut page = Page { columns, out: Vec::new() };
    page.line(&[
        (Style::new().bold(), material.run.name().unwrap_or("(no team)")),
        (Style::new().dimmed(), &diff.run),
    ]);
    let moment = |at: &str| {
        let since = elapsed(&material.run.started_at, at).unwrap_or_default();
        format!("{} ({}{since})", clock::moment_of(at), if since.starts_with('-') { "" } else { "+" })
    };
    page.line(&[(Style::new(), &format!("from {}", moment(&diff.from)))]);
    page.line(&[(Style::new(), &format!("to   {}", moment(&diff.to)))]);
    if diff.is_empty() {
        page.line(&[(Style::new().dimmed(), "nothing changed between them")]);
    }
    page.things("Tasks", &diff.tasks, task);
    page.things("Members", &diff.members, |member| text(member, "prompt").to_owned());
    page.mail(diff);
    String::from_utf8_lossy(&page.out).into_owned()
}

struct Page {
    columns: Option<usize>,
    out: Vec<u8>,
}

const ADDED: (AnsiColor, &str) = (AnsiColor::Green, "+");
const REMOVED: (AnsiColor, &str) = (AnsiColor::Red, "-");
const CHANGED: (AnsiColor, &str) = (AnsiColor::Blue, "~");

impl Page {
    fn line(&mut self, pieces: &[(Style, &str)]) {
        let mut cells = StyledLine::default();
        pieces.iter().for_each(|(style, text)| cells.add(*style, text, 0));
        let _ = cells.write(&mut self.out, self.columns);
    }

    fn title(&mut self, name: &str) {
        self.line(&[(Style::new().bold(), name)]);
    }

    fn item(&mut self, (colour, mark): (AnsiColor, &str), name: &str, said: &str) {
        let mut cells = StyledLine::default();
        cells.add(colour.on_default(), &format!("  {mark}"), 0);
        cells.add(name_style(name), name, 4);
        cells.add(Style::new(), said, 0);
        let _ = cells.write(&mut self.out, self.columns);
    }

    fn things(&mut self, title: &str, things: &Things, about: impl Fn(&Value) -> String) {
        let Things { new, gone, changed, titles } = things;
        if new.is_empty() && gone.is_empty() && changed.is_empty() {
            return;
        }
        self.title(title);
        for (marked, part) in [(ADDED, new), (REMOVED, gone)] {
            for (name, thing) in part {
                self.item(marked, name, &first_line(&about(thing)));
            }
        }
        for (name, changes) in changed {
            let title = titles.get(name).map(|title| first_line(title)).unwrap_or_default();
            self.item(CHANGED, name, &title);
            for (field, change) in changes {
                let (from, to) = (value(&change.from), value(&change.to));
                let said = format!("        {}: {from} → {to}", field.replace('_', " "));
                self.line(&[(Style::new(), &said)]);
            }
        }
    }

    fn mail(&mut self, diff: &Diff) {
        let mail = &diff.mail;
        let parts = [(ADDED, "", &mail.new), (CHANGED, "read: ", &mail.read), (REMOVED, "", &mail.gone)];
        if parts.iter().all(|(_, _, part)| part.is_empty()) {
            return;
        }
        self.title("Messages");
        for (marked, word, part) in parts {
            self.letters(marked, word, part);
        }
    }

    fn letters(&mut self, marked: (AnsiColor, &str), word: &str, part: &BTreeMap<String, Vec<Value>>) {
        for (inbox, messages) in part {
            for message in messages {
                let (from, whole) = (text(message, "from"), text(message, "text"));
                let summary = Some(text(message, "summary")).filter(|summary| !summary.is_empty());
                let said = || first_line(summary.unwrap_or(whole));
                let said = notice(whole, from, inbox).unwrap_or_else(said);
                self.item(marked, inbox, &format!("{word}from {from}: {said}"));
            }
        }
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn task(task: &Value) -> String {
    let owner = Some(text(task, "owner")).filter(|owner| !owner.is_empty());
    let owner = owner.map(|owner| format!(" ({owner})")).unwrap_or_default();
    let status = Some(text(task, "status")).filter(|status| !status.is_empty()).unwrap_or("unknown");
    format!("{status}{owner}: {}", text(task, "subject"))
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => first_line(text),
        Value::Array(all) if all.is_empty() => "none".to_owned(),
        Value::Array(all) => all.iter().map(self::value).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
