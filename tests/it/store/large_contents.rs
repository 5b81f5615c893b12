//! Large contents: a mailbox that keeps its messages costs what is new of it, and every state of it comes back.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::bundle_sandbox::{export, import};
use super::prune::{is_whole, quick};
use crate::support::client_files::Lead;
use crate::support::sandbox::{Sandbox, below, feed};
use teamkeep_model::time;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TEAM: &str = "parser-team";
const INBOX: &str = "teams/parser-team/inboxes/alice.json";

/// Words of which no two messages have the same.
fn words(number: usize) -> String {
    let word = |place: usize| format!("w{:x}", (number * 7_919 + place).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (0..120).map(word).collect::<Vec<_>>().join(" ")
}

fn message(number: usize, read: bool) -> Value {
    json!({"from": "team-lead", "text": words(number), "timestamp": "2026-02-03T04:05:06.000Z", "read": read,
        "summary": format!("message {number}")})
}

/// A mailbox as 2.1.47 has it: what was delivered stays, and is marked as read.
fn mailbox(messages: usize, read: usize) -> String {
    let messages: Vec<Value> = (0..messages).map(|number| message(number, number < read)).collect();
    serde_json::to_string_pretty(&messages).unwrap()
}

fn team<'a>(sandbox: &'a Sandbox, session: &str) -> Lead<'a> {
    let lead = Lead::named(sandbox, session, TEAM);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead
}

/// Has messages come, three of which are read at once, and gives each moment and the mailbox then.
fn grow(lead: &Lead<'_>, messages: std::ops::Range<usize>) -> Vec<(String, String)> {
    let grown = messages.map(|number| {
        let text = mailbox(number + 1, number / 3 * 3);
        lead.sandbox.write(INBOX, &text);
        lead.hook("Stop", json!({}));
        (lead.sandbox.last(), text)
    });
    grown.collect()
}

fn every_state_is_there(sandbox: &Sandbox, states: &[(String, String)]) {
    let library = sandbox.library();
    let journal = library.archive.journal(&library.find(TEAM).unwrap().run);
    for (at, text) in states {
        let held = journal.at(time::parse(at).unwrap());
        let bytes = library.archive.content(&journal.run, held[INBOX].object.as_deref().unwrap()).unwrap();
        assert!(bytes == text.as_bytes(), "{at}");
    }
}

/// The bytes of the runs' files, without events.
fn size(sandbox: &Sandbox) -> u64 {
    let files = below(&sandbox.keep("runs"));
    let is_event = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().starts_with("events");
    files
        .iter()
        .filter(|path| !is_event(path))
        .map(|path| path.metadata().unwrap())
        .filter(|file| file.is_file())
        .map(|file| file.len())
        .sum()
}

fn has_plain(sandbox: &Sandbox) -> bool {
    let run = sandbox.library().find(TEAM).unwrap().run.clone();
    sandbox.keep(&format!("runs/{run}/contents.data")).exists()
}

fn end(lead: &Lead<'_>) {
    lead.end("other");
    lead.sandbox.finish();
}

