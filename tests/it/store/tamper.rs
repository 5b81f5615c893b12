//! Changes that others make to the recorded data are found as documented.

use std::path::Path;

use serde_json::{Value, json};

use super::tamper_attacks::{Attack, Found, OF_AN_ENDED_RUN, OF_THE_LOG};
use super::tamper_scene::{Scene, gunzip, gzip, lines_of};
use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

fn kinds(scene: &Scene, args: &[&str]) -> (Option<i32>, Vec<String>, Value) {
    let result = scene.sandbox.run(&[&["verify", "--json"], args].concat());
    let value: Value = serde_json::from_str(&result.out).unwrap();
    let kinds = value["findings"].as_array().unwrap().iter();
    (result.code, kinds.map(|found| found["kind"].as_str().unwrap().to_owned()).collect(), value)
}

fn attempt(scene: &Scene, (name, found, attack): &(&str, Found, Attack)) {
    let noted = scene.head();
    let against = ["--against", &noted];
    for args in [&[][..], &against] {
        let (code, kinds, value) = kinds(scene, args);
        assert_eq!((code, kinds.is_empty()), (Some(0), true), "before: {name}: {value:#}");
    }
    attack(scene);
    let (code, kinds_there, value) = kinds(scene, &[]);
    let (code_against, kinds_against, _) = kinds(scene, &against);
    let is_head =
        |kind: &String| kind == if *found == Found::Missing { "removed-head" } else { "head-mismatch" };
    match found {
        Found::Yes(kind) => {
            assert_eq!(code, Some(1), "{name}: nothing found");
            assert!(kinds_there.iter().any(|there| there == kind), "{name}: {value:#}");
            assert!(kinds_there.len() <= 3, "{name}: {value:#}");
        }
        Found::Note(kind) => {
            assert_eq!((code, code_against), (Some(0), Some(0)), "{name}: {value:#}");
            assert_eq!(value["notes"][0]["kind"], *kind, "{name}: {value:#}");
        }
        Found::Against | Found::Missing => {
            assert_eq!((code, kinds_there), (Some(0), vec![]), "{name}: {value:#}");
            assert!(
                code_against == Some(1) && kinds_against.iter().any(is_head),
                "{name}: {kinds_against:?}"
            );
        }
        Found::No => assert_eq!((code, code_against), (Some(0), Some(0)), "{name}: {value:#}"),
    }
}

#[test]
fn each_change_of_the_log_and_the_archive_is_found_as_documented() {
    let scene = Scene::recorded();
    for row in OF_THE_LOG {
        attempt(&scene.copy(), row);
    }
}

#[test]
fn each_change_of_an_ended_run_is_found_as_documented() {
    let scene = Scene::ended();
    for row in OF_AN_ENDED_RUN {
        attempt(&scene.copy(), row);
    }
}

#[test]
fn the_security_page_names_every_kind_of_finding() {
    let page = std::fs::read_to_string("docs/reference/security.md").unwrap();
    let table = page.split("| Change | Found as |\n|---|---|\n").nth(1).expect("the table");
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    for (name, found, _) in OF_THE_LOG.iter().chain(OF_AN_ENDED_RUN) {
        let needed = match found {
            Found::Yes(kind) | Found::Note(kind) => format!("`{kind}`"),
            Found::Against | Found::Missing => "only against a head that was noted before".to_owned(),
            Found::No => "not found".to_owned(),
        };
        assert!(rows.iter().any(|row| row.contains(&needed)), "{name}: {needed}");
    }
}

#[test]
fn heads_are_printed_and_checked() {
    let scene = Scene::recorded().copy();
    let head = scene.head();
    let heads = scene.sandbox.printed(&["verify", "--head"]);
    assert_eq!(heads.lines().count(), 2, "of the run, and of its session before it: {heads}");
    let file = scene.sandbox.keep("../heads.txt");
    std::fs::write(&file, heads).unwrap();
    let file = file.to_str().unwrap();
    scene.call("later");
    for against in [&head, file] {
        let (code, _, value) = kinds(&scene, &["--against", against]);
        assert_eq!((code, value["whole"].clone()), (Some(0), json!(true)));
        assert_eq!(value["chain"]["logs"], 2);
    }
    let (log, point) = head.split_once(':').unwrap();
    let (count, hash) = point.split_once(':').unwrap();
    let later = count.parse::<u64>().unwrap() + 100;
    for other in [format!("{log}:{later}:{hash}"), format!("{log}:1:{hash}")] {
        let (code, kinds, _) = kinds(&scene, &["--against", &other]);
        assert_eq!((code, kinds), (Some(1), vec!["head-mismatch".to_owned()]), "{other}");
        for both in [["--against", &head, "--against", &other], ["--against", &other, "--against", &head]] {
            assert_eq!(self::kinds(&scene, &both).1, ["head-mismatch"], "{both:?}");
        }
    }
    let unknown = format!("0123456789abcdef:1:{hash}");
    assert_eq!(kinds(&scene, &["--against", &unknown]).1, ["removed-head"]);
    for bad in ["", "5", &format!("{log}:{count}:x"), hash, "/nonexistent"] {
        assert_eq!(scene.sandbox.run(&["verify", "--against", bad]).code, Some(64), "{bad}");
    }
    let empty = Sandbox::new().run(&["verify", "--head"]);
    assert!(empty.code == Some(1) && empty.err.contains("no events recorded yet"), "{}", empty.err);
}

