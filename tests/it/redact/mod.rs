//! Measures the rules of redaction with tables of texts with and without secrets.
//!
//! A table has one case a line; `##` begins a comment. In a case, `«…»` is a secret, `⏎` a line break, `␛` an escape
//! character, and `{w36}` are 36 random characters (see [`alphabet`]), so no file contains a secret. A line with `*` is
//! tried in each of several contexts. The rules were written against one table of each pair; the other one measures them.

mod properties;

use std::fmt::Write;

use teamkeep_config::Privacy;
use teamkeep_redact::Redactor;

const SECRETS: &str = include_str!("secrets.txt");
const SECRETS_UNSEEN: &str = include_str!("secrets-unseen.txt");
const CLEAN: &str = include_str!("clean.txt");
const CLEAN_UNSEEN: &str = include_str!("clean-unseen.txt");

/// Random characters differ in each round.
const ROUNDS: u64 = 3;

const AROUND_KEYS: &[&str] = &[
    "@",
    "x@",
    "_@",
    "%20@",
    "\"@\",",
    "use @.",
    "(@)",
    "␛[31m@␛[0m",
    r"a\n@\nb",
    r#"{"text":"a\n@\tb"}"#,
    r#"{"a":"{\"b\":\"\u001b[1m@\"}"}"#,
    "https://example.com/?x=@&y=1",
];

const AROUND_DATA: &[&str] = &[
    "@",
    "commit @",
    "\"id\": \"@\",",
    "id: @",
    "name=@",
    "https://example.com/a/@?b=1",
    "/srv/@/data.bin",
    "[@] done",
    r#"{"uuid":"@","v":1}"#,
    "| @ | 12 |",
];

fn redactor() -> Redactor {
    let redact = ["private-key", "api-key", "token", "secret"].map(str::to_owned).to_vec();
    Redactor::new(&Privacy { redact, ..Privacy::default() }, &[]).unwrap()
}

/// The cases of a table, before random characters are filled in. A key is a secret as a whole, unless a part of it is marked.
fn cases(table: &str, around: &[&str], is_key: bool) -> Vec<String> {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with("## "));
    let cases = lines.flat_map(|line| match line.strip_prefix("* ") {
        Some(core) if is_key && !core.contains('«') => within(&format!("«{core}»"), around),
        Some(core) => within(core, around),
        None => vec![line.to_owned()],
    });
    cases.collect()
}

fn within(core: &str, around: &[&str]) -> Vec<String> {
    around.iter().map(|around| around.replace('@', core)).collect()
}

fn alphabet(name: char) -> Option<&'static str> {
    Some(match name {
        'w' => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        'b' => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        's' => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
        'u' => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        'l' => "abcdefghijklmnopqrstuvwxyz0123456789",
        'h' => "0123456789abcdef",
        'H' => "0123456789ABCDEF",
        'd' => "123456789",
        _ => return None,
    })
}

/// Replaces `{w36}` and the symbols.
fn expanded(case: &str, round: u64) -> String {
    let mut random = case
        .bytes()
        .fold(round + 1, |sum, byte| sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(byte) + 1));
    let mut text = String::new();
    let mut rest = case;
    while let Some(start) = rest.find('{') {
        text.push_str(&rest[..start]);
        rest = &rest[start + 1..];
        let mut chars = rest.chars();
        let letters = chars.next().and_then(alphabet);
        let length = chars.as_str().split_once('}').and_then(|(length, _)| length.parse::<usize>().ok());
        let (Some(letters), Some(length)) = (letters, length) else {
            text.push('{');
            continue;
        };
        for _ in 0..length {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push(char::from(letters.as_bytes()[(random >> 33) as usize % letters.len()]));
        }
        rest = rest.split_once('}').unwrap().1;
    }
    text.push_str(rest);
    text.replace('⏎', "\n").replace('␛', "\u{1b}")
}

/// A text without the marks, and its secrets.
fn unmarked(text: &str) -> (String, Vec<&str>) {
    let secrets = text.split('«').skip(1).map(|rest| rest.split('»').next().unwrap()).collect();
    (text.replace(['«', '»'], ""), secrets)
}

/// Whether eight characters of a secret are left, or all of a short one. Line breaks and decoration may be left.
fn leaks(clean: &str, secret: &str) -> bool {
    let chars: Vec<char> = secret.chars().collect();
    chars.windows(8.min(chars.len())).any(|part| clean.contains(&String::from_iter(part)))
}

struct Score {
    cases: usize,
    wrong: Vec<String>,
}

impl Score {
    fn of(cases: Vec<String>, is_wrong: impl Fn(&str) -> Option<String>) -> Score {
        let wrong = cases.iter().filter_map(|case| {
            let clean = (0..ROUNDS).find_map(|round| is_wrong(&expanded(case, round)))?;
            Some(format!("{case}\n    {clean}"))
        });
        Score { wrong: wrong.collect(), cases: cases.len() }
    }

    fn percent(&self) -> f64 {
        100.0 * self.wrong.len() as f64 / self.cases as f64
    }
}

fn report(scores: &[(&str, &Score)]) -> String {
    let mut report = String::new();
    for (name, score) in scores {
        let (wrong, percent) = (score.wrong.len(), score.percent());
        writeln!(report, "{name}: {wrong} of {} wrong ({percent:.1} %)", score.cases).unwrap();
        score.wrong.iter().for_each(|case| writeln!(report, "  {case}").unwrap());
    }
    report
}

#[test]
fn ninety_seven_of_hundred_secrets_are_replaced() {
    let redactor = redactor();
    let missed = |text: &str| {
        let (text, secrets) = unmarked(text);
        let clean = redactor.content(&text);
        secrets.iter().any(|secret| leaks(&clean, secret)).then(|| clean.into_owned())
    };
    let seen = Score::of(cases(SECRETS, AROUND_KEYS, true), missed);
    let unseen = Score::of(cases(SECRETS_UNSEEN, AROUND_KEYS, true), missed);
    let report = report(&[("seen", &seen), ("unseen", &unseen)]);
    assert!(seen.cases + unseen.cases >= 200, "{report}");
    assert!(seen.percent() <= 3.0 && unseen.percent() <= 3.0, "{report}");
}

#[test]
fn ninety_nine_of_hundred_texts_without_a_secret_are_unchanged() {
    let redactor = redactor();
    let changed = |text: &str| {
        let clean = redactor.content(text);
        (clean != text).then(|| clean.into_owned())
    };
    let seen = Score::of(cases(CLEAN, AROUND_DATA, false), changed);
    let unseen = Score::of(cases(CLEAN_UNSEEN, AROUND_DATA, false), changed);
    let report = report(&[("seen", &seen), ("unseen", &unseen)]);
    assert!(seen.cases + unseen.cases >= 400, "{report}");
    assert!(seen.percent() <= 1.0 && unseen.percent() <= 1.0, "{report}");
}
