//! What holds for every text.

use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use teamkeep_config::Privacy;
use teamkeep_redact::Redactor;

const PARTS: &[&str] = &[
    "password",
    "API_KEY",
    "token",
    "=",
    ": ",
    "\"",
    "'",
    "\\n",
    "\\\"",
    "\n",
    " ",
    "ghp_",
    "sk-ant-",
    "A1b2C3d4E5f6G7h8I9j0K1l2",
    "://",
    "ada",
    ":",
    "@",
    "example.com",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "MIIEowIBAAKCAQEA7abcMIIEowIBAAKCAQEA7abc",
    "Bearer ",
    "Cookie: ",
    "curl -u ",
    "/home/ada",
    "é",
    "\u{1b}[31m",
    "%20",
    "{",
    "}",
    ",",
    "[redacted:secret]",
    "hunter22",
    "<",
    ">",
    "…",
];

/// To build the rules takes longer than to use them.
fn redactor() -> &'static Redactor {
    static REDACTOR: LazyLock<Redactor> =
        LazyLock::new(|| Redactor::new(&Privacy::default(), &["/srv/people/ada".to_owned()]).unwrap());
    &REDACTOR
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_redacted_text_is_not_changed_again(parts in vec(select(PARTS), 0..14)) {
        let redactor = redactor();
        let once = redactor.text(&parts.concat()).into_owned();
        prop_assert_eq!(redactor.text(&once), once.as_str());
    }

    #[test]
    fn json_stays_json_with_the_same_structure(parts in vec(select(PARTS), 0..14)) {
        let text = json!({"a": [parts.concat()], "b": {"token": parts.concat()}}).to_string();
        let clean: Value = serde_json::from_str(&redactor().content(&text)).unwrap();
        prop_assert!(clean["a"][0].is_string() && clean["b"]["token"].is_string());
    }
}

/// Quadratic time would take minutes here.
#[test]
fn a_long_text_of_the_same_beginning_is_scanned() {
    let redactor = redactor();
    for part in [
        "a=",
        "password=",
        "password=\"",
        "password: ",
        "-----BEGIN",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----\n",
        "token",
        "@",
        "a@b.",
        "://",
        "curl -u ",
        "Cookie: a=b;",
        "eyJ",
        "ghp_",
        "\\",
        "\\u005c",
        "{\"",
        "[",
        "Authorization: ",
        "MIIEowIBAAKCAQEA7abc\n",
        "Private-Lines:\n",
        "password \u{1b}[",
        "curl -b ",
    ] {
        let text = part.repeat((1 << 14) / part.len());
        assert!(!redactor.text(&text).is_empty());
    }
}
