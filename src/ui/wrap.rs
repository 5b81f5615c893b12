//! Line breaks for a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Splits one line of text into lines of at most `width` columns. Breaks between words; a word that is wider than a line
/// is broken in the middle. Spaces at the start of the text are kept, spaces at a break are dropped.
pub fn wrap(text: &str, width: usize) -> Vec<&str> {
    let width = width.max(1);
    let (mut lines, mut rest) = (Vec::new(), text.trim_end());
    while rest.width() > width {
        let head = fitting(rest, width);
        let is_word_end = rest[head.len()..].starts_with(' ');
        let blank = if is_word_end { Some(head.len()) } else { head.rfind(' ') };
        let end = blank.filter(|end| !head[..*end].trim().is_empty()).unwrap_or(head.len());
        lines.push(rest[..end].trim_end());
        rest = rest[end..].trim_start();
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest);
    }
    lines
}

/// The longest start of the text that fits into `width` columns; at least one character.
pub fn fitting(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width && at > 0 {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("  one two three", 7), ["  one", "two", "three"]);
        assert_eq!(wrap("one  two", 80), ["one  two"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn a_word_wider_than_a_line_breaks_in_the_middle() {
        assert_eq!(wrap("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        assert_eq!(wrap("日本", 1), ["日", "本"]);
        assert_eq!(wrap("ab", 0), ["a", "b"]);
    }
}
