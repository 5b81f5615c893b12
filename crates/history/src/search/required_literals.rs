//! Literals of which every match of a regular expression contains one, so that only lines with them are parsed.

use regex_syntax::hir::{Class, Hir, HirKind};

/// More alternatives are slower to find than the lines are to parse.
const MAX_ALTERNATIVES: usize = 16;

/// The literals, in any case; `None` if there are none, as with `\d+`.
pub(super) fn required_literals(expression: &str) -> Option<Vec<String>> {
    of(&regex_syntax::parse(expression).ok()?)
}

fn of(part: &Hir) -> Option<Vec<String>> {
    match part.kind() {
        HirKind::Capture(capture) => of(&capture.sub),
        HirKind::Repetition(repeated) if repeated.min > 0 => of(&repeated.sub),
        HirKind::Alternation(parts) => {
            let all: Vec<String> = parts.iter().map(of).collect::<Option<Vec<_>>>()?.concat();
            (all.len() <= MAX_ALTERNATIVES).then_some(all)
        }
        HirKind::Concat(parts) => of_sequence(parts),
        _ => literal(part).map(|literal| vec![literal]),
    }
}

/// Of the parts that follow each other, the ones with the longest literals.
fn of_sequence(parts: &[Hir]) -> Option<Vec<String>> {
    let (mut found, mut run) = (Vec::new(), String::new());
    for part in parts {
        match literal(part) {
            Some(literal) => run.push_str(&literal),
            None if matches!(part.kind(), HirKind::Empty | HirKind::Look(_)) => {}
            None => {
                found.push(vec![std::mem::take(&mut run)]);
                found.extend(of(part));
            }
        }
    }
    found.push(vec![run]);
    let shortest = |literals: &Vec<String>| literals.iter().map(String::len).min().unwrap_or_default();
    found.into_iter().filter(|literals| shortest(literals) > 0).max_by_key(shortest)
}

fn literal(part: &Hir) -> Option<String> {
    match part.kind() {
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0).ok().map(str::to_owned),
        HirKind::Class(class) => single_char(class).map(String::from),
        _ => None,
    }
}

/// The character of a class that has one character in all cases, as `(?i)` makes them.
fn single_char(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let mut chars = class.iter().flat_map(|range| range.start()..=range.end()).take(5);
    let first = chars.next()?;
    chars.all(|other| folded(other) == folded(first)).then_some(first)
}

fn folded(c: char) -> Vec<char> {
    c.to_uppercase().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern::{Pattern, Syntax};
    use super::*;

    #[test]
    fn the_longest_literals_of_an_expression_are_required() {
        for (expression, literals) in [
            (r"panicked at src/main\.rs:\d+", Some(&["panicked at src/main.rs:"][..])),
            (r"error: (timeout|reset)", Some(&["error: "])),
            (r"(timeout|reset): \d", Some(&["timeout", "reset"])),
            (r"-E0\d{3}", Some(&["-E0"])),
            (r"ne+dle", Some(&["dle"])),
            (r"(?:needle)+x", Some(&["needle"])),
            (r"foo|bar", Some(&["foo", "bar"])),
            (r"(foo)?\d*x", Some(&["x"])),
            (r"foo|\d", None),
            (r"[a-z]{20}", None),
            (r"(", None),
        ] {
            assert_eq!(
                required_literals(expression).as_deref(),
                literals.map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>()).as_deref(),
                "{expression}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_line_with_a_match_is_left_out(
            expression in "(\\(\\?i\\))?([aBſkİ7]{1,4}|[ -/.<]|\\(aB|ka\\)[?+*]?|[aK][?+*]|\\\\b|\\\\d|\\^|\\$|\\|){1,6}",
            text in "[aAbBkKsſİi7 ./<\"\n\u{1}-]{0,24}",
            escaped in 0..30usize,
        ) {
            let Ok(pattern) = Pattern::parse(&expression, Syntax { is_regex: true, is_word: false }) else { return Ok(()) };
            if pattern.is_match(&text) {
                let mut line = serde_json::to_string(&text).unwrap();
                if let Some(c) = text.chars().nth(escaped).filter(|c| c.is_alphanumeric()) {
                    line = line.replacen(c, &format!("\\u{:04x}", u32::from(c)), 1);
                }
                let mut seen = 0;
                pattern.lines.each_line(line.as_bytes(), |_, _| { seen += 1; true });
                prop_assert_eq!(seen, 1, "{:?} {:?}", expression, line);
            }
        }
    }
}
