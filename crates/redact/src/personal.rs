//! Personal data: e-mail addresses and home directories.

use std::ops::Range;

/// File extensions of Claude Code's files. None is a top-level domain.
const EXTENSIONS: &[&str] = &[".json", ".jsonl", ".lock", ".txt"];
const MAX_LOCAL_PART: usize = 64;
const MAX_DOMAIN: usize = 253;

/// The e-mail address around an at sign, without the extension of a file named after it.
pub(super) fn address(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_local = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(byte);
    let local = bytes[from.min(at)..at].iter().rev().take(MAX_LOCAL_PART).take_while(is_local).count();
    let is_domain = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let end = at + 1 + bytes[at + 1..].iter().take(MAX_DOMAIN).take_while(is_domain).count();
    let mut domain = &text[at + 1..end];
    loop {
        // Labels that cannot be the top-level domain belong to the sentence or to the name of a file.
        let last = domain.rsplit('.').next()?;
        let letters = last.len() - last.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let is_top = letters >= 2 && letters == last.len();
        match EXTENSIONS.iter().find_map(|extension| domain.strip_suffix(extension)) {
            Some(shorter) => domain = shorter,
            None if is_top && domain.len() > last.len() => break,
            None => domain = domain[..domain.len() - last.len()].strip_suffix(['.', '-'])?,
        }
    }
    let is_valid = local > 0 && !domain.starts_with(['.', '-']) && !domain.contains("..");
    let start = at - local;
    let start =
        start + text[start..at].len() - text[start..at].trim_start_matches(['.', '%', '+', '-']).len();
    (is_valid && start < at).then(|| start..at + 1 + domain.len())
}

/// A home directory after `/home/` or `/Users/`.
pub(super) fn home(text: &str, prefix: &Range<usize>) -> Option<Range<usize>> {
    let rest = &text[prefix.end..];
    let is_end = |c: char| " \t\r\n\"'`\\:;,<>()|[]{}*?$/".contains(c);
    let end = prefix.end + rest.find(is_end).unwrap_or(rest.len());
    let found = &text[prefix.start..end];
    (end > prefix.end && found != "/Users/Shared").then_some(prefix.start..end)
}

/// The name of a project's directory in Claude Code's spelling, after `-home-` or `-Users-`.
pub(super) fn project(text: &str, prefix: &Range<usize>) -> Option<Range<usize>> {
    let rest = &text[prefix.end..];
    let name = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).len();
    let is_whole = rest[name..].is_empty() || rest[name..].starts_with(['-', '/']);
    let begins = prefix.start == 0 || text[..prefix.start].ends_with('/');
    (name > 0 && is_whole && begins).then_some(prefix.start..prefix.end + name)
}

/// A home directory that is known, and not a path whose name only begins the same.
pub(super) fn known_home(text: &str, path: &Range<usize>) -> Option<Range<usize>> {
    let is_longer =
        text[path.end..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'));
    (!is_longer).then(|| path.clone())
}

/// A home directory that is known, in Claude Code's spelling.
pub(super) fn known_project(text: &str, path: &Range<usize>) -> Option<Range<usize>> {
    let begins = path.start == 0 || text[..path.start].ends_with('/');
    (begins && !text[path.end..].starts_with(char::is_alphanumeric)).then(|| path.clone())
}
