//! Finds secrets and personal data in one pass: tables of the first three bytes find the anchors of all rules, and the rule
//! of an anchor checks the text around it. No rule reads further than a limit, unless what it reads is replaced, so the
//! time is linear.

use std::ops::Range;

use super::json::View;
use super::keys::{JWT, KEYS, Keys};
use super::{assignments, keys, names, places};

/// The kind of a finding. Of two findings at the same place, the kind that is first here is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretKind {
    PrivateKey,
    ApiKey,
    Token,
    Secret,
    Email,
    Home,
}

impl SecretKind {
    pub(crate) const ALL: [SecretKind; 6] = [
        SecretKind::PrivateKey,
        SecretKind::ApiKey,
        SecretKind::Token,
        SecretKind::Secret,
        SecretKind::Email,
        SecretKind::Home,
    ];

    /// The name in the configuration and in the replacement.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SecretKind::PrivateKey => "private-key",
            SecretKind::ApiKey => "api-key",
            SecretKind::Token => "token",
            SecretKind::Secret => "secret",
            SecretKind::Email => "email",
            SecretKind::Home => "home",
        }
    }

    pub(crate) fn replacement(self) -> String {
        if self == SecretKind::Home { "~".to_owned() } else { format!("[redacted:{}]", self.name()) }
    }
}

/// A text that shows where to apply a rule.
struct Anchor {
    text: String,
    kind: SecretKind,
    rule: Rule,
}

impl Anchor {
    fn is_at(&self, bytes: &[u8]) -> bool {
        let text = self.text.as_bytes();
        let last = text.len() - 1;
        bytes.get(..=last).is_some_and(|start| {
            start[last].eq_ignore_ascii_case(&text[last])
                && start.eq_ignore_ascii_case(text)
                && (!self.rule.has_case() || start == text)
        })
    }
}

#[derive(Clone, Copy)]
enum Rule {
    BlockHeader,
    BlockLine,
    BlockEnd,
    Key(&'static Keys),
    Bearer,
    Authorization,
    Cookies,
    Signature,
    Name,
    Address,
    Program,
    Email,
    Home,
    Project,
    KnownHome,
    KnownProject,
}

/// The number of findings that can begin after an anchor between theirs and them.
const MAX_RECENT: usize = 16;

impl Rule {
    /// Whether the case of the anchor matters.
    fn has_case(self) -> bool {
        use Rule::{BlockEnd, BlockHeader, BlockLine, Home, Key, Project};
        matches!(self, BlockHeader | BlockLine | BlockEnd | Key(_) | Home | Project)
    }
}

/// The number of groups of anchors, by a hash of their first two bytes. No anchor is in group 0.
const GROUPS: usize = 256;

const PAIRS: usize = 1 << 14;

pub(super) struct Scanner {
    /// The group of each two bytes.
    pairs: Box<[u8; PAIRS]>,
    groups: [Group; GROUPS],
}

#[derive(Default)]
struct Group {
    /// A set of the third bytes of the anchors, by their lowest bits.
    thirds: u32,
    anchors: Vec<Anchor>,
}

impl std::fmt::Debug for Scanner {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Scanner({} anchors)", self.groups.iter().map(|group| group.anchors.len()).sum::<usize>())
    }
}

#[derive(Debug, Clone)]
pub(super) struct Match {
    pub kind: SecretKind,
    pub range: Range<usize>,
}

