//! Tests of documents with unusual content.

use super::*;
use serde_json::{Value, json};

#[test]
fn half_a_surrogate_pair_hides_no_other_value() {
    let read = parse_lossy(br#"[{"text":"cut \ud83d"},{"text":"\ude00 \ud83d\ude00 \\ud83d"}]"#).unwrap();
    assert_eq!(read, json!([{"text": "cut \u{fffd}"}, {"text": "\u{fffd} 😀 \\ud83d"}]));
}

#[test]
fn a_number_beyond_a_float_hides_no_other_value() {
    assert_eq!(
        parse_lossy(br#"{"a":1e999,"b":"1e999","c":[-1e999,2.5,-3]}"#).unwrap(),
        json!({"a":null,"b":"1e999","c":[null,2.5,-3]})
    );
    assert_eq!(parse_lossy(br#"{"a":09e999}"#), None, "no number of JSON");
}

#[test]
fn private_keys_of_serde_json_are_plain_keys() {
    let number = br#"{"x":{"$serde_json::private::Number":"abc"}}"#;
    assert_eq!(parse_lossy(number).unwrap()["x"]["$serde_json::private::Number"], "abc");
    let raw = br#"{"$serde_json::private::RawValue":"{\"hook_event_name\":\"SessionEnd\"}"}"#;
    assert_eq!(parse_lossy(raw).unwrap().get("hook_event_name"), None);
}

#[test]
fn invalid_json_is_none() {
    for bad in [&b"{\"a\":"[..], b"", b"nope", b"[1] x", b"\"\\ud83d", b"\xff"] {
        assert_eq!(parse_lossy(bad), None, "{bad:?}");
    }
}

#[test]
fn a_huge_document_is_read_in_part() {
    let many = format!("{{\"session_id\":\"s\",\"list\":[{}1],\"after\":2}}", "1,".repeat(100_000));
    let read = read(many.as_bytes(), 1_000).unwrap();
    assert_eq!(read.value["session_id"], "s");
    assert!(read.value["list"].as_array().unwrap().len() < 1_000 && read.cut);
}

#[test]
fn a_huge_value_hides_no_key_after_it() {
    let wide = format!("[{}1]", "1,".repeat(2_000));
    let keys: String = (0..2_000).map(|n| format!("\"k{n}\":{{\"x\":0}},")).collect();
    let text = format!("{{{keys}\"a\":{wide},\"in\":{{{keys}\"b\":{{{keys}\"c\":{wide},\"type\":\"t\"}}}}}}");
    assert_eq!(read(text.as_bytes(), 1_000).unwrap().value["in"]["b"]["type"], "t");
}

#[test]
fn a_value_that_is_too_deep_is_null_and_hides_no_other_value() {
    for deep in [130, 100_000] {
        for (open, close) in [("{\"d\":", "}"), ("[", "]")] {
            let nested = format!("{}1e999{}", open.repeat(deep), close.repeat(deep));
            let text = format!("{{\"deep\":{nested},\"after\":{{\"text\":\"\\ud83d\"}}}}");
            let opened = read(text.as_bytes(), usize::MAX).unwrap();
            assert_eq!(opened.value["after"]["text"], "\u{fffd}");
            assert!(opened.cut && opened.value["deep"].to_string().contains("null"));
        }
    }
    assert!(!read(b"{\"a\":[1]}", 10).unwrap().cut);
}

#[test]
fn strings_before_the_truncation_are_found() {
    let broken = br#"{"a":{"k":"inner"},"k":"yes","b":{"k":"late","text":"cut"#;
    assert_eq!(Value::Object(scan_top_level(broken, &["b", "k", "text"])), json!({"k": "yes"}));
    assert!(scan_top_level(b"[1]", &["k"]).is_empty() && scan_top_level(b"", &["k"]).is_empty());
}

#[test]
fn the_beginning_of_a_text_is_read_whatever_follows() {
    assert_eq!(parse_prefix("{\"a\":1}\n\nand words"), Some(json!({"a": 1})));
    assert_eq!(parse_prefix("words"), None);
}
