//! The events and tools that need hooks: those of the recorder, of the gates and of the rules in force.
//!
//! `install` writes the matchers for them. Other commands compare them with the installed hooks: see
//! [`crate::client::settings::installed`].

use serde_json::Value;

use crate::client::payload::{KNOWN, Kind};
use crate::client::settings::demand::{Demand, GIT_CONDITION};
use crate::client::settings::hook_command::Entry;

/// A settings file with all hooks. The plugin's are in several files, for versions that know only some.
const HOOKS: &str = include_str!("../../../../hooks/settings.example.json");
/// Maximum number of stars in a pattern: each star multiplies the ways that a regular expression has to try.
const MAX_STARS: usize = 3;
/// The matcher for all tools.
const ALL: &str = "*";
/// Maximum number of matchers to evaluate as patterns, because a pattern can be slow.
pub const MAX_PATTERNS: usize = 16;
/// Maximum length of a pattern, and of a tool's name, in bytes. `install` replaces a longer matcher by `*`.
const MAX_PATTERN_BYTES: usize = 512;
/// Maximum memory of a compiled pattern in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 18;

/// The entries of the embedded file, in its order. A test checks that it is a table of hooks.
pub fn embedded() -> Vec<Entry> {
    let settings: Value = serde_json::from_str(HOOKS).unwrap_or_default();
    let events = settings.get("hooks").and_then(Value::as_object).into_iter().flatten();
    let groups = events.flat_map(|(event, groups)| {
        let groups = groups.as_array().into_iter().flatten();
        groups.map(|group| Entry { event: event.clone(), group: group.clone() })
    });
    groups.collect()
}

/// The timeout of teamkeep's hook for an event in seconds; `None` for an event without one.
pub fn timeout(event: &str) -> Option<f64> {
    let entry = embedded().into_iter().find(|entry| entry.event == event)?;
    entry.hook().get("timeout").and_then(Value::as_f64)
}

/// Each event, with the tools for which its hook must run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    pub events: Vec<(&'static str, Tools)>,
    /// The tools of which only some calls need a hook.
    limited: Vec<Limited>,
}

/// Tools whose hook at an event has a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limited {
    pub event: &'static str,
    pub tools: Tools,
    /// The permission rule in `if`.
    pub condition: &'static str,
}

impl Needs {
    /// The needs of the recorder and the gates, without rules.
    pub fn builtin() -> Needs {
        let mut needs = Needs { events: Vec::new(), limited: Vec::new() };
        needs.add_entries(&embedded());
        needs
    }

    /// The needs with these demands.
    pub fn with(demands: &[Demand]) -> Needs {
        let mut needs = Needs::builtin();
        for set in demands.iter().flat_map(|demand| &demand.hooks) {
            set.needs().for_each(|(kind, tools)| needs.add(kind.name(), tools, set.condition));
        }
        needs
    }

    /// Adds every tool at every event with tools.
    pub fn add_all_tools(&mut self) {
        for row in KNOWN.iter().filter(|row| row.0.has_tool()) {
            self.add(row.1, Tools::All, None);
        }
    }

    /// Adds what these hooks cover, if their matchers have a form that `install` writes.
    pub fn add_entries(&mut self, entries: &[Entry]) {
        for entry in entries {
            let event = KNOWN.iter().find(|row| row.1 == entry.event).map(|row| row.1);
            if let (Some(event), Some(tools)) = (event, Tools::of_matcher(entry.matcher())) {
                let condition =
                    entry.hook().get("if").map(|condition| condition.as_str().unwrap_or_default());
                match condition.map(|condition| (condition, GIT_CONDITION)) {
                    None => self.add(event, tools, None),
                    Some((condition, known)) if condition == known => self.add(event, tools, Some(known)),
                    Some(_) => {}
                }
            }
        }
    }

    fn add(&mut self, event: &'static str, tools: Tools, condition: Option<&'static str>) {
        if let Some(condition) = condition {
            let limited = Limited { event, tools, condition };
            if !self.limited.contains(&limited) {
                self.limited.push(limited);
            }
            return;
        }
        match self.events.iter_mut().find(|(known, _)| *known == event) {
            Some((_, known)) => known.add(tools),
            None => self.events.push((event, tools)),
        }
    }