impl Scanner {
    pub(crate) fn new(kinds: &[SecretKind], homes: &[String]) -> Scanner {
        let mut scanner =
            Scanner { pairs: Box::new([0; PAIRS]), groups: std::array::from_fn(|_| Group::default()) };
        let mut add = |kind: SecretKind, rule: Rule, texts: &[&str]| {
            texts.iter().filter(|_| kinds.contains(&kind)).for_each(|text| scanner.add(text, kind, rule));
        };
        add(SecretKind::PrivateKey, Rule::BlockHeader, &["-----BEGIN ", "---- BEGIN "]);
        add(SecretKind::PrivateKey, Rule::BlockLine, &["Private-Lines:"]);
        add(SecretKind::PrivateKey, Rule::BlockEnd, &["-----END "]);
        KEYS.iter().for_each(|keys| add(SecretKind::ApiKey, Rule::Key(keys), keys.starts));
        add(SecretKind::Token, Rule::Key(&JWT), JWT.starts);
        add(SecretKind::Token, Rule::Bearer, &["bearer"]);
        add(SecretKind::Token, Rule::Authorization, &["authorization"]);
        add(SecretKind::Token, Rule::Cookies, &["cookie:", "--cookie", "curl -b", "cookie\":"]);
        add(SecretKind::Secret, Rule::Signature, &["&sig=", "?sig=", "signature="]);
        add(SecretKind::Secret, Rule::Name, names::TRIGGERS);
        add(SecretKind::Secret, Rule::Address, &["://"]);
        add(SecretKind::Secret, Rule::Program, &places::PROGRAM_NAMES);
        for first in ('a'..='z').chain('0'..='9') {
            add(SecretKind::Email, Rule::Email, &[&format!("@{first}")]);
        }
        add(SecretKind::Home, Rule::Home, &["/home", r"\home", "/Users", r"\Users", "/users", r"\users"]);
        add(SecretKind::Home, Rule::Project, &["-home-", "-Users-", "-users-"]);
        for home in homes.iter().filter(|home| home.len() > 1) {
            for spelling in spellings(home) {
                add(SecretKind::Home, Rule::KnownHome, &[&spelling]);
            }
            let slug = |path: &str| -> String {
                path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
            };
            add(SecretKind::Home, Rule::KnownProject, &[&slug(home)]);
            if let Some(path) = git_bash(home) {
                // WSL has the drives below `/mnt`.
                add(SecretKind::Home, Rule::KnownProject, &[&slug(&format!("/mnt{path}"))]);
            }
        }
        scanner
    }

    fn add(&mut self, text: &str, kind: SecretKind, rule: Rule) {
        let &[first, second, ..] = text.as_bytes() else { return };
        let lower = |byte: u8| u16::from((byte & 0x7f).to_ascii_lowercase());
        let group = 1 + (lower(first) * 31 + lower(second)) % (GROUPS as u16 - 1);
        let cases = |byte: u8| match rule.has_case() {
            true => [byte, byte],
            false => [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()],
        };
        for (first, second) in
            cases(first).into_iter().flat_map(|first| cases(second).map(|second| (first, second)))
        {
            self.pairs[pair(first, second)] = group as u8;
        }
        let group = &mut self.groups[usize::from(group)];
        group.thirds |= text.as_bytes().get(2).map_or(u32::MAX, |third| bit(*third));
        group.anchors.push(Anchor { text: text.to_owned(), kind, rule });
    }

    /// The findings in a text, in order and without overlaps.
    pub(crate) fn findings(&self, text: &str) -> Vec<Match> {
        let mut search = Search { text, found: Vec::new(), last_name: 0, last_cookie: 0 };
        let bytes = text.as_bytes();
        for (at, three) in bytes.windows(3).enumerate() {
            let group = self.pairs[pair(three[0], three[1])];
            if group == 0 {
                continue;
            }
            let group = &self.groups[usize::from(group)];
            if group.thirds & bit(three[2]) == 0 {
                continue;
            }
            for anchor in group.anchors.iter().filter(|anchor| anchor.is_at(&bytes[at..])) {
                search.apply(anchor, at..at + anchor.text.len());
            }
        }
        search.done()
    }
}

