//! In metadata mode no text leaves the machine.

use serde_json::Value;
use teamkeep_core::config::{OtlpEncoding, ShipPrivacy};
use teamkeep_ship::otlp::{Request, requests};

use super::recorded::Recorded;
use super::sample::{PLANTED, RESOURCE, Sample};

/// The fields of a report that are texts.
const TEXTS: [&str; 10] =
    ["text", "summary", "subject", "description", "title", "sentence", "remedy", "what", "refused", "answer"];

/// Everything that is sent, by signal.
fn encoded(requests: &[Request]) -> String {
    let json = |request: &Request| String::from_utf8(request.encode(OtlpEncoding::Json).unwrap()).unwrap();
    requests.iter().map(json).collect()
}

fn plant(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if TEXTS.contains(&name.as_str()) => {
                        text.push_str(&format!(" {PLANTED}"))
                    }
                    other => plant(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plant),
        _ => {}
    }
}

#[test]
fn metadata_mode_sends_no_text_of_recorded_runs() {
    for name in ["v47-inprocess", "v328-inprocess", "v328-panes", "v328-notasks", "v328-gc"] {
        let recorded = Recorded::trace(name);
        let mut report = serde_json::to_value(&recorded.report).unwrap();
        plant(&mut report);
        let mut recorded = Recorded { report: serde_json::from_value(report).unwrap(), ..recorded };
        for verdict in &mut recorded.verdicts {
            verdict.reason.push_str(PLANTED);
        }
        let with_texts = encoded(&requests(&RESOURCE, &recorded.export(ShipPrivacy::Full)));
        assert!(with_texts.contains(PLANTED), "{name}");
        let without = encoded(&requests(&RESOURCE, &recorded.export(ShipPrivacy::Metadata)));
        assert!(!without.contains(PLANTED), "{name}");
        for message in &recorded.report.mail.messages {
            assert!(!without.contains(&*message.text), "{name}: {}", message.text);
        }
    }
}

#[test]
fn metadata_mode_sends_no_text_of_a_run_with_everything() {
    let sample = Sample::new();
    let metadata = encoded(&requests(&RESOURCE, &sample.export(ShipPrivacy::Metadata, 60, None)));
    assert!(!metadata.contains(PLANTED), "{metadata}");
    for level in [ShipPrivacy::Redacted, ShipPrivacy::Full] {
        let sent = encoded(&requests(&RESOURCE, &sample.export(level, 60, None)));
        for text in ["hello", "title", "sentence", "summary", "subject", "refused", "remedy"] {
            assert!(sent.contains(&format!("{text} {PLANTED}")), "{level:?}: {text}");
        }
        // Not a word, but a sentence in place of one.
        assert!(!sent.contains(&format!("kind {PLANTED}")) && !sent.contains(&format!("status {PLANTED}")));
    }
}

#[test]
fn ids_do_not_depend_on_texts() {
    let mut sample = Sample::new();
    let before = encoded(&requests(&RESOURCE, &sample.export(ShipPrivacy::Metadata, 60, None)));
    sample.report.mail.messages[0].text = "another".to_owned();
    sample.verdicts[0].reason = String::new();
    let after = encoded(&requests(&RESOURCE, &sample.export(ShipPrivacy::Metadata, 60, None)));
    assert_eq!(before, after);
}