    /// The tools of an event; `None` if it does not need a hook.
    pub fn tools(&self, event: &str) -> Option<&Tools> {
        self.events.iter().find(|(known, _)| *known == event).map(|(_, tools)| tools)
    }

    /// The hooks with a condition, without those for tools that need every call.
    pub fn limited(&self) -> impl Iterator<Item = &Limited> {
        let is_covered = |limited: &&Limited| {
            self.tools(limited.event).is_some_and(|all| limited.tools.beyond(all).is_empty())
        };
        self.limited.iter().filter(move |limited| !is_covered(limited))
    }

    /// Each event, and the matcher of its hook if it needs one.
    pub fn matchers(&self) -> impl Iterator<Item = (&'static str, Option<String>)> {
        self.events
            .iter()
            .map(|(event, tools)| (*event, Kind::named(event).has_tool().then(|| tools.matcher())))
    }
}

/// The tools of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tools {
    All,
    /// These: names, or patterns in which `*` is any number of characters. In the order in which they are written.
    Some(Vec<String>),
}

impl Tools {
    /// The tools that the globs of a rule may match; all tools without globs. They may be more than the rule's own where a
    /// matcher cannot express the glob; the rule itself decides then.
    pub fn of_globs(globs: &[String]) -> Tools {
        let mut tools = Tools::Some(Vec::new());
        for glob in globs {
            let pattern = widened(glob);
            tools.add(if pattern == ALL { Tools::All } else { Tools::Some(vec![pattern]) });
        }
        if globs.is_empty() { Tools::All } else { tools }
    }

    /// The tools of a matcher, if it has one of the forms that [`Tools::matcher`] writes.
    pub fn of_matcher(matcher: &str) -> Option<Tools> {
        if matcher.is_empty() || matcher == ALL {
            return Some(Tools::All);
        }
        let inner = matcher.strip_prefix("^(").and_then(|rest| rest.strip_suffix(")$"));
        let words: Vec<String> = match inner {
            Some(inner) => inner.split('|').map(|word| word.replace(".*", ALL)).collect(),
            None => matcher.split('|').map(str::to_owned).collect(),
        };
        let is_valid =
            |word: &String| !word.is_empty() && widened(word) == *word && (inner.is_some() || is_list(word));
        words.iter().all(is_valid).then_some(Tools::Some(words))
    }

    /// Adds the others to these.
    pub fn add(&mut self, others: Tools) {
        match (&mut *self, others) {
            (Tools::All, _) => {}
            (_, Tools::All) => *self = Tools::All,
            (Tools::Some(own), Tools::Some(others)) => {
                for other in others {
                    if !own.contains(&other) {
                        own.push(other);
                    }
                }
            }
        }
    }

    /// The tools of these that the others lack, for the user; none if the others are all tools.
    pub fn beyond(&self, others: &Tools) -> Vec<String> {
        match (self, others) {
            (_, Tools::All) => Vec::new(),
            (Tools::All, _) => vec!["every tool".to_owned()],
            (Tools::Some(own), Tools::Some(others)) => {
                own.iter().filter(|word| !others.contains(word)).cloned().collect()
            }
        }
    }

    /// The matcher: names separated by `|` if that is enough, else a regular expression for the whole name.
    pub fn matcher(&self) -> String {
        let Tools::Some(words) = self else { return ALL.to_owned() };
        let matcher = match words.iter().all(|word| !word.is_empty() && is_list(word)) {
            true => words.join("|"),
            false => format!("^({})$", words.join("|").replace(ALL, ".*")),
        };
        if matcher.len() > MAX_PATTERN_BYTES { ALL.to_owned() } else { matcher }
    }
}

/// The glob with only plain characters and stars. Everything else becomes a star, and the last star that a pattern may have
/// replaces the rest of the glob.
pub fn widened(glob: &str) -> String {
    let mut wide = String::with_capacity(glob.len());
    let mut chars = glob.chars();
    while let Some(c) = chars.next() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            wide.push(c);
            continue;
        }
        if c == '[' {
            // The first character may be the bracket that ends it, behind a `!` as well.
            let rest = chars.as_str();
            let skipped = if rest.starts_with('!') { 2 } else { 1 };
            let end = rest.char_indices().skip(skipped).find(|(_, c)| *c == ']').map(|(at, _)| at + 1);
            chars = rest[end.unwrap_or(rest.len())..].chars();
        }
        if !wide.ends_with('*') {
            wide.push('*');
        }
        if wide.matches('*').count() == MAX_STARS {
            break;
        }
    }
    wide
}

