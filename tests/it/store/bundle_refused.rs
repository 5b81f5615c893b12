//! What is no sound bundle is no run: it is refused, and leaves nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::bundle_sandbox::{TEAM, ended, export, import, unpacked};
use crate::support::sandbox::{Sandbox, below};

/// Writes a bundle of these entries, in this order, with whatever names and kinds.
fn packed(path: &Path, entries: &[(&str, tar::EntryType, Vec<u8>)]) {
    let gzip =
        flate2::write::GzEncoder::new(std::fs::File::create(path).unwrap(), flate2::Compression::default());
    let mut tar = tar::Builder::new(gzip);
    for (name, kind, bytes) in entries {
        let mut header = tar::Header::new_ustar();
        // Not through `set_path`, which refuses what is to be refused here.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o600);
        header.set_size(bytes.len() as u64);
        if kind.is_symlink() {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        tar.append(&header, bytes.as_slice()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap();
}

/// The same bundle after a change.
fn changed(path: &Path, change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) -> PathBuf {
    let mut entries = unpacked(path);
    change(&mut entries);
    let all: Vec<_> =
        entries.iter().map(|(name, bytes)| (name.as_str(), tar::EntryType::Regular, bytes.clone())).collect();
    let changed = path.with_extension("changed");
    packed(&changed, &all);
    changed
}

/// What an import says that must fail and leave nothing.
fn refused(path: &Path) -> String {
    let sandbox = Sandbox::new();
    let result = import(&sandbox, path);
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""), "{}", result.err);
    let begin = format!("error: cannot import {}: ", path.display());
    assert!(result.err.starts_with(&begin), "{}", result.err);
    let left: Vec<PathBuf> = below(&sandbox.keep("")).into_iter().filter(|path| path.is_file()).collect();
    assert!(left.iter().all(|path| path.with_extension("").ends_with("locks/changes")), "{left:?}");
    result.err[begin.len()..].trim_end().to_owned()
}

#[test]
fn import_rejects_everything_but_regular_files_with_the_names_of_a_bundle() {
    let sandbox = ended("go");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let entries = unpacked(&path);
    let object = entries.keys().find(|name| name.starts_with("objects/")).unwrap();
    let bad = path.with_extension("bad");
    for (name, kind) in [
        ("../../evil", tar::EntryType::Regular),
        ("/etc/evil", tar::EntryType::Regular),
        ("objects/../../evil", tar::EntryType::Regular),
        ("objects/", tar::EntryType::Regular),
        ("objects", tar::EntryType::Directory),
        ("events.lock", tar::EntryType::Regular),
        ("run.json", tar::EntryType::Symlink),
        (object, tar::EntryType::Link),
        ("run.json", tar::EntryType::Directory),
        ("run.json", tar::EntryType::XHeader),
        ("run.json", tar::EntryType::GNULongName),
    ] {
        let bytes = if kind == tar::EntryType::Regular { b"evil".to_vec() } else { Vec::new() };
        packed(&bad, &[(name, kind, bytes)]);
        let why = format!(
            "not a complete teamkeep export: {name:?} is not a file that an export has\nhint: to write one: "
        );
        let result = refused(&bad);
        assert!(result.starts_with(&why), "{result}");
    }
    let regular = |name: &'static str| (name, tar::EntryType::Regular, entries[name].clone());
    packed(&bad, &[regular("run.json"), regular("run.json")]);
    assert!(refused(&bad).contains("\"run.json\" is not a file that an export has"), "it is there twice");
}

#[test]
fn import_rejects_a_file_that_is_damaged_truncated_or_not_an_export() {
    let sandbox = ended("go");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let bytes = std::fs::read(&path).unwrap();
    let bad = path.with_extension("bad");
    for end in [0, 1, 30, bytes.len() / 4, bytes.len() / 2, bytes.len() - 30, bytes.len() - 1] {
        std::fs::write(&bad, &bytes[..end]).unwrap();
        let result = refused(&bad);
        assert!(result.starts_with("not a complete teamkeep export: "), "{end}: {result}");
    }
    for place in [20, bytes.len() / 3, bytes.len() / 2, bytes.len() - 20, bytes.len() - 6] {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1;
        std::fs::write(&bad, &damaged).unwrap();
        refused(&bad);
    }
    std::fs::write(&bad, "hello, this is a text").unwrap();
    assert!(refused(&bad).starts_with("not a complete teamkeep export: "));
    for name in ["run.json", "snapshots.jsonl", "events.jsonl", "transcripts.json"] {
        let without = changed(&path, |entries| drop(entries.remove(name)));
        assert!(refused(&without).contains(&format!("{name} is missing")));
    }
    let object = changed(&path, |entries| {
        let (_, bytes) = entries.iter_mut().find(|(name, _)| name.starts_with("objects/")).unwrap();
        bytes[0] ^= 1;
    });
    let result = refused(&object);
    assert!(result.starts_with("object ") && result.ends_with(" is damaged"), "{result}");
    let result = Sandbox::new().run(&["import", "/nowhere/run.tar.gz"]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.starts_with("error: cannot import /nowhere/run.tar.gz: "), "{}", result.err);
}

#[test]
fn import_rejects_a_bundle_of_a_newer_version() {
    let sandbox = ended("go");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    for (name, from, to) in [
        ("run.json", "\"v\":1", "\"v\":3"),
        ("snapshots.jsonl", "[2,", "[3,"),
        ("events.jsonl", "\"v\":1", "\"v\":3"),
    ] {
        let newer = changed(&path, |entries| {
            let text = String::from_utf8(entries[name].clone()).unwrap().replacen(from, to, 1);
            entries.insert(name.to_owned(), text.into_bytes());
        });
        assert!(refused(&newer).contains("format version 3"), "{name}");
    }
}

#[test]
fn import_rejects_an_inconsistent_bundle() {
    let sandbox = ended("go");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let edit = |name: &'static str, from: &'static str, to: &'static str| {
        refused(&changed(&path, |entries| {
            let text = String::from_utf8(entries[name].clone()).unwrap();
            assert!(text.contains(from), "{name} has no {from}");
            entries.insert(name.to_owned(), text.replacen(from, to, 1).into_bytes());
        }))
    };
    let twice = refused(&changed(&path, |entries| {
        let events = String::from_utf8(entries["events.jsonl"].clone()).unwrap();
        let first = events.lines().next().unwrap();
        entries.insert("events.jsonl".to_owned(), format!("{events}{first}\n").into_bytes());
    }));
    assert!(twice.contains("is invalid: another line has the id "), "{twice}");
    assert!(edit("run.json", TEAM, "../evil").contains("\"../evil\" is not a valid team or session name"));
    assert!(edit("run.json", "2026-", "soon-").contains("invalid time"));
    assert!(edit("snapshots.jsonl", "tasks/", "../").contains("is not a path below Claude Code's directory"));
    assert!(edit("events.jsonl", "\"run\":\"", "\"run\":\"x").contains("an event belongs to run \"x"));
    assert!(edit("events.jsonl", "{", "").contains("events-imported.jsonl:1 is invalid"));
    assert!(edit("transcripts.json", "{", "[").contains("transcripts.json is invalid"));
    assert!(edit("run.json", "\"run\":\"", "\"run\":\"../").contains("is not a valid run ID"));
}

