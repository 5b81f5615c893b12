//! Whatever part of what can be seen of messages was seen, each is told once, and from whom it was.

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};
use teamkeep_config::Config;
use teamkeep_history::timeline::{Kind, RunCatalog, merge};
use teamkeep_hook::{BackgroundMode, CalledBy, Recorder};
use teamkeep_model::payload::Input;
use teamkeep_system::env::Env;
use teamkeep_system::paths::Paths;

use crate::hook::properties::{pinned, time};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TEAM: &str = "session-aaaaaaaa";
const NAMES: [&str; 4] = ["team-lead", "alice", "bob", "carol"];

/// A message, and where it was seen.
#[derive(Debug, Clone)]
struct Sent {
    from: usize,
    /// `None` for all.
    to: Option<usize>,
    text: String,
    before: bool,
    after: bool,
    /// Whether PostToolUse came to the log before PreToolUse, which it may within a millisecond.
    swapped: bool,
    in_inbox: bool,
    in_transcript: bool,
    /// Whether the client tells an id of the message, as 2.1.328 does.
    has_id: bool,
}

fn any_message() -> impl Strategy<Value = Sent> {
    let text = prop_oneof![
        "[a-z ]{0,30}",
        "[ -~]{0,40}",
        Just("über-deep \"((\" 💥\nsecond line".to_owned()),
        Just("a </teammate-message> b".to_owned()),
        Just("{\"not\": \"a notice\"}".to_owned()),
    ];
    let seen = proptest::array::uniform4(any::<bool>());
    (0..4usize, proptest::option::weighted(0.85, 1..4usize), text, seen, any::<[bool; 2]>()).prop_map(
        |(from, step, text, [before, after, in_inbox, in_transcript], [swapped, has_id])| {
            // Copies alone do not tell that something was for all.
            let nowhere = !(before || after) && (step.is_none() || !(in_inbox || in_transcript));
            Sent {
                from,
                to: step.map(|step| (from + step) % 4),
                text,
                before: before || nowhere,
                after,
                swapped,
                in_inbox,
                in_transcript,
                has_id,
            }
        },
    )
}

/// The client's home and our store, with the recorder in this process.
struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn client(&self) -> PathBuf {
        self.dir.path().join("client")
    }

    fn recorder(&self, millis: i64) -> Recorder {
        let store = Some(self.dir.path().join("store"));
        let env =
            Env { store, client: Some(self.client()), home: Some(self.dir.path().into()), ..Env::default() };
        let paths = Paths::find(&env);
        Recorder {
            env,
            paths,
            config: Config::default(),
            problems: Vec::new(),
            has_organization: false,
            clock: pinned(millis),
            by: CalledBy::Settings,
            finish: BackgroundMode::Inline,
        }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.client().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn transcript(&self, who: usize) -> String {
        match who {
            0 => format!("projects/p/{SESSION}.jsonl"),
            _ => format!("projects/p/{SESSION}/subagents/agent-a{}-1.jsonl", NAMES[who]),
        }
    }

    fn hook(&self, millis: i64, who: usize, event: &str, fields: Value) {
        let mut payload = json!({"session_id": SESSION, "hook_event_name": event,
            "transcript_path": self.client().join(self.transcript(0))});
        if who > 0 {
            payload["agent_id"] = json!(format!("a{}-1", NAMES[who]));
            payload["agent_type"] = json!(NAMES[who]);
        }
        for (key, value) in fields.as_object().unwrap() {
            payload[key] = value.clone();
        }
        let input = Input::from(payload.to_string().into_bytes());
        let outcome = self.recorder(millis).handle(&input, None);
        assert_eq!((outcome.response.exit, outcome.notes), (0, vec![]));
    }
}

