//! `teamkeep export` and `import`: a run is the same on another machine, and what is no sound bundle is no run.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::play::Lead;
use super::reenact::Trace;
use super::stage::{Said, Stage, below, feed};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TEAM: &str = "session-aaaaaaaa";

/// A run that has ended, with a transcript.
fn ended(prompt: &str) -> Stage {
    let stage = Stage::new();
    let lead = Lead::of(&stage, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.task("1", "pending", None);
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": prompt}));
    lead.says("user", json!(prompt));
    lead.tool("u1", "SendMessage", &json!({"to": "alice", "message": prompt}), json!({"success": true}));
    lead.task("1", "completed", Some("alice"));
    lead.hook("Stop", json!({}));
    lead.erase();
    lead.end("other");
    stage.finish();
    stage
}

fn file(stage: &Stage, name: &str) -> PathBuf {
    stage.home().join(name)
}

fn export(stage: &Stage, run: &str, name: &str, more: &[&str]) -> PathBuf {
    let path = file(stage, name);
    let said = stage.run(&[&["export", run, "-o", path.to_str().unwrap()], more].concat());
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{}", said.err);
    path
}

fn import(stage: &Stage, path: &Path) -> Said {
    stage.run(&["import", path.to_str().unwrap()])
}

/// Everything that can be asked about the last run.
fn told(stage: &Stage) -> Vec<String> {
    let asked: [&[&str]; 6] = [
        &["replay", "latest", "--json"],
        &["replay", "latest", "--all", "--full"],
        &["teams", "--all"],
        &["teams", "--all", "--json"],
        &["show", "latest"],
        &["show", "latest", "--json"],
    ];
    asked.map(|args| stage.told(args)).into()
}

fn played((name, began): (&str, &'static str)) {
    let here = Stage::new();
    Trace::read(name, began).play(&here, 1);
    here.finish();
    std::fs::remove_dir_all(here.client("projects")).unwrap();
    let path = export(&here, "latest", "run.tar.gz", &[]);
    let elsewhere = Stage::new();
    here.set_clock(0);
    let said = import(&elsewhere, &path);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(told(&here), told(&elsewhere));
    let found = elsewhere.run(&["verify"]);
    assert_eq!(found.code, Some(0), "{}", found.out);
    let again = export(&elsewhere, "latest", "again.tar.gz", &[]);
    assert_eq!(
        std::fs::read(path).unwrap(),
        std::fs::read(again).unwrap(),
        "and goes on from there as it came"
    );

    let policy = ["policy", "test", "latest", "--json"];
    assert_eq!(here.run(&policy).out, elsewhere.run(&policy).out, "a policy is tested on it as well");

    let clean = export(&here, "latest", "clean.tar.gz", &["--redact"]);
    let third = Stage::new();
    assert_eq!(import(&third, &clean).code, Some(0));
    assert_eq!(third.run(&["verify"]).code, Some(0));
    let (whole, cleaned) = (here.replay("latest"), third.replay("latest"));
    let kinds =
        |entries: &[Value]| -> Vec<Value> { entries.iter().map(|entry| entry["kind"].clone()).collect() };
    assert_eq!(kinds(&whole), kinds(&cleaned), "the same story");
    let home = here.home().canonicalize().unwrap();
    for file in unpacked(&clean).values() {
        let text = String::from_utf8_lossy(file);
        assert!(!text.contains(home.to_str().unwrap()), "the home is told");
    }
}

#[test]
fn a_run_of_2_1_47_is_the_same_elsewhere() {
    played(("v47-inprocess", "2026-11-20T04:37:57.500Z"));
}

#[test]
fn a_run_of_2_1_177_is_the_same_elsewhere() {
    played(("v177-inprocess", "2026-11-20T04:39:22.700Z"));
}

#[test]
fn a_run_of_2_1_328_is_the_same_elsewhere() {
    played(("v328-inprocess", "2026-11-20T04:40:41.150Z"));
}

#[test]
fn a_run_in_split_panes_is_the_same_elsewhere() {
    played(("v328-panes", "2026-11-20T04:41:53.770Z"));
}

#[test]
fn a_run_without_tasks_is_the_same_elsewhere() {
    played(("v328-notasks", "2026-11-20T04:43:10.860Z"));
}

#[test]
fn a_run_whose_tasks_the_client_erased_is_the_same_elsewhere() {
    played(("v328-gc", "2026-11-20T04:54:29.340Z"));
}

#[test]
fn a_session_without_a_team_is_the_same_elsewhere() {
    played(("v328-headless", "2026-11-20T05:15:34.240Z"));
}

/// The entries of a bundle by name, the manifest included.
fn unpacked(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()));
    let entries = tar.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.path().unwrap().to_str().unwrap().to_owned(), bytes)
    });
    entries.collect()
}

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
    let stage = Stage::new();
    let said = import(&stage, path);
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{}", said.err);
    let begin = format!("teamkeep: cannot import {}: ", path.display());
    assert!(said.err.starts_with(&begin), "{}", said.err);
    let left: Vec<PathBuf> = below(&stage.keep("")).into_iter().filter(|path| path.is_file()).collect();
    assert!(left.iter().all(|path| path.ends_with(".maintenance")), "{left:?}");
    said.err[begin.len()..].trim_end().to_owned()
}