/// Whether a group's matcher matches this tool, as Claude Code evaluates it: none and `*` match all, names are
/// separated by `|`, and anything else is a pattern, of which only a limited number is evaluated. For an event without
/// a tool the subject is unknown here.
pub fn matches(matcher: Option<&Value>, tool: Option<&str>, patterns: &mut usize) -> bool {
    let matcher = match matcher {
        None => return true,
        Some(Value::String(matcher)) => matcher.as_str(),
        Some(_) => return false,
    };
    if matches!(matcher, "" | ALL) {
        return true;
    }
    let Some(tool) = tool else { return false };
    if !is_list(matcher) {
        if *patterns == 0 || matcher.len() > MAX_PATTERN_BYTES || tool.len() > MAX_PATTERN_BYTES {
            return false;
        }
        *patterns -= 1;
    }
    evaluate(matcher, tool).unwrap_or(false)
}

/// Whether Claude Code runs a hook with this matcher for this name: plain names are compared as a whole, anything else
/// is a regular expression that is searched. `None` if the expression cannot be evaluated here.
pub fn evaluate(matcher: &str, name: &str) -> Option<bool> {
    if is_list(matcher) {
        return Some(matcher.split('|').any(|word| word == name));
    }
    let pattern = regex_lite::RegexBuilder::new(matcher).size_limit(MAX_COMPILED_BYTES).build();
    pattern.ok().map(|pattern| pattern.is_match(name))
}

/// Whether Claude Code compares a matcher with whole names.
fn is_list(matcher: &str) -> bool {
    matcher.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '|')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(globs: &[&str]) -> Tools {
        Tools::of_globs(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn names_become_a_list_and_patterns_one_expression() {
        for (globs, matcher) in [
            (&["Bash"][..], "Bash"),
            (&["Bash", "Edit", "Bash"], "Bash|Edit"),
            (&["Bash", "mcp__*"], "^(Bash|mcp__.*)$"),
            (&["mcp__a-b__push"], "^(mcp__a-b__push)$"),
            (&["Ba?h"], "^(Ba.*h)$"),
            (&["[BE]*"], "*"),
            (&["N[!]a]b"], "^(N.*b)$"),
            (&["x.y(z"], "^(x.*y.*z)$"),
            (&["a*b*c*d*e"], "^(a.*b.*c.*)$"),
            (&["Wörk"], "^(W.*rk)$"),
            (&[], "*"),
            (&["Bash", "*"], "*"),
        ] {
            assert_eq!(tools(globs).matcher(), matcher, "{globs:?}");
        }
        let many: Vec<String> = (0..99).map(|n| format!("mcp__server__{n}")).collect();
        assert_eq!(Tools::of_globs(&many).matcher(), "*", "what is too long for a list is all tools");
    }

    #[test]
    fn only_written_matchers_are_parsed() {
        for globs in [&["Bash"][..], &["Bash", "mcp__*"], &["mcp__a-b__push", "Edit"], &[]] {
            assert_eq!(Tools::of_matcher(&tools(globs).matcher()), Some(tools(globs)));
        }
        for other in ["^Ba", "Bash|", "a-b", "^(Ba+)$", "^(a|(b))$", "(Bash)", "^()$", ".*"] {
            assert_eq!(Tools::of_matcher(other), None, "{other}");
        }
    }

    #[test]
    fn matcher_matches_as_in_claude_code() {
        let matches = |matcher: &str, tool| matches(Some(&matcher.into()), tool, &mut 1);
        for all in ["", "*", ".*", "Task|Agent", "^Ag"] {
            assert!(matches(all, Some("Agent")), "{all:?}");
        }
        assert!(super::matches(None, Some("Agent"), &mut 0));
        for other in ["Task", "Agents|Task", "agent", "^gent", "("] {
            assert!(!matches(other, Some("Agent")), "{other}");
        }
        assert!(matches("*", None) && !matches("startup", None), "what started the session is not known");
    }
}
