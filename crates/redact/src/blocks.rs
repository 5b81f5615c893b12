//! Private keys as blocks of text: PEM, OpenSSH, PGP and PuTTY, also with line numbers, quoted, and in program text.

use std::ops::Range;

/// Shorter words can be prose.
const MIN_WORD: usize = 16;
const MAX_HEADER: usize = 80;
const MAX_LINE: usize = 200;
/// The limit of what can precede the first line of a key.
const MAX_HEADERS: usize = 1024;

/// The block whose first line begins at `start`, from its header to its end.
pub(super) fn after_header(text: &str, start: usize) -> Option<Range<usize>> {
    let header = text[start..text.floor_char_boundary(start + MAX_HEADER)].lines().next()?;
    let name = header.trim_start_matches('-');
    let dashes = name.find("----")?;
    let is_private = name.get(..dashes)?.to_ascii_uppercase();
    if !is_private.contains("PRIVATE KEY") && !is_private.contains("SSH2 ENCRYPTED") {
        return None;
    }
    let rest = &name[dashes..];
    let body = start + (header.len() - rest.len()) + rest.len() - rest.trim_start_matches('-').len();
    body_from(text, body).map(|end| start..end)
}

/// The lines of a key after a header that is not part of the secret.
pub(super) fn after_line(text: &str, start: usize) -> Option<Range<usize>> {
    let line = &text[start..text.floor_char_boundary(start + MAX_HEADER)];
    let body = start + line.find('\n')?;
    body_from(text, body).map(|end| body + 1..end)
}

/// The lines of a key whose beginning is missing, before the header of its end.
pub(super) fn before_end(text: &str, from: usize, end: usize) -> Option<Range<usize>> {
    let header = text[end..text.floor_char_boundary(end + MAX_HEADER)].lines().next()?;
    if !header.contains("PRIVATE KEY") {
        return None;
    }
    let mut start = text.get(from..end)?.rfind('\n')? + from + 1;
    // Only decoration can precede the header. A home directory becomes a tilde.
    if text[start..end].contains(|c: char| c.is_alphabetic() || c == '~') {
        return None;
    }
    let mut block = None;
    while let Some(line) = text.get(from..start.saturating_sub(1)) {
        let at = line.rfind('\n').map_or(from, |at| from + at + 1);
        let is_part =
            body_from(&text[..start], at).is_some_and(|reached| reached >= from + line.trim_end().len());
        if !is_part || at == start {
            break;
        }
        (start, block) = (at, Some(at..end));
    }
    block
}

/// The end of the base64 that begins here, with its headers and decoration; `None` if there is none.
fn body_from(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let (mut at, mut end, mut has_body) = (start, None, false);
    while at < bytes.len() && (has_body || at - start < MAX_HEADERS) {
        let word = bytes[at..].iter().take_while(|byte| is_base64(**byte)).count();
        let (after, rest) = (at + word, &text[at + word..]);
        let text = &text[at..after];
        if word == 0 {
            if has_body && (rest.starts_with("-----END") || rest.starts_with("---- END")) {
                let line = rest.find('\n').unwrap_or(rest.len());
                let header = rest[..line].trim_start_matches('-').find("----").map_or(line, |at| at + 9);
                return Some(
                    after
                        + rest[header.min(line)..line].chars().take_while(|c| *c == '-').count()
                        + header.min(line),
                );
            }
            match rest.chars().next() {
                Some('-') if rest.starts_with("---") => break,
                Some(c) if c.is_alphanumeric() || matches!(c, '{' | '(' | '<' | '[' | '$' | '~') => break,
                c => at += c.map_or(1, char::len_utf8),
            }
        } else if word >= MIN_WORD {
            has_body = true;
            (at, end) = (after, Some(after));
        } else if rest.starts_with([':', '-']) && !rest.starts_with("--") && !has_body {
            // A header inside the block.
            let line = &rest[..rest.floor_char_boundary(MAX_LINE)];
            at += word + line.find('\n').unwrap_or(line.len());
        } else if text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'/' | b'='))
            && word <= 6
        {
            // A line number, a comment or an operator.
            at = after;
        } else if word <= 2 && rest.starts_with(['"', '\'']) {
            at = after;
        } else if has_body && is_last(rest) {
            (at, end) = (after, Some(after));
        } else {
            break;
        }
    }
    end
}

/// Whether nothing but decoration is between the last word of a key and its end.
fn is_last(rest: &str) -> bool {
    let decoration = |c: char| !c.is_alphabetic() && !matches!(c, '-' | '=' | '{' | '(');
    let rest = rest.trim_start_matches(decoration);
    rest.is_empty() || rest.starts_with("----") || rest.starts_with('=') || rest.starts_with("Private-MAC")
}