#[test]
fn an_export_is_private_the_same_each_time_and_written_over_only_when_asked() {
    let stage = ended("go");
    let path = export(&stage, TEAM, "run.tar.gz", &[]);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let first = std::fs::read(&path).unwrap();
    let said = stage.run(&["export", TEAM, "-o", path.to_str().unwrap()]);
    let taken = format!(
        "teamkeep: cannot write {}: it is there already\nhint: --force writes over it\n",
        path.display()
    );
    assert_eq!((said.code, said.err), (Some(1), taken));
    export(&stage, TEAM, "run.tar.gz", &["--force"]);
    assert_eq!(std::fs::read(&path).unwrap(), first);
    let piped = stage.command(&["export", TEAM, "-o", "-"]).output().unwrap();
    assert_eq!(piped.stdout, first);
    let elsewhere = Stage::new();
    let said = feed(&mut elsewhere.command(&["import", "-"]), &piped.stdout);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(told(&elsewhere), told(&stage));
    assert_eq!(stage.run(&["export", TEAM, "-o", "/"]).code, Some(1));
    assert_eq!(stage.run(&["export", TEAM]).code, Some(64));
    let left = std::fs::read_dir(stage.home()).unwrap().flatten();
    assert!(left.into_iter().all(|file| !file.file_name().to_string_lossy().ends_with(".tmp")));
}

#[test]
fn the_manifest_stands_first_and_holds_every_hash() {
    let stage = ended("go");
    let path = export(&stage, TEAM, "run.tar.gz", &[]);
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(std::fs::File::open(&path).unwrap()));
    let names: Vec<String> =
        tar.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect();
    assert_eq!(
        names[..5],
        ["manifest.json", "run.json", "snapshots.jsonl", "events.jsonl", "transcripts.json"]
    );
    let entries = unpacked(&path);
    let manifest: Value = serde_json::from_slice(&entries["manifest.json"]).unwrap();
    assert_eq!(
        (&manifest["v"], &manifest["team"], &manifest["redacted"]),
        (&json!(1), &json!(TEAM), &Value::Null)
    );
    for part in manifest["entries"].as_array().unwrap() {
        let bytes = &entries[part["name"].as_str().unwrap()];
        assert_eq!(part["hash"], blake3::hash(bytes).to_hex().as_str());
        assert_eq!(part["size"], bytes.len());
    }
}

