//! What a text must contain for a regular expression to mean it: to look for that costs far less than to compile the
//! expression, and most texts do not have it.

/// The characters at the beginning of an expression that stand for themselves, if every text that it means has them.
/// `None` where that is not plain to see.
pub fn needle(expression: &str) -> Option<&str> {
    // Flags may change what a character means, and a group of alternatives may hide among classes.
    if expression.contains("(?") || has_alternatives(expression) {
        return None;
    }
    let rest = expression.trim_start_matches('^');
    let end = rest.find(|c: char| !is_itself(c)).unwrap_or(rest.len());
    let (literal, then) = rest.split_at(end);
    // What is repeated may be missing, even after a `+`: that may be repeated itself.
    let literal = match then.chars().next() {
        Some('?' | '*' | '+' | '{') => literal.get(..literal.len().checked_sub(1)?)?,
        _ => literal,
    };
    Some(literal).filter(|literal| !literal.is_empty())
}

fn is_itself(c: char) -> bool {
    c.is_ascii_alphanumeric() || " _-/:=,;<>@%!~\"'".contains(c)
}

/// Whether it is a choice between expressions, or may be one: what is not plain to see counts as one.
fn has_alternatives(expression: &str) -> bool {
    let (mut depth, mut rest) = (0_usize, expression.chars());
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '[' => match after_class(rest.as_str()) {
                Some(after) => rest = after.chars(),
                None => return true,
            },
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

/// What follows a class, by what follows its bracket; `None` for one with brackets in it.
fn after_class(text: &str) -> Option<&str> {
    let text = text.strip_prefix('^').unwrap_or(text);
    // One that comes first stands for itself.
    let mut rest = text.strip_prefix(']').unwrap_or(text).chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '[' => return None,
            ']' => return Some(rest.as_str()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::Program;

    #[test]
    fn what_stands_for_itself_at_the_beginning_is_needed() {
        let cases = [
            ("git push.*--force", Some("git push")),
            ("^rm -rf", Some("rm -rf")),
            ("git (push|reset) --hard", Some("git ")),
            ("pushes?", Some("pushe")),
            ("push+", Some("pus")),
            ("x{0}y", None),
            ("a|b", None),
            ("(a)|b", None),
            ("a[|]b", Some("a")),
            ("a[]|]b", Some("a")),
            ("a[^]]|b", None),
            ("a[[:alpha:]]b(c|d)", None),
            ("forbidden +(word|name).*[0-9]", Some("forbidden")),
            (r"a\|b", Some("a")),
            ("a(?i)b", None),
            (".*a", None),
            ("", None),
        ];
        for (expression, wanted) in cases {
            assert_eq!(needle(expression), wanted, "{expression}");
        }
    }

    proptest! {
        #[test]
        fn a_text_without_it_is_never_meant(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "b", "ab", "^", "$", ".", ".*", "?", "*", "+", "{0}", "{2}", "|", "(", ")", "[ab]", "[^a]", "[|]", "[]|]", "[^]]", "[(]", "[", "]", r"\|",
                    r"\w", "(?i)", "(?:", " ", "-", r"\(",
                ]),
                0..9,
            ),
            text in "[abAB| (-]{0,6}",
        ) {
            let expression = pieces.concat();
            if let (Some(needle), Ok(program)) = (needle(&expression), Program::of(&expression))
                && !text.contains(needle)
            {
                prop_assert_eq!(program.means(&text), Some(false), "{} {}", expression, needle);
            }
        }
    }
}
