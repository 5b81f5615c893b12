//! Invisible characters, and names normalized as Claude Code does it.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Folds a name as Claude Code (2.1.330) does before it looks an agent up: compatibility forms become the plain letters
/// (NFKC), control and format characters go, the case is lower, and each run of white space inside becomes one dash.
/// This removes two more kinds of characters, because names with them look the same to a reader: invisible characters that
/// are not format characters (variation selectors, fillers), and the replacement character, which replaces lone surrogates.
///
/// A plain name in lower case is not copied.
pub fn fold(name: &str) -> Cow<'_, str> {
    let is_folded = |byte: &u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase();
    if name.as_bytes().iter().all(is_folded) {
        return Cow::Borrowed(name);
    }
    let seen: String = match name.is_ascii() {
        true => name.chars().filter(|c| is_named(*c)).collect(),
        false => name.nfkc().filter(|c| is_named(*c)).collect(),
    };
    let words: Vec<&str> = seen.split(is_space).filter(|word| !word.is_empty()).collect();
    Cow::Owned(words.join("-").to_lowercase())
}

fn is_named(c: char) -> bool {
    is_space(c)
        || !(c.is_control() || is_invisible(c) || is_prefix_mark(c) || c == char::REPLACEMENT_CHARACTER)
}

/// White space, as ECMAScript has it: with the byte order mark, without the next line.
fn is_space(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

/// Line separators, bidirectional controls, tags, and all of `Default_Ignorable_Code_Point`.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character must be escaped in text from outside: it can control a terminal, or hides from a reader.
pub fn is_unsafe(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// The same for a terminal, where emoji and some scripts need their joiners. A model reads them as hidden text.
pub fn is_unsafe_on_terminal(c: char) -> bool {
    is_unsafe(c) && !is_joiner(c)
}

/// Whether it is an invisible character that emoji and some scripts need: joiners and variation selectors.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{e0100}'..='\u{e01ef}')
}

/// The format characters (`Cf`) that have a glyph: signs before numbers, and the joiners of Egyptian hieroglyphs.
fn is_prefix_mark(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}')
}

/// Makes untrusted text safe for a terminal: unsafe characters become visible escapes. Joiners are kept, because emoji use
/// them.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe_on_terminal) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if is_unsafe_on_terminal(c) => safe.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_cannot_control_the_terminal() {
        assert_eq!(escape("\u{1b}[31mred\u{7}\n"), "\\u{1b}[31mred\\u{7}\\n");
        assert_eq!(escape("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(escape("über 💥 👩‍💻 ❤️"), "über 💥 👩‍💻 ❤️");
        for c in "\u{61c}\u{200b}\u{2028}\u{2029}\u{2060}\u{2064}\u{e0041}".chars() {
            assert_eq!(escape(&c.to_string()), format!("\\u{{{:x}}}", c as u32));
        }
    }

    #[test]
    fn a_name_is_folded_as_claude_code_does() {
        for word in [
            "bob",
            "BOB",
            " bob\n",
            "b\u{200b}ob",
            "bob\u{ad}",
            "\u{2066}bob\u{2069}",
            "\u{feff}bob",
            "ｂｏｂ",
            "Ｂob",
            "𝐛𝐨𝐛",
            "ⓑⓞⓑ",
            "b\u{0}ob",
            "bo\u{7f}b\u{9f}",
            "\u{1160}bob\u{fe0f}",
            "bob\u{fffd}",
            "\u{601}bob",
            "\u{a0}bob",
            "b\u{e0062}ob",
            "\u{85}bob",
        ] {
            assert_eq!(fold(word), "bob", "{word:?}");
        }
        for other in ["bоb", "bob.", "b ob", "bob-1", "bo\u{feff}b", ""] {
            assert_ne!(fold(other), "bob", "{other:?}");
        }
        assert_eq!(fold("Bob \t\u{3000}\u{feff}Smith"), "bob-smith");
        assert_eq!(fold("E\u{301}va"), fold("éVA"));
        assert_eq!(fold("ΣΑΣ"), "σας", "as JavaScript lowers it, the last sigma is its own letter");
    }

    #[test]
    fn a_plain_name_is_not_copied() {
        assert!(matches!(fold("worker-7_b.c"), Cow::Borrowed(_)));
    }
}