#[test]
fn what_is_on_record_already_is_told_and_what_was_lost_of_it_is_mended() {
    let stage = ended("go");
    let path = export(&stage, TEAM, "run.tar.gz", &[]);
    let said = import(&stage, &path);
    assert_eq!(said.code, Some(0));
    assert!(said.err.ends_with(&format!(" ({TEAM}) is on record already\n")), "{}", said.err);
    let objects = below(&stage.keep("archive/objects"));
    let files: Vec<&PathBuf> = objects.iter().filter(|path| path.is_file()).collect();
    std::fs::write(files[0], "damaged").unwrap();
    std::fs::remove_file(files[1]).unwrap();
    assert_eq!(stage.run(&["verify"]).code, Some(1));
    let said = import(&stage, &path);
    assert!(
        said.err.contains("; 2 of its objects were lost or damaged, and are whole again"),
        "{}",
        said.err
    );
    assert_eq!(stage.run(&["verify"]).code, Some(0));
}

#[test]
fn another_record_of_the_same_run_is_refused_and_another_run_of_the_same_name_is_not() {
    let (one, two) = (ended("go"), ended("go on"));
    let path = export(&one, TEAM, "run.tar.gz", &[]);
    let before = told(&two);
    let said = import(&two, &path);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("is on record already, and the one here says something else"), "{}", said.err);
    assert!(said.err.contains("hint: nothing was changed"), "{}", said.err);
    assert_eq!(told(&two), before);
    let clean = export(&one, TEAM, "clean.tar.gz", &["--redact"]);
    assert!(import(&one, &clean).err.contains("the one here is not redacted"));

    let third = Stage::new();
    let lead = Lead::named(&third, "cccccccc-0000-4000-8000-000000000003", TEAM);
    lead.roster(9_000, &["bob"]);
    lead.start("startup");
    let said = import(&third, &path);
    assert_eq!(said.code, Some(0));
    assert!(
        said.err.contains("another run is called session-aaaaaaaa, too: name this one by its id"),
        "{}",
        said.err
    );
    assert_eq!(third.teams().len(), 2);
}

#[test]
fn hooks_and_the_log_are_not_disturbed_by_what_was_imported() {
    let one = ended("go");
    let path = export(&one, TEAM, "run.tar.gz", &[]);
    let two = Stage::new();
    assert_eq!(import(&two, &path).code, Some(0));
    assert!(
        !two.keep("log").exists()
            && !two.keep("archive/open").exists()
            && !two.keep("archive/closed").exists()
    );
    let lead = Lead::of(&two, "dddddddd-0000-4000-8000-000000000004");
    lead.roster(5_000, &["bob"]);
    lead.start("startup");
    let imported = one.told(&["replay", TEAM, "--json"]);
    assert_eq!(two.told(&["replay", TEAM, "--json"]), imported);
    assert_eq!(two.log().len(), 1);
    assert_eq!(
        two.replay("session-dddddddd").iter().filter(|entry| entry["kind"] == "session-started").count(),
        1
    );
    // It is no run of this machine: nothing of this machine's files is told as its own.
    two.write(&Lead::of(&two, SESSION).transcript(), "{\"type\":\"user\"}\n");
    assert_eq!(two.told(&["replay", TEAM, "--json"]), imported);
}

#[test]
fn a_session_s_other_runs_leave_their_mark_on_what_is_carried_away() {
    let here = Stage::new();
    let lead = Lead::of(&here, SESSION);
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "long before the team"}));
    lead.hook("UserPromptSubmit", json!({"prompt": "make a team"}));
    lead.roster(1_000, &["alice"]);
    lead.hook("Stop", json!({}));
    lead.says("user", json!("first"));
    lead.erase();
    lead.end("other");
    here.finish();
    lead.roster(1_770_091_520_000, &["bob"]);
    here.set_clock(20_000);
    lead.start("resume");
    lead.says("user", json!("<teammate-message teammate_id=\"bob\">second</teammate-message>"));
    lead.hook("Stop", json!({}));
    let runs = here.library().runs;
    assert_eq!(runs.len(), 2);
    for run in &runs {
        let path = export(&here, &run.run, &format!("{}.tar.gz", run.run), &[]);
        let elsewhere = Stage::new();
        assert_eq!(import(&elsewhere, &path).code, Some(0));
        let (one, other) =
            (here.told(&["replay", &run.run, "--json"]), elsewhere.told(&["replay", &run.run, "--json"]));
        assert_eq!(one, other);
        let events = String::from_utf8(unpacked(&path)["events.jsonl"].clone()).unwrap();
        assert!(!events.contains("long before"), "what its story has no use for stays");
    }
}

