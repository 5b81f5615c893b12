//! Secrets whose place gives them away: in addresses, headers and the arguments of programs. And personal data: e-mail addresses and
//! home directories.

use std::ops::Range;

use super::assignments::blank;
use super::names::{is_mixed, is_placeholder, is_random, is_reference};

const MAX_LINE: usize = 1024;

/// Maximum length of a header of cookies, in bytes. Most servers accept no longer one.
const MAX_COOKIES: usize = 8 << 10;

/// The part of the line that begins here.
fn line(text: &str, at: usize) -> &str {
    line_up_to(text, at, MAX_LINE)
}

fn line_up_to(text: &str, at: usize, max: usize) -> &str {
    let rest = &text[at..text.floor_char_boundary(at + max)];
    rest.split(['\n', '\r']).next().unwrap_or_default()
}

fn is_value(value: &str) -> bool {
    !value.is_empty() && !is_placeholder(value) && !is_reference(value)
}

/// The password, or the token in place of a user, in `scheme://user:password@host`.
pub(super) fn in_url(text: &str, after_scheme: usize) -> Option<Range<usize>> {
    let rest = line(text, after_scheme);
    let authority = &rest[..rest.find(|c: char| "/ \t\"'`<>\\?#".contains(c)).unwrap_or(rest.len())];
    let (user, host) = authority.rsplit_once('@')?;
    if host.starts_with("sha") || user.contains("[redacted:") {
        return None;
    }
    match user.split_once(':') {
        Some((name, password)) => {
            let start = after_scheme + name.len() + 1;
            (is_value(password)).then_some(start..start + password.len())
        }
        None => is_random(user, 20).then_some(after_scheme..after_scheme + user.len()),
    }
}

/// The credentials after `Bearer`.
pub(super) fn bearer(text: &str, after: usize) -> Option<Range<usize>> {
    let rest = line(text, after);
    let value = rest.trim_start_matches([' ', '\t']);
    let start = after + rest.len() - value.len();
    let end =
        value.find(|c: char| !c.is_ascii_alphanumeric() && !"._~+/=-".contains(c)).unwrap_or(value.len());
    (start > after && is_random(&value[..end], 16)).then_some(start..start + end)
}

/// The credentials in a header `Authorization`, after its name.
pub(super) fn authorization(text: &str, after: usize) -> Option<Range<usize>> {
    let rest = line(text, after).trim_start_matches(['"', '\'']);
    let value = blank(blank(rest).strip_prefix([':', '='])?).trim_start_matches(['"', '\'']);
    let mut words = value.splitn(2, ' ');
    let (scheme, credentials) = (words.next()?, words.next().unwrap_or_default().trim_start());
    if scheme.starts_with("[redacted:") {
        return None;
    }
    let is_basic = scheme.eq_ignore_ascii_case("basic");
    let secret = if credentials.is_empty() || is_random(scheme, 20) { scheme } else { credentials };
    let secret = match secret.find("Signature=") {
        Some(at) => &secret[at + "Signature=".len()..],
        None => secret,
    };
    let end = secret.find(|c: char| c.is_whitespace() || "\"'`,;\\<>".contains(c)).unwrap_or(secret.len());
    let start = after + line(text, after).len() - (value.len() - (value.rfind(secret)?));
    let range = start..start + end;
    let secret = &text[range.clone()];
    let is_secret = if is_basic {
        secret.len() >= 6 && is_value(secret)
    } else {
        is_value(secret) && is_random(secret, 16)
    };
    is_secret.then_some(range)
}

/// The values in a header `Cookie` or `Set-Cookie`, after its name, or in the argument of an option; and the end of the header.
pub(super) fn cookies(text: &str, after: usize) -> (Vec<Range<usize>>, usize) {
    let rest = line_up_to(text, after, MAX_COOKIES);
    let quotes = ['"', '\'', '\\'];
    let value = blank(rest.trim_start_matches(quotes)).trim_start_matches([':', '=']);
    let value = blank(value).trim_start_matches(quotes);
    let mut at = after + rest.len() - value.len();
    let mut found = Vec::new();
    for part in value.split_inclusive(';') {
        let name = part.find('=').map_or(0, |equals| equals + 1);
        if part[..name].contains(quotes) {
            break;
        }
        // A value can have quotes of its own. Any other quote ends the header.
        let own = part[name..].trim_start_matches(quotes);
        let start = part.len() - own.len();
        let end = own.find(quotes).unwrap_or(own.len());
        let secret = own[..end].trim_end_matches(';').trim_end();
        if name > 0 && is_random(secret, 16) {
            found.push(at + start..at + start + secret.len());
        }
        if end < own.len() && start == name {
            break;
        }
        at += part.len();
    }
    (found, at)
}

