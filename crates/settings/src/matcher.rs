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
    /// The tools that the globs of a rule match. All tools without globs, and for a glob with other characters than those of
    /// names and `*`: the rule itself decides then.
    pub fn of_globs(globs: &[String]) -> Tools {
        let is_listed = |glob: &String| glob != ALL && is_pattern(glob);
        if globs.is_empty() || !globs.iter().all(is_listed) {
            return Tools::All;
        }
        let mut tools = Tools::Some(Vec::new());
        tools.add(Tools::Some(globs.to_vec()));
        tools
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
            |word: &String| !word.is_empty() && is_pattern(word) && (inner.is_some() || is_list(word));
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

/// Whether a glob has only plain characters and few stars.
fn is_pattern(glob: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-*".contains(c);
    glob.chars().all(is_plain) && glob.matches('*').count() <= MAX_STARS
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
            (&["Ba?h"], "*"),
            (&["[BE]*"], "*"),
            (&["N[!]a]b"], "*"),
            (&["x.y(z"], "*"),
            (&["a*b*c*d*e"], "*"),
            (&["Wörk"], "*"),
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