#[test]
fn a_content_that_a_bundle_lacks_is_reported_and_one_that_nothing_names_is_not_stored() {
    let sandbox = ended("go");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let alien = blake3::hash(b"alien").to_hex().to_string();
    let other = changed(&path, |entries| {
        let object = entries.keys().find(|name| name.starts_with("objects/")).unwrap().clone();
        entries.remove(&object);
        entries.insert(format!("objects/{alien}"), b"alien".to_vec());
    });
    let elsewhere = Sandbox::new();
    let result = import(&elsewhere, &other);
    assert_eq!(result.code, Some(0));
    assert!(result.err.contains("missing in the file: 1 content\n"), "{}", result.err);
    let files = below(&elsewhere.keep(""));
    assert!(files.iter().all(|path| !path.to_string_lossy().contains("objects")), "{files:?}");
    let pruned = elsewhere.printed(&["prune", "--keep", "0", "--yes"]);
    assert!(pruned.contains("deleted 1 run ("), "{pruned}");
}

#[test]
fn import_rejects_a_decompression_bomb_before_it_fills_the_disk() {
    let sandbox = ended("go");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let bomb = changed(&path, |entries| {
        entries.insert("events.jsonl".to_owned(), vec![b'\n'; 4 << 20]);
    });
    assert!(bomb.metadata().unwrap().len() < 1 << 20);
    let elsewhere = Sandbox::new();
    let import = |size: &str| elsewhere.run(&["import", bomb.to_str().unwrap(), "--max-size", size]);
    for size in ["1 KiB", "1 MiB"] {
        let result = import(size);
        assert_eq!(result.code, Some(1));
        assert!(result.err.contains("it unpacks to more than 1"), "{}", result.err);
        assert!(result.err.contains("\nhint: nothing was imported; "), "{}", result.err);
        assert!(!elsewhere.keep("tmp/import").exists());
    }
    assert_eq!(import("lots").code, Some(64));
    assert_eq!(import("1 GiB").code, Some(0), "whoever sets the size has looked");
}
