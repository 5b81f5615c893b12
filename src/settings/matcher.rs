//! The matchers of hooks: for which tools Claude Code runs a hook.

/// Maximum number of stars in a pattern: each star multiplies the ways that a regular expression has to try.
const MAX_STARS: usize = 3;
/// The matcher for all tools.
const ALL: &str = "*";
/// Maximum length of a matcher in bytes: Claude Code would evaluate a long expression at each call. `*` replaces a longer one.
const MAX_MATCHER_BYTES: usize = 512;

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

    /// The tools with these names.
    pub fn named(names: &[&str]) -> Tools {
        Tools::Some(names.iter().map(|name| (*name).to_owned()).collect())
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
        if matcher.len() > MAX_MATCHER_BYTES { ALL.to_owned() } else { matcher }
    }
}

/// The glob with only plain characters and stars. Everything else becomes a star, and the last star that a pattern may have
/// replaces the rest of the glob.
fn widened(glob: &str) -> String {
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
}
