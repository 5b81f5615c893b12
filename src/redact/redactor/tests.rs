use super::*;
use crate::config::Pattern;
use serde_json::json;

fn redactor() -> Redactor {
    Redactor::new(&Privacy::default(), &["/srv/people/ada".to_owned()]).unwrap()
}

fn told(text: &str) -> String {
    redactor().text(text).into_owned()
}

#[test]
fn what_is_a_secret_is_taken_out_and_what_stands_around_it_stays() {
    let key = "A1b2C3d4E5f6G7h8I9j0K1l2";
    for (text, clean) in [
        (format!("use sk-ant-api03-{key} here"), "use [redacted:api-key] here"),
        (format!("ghp_{key}, github_pat_{key}"), "[redacted:api-key], [redacted:api-key]"),
        ("AKIAIOSFODNN7EXAMPLE".to_owned(), "[redacted:api-key]"),
        ("xoxb-123456789012-abc".to_owned(), "[redacted:api-key]"),
        (format!("Authorization: Bearer {key}"), "Authorization: Bearer [redacted:token]"),
        (format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{key}."), "[redacted:token]."),
        ("export DB_PASSWORD='hunter22' && x".to_owned(), "export DB_PASSWORD='[redacted:secret]' && x"),
        ("api_key: abc123def".to_owned(), "api_key: [redacted:secret]"),
        ("postgres://app:pa55word@db/x".to_owned(), "postgres://app:[redacted:secret]@db/x"),
        ("ask ada.l+x@example.co.uk.".to_owned(), "ask [redacted:email]."),
        ("cd /home/ada/src; ls /Users/bob".to_owned(), "cd ~/src; ls ~"),
        ("/srv/people/ada/x /srv/people/adam".to_owned(), "~/x /srv/people/adam"),
        ("projects/-srv-people-ada-x/a.jsonl".to_owned(), "projects/~-x/a.jsonl"),
        ("projects/-home-dev-parser/a.jsonl".to_owned(), "projects/~-parser/a.jsonl"),
    ] {
        assert_eq!(told(&text), clean, "{text}");
    }
}

#[test]
fn a_private_key_is_taken_out_whole_and_when_it_was_cut() {
    let body = "MIIEowIBAAKCAQEA7\\nabc+/=\\n".repeat(3);
    let whole = format!("a -----BEGIN RSA PRIVATE KEY-----{body}-----END RSA PRIVATE KEY----- b");
    assert_eq!(told(&whole), "a [redacted:private-key] b");
    let cut = &whole[..whole.find("-----END").unwrap()];
    assert_eq!(told(&format!("{{\"x\":\"{cut}\"}}")), "{\"x\":\"a [redacted:private-key]\"}");
}

#[test]
fn prose_and_code_stay_as_they_are() {
    for text in [
        "task-force-of-the-parser-team-17 asks: is the next token: an identifier?",
        "Token::Identifier(name) => self.tokens.push(token)",
        "alice@session-1353b3db, team-lead@parser-team",
        "the home page, /home, /Users/Shared, a tree-home-made",
        "the secret of it: nothing",
        "ünïcödé 👩‍💻 \u{202e} and \u{1b}[31m",
    ] {
        assert_eq!(told(text), text);
    }
    assert!(redactor().counts().is_empty());
}

#[test]
fn json_keeps_its_spelling_but_for_what_is_taken_out() {
    let redactor = redactor();
    let text = r#"{ "n": 1e400, "n": 12345678901234567890123, "é": "\ud83d", "ada@example.com": ["a\/b", "x \u0061da@example.com"],
  "password" : "short", "token": "", "deep": "{\"apiKey\":\"k3yk3yk3y\",\"to\":\"bob\"}" }"#;
    assert_eq!(
        redactor.json(text),
        r#"{ "n": 1e400, "n": 12345678901234567890123, "é": "\ud83d", "[redacted:email]": ["a\/b", "x [redacted:email]"],
  "password" : "[redacted:secret]", "token": "", "deep": "{\"apiKey\":\"[redacted:secret]\",\"to\":\"bob\"}" }"#
    );
    assert_eq!(redactor.counts(), [("email".to_owned(), 2), ("secret".to_owned(), 2)].into());
}

#[test]
fn a_value_is_redacted_in_its_keys_and_its_strings() {
    let mut value =
        json!({"a@example.com": 1, "b@example.com": [{"secret": "x", "at": "/home/ada/y"}], "n": 3});
    redactor().value(&mut value);
    let clean = json!({"[redacted:email]": 1, "[redacted:email] 2": [{"secret": "[redacted:secret]", "at": "~/y"}], "n": 3});
    assert_eq!(value, clean);
}

#[test]
fn a_file_is_taken_for_what_it_is() {
    let redactor = redactor();
    for (text, clean) in [
        (
            "{\"password\":\"abcd\"}\n{\"password\":\"ab",
            "{\"password\":\"[redacted:secret]\"}\n{\"password\":\"[redacted:secret]\"",
        ),
        ("password=\"abcd1\"", "password=\"[redacted:secret]\""),
        ("{\"a\": \"x@example.com", "{\"a\": \"[redacted:email]\""),
        ("\"", "\""),
        ("\"a\\", "\"a\\"),
        ("", ""),
        ("{\"a\\\\\": 1}", "{\"a\\\\\": 1}"),
    ] {
        assert_eq!(redactor.content(text), clean, "{text}");
    }
}

#[test]
fn own_patterns_come_first_and_only_what_is_picked_is_looked_for() {
    let pattern = vec![Pattern { name: "ticket".to_owned(), regex: "PROJ-[0-9]+".to_owned() }];
    let redactor =
        Redactor::new(&Privacy { redact: vec!["secret".to_owned()], pattern, ..Privacy::default() }, &[])
            .unwrap();
    assert_eq!(
        redactor.text("PROJ-17 by a@example.com, key_secret=PROJ-1"),
        "[redacted:ticket] by a@example.com, key_secret=[redacted:ticket]"
    );
    assert_eq!(redactor.path("teams/PROJ-1/x"), "teams/[redacted:ticket]/x");
    assert_eq!(redactor.counts(), [("ticket".to_owned(), 3)].into());
    let pattern = vec![Pattern { name: "x".to_owned(), regex: "(".to_owned() }];
    let error =
        Redactor::new(&Privacy { redact: Vec::new(), pattern, ..Privacy::default() }, &[]).unwrap_err();
    assert!(error.to_string().starts_with("cannot use the pattern \"x\" of the configuration: "), "{error}");
}

#[test]
fn what_was_redacted_once_is_not_redacted_again() {
    let redactor = redactor();
    let text = "API_KEY=sk-0123456789abcdef0123 at /home/ada for ada@example.com";
    let once = redactor.text(text).into_owned();
    let counts = redactor.counts();
    assert_eq!(redactor.text(&once), once);
    assert_eq!(redactor.counts(), counts);
}