#[test]
fn a_noted_head_of_a_session_whose_lines_retention_removed_is_reported_as_removed() {
    let scene = Scene::recorded().copy();
    let other = "00000009-0000-4000-8000-000000000001";
    Lead::of(&scene.sandbox, other).hook("UserPromptSubmit", json!({"prompt": "no team"}));
    let heads = scene.sandbox.printed(&["verify", "--head"]);
    let head = heads.lines().find(|line| line.contains(other)).unwrap();
    scene.sandbox.age_session_logs(400);
    scene.sandbox.run(&["finish"]);
    let (code, kinds, _) = kinds(&scene, &["--against", head]);
    assert_eq!((code, kinds), (Some(1), vec!["removed-head".to_owned()]));
    assert_eq!(self::kinds(&scene, &[]).0, Some(0));
}

#[test]
fn a_pruned_run_leaves_no_finding() {
    let scene = Scene::ended().copy();
    let result = scene.sandbox.run(&["prune", "--keep", "0", "--yes"]);
    assert_eq!(result.code, Some(0), "{}{}", result.out, result.err);
    assert!(scene.sandbox.teams().is_empty());
    let (code, _, value) = kinds(&scene, &[]);
    assert_eq!((code, &value["checked"]["runs"]), (Some(0), &json!(0)), "{value:#}");
}

#[test]
fn a_redacted_export_has_no_hashes_of_what_was_redacted() {
    let scene = Scene::ended().copy();
    let path = scene.sandbox.keep("../run.tgz");
    let export = |more: &[&str]| {
        let run = scene.sandbox.teams()[0]["run"].as_str().unwrap().to_owned();
        let args = [&["export", &run, "--force", "-o", path.to_str().unwrap()], more].concat();
        assert_eq!(scene.sandbox.run(&args).code, Some(0));
        gunzip(&path)
    };
    assert!(export(&[]).contains(",\"chain\":\""));
    let redacted = export(&["--redact"]);
    assert!(
        redacted.contains("events.jsonl")
            && !redacted.contains("\"chain\":\"")
            && !redacted.contains("\"snapshots\":")
    );
}

#[test]
fn an_imported_run_is_not_part_of_the_chain() {
    let scene = Scene::ended().copy();
    let path = scene.sandbox.keep("../run.tgz");
    let run = scene.sandbox.teams()[0]["run"].as_str().unwrap().to_owned();
    let path = path.to_str().unwrap();
    assert_eq!(scene.sandbox.run(&["export", &run, "--force", "-o", path]).code, Some(0));
    assert_eq!(scene.sandbox.run(&["prune", "--keep", "0", "--yes"]).code, Some(0));
    assert_eq!(scene.sandbox.run(&["import", path]).code, Some(0));
    let (code, _, value) = kinds(&scene, &[]);
    assert_eq!((code, &value["checked"]["runs"]), (Some(0), &json!(1)), "{value:#}");
}

#[test]
fn metadata_only_events_are_chained_as_they_are_recorded() {
    let scene = Scene::recorded().copy();
    scene.sandbox.configure("[privacy]\nrecord = \"metadata\"\n");
    scene.call("a secret");
    assert!(!lines_of(&scene.segment(scene.last_segment().0)).concat().contains("a secret"));
    assert_eq!(kinds(&scene, &[]).0, Some(0));
}

#[test]
fn gzip_of_the_tests_is_read_as_the_file_of_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let path: &Path = &dir.path().join("x.gz");
    gzip(path, "one\ntwo\n");
    assert_eq!(gunzip(path), "one\ntwo\n");
}
