//! What is no sound bundle is no run: it is refused, and leaves nothing.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

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

/// The same bundle, told in its manifest as it is, after a change.
fn changed(path: &Path, change: impl FnOnce(&mut Value, &mut BTreeMap<String, Vec<u8>>)) -> PathBuf {
    let mut entries = unpacked(path);
    let mut manifest: Value = serde_json::from_slice(&entries.remove("manifest.json").unwrap()).unwrap();
    change(&mut manifest, &mut entries);
    let parts: Vec<Value> = entries
        .iter()
        .map(|(name, bytes)| {
            json!({"name": name, "size": bytes.len(), "hash": blake3::hash(bytes).to_hex().to_string()})
        })
        .collect();
    manifest["entries"] = Value::from(parts);
    let manifest = serde_json::to_vec(&manifest).unwrap();
    let mut all = vec![("manifest.json", tar::EntryType::Regular, manifest)];
    all.extend(entries.iter().map(|(name, bytes)| (name.as_str(), tar::EntryType::Regular, bytes.clone())));
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
    assert!(left.iter().all(|path| path.ends_with(".maintenance")), "{left:?}");
    result.err[begin.len()..].trim_end().to_owned()
}

#[test]
fn import_rejects_a_name_that_leads_out_of_the_bundle() {
    let sandbox = ended("go");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let entries = unpacked(&path);
    let manifest = || ("manifest.json", tar::EntryType::Regular, entries["manifest.json"].clone());
    let object = entries.keys().find(|name| name.starts_with("objects/")).unwrap();
    let bad = path.with_extension("bad");
    for (name, kind, why) in [
        ("../../evil", tar::EntryType::Regular, "the name \"../../evil\" points outside of the export"),
        ("/etc/evil", tar::EntryType::Regular, "the name \"/etc/evil\" is an absolute path"),
        (
            "objects/../../evil",
            tar::EntryType::Regular,
            "the name \"objects/../../evil\" points outside of the export",
        ),
        ("notes.txt", tar::EntryType::Regular, "the name \"notes.txt\" is not a valid name in an export"),
        ("run.json", tar::EntryType::Symlink, "\"run.json\" is not a regular file"),
        (object, tar::EntryType::Link, "is not a regular file"),
        ("run.json", tar::EntryType::Directory, "\"run.json\" is not a regular file"),
        ("run.json", tar::EntryType::XHeader, "it contains an entry that is not a regular file"),
        ("run.json", tar::EntryType::GNULongName, "it contains an entry that is not a regular file"),
    ] {
        let bytes = if kind == tar::EntryType::Regular { b"evil".to_vec() } else { Vec::new() };
        packed(&bad, &[manifest(), (name, kind, bytes)]);
        let result = refused(&bad);
        assert!(result.contains(why), "{result}");
    }
    let run = || ("run.json", tar::EntryType::Regular, entries["run.json"].clone());
    packed(&bad, &[manifest(), run(), run()]);
    assert_eq!(refused(&bad), "\"run.json\" is duplicated");
    for (name, why) in [("../../evil", "points outside"), ("/etc/evil", "is an absolute path")] {
        let bad = changed(&path, |_, entries| {
            entries.insert(name.to_owned(), b"evil".to_vec());
        });
        assert!(refused(&bad).starts_with(&format!("the name {name:?} {why}")));
    }
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
        assert!(
            result.contains("truncated")
                || result.contains("teamkeep export")
                || result.contains("is damaged")
                || (end == 0 && result.contains("it is empty")),
            "{end}: {result}"
        );
    }
    std::fs::write(&bad, "hello, this is a text").unwrap();
    assert!(refused(&bad).starts_with("not a teamkeep export"));
    let entries = unpacked(&path);
    let mut parts: Vec<(&str, tar::EntryType, Vec<u8>)> =
        entries.iter().map(|(name, bytes)| (name.as_str(), tar::EntryType::Regular, bytes.clone())).collect();
    parts.sort_by_key(|(name, ..)| *name != "manifest.json");
    let events = parts.iter_mut().find(|(name, ..)| *name == "events.jsonl").unwrap();
    events.2[20] ^= 1;
    packed(&bad, &parts);
    assert_eq!(refused(&bad), "events.jsonl is damaged: its content has a different hash");
    parts.retain(|(name, ..)| *name != "events.jsonl");
    packed(&bad, &parts);
    assert!(refused(&bad).contains("events.jsonl is missing"));
    parts.remove(0);
    packed(&bad, &parts);
    assert!(refused(&bad).contains("its first entry is not a manifest"));
    let result = Sandbox::new().run(&["import", "/nowhere/run.tar.gz"]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.starts_with("error: cannot import /nowhere/run.tar.gz: "), "{}", result.err);
}