#[test]
fn what_is_redacted_is_counted_and_not_told() {
    let secret = "key sk-ant-0123456789abcdef0123 for ada@example.com, PROJ-17";
    let stage = ended(secret);
    stage.configure("[[privacy.pattern]]\nname = \"ticket\"\nregex = \"PROJ-[0-9]+\"\n");
    let path = file(&stage, "clean.tar.gz");
    let said = stage.run(&["export", TEAM, "--redact", "-o", path.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let counted = said.err.lines().last().unwrap();
    assert!(counted.starts_with("redacted: api-key ") && counted.contains(", ticket "), "{counted}");
    for (name, bytes) in unpacked(&path) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for found in ["sk-ant", "ada@", "PROJ-17", stage.home().to_str().unwrap()] {
            assert!(!text.contains(found), "{found} in {name}: {text}");
        }
    }
    let elsewhere = Stage::new();
    assert_eq!(import(&elsewhere, &path).code, Some(0));
    assert_eq!(elsewhere.run(&["verify"]).code, Some(0));
    let clean = "key [redacted:api-key] for [redacted:email], [redacted:ticket]";
    let entries = elsewhere.replay(TEAM);
    assert_eq!(entries.iter().filter(|entry| entry["text"] == clean).count(), 2, "{entries:#?}");
    let again = export(&elsewhere, TEAM, "again.tar.gz", &[]);
    assert_eq!(std::fs::read(again).unwrap(), std::fs::read(path).unwrap());
}

#[test]
fn a_name_that_leads_elsewhere_is_refused() {
    let stage = ended("go");
    let path = export(&stage, TEAM, "run.tar.gz", &[]);
    let entries = unpacked(&path);
    let manifest = || ("manifest.json", tar::EntryType::Regular, entries["manifest.json"].clone());
    let object = entries.keys().find(|name| name.starts_with("objects/")).unwrap();
    let bad = path.with_extension("bad");
    for (name, kind, why) in [
        ("../../evil", tar::EntryType::Regular, "the name \"../../evil\" leads out of the bundle"),
        (
            "/etc/evil",
            tar::EntryType::Regular,
            "the name \"/etc/evil\" leads to another place: it is absolute",
        ),
        (
            "objects/../../evil",
            tar::EntryType::Regular,
            "the name \"objects/../../evil\" leads out of the bundle",
        ),
        ("notes.txt", tar::EntryType::Regular, "the name \"notes.txt\" is none that a bundle has"),
        ("run.json", tar::EntryType::Symlink, "\"run.json\" is no regular file"),
        (object, tar::EntryType::Link, "is no regular file"),
        ("run.json", tar::EntryType::Directory, "\"run.json\" is no regular file"),
        ("run.json", tar::EntryType::XHeader, "it has an entry that is no regular file"),
        ("run.json", tar::EntryType::GNULongName, "it has an entry that is no regular file"),
    ] {
        let bytes = if kind == tar::EntryType::Regular { b"evil".to_vec() } else { Vec::new() };
        packed(&bad, &[manifest(), (name, kind, bytes)]);
        let said = refused(&bad);
        assert!(said.contains(why), "{said}");
    }
    let run = || ("run.json", tar::EntryType::Regular, entries["run.json"].clone());
    packed(&bad, &[manifest(), run(), run()]);
    assert_eq!(refused(&bad), "\"run.json\" is in it twice");
    for name in ["../../evil", "/etc/evil"] {
        let bad = changed(&path, |_, entries| {
            entries.insert(name.to_owned(), b"evil".to_vec());
        });
        assert!(refused(&bad).starts_with(&format!("the name {name:?} leads ")));
    }
}

#[test]
fn what_is_damaged_cut_or_none_of_ours_is_refused() {
    let stage = ended("go");
    let path = export(&stage, TEAM, "run.tar.gz", &[]);
    let bytes = std::fs::read(&path).unwrap();
    let bad = path.with_extension("bad");
    for end in [0, 1, 30, bytes.len() / 4, bytes.len() / 2, bytes.len() - 30, bytes.len() - 1] {
        std::fs::write(&bad, &bytes[..end]).unwrap();
        let said = refused(&bad);
        assert!(
            said.contains("cut off") || said.contains("no export") || said.contains("is damaged"),
            "{end}: {said}"
        );
    }
    std::fs::write(&bad, "hello, this is a text").unwrap();
    assert!(refused(&bad).starts_with("it is no export of teamkeep"));
    let entries = unpacked(&path);
    let mut parts: Vec<(&str, tar::EntryType, Vec<u8>)> =
        entries.iter().map(|(name, bytes)| (name.as_str(), tar::EntryType::Regular, bytes.clone())).collect();
    parts.sort_by_key(|(name, ..)| *name != "manifest.json");
    let events = parts.iter_mut().find(|(name, ..)| *name == "events.jsonl").unwrap();
    events.2[20] ^= 1;
    packed(&bad, &parts);
    assert_eq!(refused(&bad), "events.jsonl is damaged: its content has another hash");
    parts.retain(|(name, ..)| *name != "events.jsonl");
    packed(&bad, &parts);
    assert!(refused(&bad).contains("events.jsonl is not in it"));
    parts.remove(0);
    packed(&bad, &parts);
    assert!(refused(&bad).contains("its first entry is no manifest"));
    let said = Stage::new().run(&["import", "/nowhere/run.tar.gz"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.starts_with("teamkeep: cannot import /nowhere/run.tar.gz: "), "{}", said.err);
}

#[test]
fn what_a_newer_program_wrote_is_refused_as_such() {
    let stage = ended("go");
    let path = export(&stage, TEAM, "run.tar.gz", &[]);
    let newer = changed(&path, |manifest, _| manifest["v"] = json!(2));
    assert_eq!(
        refused(&newer),
        "it is of format version 2, and this program reads 1\nhint: a newer teamkeep wrote it, and is needed to read it"
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
fn a_bundle_that_makes_no_sense_is_refused() {
    let stage = ended("go");
    let path = export(&stage, TEAM, "run.tar.gz", &[]);
    let edit = |name: &'static str, from: &'static str, to: &'static str| {
        refused(&changed(&path, |_, entries| {
            let text = String::from_utf8(entries[name].clone()).unwrap();
            assert!(text.contains(from), "{name} has no {from}");
            entries.insert(name.to_owned(), text.replacen(from, to, 1).into_bytes());
        }))
    };
    assert!(edit("run.json", TEAM, "../evil").contains("\"../evil\" is no name of a team or a session"));
    assert!(edit("run.json", "2026-", "soon-").contains("is no time"));
    assert!(edit("snapshots.jsonl", "tasks/", "../").contains("is no path below the client's directory"));
    assert!(edit("events.jsonl", "\"run\":\"", "\"run\":\"x").contains("it is of run"));
    assert!(edit("events.jsonl", "{", "").contains("events.jsonl:1 makes no sense"));
    assert!(edit("transcripts.json", "{", "[").contains("transcripts.json makes no sense"));
    let said = refused(&changed(&path, |_, entries| {
        let object = entries.keys().find(|name| name.starts_with("objects/")).unwrap().clone();
        entries.remove(&object);
    }));
    assert!(said.starts_with("it names the object"), "{said}");
    let said = refused(&changed(&path, |_, entries| {
        let hash = blake3::hash(b"alien").to_hex().to_string();
        entries.insert(format!("objects/{hash}"), b"alien".to_vec());
    }));
    assert!(said.contains("which nothing in it names"), "{said}");
}

#[test]
fn a_bomb_is_refused_before_it_fills_the_disk() {
    let stage = ended("go");
    let path = export(&stage, TEAM, "run.tar.gz", &[]);
    let said = stage.run(&["import", path.to_str().unwrap(), "--max-size", "1 KiB"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("and 1024 are the most that is taken\nhint: "), "{}", said.err);
    assert_eq!(stage.run(&["import", path.to_str().unwrap(), "--max-size", "lots"]).code, Some(64));

    // 20 MiB of nothing, and a manifest that tells of it truly.
    let bomb = changed(&path, |_, entries| {
        entries.insert("events.jsonl".to_owned(), vec![b'\n'; 20 << 20]);
    });
    assert!(bomb.metadata().unwrap().len() < 1 << 20);
    let said = refused(&bomb);
    assert!(said.contains("it was made to fill a disk"), "{said}");
    assert!(said.contains("\nhint: nothing of it was taken"), "{said}");
    assert!(said.contains("--max-size"), "{said}");
    // Whoever says how much may come out has looked; the bound itself stands.
    let elsewhere = Stage::new();
    let import = |size: &str| elsewhere.run(&["import", bomb.to_str().unwrap(), "--max-size", size]);
    assert!(import("1 MiB").err.contains("are the most that is taken"));
    let said = import("1 GiB");
    assert_eq!(said.code, Some(0), "{}", said.err);

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
    assert!(refused(&endless).contains("it was made to fill a disk"));
}

#[test]
fn what_is_lost_of_a_run_is_told_at_its_export_and_known_after_its_import() {
    let stage = ended("go");
    let held = stage.archive().journal(&stage.library().runs[0].run).last();
    let hash = held[&format!("tasks/{TEAM}/1.json")].object.clone().unwrap();
    std::fs::remove_file(stage.keep(&format!("archive/objects/{}/{}", &hash[..1], &hash[1..]))).unwrap();
    let path = file(&stage, "run.tar.gz");
    let said = stage.run(&["export", TEAM, "-o", path.to_str().unwrap()]);
    assert_eq!(said.code, Some(0));
    assert!(said.err.contains("; it is left out"), "{}", said.err);
    let elsewhere = Stage::new();
    let said = import(&elsewhere, &path);
    assert_eq!(said.code, Some(0));
    assert!(said.err.contains("1 object(s) were lost before it was exported"), "{}", said.err);
    let found = elsewhere.run(&["verify"]);
    assert_eq!(found.code, Some(1));
    assert!(found.out.contains(&format!("object {hash} is missing")), "{}", found.out);
}

#[test]
fn a_run_that_is_alive_is_carried_with_the_transcripts_that_it_has_so_far() {
    let stage = Stage::new();
    let lead = Lead::of(&stage, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.says("user", json!("<teammate-message teammate_id=\"alice\">so far</teammate-message>"));
    lead.hook("Stop", json!({}));
    let path = export(&stage, TEAM, "run.tar.gz", &[]);
    let elsewhere = Stage::new();
    assert_eq!(import(&elsewhere, &path).code, Some(0));
    let entries = elsewhere.told(&["replay", TEAM, "--json"]);
    assert!(entries.contains("so far"));
    assert_eq!(entries, stage.told(&["replay", TEAM, "--json"]));
    assert!(stage.told(&["teams"]).contains("alive"));
    assert!(!elsewhere.told(&["teams"]).contains("alive"), "nothing of it runs here");
}