/// The spellings of a home directory. One on Windows is also searched with slashes, as in Git Bash, with doubled backslashes, and as it
/// looks if its backslashes are taken for escapes.
fn spellings(home: &str) -> Vec<String> {
    let git_bash = git_bash(home);
    if git_bash.is_none() && !home.contains('\\') {
        return vec![home.to_owned()];
    }
    let slashes = home.replace('\\', "/");
    let backslashes = slashes.replace('/', r"\");
    let (doubled, decoded) = (backslashes.replace('\\', r"\\"), View::of(&backslashes).map(|view| view.text));
    [slashes, backslashes, doubled].into_iter().chain(git_bash).chain(decoded).collect()
}

/// A path on a drive of Windows as Git Bash spells it: `/C/a` for `C:\a`.
fn git_bash(path: &str) -> Option<String> {
    let (drive, rest) = path.split_once(':').filter(|(drive, _)| drive.len() == 1)?;
    Some(format!("/{drive}{}", rest.replace('\\', "/")))
}

/// Whether a text, such as most keys in JSON, is too short for a key and has no character that other rules need.
pub(super) fn is_short_word(text: &str) -> bool {
    text.len() < 16 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

struct Search<'a> {
    text: &'a str,
    found: Vec<Match>,
    /// The end of the last name that was checked.
    last_name: usize,
    /// The end of the last header of cookies.
    last_cookie: usize,
}

impl Search<'_> {
    fn apply(&mut self, anchor: &Anchor, place: Range<usize>) {
        let Search { text, found, last_name, last_cookie } = self;
        // A finding can begin after its anchor, so the text before it is still searched. At its start, a rule for a form of
        // key can know more than the rule for its name.
        let recent = || found.iter().rev().take(MAX_RECENT).map(|finding| &finding.range);
        if recent().any(|range| range.start < place.start && place.start < range.end) {
            return;
        }
        let done = || recent().map(|range| range.end).filter(|end| *end <= place.start).max().unwrap_or(0);
        let range = match anchor.rule {
            Rule::BlockHeader => keys::after_header(text, place.start),
            Rule::BlockLine => keys::after_line(text, place.start),
            Rule::BlockEnd => keys::before_end(text, done(), place.start),
            Rule::Key(keys) => keys::find(keys, text, place),
            Rule::Bearer => places::bearer(text, place.end),
            Rule::Authorization => places::authorization(text, place.end),
            Rule::Cookies if place.start < *last_cookie => None,
            Rule::Cookies => {
                let (cookies, end) = places::cookies(text, place.end);
                *last_cookie = end;
                found.extend(cookies.into_iter().map(|range| Match { kind: anchor.kind, range }));
                None
            }
            Rule::Signature => places::signature(text, place.end),
            Rule::Name if place.start < *last_name => None,
            Rule::Name => {
                let name = assignments::identifier(text, place);
                *last_name = name.end;
                assignments::find(text, name)
            }
            Rule::Address => places::in_url(text, place.end),
            Rule::Program => places::argument(text, place),
            Rule::Email => places::email(text, place.start, done()),
            Rule::Home => places::home(text, &place),
            Rule::Project => places::project(text, &place),
            Rule::KnownHome => places::known_home(text, &place),
            Rule::KnownProject => places::known_project(text, &place),
        };
        found.extend(range.map(|range| Match { kind: anchor.kind, range }));
    }

    fn done(self) -> Vec<Match> {
        let mut found = self.found;
        found.retain(|finding| !finding.range.is_empty());
        found.sort_by_key(|finding| (finding.range.start, finding.kind as usize));
        found.dedup_by(|next, kept| {
            let overlaps = next.range.start < kept.range.end;
            if overlaps {
                kept.range.end = kept.range.end.max(next.range.end);
            }
            overlaps
        });
        found
    }
}

/// The index of two bytes in a table that fits into the fastest cache. The highest bits do not matter.
fn pair(first: u8, second: u8) -> usize {
    usize::from(first & 0x7f) << 7 | usize::from(second & 0x7f)
}

/// The bit of a byte, the same in upper and lower case.
fn bit(byte: u8) -> u32 {
    1 << (byte & 31)
}