#[test]
fn a_mailbox_that_grows_is_kept_in_twice_its_size_and_in_less_when_the_run_has_ended() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, SESSION);
    let states = grow(&lead, 0..60);
    let text = states.last().unwrap().1.len() as u64;
    assert!(size(&sandbox) < 2 * text, "{} of {text}", size(&sandbox));
    every_state_is_there(&sandbox, &states);
    let seen = sandbox.show(&[TEAM, "--at", &states[20].0]);
    assert_eq!(seen["inboxes"]["alice"].as_array().unwrap().len(), 21);
    end(&lead);
    assert!(!has_plain(&sandbox) && size(&sandbox) < text, "{} of {text}", size(&sandbox));
    every_state_is_there(&sandbox, &states);
    let told = sandbox.replay(TEAM).into_iter().filter(|entry| entry["kind"] == "message");
    let told: Vec<String> = told.map(|entry| entry["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(told, (0..60).map(words).collect::<Vec<_>>());
    is_whole(&sandbox);
}

#[test]
fn short_messages_that_are_read_one_by_one_are_kept_in_twice_their_size() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, SESSION);
    let mut messages: Vec<Value> = Vec::new();
    for number in 0..80 {
        messages.push(json!({"from": "team-lead", "text": &words(number)[..300], "color": "blue",
            "timestamp": "2026-02-03T04:05:06.000Z", "read": false, "summary": "news"}));
        for read in [false, true] {
            messages[number]["read"] = read.into();
            sandbox.write(INBOX, serde_json::to_string_pretty(&messages).unwrap());
            lead.hook("Stop", json!({}));
        }
    }
    let text = serde_json::to_string_pretty(&messages).unwrap().len() as u64;
    assert!(size(&sandbox) < 2 * text, "{} of {text}", size(&sandbox));
    end(&lead);
    // The run's copy of each event has two hashes, which cannot be compressed.
    let hashes = 160 * 56;
    assert!(size(&sandbox) < text + hashes, "{} of {text}", size(&sandbox));
    is_whole(&sandbox);
}

#[test]
fn a_compressed_journal_is_continued_and_a_killed_or_damaged_one_loses_no_state() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, SESSION);
    let mut states = grow(&lead, 0..40);
    let run = sandbox.library().find(TEAM).unwrap().run.clone();
    let plain = sandbox.keep(&format!("runs/{run}/snapshots.jsonl"));
    let packed = plain.with_extension("jsonl.gz");
    let text = std::fs::read(&plain).unwrap();
    end(&lead);
    assert!(!plain.exists() && packed.metadata().unwrap().len() < text.len() as u64 * 2 / 3);
    every_state_is_there(&sandbox, &states);
    is_whole(&sandbox);
    // A process that was killed before it removed the plain file.
    std::fs::write(&plain, &text).unwrap();
    every_state_is_there(&sandbox, &states);
    is_whole(&sandbox);
    std::fs::remove_file(&plain).unwrap();
    lead.start("resume");
    states.extend(grow(&lead, 40..42));
    assert!(std::fs::read(&plain).unwrap().starts_with(&text));
    every_state_is_there(&sandbox, &states);
    end(&lead);
    assert!(!plain.exists());
    every_state_is_there(&sandbox, &states);
    is_whole(&sandbox);
    let cut = std::fs::read(&packed).unwrap();
    std::fs::write(&packed, &cut[..cut.len() - 100]).unwrap();
    let result = sandbox.run(&["verify"]);
    assert!(result.code == Some(1) && result.out.contains("snapshots.jsonl.gz"), "{}", result.out);
    sandbox.write(INBOX, mailbox(43, 42));
    lead.hook("Stop", json!({}));
    every_state_is_there(&sandbox, &[(sandbox.last(), mailbox(43, 42))]);
    assert_eq!(
        std::fs::read(&packed).unwrap(),
        cut[..cut.len() - 100],
        "nothing replaces what is left of it"
    );
}

#[test]
fn a_run_that_continues_after_its_end_keeps_its_contents() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, SESSION);
    let mut states = grow(&lead, 0..20);
    for round in 1..4 {
        end(&lead);
        assert!(!has_plain(&sandbox));
        lead.start("resume");
        states.extend(grow(&lead, round * 20..round * 20 + 20));
        assert!(has_plain(&sandbox));
        every_state_is_there(&sandbox, &states);
    }
    assert!(size(&sandbox) < 3 * states.last().unwrap().1.len() as u64);
    is_whole(&sandbox);
}

