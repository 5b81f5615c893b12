//! Numbers, amounts, lists, ids and cut texts, as people read them.

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
}
