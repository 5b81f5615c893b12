//! Numbers, amounts, lists, names, ids and cut texts, as people read them.

use std::cmp::Ordering;

/// The number of things that a message names before it counts the rest.
pub const FEW: usize = 5;
/// The length of a quoted text in characters.
pub const QUOTE_CHARS: usize = 200;

/// A number with thousands separators: `1,234,567`.
pub fn thousands(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 task`, `2 tasks`, `1,024 tasks`.
pub fn count(number: impl TryInto<u64>, thing: &str) -> String {
    let number = thousands(number);
    format!("{number} {thing}{}", if number == "1" { "" } else { "s" })
}

/// A size: `812 B`, `17.1 KB`, `2.0 MB`, `5.0 GB`.
pub fn size(bytes: impl TryInto<u64>) -> String {
    let bytes = bytes.try_into().unwrap_or(u64::MAX);
    let in_unit = |unit: f64, name: &str| format!("{:.1} {name}", bytes as f64 / unit);
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => in_unit(1e3, "KB"),
        1_000_000..1_000_000_000 => in_unit(1e6, "MB"),
        _ => in_unit(1e9, "GB"),
    }
}

/// An amount of US dollars: `$12.34`. An amount that would be rounded to zero is `<$0.01`.
pub fn dollars(usd: f64) -> String {
    if usd > 0.0 && usd < 0.005 { "<$0.01".to_owned() } else { format!("${usd:.2}") }
}

/// The end of a list that leaves some out: ` and 3 more`; empty if it leaves out none.
pub fn and_more(hidden: usize) -> String {
    if hidden == 0 { String::new() } else { format!(" and {hidden} more") }
}

/// `a`, `a and b`, `a, b and c`, `a, b and 3 more`.
pub fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, third] => format!("{first}, {second} and {third}"),
        [first, second, more @ ..] => format!("{first}, {second}{}", and_more(more.len())),
    }
}

/// A name in the order of its numbers: `agent-2` before `agent-10`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Natural<'a>(pub &'a str);

impl Ord for Natural<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (mut own, mut others) = (self.0, other.0);
        while !own.is_empty() && !others.is_empty() {
            let ((one, rest), (two, other_rest)) = (first_part(own), first_part(others));
            let order = if is_number(one) && is_number(two) {
                let (one, two) = (one.trim_start_matches('0'), two.trim_start_matches('0'));
                one.len().cmp(&two.len()).then_with(|| one.cmp(two))
            } else {
                one.cmp(two)
            };
            if order.is_ne() {
                return order;
            }
            (own, others) = (rest, other_rest);
        }
        own.len().cmp(&others.len()).then_with(|| self.0.cmp(other.0))
    }
}

fn is_number(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_digit())
}

/// The number or the text at the beginning, and the rest.
fn first_part(text: &str) -> (&str, &str) {
    let end = text.find(|char: char| char.is_ascii_digit() != is_number(text));
    text.split_at(end.unwrap_or(text.len()))
}

impl PartialOrd for Natural<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The start of a text, with a mark if it was cut.
pub fn cut(text: &str, max_chars: usize) -> String {
    if text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    text.chars().take(max_chars.saturating_sub(1)).chain((max_chars > 0).then_some('…')).collect()
}

/// A text on one line, in full.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The shortest unambiguous prefix of a run's id, at least 4 characters. `ids` are sorted.
pub fn short_id<'a>(id: &'a str, ids: &[&str]) -> &'a str {
    let (before, after) = ids.split_at(ids.partition_point(|other| *other < id));
    let neighbors = before.last().into_iter().chain(after.iter().find(|other| **other != id));
    let common = |other: &&str| id.bytes().zip(other.bytes()).take_while(|(own, other)| own == other).count();
    let unique = neighbors.map(common).max().map_or(0, |common| common + 1);
    id.get(..unique.max(4)).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_amounts_lists_and_ids_are_short() {
        assert_eq!([0, 1, 1_000].map(|number| count(number, "task")), ["0 tasks", "1 task", "1,000 tasks"]);
        let shown = [0.0, 0.000_1, 0.004_9, 0.005_1, 25.0].map(dollars);
        assert_eq!(shown, ["$0.00", "<$0.01", "<$0.01", "$0.01", "$25.00"], "a small amount is not nothing");
        assert_eq!([999, 20_896, 1_234_567].map(thousands), ["999", "20,896", "1,234,567"]);
        let sizes = [812, 17_100, 2_000_000, 5_000_000_000_u64].map(size);
        assert_eq!(sizes, ["812 B", "17.1 KB", "2.0 MB", "5.0 GB"]);
        assert_eq!([0, 2].map(and_more), ["", " and 2 more"]);
        let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
        assert_eq!(
            [1, 2, 3, 5].map(|most| listed(&names[..most])),
            ["a", "a and b", "a, b and c", "a, b and 3 more"]
        );
        assert_eq!([0, 2, 3, 4].map(|most| cut("über", most)), ["", "ü…", "üb…", "über"]);
        assert_eq!(one_line(" a\n b\t"), "a b");
        assert_eq!(short_id("0123456789abcdef", &["0123456789abcdef"]), "0123");
        assert_eq!(short_id("0123456789abcdef", &["0123456789abcdef", "0123456789ffffff"]), "0123456789a");
        let ids = ["0", "01234", "0123abcd", "0123abcd", "0123abce", "0124"];
        assert_eq!(
            ids.map(|id| short_id(id, &ids)),
            ["0", "01234", "0123abcd", "0123abcd", "0123abce", "0124"]
        );
        assert_eq!(["0123ab99", "9"].map(|id| short_id(id, &ids)), ["0123ab9", "9"]);
    }

    #[test]
    fn names_with_numbers_are_in_the_order_of_the_numbers() {
        let mut names =
            ["b", "agent-10", "agent-2b", "agent-02", "agent-2", "agent", "ü2", "7", "agent-2a", ""];
        names.sort_by_key(|name| Natural(name));
        let order = ["", "7", "agent", "agent-02", "agent-2", "agent-2a", "agent-2b", "agent-10", "b", "ü2"];
        assert_eq!(names, order);
    }
}
