//! Finds secrets and personal data in one pass: a table of the first two bytes finds the anchors of all rules, and the rule
//! of an anchor checks the text around it. No rule reads further than a limit, unless what it reads is replaced, so the
//! time is linear.

use std::ops::Range;

use super::keys::{JWT, KEYS, Keys};
use super::{assignments, blocks, keys, names, personal, places};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    PrivateKey,
    ApiKey,
    Token,
    Secret,
    Email,
    Home,
}

impl Kind {
    pub const ALL: [Kind; 6] =
        [Kind::PrivateKey, Kind::ApiKey, Kind::Token, Kind::Secret, Kind::Email, Kind::Home];

    /// The name in the configuration and in the replacement.
    pub fn name(self) -> &'static str {
        match self {
            Kind::PrivateKey => "private-key",
            Kind::ApiKey => "api-key",
            Kind::Token => "token",
            Kind::Secret => "secret",
            Kind::Email => "email",
            Kind::Home => "home",
        }
    }

    pub fn replacement(self) -> String {
        if self == Kind::Home { "~".to_owned() } else { format!("[redacted:{}]", self.name()) }
    }
}

/// A text that shows where to apply a rule.
struct Anchor {
    text: String,
    kind: Kind,
    rule: Rule,
}

impl Anchor {
    fn is_at(&self, bytes: &[u8]) -> bool {
        let text = self.text.as_bytes();
        let last = text.len() - 1;
        // The first two bytes are equal already.
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

pub(super) struct Scanner {
    /// The group of each two bytes.
    pairs: Vec<u8>,
    groups: [Vec<Anchor>; GROUPS],
}

impl std::fmt::Debug for Scanner {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Scanner({} anchors)", self.groups.iter().map(Vec::len).sum::<usize>())
    }
}

#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub kind: Kind,
    pub range: Range<usize>,
}

impl Scanner {
    pub fn new(kinds: &[Kind], homes: &[String]) -> Scanner {
        let mut scanner =
            Scanner { pairs: vec![0; 1 << 16], groups: std::array::from_fn(|_| Vec::new()) };
        let mut add = |kind: Kind, rule: Rule, texts: &[&str]| {
            texts.iter().filter(|_| kinds.contains(&kind)).for_each(|text| scanner.add(text, kind, rule));
        };
        add(Kind::PrivateKey, Rule::BlockHeader, &["-----BEGIN ", "---- BEGIN "]);
        add(Kind::PrivateKey, Rule::BlockLine, &["Private-Lines:"]);
        add(Kind::PrivateKey, Rule::BlockEnd, &["-----END "]);
        KEYS.iter().for_each(|keys| add(Kind::ApiKey, Rule::Key(keys), keys.starts));
        add(Kind::Token, Rule::Key(&JWT), JWT.starts);
        add(Kind::Token, Rule::Bearer, &["bearer"]);
        add(Kind::Token, Rule::Authorization, &["authorization"]);
        add(Kind::Token, Rule::Cookies, &["cookie:", "--cookie", "curl -b", "cookie\":"]);
        add(Kind::Secret, Rule::Signature, &["&sig=", "?sig=", "signature="]);
        add(Kind::Secret, Rule::Name, names::TRIGGERS);
        add(Kind::Secret, Rule::Address, &["://"]);
        add(Kind::Secret, Rule::Program, &places::PROGRAM_NAMES);
        for first in ('a'..='z').chain('0'..='9') {
            add(Kind::Email, Rule::Email, &[&format!("@{first}")]);
        }
        add(Kind::Home, Rule::Home, &["/home/", "/Users/"]);
        add(Kind::Home, Rule::Project, &["-home-", "-Users-"]);
        for home in homes.iter().filter(|home| home.len() > 1) {
            let slug: String =
                home.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            add(Kind::Home, Rule::KnownHome, &[home]);
            add(Kind::Home, Rule::KnownProject, &[&slug]);
        }
        scanner
    }

    fn add(&mut self, text: &str, kind: Kind, rule: Rule) {
        let &[first, second, ..] = text.as_bytes() else { return };
        let lower = |byte: u8| u16::from(byte.to_ascii_lowercase());
        let group = 1 + (lower(first) * 31 + lower(second)) % (GROUPS as u16 - 1);
        let cases = |byte: u8| match rule.has_case() {
            true => [byte, byte],
            false => [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()],
        };
        for (first, second) in cases(first).into_iter().flat_map(|first| cases(second).map(|second| (first, second))) {
            self.pairs[pair(first, second)] = group as u8;
        }
        self.groups[usize::from(group)].push(Anchor { text: text.to_owned(), kind, rule });
    }

    fn anchors<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (&'a Anchor, Range<usize>)> {
        let bytes = text.as_bytes();
        let groups = bytes.windows(2).map(|two| self.pairs[pair(two[0], two[1])]).enumerate();
        groups.filter(|(_, group)| *group != 0).flat_map(move |(at, group)| {
            let here = self.groups[usize::from(group)].iter().filter(move |anchor| anchor.is_at(&bytes[at..]));
            here.map(move |anchor| (anchor, at..at + anchor.text.len()))
        })
    }

    /// The findings in a text, in order and without overlaps.
    pub fn findings(&self, text: &str) -> Vec<Finding> {
        let mut found: Vec<Finding> = Vec::new();
        let mut last_name = 0;
        for (&Anchor { kind, rule, .. }, place) in self.anchors(text) {
            // A finding can begin after its anchor, so what is before it is still searched. At its start, a rule for a
            // form of key can know more than the rule for its name.
            let recent = || found.iter().rev().take(MAX_RECENT).map(|finding| &finding.range);
            if recent().any(|range| range.start < place.start && place.start < range.end) {
                continue;
            }
            let done = || recent().map(|range| range.end).filter(|end| *end <= place.start).max().unwrap_or(0);
            let range = match rule {
                Rule::BlockHeader => blocks::after_header(text, place.start),
                Rule::BlockLine => blocks::after_line(text, place.start),
                Rule::BlockEnd => blocks::before_end(text, done(), place.start),
                Rule::Key(keys) => keys::find(keys, text, place),
                Rule::Bearer => places::bearer(text, place.end),
                Rule::Authorization => places::authorization(text, place.end),
                Rule::Cookies => {
                    let all =
                        places::cookies(text, place.end).into_iter().map(|range| Finding { kind, range });
                    found.extend(all);
                    None
                }
                Rule::Signature => places::signature(text, place.end),
                Rule::Name if place.start < last_name => None,
                Rule::Name => {
                    let name = assignments::identifier(text, place);
                    last_name = name.end;
                    assignments::find(text, name)
                }
                Rule::Address => places::in_address(text, place.end),
                Rule::Program => places::argument(text, place),
                Rule::Email => personal::address(text, place.start, done()),
                Rule::Home => personal::home(text, &place),
                Rule::Project => personal::project(text, &place),
                Rule::KnownHome => personal::known_home(text, &place),
                Rule::KnownProject => personal::known_project(text, &place),
            };
            if let Some(range) = range {
                found.push(Finding { kind, range });
            }
        }
        found.retain(|finding| !finding.range.is_empty());
        // Of two that begin at the same place, the first is the more specific.
        found.sort_by_key(|finding| (finding.range.start, finding.kind == Kind::Secret));
        found.dedup_by(|next, kept| {
            let overlaps = next.range.start < kept.range.end;
            kept.range.end = if overlaps { kept.range.end.max(next.range.end) } else { kept.range.end };
            overlaps
        });
        found
    }
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}