#[test]
fn a_half_written_state_does_not_make_the_next_one_complete() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, SESSION);
    let mut states = Vec::new();
    for number in 0..30 {
        let text = mailbox(number + 10, (number + 10) / 3 * 3);
        for part in [text.len() / 3, 0, text.len()] {
            sandbox.write(INBOX, &text[..part]);
            lead.hook("Stop", json!({}));
            states.push((sandbox.last(), text[..part].to_owned()));
        }
    }
    every_state_is_there(&sandbox, &states);
    let text = states.last().unwrap().1.len() as u64;
    assert!(size(&sandbox) < 2 * text, "{} of {text}", size(&sandbox));
}

#[test]
fn each_run_has_its_own_contents_and_prune_deletes_no_others() {
    let sandbox = Sandbox::new();
    for session in ["00000001", "00000002"] {
        let lead = Lead::of(&sandbox, &format!("{session}-0000-4000-8000-000000000001"));
        lead.roster(1_000, &["alice"]);
        lead.start("startup");
        for number in 8..12 {
            sandbox.write(&format!("teams/{}/inboxes/alice.json", lead.team), mailbox(number, 0));
            lead.hook("Stop", json!({}));
        }
        end(&lead);
    }
    quick(&sandbox);
    let before = size(&sandbox);
    assert_eq!(sandbox.library().runs.len(), 2);
    let result = sandbox.run(&["prune", "--keep", "1", "--yes"]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert_eq!(sandbox.library().runs.len(), 1);
    assert!(size(&sandbox) < before * 2 / 3, "{before} {}", size(&sandbox));
    let seen = sandbox.show(&["session-00000002"]);
    assert_eq!(seen["inboxes"]["alice"].as_array().unwrap().len(), 11);
    is_whole(&sandbox);
}

#[test]
fn an_export_has_every_state_and_an_import_brings_them_back() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, SESSION);
    let states = grow(&lead, 0..10);
    end(&lead);
    quick(&sandbox);
    let bundle = export(&sandbox, TEAM, "bundle.tgz", &[]);
    let other = Sandbox::new();
    let result = import(&other, &bundle);
    assert_eq!(result.code, Some(0), "{}", result.err);
    every_state_is_there(&other, &states);
    is_whole(&other);
    let again = export(&other, TEAM, "again.tgz", &[]);
    assert!(std::fs::read(bundle).unwrap() == std::fs::read(again).unwrap(), "the same bytes");
}

#[test]
fn damage_is_found_and_existing_files_are_stored_again() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox, SESSION);
    grow(&lead, 0..10);
    let run = sandbox.library().find(TEAM).unwrap().run.clone();
    let path = sandbox.keep(&format!("runs/{run}/contents.data"));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[500] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let result = sandbox.run(&["verify"]);
    assert_eq!(result.code, Some(1));
    assert!(result.out.contains("is damaged"), "{}", result.out);
    let states = grow(&lead, 10..12);
    every_state_is_there(&sandbox, &states);
}

#[test]
#[cfg_attr(windows, ignore = "fills the disk with the limits of a shell")]
fn a_full_disk_and_a_held_lock_lose_nothing() {
    let sandbox = Sandbox::new();
    sandbox.configure("[log]\nlock-patience = \"20ms\"\n");
    let lead = team(&sandbox, SESSION);
    let mut states = grow(&lead, 0..5);
    // The data file cannot grow.
    sandbox.write(INBOX, mailbox(6, 3));
    let mut shell = Command::new("/bin/sh");
    sandbox.dress(&mut shell);
    shell.args(["-c", "ulimit -f 4; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_teamkeep"), "hook", "stop"]);
    let result = feed(&mut shell, lead.payload("Stop", json!({})).to_string().as_bytes());
    assert!(result.err.contains("File too large"), "{result:?}");
    every_state_is_there(&sandbox, &states);
    states.extend(grow(&lead, 5..7));
    let held =
        teamkeep_system::fs::lock(&sandbox.keep(&format!("locks/team-{TEAM}")), Duration::from_secs(60));
    states.extend(grow(&lead, 7..9));
    drop(held);
    states.extend(grow(&lead, 9..11));
    every_state_is_there(&sandbox, &states);
    is_whole(&sandbox);
}