#[test]
fn import_rejects_a_bundle_of_a_newer_version() {
    let sandbox = ended("go");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let newer = changed(&path, |manifest, _| manifest["v"] = json!(2));
    assert_eq!(
        refused(&newer),
        "its format version is 2, but this program reads up to version 1\nhint: upgrade teamkeep: a newer version wrote the file"
    );
    for name in ["run.json", "snapshots.jsonl", "events.jsonl"] {
        let newer = changed(&path, |_, entries| {
            let text = String::from_utf8(entries[name].clone()).unwrap().replacen("\"v\":1", "\"v\":2", 1);
            entries.insert(name.to_owned(), text.into_bytes());
        });
        assert!(refused(&newer).contains("format version 2"), "{name}");
    }
}

#[test]
fn import_rejects_an_inconsistent_bundle() {
    let sandbox = ended("go");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let edit = |name: &'static str, from: &'static str, to: &'static str| {
        refused(&changed(&path, |_, entries| {
            let text = String::from_utf8(entries[name].clone()).unwrap();
            assert!(text.contains(from), "{name} has no {from}");
            entries.insert(name.to_owned(), text.replacen(from, to, 1).into_bytes());
        }))
    };
    let twice = refused(&changed(&path, |_, entries| {
        let events = String::from_utf8(entries["events.jsonl"].clone()).unwrap();
        let first = events.lines().next().unwrap();
        entries.insert("events.jsonl".to_owned(), format!("{events}{first}\n").into_bytes());
    }));
    assert!(twice.contains("\" occurs twice"), "{twice}");
    assert!(edit("run.json", TEAM, "../evil").contains("\"../evil\" is not a valid team or session name"));
    assert!(edit("run.json", "2026-", "soon-").contains("invalid time"));
    assert!(edit("snapshots.jsonl", "tasks/", "../").contains("is not a path below Claude Code's directory"));
    assert!(edit("events.jsonl", "\"run\":\"", "\"run\":\"x").contains("it belongs to run"));
    assert!(edit("events.jsonl", "{", "").contains("events.jsonl:1 is invalid"));
    assert!(edit("transcripts.json", "{", "[").contains("transcripts.json is invalid"));
    let result = refused(&changed(&path, |_, entries| {
        let object = entries.keys().find(|name| name.starts_with("objects/")).unwrap().clone();
        entries.remove(&object);
    }));
    assert!(result.starts_with("missing object"), "{result}");
    let result = refused(&changed(&path, |_, entries| {
        let hash = blake3::hash(b"alien").to_hex().to_string();
        entries.insert(format!("objects/{hash}"), b"alien".to_vec());
    }));
    assert!(result.contains("is not referenced"), "{result}");
}

#[test]
fn import_rejects_a_decompression_bomb_before_it_fills_the_disk() {
    let sandbox = ended("go");
    let path = export(&sandbox, TEAM, "run.tar.gz", &[]);
    let result = sandbox.run(&["import", path.to_str().unwrap(), "--max-size", "1 KiB"]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.contains("; the maximum is 1024\nhint: "), "{}", result.err);
    assert_eq!(sandbox.run(&["import", path.to_str().unwrap(), "--max-size", "lots"]).code, Some(64));

    // 20 MiB of nothing, and a manifest that tells of it truly.
    let bomb = changed(&path, |_, entries| {
        entries.insert("events.jsonl".to_owned(), vec![b'\n'; 20 << 20]);
    });
    assert!(bomb.metadata().unwrap().len() < 1 << 20);
    let result = refused(&bomb);
    assert!(result.contains("its unpacked size is suspiciously large"), "{result}");
    assert!(result.contains("\nhint: nothing was imported"), "{result}");
    assert!(result.contains("--max-size"), "{result}");
    // Whoever says how much may come out has looked; the bound itself stands.
    let elsewhere = Sandbox::new();
    let import = |size: &str| elsewhere.run(&["import", bomb.to_str().unwrap(), "--max-size", size]);
    assert!(import("1 MiB").err.contains("; the maximum is "));
    let result = import("1 GiB");
    assert_eq!(result.code, Some(0), "{}", result.err);

    // A manifest without end, which no size tells of.
    let endless = path.with_extension("endless");
    let file = std::fs::File::create(&endless).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    let mut header = tar::Header::new_ustar();
    header.set_path("manifest.json").unwrap();
    header.set_size(20 << 20);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    gzip.write_all(header.as_bytes()).unwrap();
    gzip.write_all(&vec![b' '; 20 << 20]).unwrap();
    gzip.finish().unwrap();
    assert!(refused(&endless).contains("its unpacked size is suspiciously large"));
}