/// A signature in a query.
pub(super) fn signature(text: &str, after: usize) -> Option<Range<usize>> {
    let rest = line(text, after);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"%+/=_-".contains(c)).unwrap_or(rest.len());
    is_random(&rest[..end], 32).then_some(after..after + end)
}

/// A program whose option has a password.
struct Program {
    name: &'static str,
    options: &'static [&'static str],
    /// The password comes after the user's name.
    has_user: bool,
    /// It can follow the option without a space, must follow so, or cannot.
    is_attached: Option<bool>,
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "curl ",
        options: &["-u", "-U", "--user", "--proxy-user"],
        has_user: true,
        is_attached: None,
    },
    Program { name: "sshpass ", options: &["-p"], has_user: false, is_attached: None },
    Program { name: "mysql", options: &["-p"], has_user: false, is_attached: Some(true) },
    Program { name: "redis-cli ", options: &["-a"], has_user: false, is_attached: Some(false) },
    Program { name: " login ", options: &["-p"], has_user: false, is_attached: Some(false) },
    Program { name: "identified by", options: &[""], has_user: false, is_attached: Some(false) },
    Program { name: "-pass pass:", options: &[""], has_user: false, is_attached: Some(true) },
];

pub(super) const PROGRAM_NAMES: [&str; PROGRAMS.len()] = {
    let mut names = [""; PROGRAMS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = PROGRAMS[at].name;
        at += 1;
    }
    names
};

/// The password in the arguments of a program.
pub(super) fn argument(text: &str, name: Range<usize>) -> Option<Range<usize>> {
    let program = PROGRAMS.iter().find(|program| program.name.eq_ignore_ascii_case(&text[name.clone()]))?;
    let arguments = line(text, name.end);
    let mut at = 0;
    while let Some(option) = program
        .options
        .iter()
        .filter_map(|option| {
            let found = arguments[at..].find(option)?;
            Some((found + at, found + at + option.len()))
        })
        .min_by_key(|(start, end)| (*start, usize::MAX - *end))
    {
        let (start, end) = option;
        let rest = &arguments[end..];
        let value = rest.trim_start_matches([' ', '=']);
        let is_attached = value.len() == rest.len();
        let begins_word = start == 0 || arguments[..start].ends_with(' ');
        at = end.max(at + 1);
        if !begins_word || program.is_attached.is_some_and(|attached| attached != is_attached) {
            if at >= arguments.len() {
                break;
            }
            at = arguments.ceil_char_boundary(at);
            continue;
        }
        return password(value, program.has_user).map(|range| {
            let offset = name.end + arguments.len() - value.len();
            offset + range.start..offset + range.end
        });
    }
    None
}

/// The password at the beginning of an argument.
fn password(value: &str, has_user: bool) -> Option<Range<usize>> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let end = match quote {
        Some(quote) => value[1..].find(quote).map_or(value.len(), |end| end + 1),
        None => value.find(|c: char| c.is_whitespace() || ";|&)`".contains(c)).unwrap_or(value.len()),
    };
    if value[..end].contains("[redacted:") {
        return None;
    }
    let mut start = usize::from(quote.is_some());
    if has_user {
        start += value[start..end].find(':')? + 1;
        if value[start..end].starts_with(['"', '\'']) {
            start += 1;
        }
    }
    let secret = value[start..end].trim_end_matches(['"', '\'', '\\']);
    let is_secret =
        is_value(secret) && (has_user || quote.is_some() || is_mixed(secret) || is_random(secret, 10));
    (is_secret && !secret.starts_with("//")).then_some(start..start + secret.len())
}

/// File extensions of Claude Code's files. None is a top-level domain.
const EXTENSIONS: &[&str] = &[".json", ".jsonl", ".lock", ".txt"];
const MAX_LOCAL_PART: usize = 64;
const MAX_DOMAIN: usize = 253;

