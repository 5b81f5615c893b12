//! Evaluates a matcher as Claude Code does, with limits.

use serde_json::Value;

/// Maximum number of matchers to evaluate as patterns, because a pattern can be slow.
pub const PATTERNS: usize = 16;
/// Maximum length of a pattern, and of a tool's name, in bytes.
const PATTERN: usize = 512;
/// Maximum memory of a compiled pattern in bytes.
const PATTERN_MEMORY: usize = 1 << 18;

/// Whether a group's matcher matches this tool, as Claude Code evaluates it: none and `*` match all, names are
/// separated by `|`, and anything else is a pattern, of which only a limited number is evaluated. For an event without
/// a tool the subject is unknown here.
pub fn matches(matcher: Option<&Value>, tool: Option<&str>, patterns: &mut usize) -> bool {
    let matcher = match matcher {
        None => return true,
        Some(Value::String(matcher)) => matcher.as_str(),
        Some(_) => return false,
    };
    if matches!(matcher, "" | "*") {
        return true;
    }
    let Some(tool) = tool else { return false };
    if !is_list(matcher) {
        if *patterns == 0 || matcher.len() > PATTERN || tool.len() > PATTERN {
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
    let pattern = regex_lite::RegexBuilder::new(matcher).size_limit(PATTERN_MEMORY).build();
    pattern.ok().map(|pattern| pattern.is_match(name))
}

/// Whether a matcher is a list of names.
fn is_list(matcher: &str) -> bool {
    matcher.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '|')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_means_the_tools_that_the_client_takes_it_for() {
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
