//! The formatting of a file, so that insertions match it.

use serde::Serialize;
use serde_json::Value;

use crate::settings::document::{Container, Document};

/// Line endings and indentation of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The line ending.
    pub newline: &'static str,
    /// One step of indentation.
    pub unit: String,
}

impl Layout {
    /// Detects it in the file; two spaces by default.
    pub fn of(document: &Document) -> Layout {
        let text = document.text;
        let crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
        let outer = indentation(text, document.root.range.start);
        let unit = Container::of_object(&document.root)
            .items
            .iter()
            .filter_map(|item| own_line(text, item.start))
            .filter_map(|indent| indent.strip_prefix(outer))
            .find(|unit| !unit.is_empty())
            .unwrap_or("  ");
        Layout { newline: if crlf { "\r\n" } else { "\n" }, unit: unit.to_owned() }
    }

    /// The indentation of a container's items.
    pub fn inner(&self, text: &str, container: &Container) -> String {
        container.items.iter().rev().find_map(|item| own_line(text, item.start)).map_or_else(
            || format!("{}{}", indentation(text, container.open.saturating_sub(1)), self.unit),
            str::to_owned,
        )
    }

    /// Formats a value on several lines, all but the first indented by `base`.
    pub fn render(&self, value: &Value, base: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let _ = value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter));
        String::from_utf8_lossy(&bytes).replace('\n', &format!("{}{base}", self.newline))
    }
}

/// The indentation of the line at this offset.
pub fn indentation(text: &str, place: usize) -> &str {
    let line = &text[text[..place].rfind('\n').map_or(0, |end| end + 1)..place];
    &line[..line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len())]
}

/// The indentation of the item at this offset, if it is the first on its line. Only the blanks before it are read,
/// because a line can be very long.
fn own_line(text: &str, place: usize) -> Option<&str> {
    let before = &text[..place];
    let start = before.trim_end_matches([' ', '\t']).len();
    before[..start].ends_with('\n').then(|| &before[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        Layout::of(&Document::parse(text).unwrap())
    }

    #[test]
    fn the_layout_is_learned_from_the_file() {
        assert_eq!(layout("{\r\n\t\"a\": 1\r\n}"), Layout { newline: "\r\n", unit: "\t".to_owned() });
        assert_eq!(layout("{\n    \"a\": 1\n}").unit, "    ");
        assert_eq!(layout("  {\n     \"a\": 1\n  }").unit, "   ");
        for silent in ["{}", "{\"a\": 1}", "{\n\"a\": 1\n}"] {
            assert_eq!(layout(silent), Layout { newline: "\n", unit: "  ".to_owned() });
        }
    }
}
