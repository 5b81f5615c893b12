//! The text of a message: a notice of Claude Code, or several messages in tags.

use teamkeep_history::transcript::{delivered, parse_quoted};
use teamkeep_model::team::Notice;
use teamkeep_model::unicode::escape;

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = Notice::read(text);
    for one in delivered(text).into_iter().chain(parse_quoted(text)) {
        drop(one);
    }
    let shown = escape(text);
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{shown:?}");
    assert_eq!(escape(&shown), shown, "escaped twice is escaped once");
}