/// The e-mail address around an at sign, without the extension of a file named after it.
pub(super) fn email(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
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

/// Whether it separates the parts of a path. In text with escapes, backslashes are doubled.
fn is_separator(c: char) -> bool {
    c == '/' || c == '\\'
}

/// Whether a path can begin after this character.
fn begins_path(c: char) -> bool {
    c.is_whitespace() || "\"'`(=,".contains(c)
}

/// Whether a text ends with a drive of Windows, also as Git Bash and WSL spell it.
fn ends_with_drive(text: &str) -> bool {
    let mut chars = text.chars().rev();
    let (last, before) = (chars.next(), chars.next());
    match (last, before) {
        (Some(':'), Some(drive)) => {
            drive.is_ascii_alphabetic() && !chars.next().is_some_and(char::is_alphanumeric)
        }
        (Some(drive), Some('/')) if drive.is_ascii_alphabetic() => {
            let before = &text[..text.len() - 2];
            let before = before.strip_suffix("/mnt").unwrap_or(before);
            before.is_empty() || before.ends_with(begins_path)
        }
        _ => false,
    }
}

/// How far a rule looks back from its anchor, in bytes.
const MAX_BEFORE: usize = 128;

/// The text before `end`, at most [`MAX_BEFORE`] bytes, from the last character that `from` accepts.
fn since(text: &str, end: usize, from: impl Fn(char) -> bool) -> &str {
    let mut start = end.saturating_sub(MAX_BEFORE);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let before = &text[start..end];
    before.rfind(from).map_or(before, |at| &before[at..])
}

/// A home directory below `home` or `Users`. `users` counts only on a drive of Windows, because addresses have such parts. With
/// backslashes, the path must begin with a drive, a server or its root.
pub(super) fn home(text: &str, anchor: &Range<usize>) -> Option<Range<usize>> {
    let word = anchor.start + 1..anchor.end;
    let before = text[..word.start].trim_end_matches(is_separator);
    let name = text.len() - text[word.end..].trim_start_matches(is_separator).len();
    let (left, right) = (&text[before.len()..word.start], &text[word.end..name]);
    let is_end = |c: char| " \t\r\n\"'`\\:;,<>()|[]{}*?$/".contains(c);
    let end = name + text[name..].find(is_end).unwrap_or(text.len() - name);
    let (on_drive, path) = (ends_with_drive(before), since(text, before.len(), begins_path));
    let path = path.trim_start_matches(begins_path);
    let is_place = match (left.ends_with('/'), right.ends_with('/')) {
        (true, true) => true,
        // Another number of backslashes is the beginning of an escape.
        (false, false) => {
            left.len() == right.len() && (on_drive || path.is_empty() || path.starts_with(r"\\"))
        }
        _ => on_drive,
    };
    let is_shared = ["Shared", "Public"].iter().any(|shared| text[name..end].eq_ignore_ascii_case(shared));
    let is_home = match &text[word] {
        "home" => left.contains('/') || path.starts_with(r"\\"),
        users => !is_shared && (users == "Users" || on_drive),
    };
    (!right.is_empty() && end > name && is_place && is_home).then_some(before.len()..end)
}

/// The name of a project's directory in Claude Code's spelling, after `-home-` or `-Users-`.
pub(super) fn project(text: &str, prefix: &Range<usize>) -> Option<Range<usize>> {
    let rest = &text[prefix.end..];
    let name = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).len();
    let is_whole = rest[name..].is_empty() || rest[name..].starts_with(['-', '/', '\\']);
    let before = since(text, prefix.start, is_separator);
    let in_path = before.starts_with(is_separator);
    // Before the anchor, there can be a drive or the directory that contains `home`.
    let before = before.trim_start_matches(is_separator);
    let drive = before.strip_prefix("-mnt-").or_else(|| before.strip_suffix('-'));
    let on_drive =
        drive.is_some_and(|drive| drive.len() == 1 && drive.starts_with(|c: char| c.is_ascii_alphabetic()));
    let is_home =
        &text[prefix.clone()] != "-users-" && (before.is_empty() || in_path && before.starts_with('-'));
    let is_start = in_path || before.len() == prefix.start;
    (name > 0 && is_whole && is_start && (on_drive || is_home)).then_some(prefix.start..prefix.end + name)
}

/// A home directory that is known, and not a path whose name only begins the same.
pub(super) fn known_home(text: &str, path: &Range<usize>) -> Option<Range<usize>> {
    let rest = &text[path.end..];
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let is_longer =
        rest.starts_with(is_name) || rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(is_name));
    (!is_longer).then(|| path.clone())
}

/// A home directory that is known, in Claude Code's spelling.
pub(super) fn known_project(text: &str, path: &Range<usize>) -> Option<Range<usize>> {
    let is_longer = text[..path.start].ends_with(|c: char| c.is_alphanumeric() || c == '-');
    (!is_longer && !text[path.end..].starts_with(char::is_alphanumeric)).then(|| path.clone())
}