/// Plays the messages, and gives what is told of them: from, to, text, and whether it is doubted.
fn play(messages: &[Sent]) -> Vec<(String, String, String, bool)> {
    let scene = Scene { dir: tempfile::tempdir().unwrap() };
    let members: Vec<Value> = NAMES.iter().map(|name| json!({"name": name})).collect();
    let config = json!({"name": TEAM, "createdAt": 1, "leadSessionId": SESSION, "members": members});
    scene.write(&format!("teams/{TEAM}/config.json"), &config.to_string());
    let (mut inboxes, mut transcripts) = (vec![Vec::new(); 4], vec![String::new(); 4]);
    // From 2.1.69 on a call without an agent's id is the lead's.
    transcripts[0] = json!({"type": "user", "version": "2.1.328"}).to_string() + "\n";
    scene.write(&scene.transcript(0), &transcripts[0]);
    scene.hook(0, 0, "SessionStart", json!({"source": "startup"}));
    for (number, message) in messages.iter().enumerate() {
        let millis = 1_000 * (number as i64 + 1);
        let at = time(millis).to_string();
        let id = format!("u{number}");
        let message_id = message.has_id.then(|| json!(format!("m{number}")));
        let to = message.to.map_or("*", |to| NAMES[to]);
        for reader in
            (0..4).filter(|reader| *reader != message.from && message.to.is_none_or(|to| to == *reader))
        {
            if message.in_inbox {
                let mut mail = json!({"from": NAMES[message.from], "text": message.text, "timestamp": at});
                if let Some(id) = &message_id {
                    mail["msg_id"] = id.clone();
                }
                inboxes[reader].push(mail);
                scene.write(
                    &format!("teams/{TEAM}/inboxes/{}.json", NAMES[reader]),
                    &json!(inboxes[reader]).to_string(),
                );
            }
            if message.in_transcript {
                let result = format!(
                    "<teammate-message teammate_id=\"{}\">\n{}\n</teammate-message>",
                    NAMES[message.from], message.text
                );
                let record = json!({"type": "user", "timestamp": at, "message": {"content": result}});
                transcripts[reader] += &format!("{record}\n");
                scene.write(&scene.transcript(reader), &transcripts[reader]);
                if reader > 0 {
                    let meta = json!({"name": NAMES[reader]}).to_string();
                    scene.write(&scene.transcript(reader).replace(".jsonl", ".meta.json"), &meta);
                }
            }
        }
        let call = json!({"tool_name": "SendMessage", "tool_input": {"to": to, "message": message.text}, "tool_use_id": id});
        let mut after = call.clone();
        after["tool_response"] = json!({"success": true, "msg_id": message_id});
        let mut calls = Vec::new();
        calls.extend(message.before.then_some(("PreToolUse", call)));
        calls.extend(message.after.then_some(("PostToolUse", after)));
        if message.swapped {
            calls.reverse();
        }
        for (event, fields) in calls {
            scene.hook(millis, message.from, event, fields);
        }
        // Some other hook sees what lies there, and then the mail is delivered.
        scene.hook(millis + 500, 0, "Stop", json!({}));
        inboxes.iter_mut().for_each(Vec::clear);
        for name in NAMES
            .iter()
            .filter(|name| scene.client().join(format!("teams/{TEAM}/inboxes/{name}.json")).exists())
        {
            scene.write(&format!("teams/{TEAM}/inboxes/{name}.json"), "[]");
        }
    }
    let recorder = scene.recorder(0);
    let library = RunCatalog::open(recorder.archive(), teamkeep_store::log::Logs::of(&recorder.paths));
    let opened = library.open_runs(&[library.find(TEAM).unwrap()]).unwrap();
    let timeline = merge(&opened.runs[0]);
    assert!(timeline.entries.is_sorted_by_key(|entry| entry.at));
    let entries = timeline.entries.into_iter().filter(|entry| entry.kind() == Kind::Message);
    let parts = entries.map(|entry| {
        let message = entry.message().unwrap().clone();
        (entry.actor, message.to.unwrap(), message.text, message.unconfirmed)
    });
    parts.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_message_is_shown_once_for_any_set_of_sources(mut messages in proptest::collection::vec(any_message(), 0..8)) {
        for (number, message) in messages.iter_mut().enumerate() {
            // The same words twice, each seen elsewhere, cannot be told from one message that was seen twice.
            message.text = format!("{number} {}", message.text);
        }
        let expected: Vec<_> = messages.iter().map(|message| {
            let to = message.to.map_or("*", |to| NAMES[to]);
            let unconfirmed = message.before && !(message.after || message.in_inbox || message.in_transcript);
            (NAMES[message.from].to_owned(), to.to_owned(), message.text.clone(), unconfirmed)
        }).collect();
        prop_assert_eq!(play(&messages), expected);
    }

    #[test]
    fn identical_text_sent_twice_is_shown_twice(message in any_message(), times in 2..4usize) {
        let messages = vec![Sent { before: true, after: true, ..message }; times];
        prop_assert_eq!(play(&messages).len(), times);
    }
}
