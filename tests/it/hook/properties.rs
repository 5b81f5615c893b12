//! What holds for any payload, any states of the files, and any part of what was seen of a message.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use teamkeep_model::Severity;
use teamkeep_model::event::{Actor, Event, Id, Recorded, SafeName};
use teamkeep_model::payload::{Input, parse};
use teamkeep_model::time::Timestamp;
use teamkeep_model::time::{self};
use teamkeep_store::archive::{Archive, CaptureRequest, CaptureScope};
use teamkeep_system::clock::Clock;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

pub fn time(millis: i64) -> Timestamp {
    time::parse("2026-02-03T04:05:06Z").unwrap() + chrono::TimeDelta::milliseconds(millis)
}

/// Any JSON, as a client might spell it.
fn any_json() -> impl Strategy<Value = Value> + Clone {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// What may stand on stdin: noise, JSON on one line or many, and JSON that was cut or hurt.
fn any_stdin() -> impl Strategy<Value = Vec<u8>> {
    let spelled = (any_json(), any::<bool>()).prop_map(|(value, many)| {
        let text = if many { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        text.unwrap().into_bytes()
    });
    let hurt = (spelled.clone(), any::<proptest::sample::Index>(), any::<u8>(), any::<bool>()).prop_map(
        |(mut text, place, byte, cut)| {
            let place = place.index(text.len());
            if cut {
                text.truncate(place);
            } else {
                text[place] = byte;
            }
            text
        },
    );
    let crossed =
        spelled.clone().prop_map(|text| String::from_utf8(text).unwrap().replace('\n', "\r\n").into_bytes());
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..200), spelled, crossed, hurt]
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn any_stdin_becomes_one_valid_line_of_the_log(bytes in any_stdin()) {
        let payload = parse(&Input::from(bytes.clone()));
        if payload.malformed.is_none() {
            let text = std::str::from_utf8(&bytes).unwrap().trim_start_matches('\u{feff}').trim_ascii();
            prop_assert_eq!(payload.raw.get(), text.replace(['\r', '\n'], ""), "verbatim but for line breaks");
            // A number may be larger than any float: it is legal, and no `Value` holds it.
            let read = |text: &str| serde_json::from_str::<Value>(text).ok();
            prop_assert_eq!(read(payload.raw.get()), read(text));
        }
        let id = Id::new(time(0));
        let event = Event { v: 1, at: time(0), id: id.as_str(), event: "Stop", session: payload.session(), team: None,
            actor: &Actor::unknown(), run: None, task_list: None, traceparent: None, warning: None,
            malformed: payload.malformed.as_deref(), verdict: None, snapshots: None, plugin: false, payload: &payload.raw };
        let line = event.line().unwrap();
        prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        prop_assert!(line.ends_with(b"\n") && !line.contains(&b'\r'));
        let read: Recorded = serde_json::from_slice(&line).unwrap();
        prop_assert_eq!(read.payload.get(), payload.raw.get());
        prop_assert_eq!((read.session.as_deref(), read.malformed.as_deref()), (event.session, event.malformed));
    }
}

/// What happens to a file between two looks.
#[derive(Debug, Clone)]
enum Change {
    Write(Vec<u8>),
    /// Written beside its place and renamed, as the client does with inboxes.
    Rename(Vec<u8>),
    Remove,
    /// The team's directory goes with all that is in it.
    Erase,
}

const TEAM: &str = "parser-team";
const FILES: [&str; 6] = [
    "teams/parser-team/config.json",
    "teams/parser-team/inboxes/alice.json",
    "teams/parser-team/inboxes/bob.json",
    "tasks/parser-team/1.json",
    "tasks/parser-team/2.json",
    "tasks/parser-team/.highwatermark",
];

fn any_change() -> impl Strategy<Value = (usize, Change)> {
    // Of few contents and sizes, so that a file comes to say again what it said before, or something as long.
    let content = prop_oneof![
        (0u8..3).prop_map(|number| format!("[{number}]").into_bytes()),
        (0u8..3).prop_map(|number| json!({"name": TEAM, "status": number}).to_string().into_bytes()),
        Just(b"{\"name\": \"par".to_vec()),
        Just(Vec::new()),
    ];
    let change = prop_oneof![
        6 => content.clone().prop_map(Change::Write),
        3 => content.prop_map(Change::Rename),
        2 => Just(Change::Remove),
        1 => Just(Change::Erase),
    ];
    (0..FILES.len(), change)
}

fn make(client: &Path, file: &str, change: &Change) {
    let path = client.join(file);
    match change {
        Change::Write(content) | Change::Rename(content) => {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let beside = path.with_extension("new");
            let renames = matches!(change, Change::Rename(_));
            std::fs::write(if renames { &beside } else { &path }, content).unwrap();
            if renames {
                std::fs::rename(beside, path).unwrap();
            }
        }
        Change::Remove => drop(std::fs::remove_file(path)),
        Change::Erase => drop(std::fs::remove_dir_all(client.join("teams").join(TEAM))),
    }
}

fn on_disk(client: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |file: &&str| Some(((*file).to_owned(), std::fs::read(client.join(file)).ok()?));
    FILES.iter().filter_map(read).collect()
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn every_captured_state_is_shown_unchanged(
        steps in proptest::collection::vec((proptest::collection::vec(any_change(), 0..5), any::<bool>()), 1..12),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let client: PathBuf = dir.path().join("client");
        let archive = Archive::new(dir.path().join("archive"), 1 << 20, Duration::from_secs(60));
        let subject = CaptureScope::Team(SafeName::new(TEAM).unwrap());
        let mut seen = Vec::new();
        for (number, (changes, durable)) in steps.iter().enumerate() {
            for (file, change) in changes {
                make(&client, FILES[*file], change);
            }
            let at = time(number as i64);
            let captured = archive.capture(&subject, &client, &CaptureRequest { at, event: &Id::new(at), durable: *durable, until: None });
            prop_assert!(captured.notes.iter().all(|note| note.severity != Severity::Loss), "{:?}", captured.notes);
            seen.push((at, on_disk(&client)));
        }
        let Some(index) = archive.index(&subject) else {
            prop_assert!(seen.iter().all(|(_, files)| files.is_empty()));
            return Ok(());
        };
        let journal = archive.journal(&index.run);
        prop_assert_eq!(journal.damaged, 0);
        for (at, files) in seen {
            let held: BTreeMap<String, Vec<u8>> = journal.at(at).into_iter()
                .map(|(path, state)| (path, archive.content(&index.run, state.object.as_deref().unwrap()).unwrap()))
                .collect();
            prop_assert_eq!(held, files, "at {}", at);
        }
    }
}

/// The clock that a test pins.
pub fn pinned(millis: i64) -> Clock {
    Clock::at(time(millis))
}
