//! Finds a literal that every match of a regular expression contains. Searching for it is far cheaper than compiling
//! the expression, and most texts do not contain it.

/// The literal start of an expression, if every match has it; `None` if that is not obvious.
pub fn required_literal(expression: &str) -> Option<&str> {
    // Flags can change the meaning of a character, and a class can hide alternatives.
    if expression.contains("(?") || has_alternatives(expression) {
        return None;
    }
    let rest = expression.trim_start_matches('^');
    let end = rest.find(|c: char| !is_itself(c)).unwrap_or(rest.len());
    let (literal, then) = rest.split_at(end);
    // A repeated character may be missing, even after `+`, which can be repeated itself.
    let literal = match then.chars().next() {
        Some('?' | '*' | '+' | '{') => literal.get(..literal.len().checked_sub(1)?)?,
        _ => literal,
    };
    Some(literal).filter(|literal| !literal.is_empty())
}

fn is_itself(c: char) -> bool {
    c.is_ascii_alphanumeric() || " _-/:=,;<>@%!~\"'".contains(c)
}

/// Whether it has alternatives, or may have.
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

/// The text after a class, given the text after its opening bracket; `None` for a class with brackets in it.
fn after_class(text: &str) -> Option<&str> {
    let text = text.strip_prefix('^').unwrap_or(text);
    // A first `]` is literal.
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
    use crate::config::BoundedRegex;

    #[test]
    fn literal_prefix_is_required() {
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
            assert_eq!(required_literal(expression), wanted, "{expression}");
        }
    }

    proptest! {
        #[test]
        fn text_without_the_literal_never_matches(
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
            if let (Some(required_literal), Ok(program)) = (required_literal(&expression), BoundedRegex::of(&expression))
                && !text.contains(required_literal)
            {
                prop_assert_eq!(program.is_match(&text), Some(false), "{} {}", expression, required_literal);
            }
        }
    }
}
