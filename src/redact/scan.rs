//! Finds secrets and personal data in one pass: an automaton finds the anchors of all rules, and the rule of an anchor
//! checks the text around it. No rule reads further than a limit, unless what it reads is replaced, so the time is linear.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::keys::{JWT, KEYS, Keys};
use super::{assignments, blocks, keys, names, personal, places};
use teamkeep_core::error::{Error, Result};

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

/// What an anchor stands for.
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

pub(super) struct Scanner {
    anchors: AhoCorasick,
    rules: Vec<(Kind, Rule)>,
}

impl std::fmt::Debug for Scanner {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Scanner({} anchors)", self.rules.len())
    }
}

#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub kind: Kind,
    pub range: Range<usize>,
}

impl Scanner {
    pub fn new(kinds: &[Kind], homes: &[String]) -> Result<Scanner> {
        let mut anchors: Vec<(String, Kind, Rule)> = Vec::new();
        let mut add = |kind: Kind, rule: Rule, texts: &[&str]| {
            anchors.extend(texts.iter().map(|text| ((*text).to_owned(), kind, rule)));
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
        add(Kind::Email, Rule::Email, &["@"]);
        add(Kind::Home, Rule::Home, &["/home/", "/Users/"]);
        add(Kind::Home, Rule::Project, &["-home-", "-Users-"]);
        for home in homes.iter().filter(|home| home.len() > 1) {
            let slug: String =
                home.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            add(Kind::Home, Rule::KnownHome, &[home]);
            add(Kind::Home, Rule::KnownProject, &[&slug]);
        }
        anchors.retain(|(_, kind, _)| kinds.contains(kind));
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(anchors.iter().map(|(text, _, _)| text));
        let automaton =
            automaton.map_err(|error| Error::caused("cannot build the rules of redaction", error))?;
        Ok(Scanner {
            anchors: automaton,
            rules: anchors.into_iter().map(|(_, kind, rule)| (kind, rule)).collect(),
        })
    }

    /// The findings in a text, in order and without overlaps.
    pub fn findings(&self, text: &str) -> Vec<Finding> {
        let mut found: Vec<Finding> = Vec::new();
        let mut last_name = 0;
        for anchor in self.anchors.find_overlapping_iter(text) {
            // A finding can begin after its anchor, so what is before it is still searched.
            let recent = || found.iter().rev().take(MAX_RECENT).map(|finding| &finding.range);
            if recent().any(|range| range.contains(&anchor.start())) {
                continue;
            }
            let done =
                recent().map(|range| range.end).filter(|end| *end <= anchor.start()).max().unwrap_or(0);
            let (kind, rule) = self.rules[anchor.pattern().as_usize()];
            let place = anchor.range();
            let range = match rule {
                Rule::BlockHeader => blocks::after_header(text, place.start),
                Rule::BlockLine => blocks::after_line(text, place.start),
                Rule::BlockEnd => blocks::before_end(text, done, place.start),
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
                Rule::Email => personal::address(text, place.start, done),
                Rule::Home
                    if text[place.clone()].starts_with("/h") || text[place.clone()].starts_with("/U") =>
                {
                    personal::home(text, &place)
                }
                Rule::Project
                    if text[place.clone()].starts_with("-h") || text[place.clone()].starts_with("-U") =>
                {
                    personal::project(text, &place)
                }
                Rule::KnownHome => personal::known_home(text, &place),
                Rule::KnownProject => personal::known_project(text, &place),
                Rule::Home | Rule::Project => None,
            };
            if let Some(range) = range {
                found.push(Finding { kind, range });
            }
        }
        found.sort_by_key(|finding| finding.range.start);
        let mut end = 0;
        found.retain(|finding| {
            let is_apart = finding.range.start >= end;
            end = end.max(finding.range.end);
            is_apart && !finding.range.is_empty()
        });
        found
    }
}
