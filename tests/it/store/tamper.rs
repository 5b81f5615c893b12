//! Changes that others make to the recorded data are found as documented.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::retention::{act, end};
use super::tamper_attacks::{AFTER_RETENTION, Attack, Found, OF_THE_LOG};
use super::tamper_scene::{Scene, gunzip, gzip, lines_of, write_lines};
use crate::support::client_files::Lead;

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
    let is_head = |kind: &String| kind == "head-mismatch";
    match found {
        Found::Yes(kind) => {
            assert_eq!(code, Some(1), "{name}: nothing found");
            assert!(kinds_there.iter().any(|there| there == kind), "{name}: {value:#}");
            assert!(kinds_there.len() <= 3, "{name}: {value:#}");
        }
        Found::Against => {
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
fn each_change_after_retention_is_found_as_documented() {
    let scene = Scene::retained();
    for row in AFTER_RETENTION {
        attempt(&scene.copy(), row);
    }
}

#[test]
fn the_security_page_names_every_kind_of_finding() {
    let page = std::fs::read_to_string("docs/reference/security.md").unwrap();
    let table = page.split("| Change | Found as |\n|---|---|\n").nth(1).expect("the table");
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    for (name, found, _) in OF_THE_LOG.iter().chain(AFTER_RETENTION) {
        let needed = match found {
            Found::Yes(kind) => format!("`{kind}`"),
            Found::Against => "only against a head that was noted before".to_owned(),
            Found::No => "not found".to_owned(),
        };
        assert!(rows.iter().any(|row| row.contains(&needed)), "{name}: {needed}");
    }
}

#[test]
fn the_head_is_printed_and_checked() {
    let scene = Scene::recorded().copy();
    let head = scene.head();
    let told = scene.sandbox.told(&["verify", "--head"]);
    assert!(told.starts_with(&format!("{head}  2026-02-03 ")), "{told}");
    scene.call("later");
    let (code, _, value) = kinds(&scene, &["--against", &head]);
    assert_eq!((code, value["whole"].clone()), (Some(0), json!(true)));
    assert_eq!(value["chain"]["head"]["count"], value["chain"]["present"]);
    let (count, hash) = head.split_once(':').unwrap();
    let later = count.parse::<u64>().unwrap() + 100;
    for other in [format!("{later}:{hash}"), format!("1:{hash}")] {
        let (code, kinds, _) = kinds(&scene, &["--against", &other]);
        assert_eq!((code, kinds), (Some(1), vec!["head-mismatch".to_owned()]), "{other}");
        for both in [["--against", &head, "--against", &other], ["--against", &other, "--against", &head]] {
            assert_eq!(self::kinds(&scene, &both).1, ["head-mismatch"], "{both:?}");
        }
    }
    for bad in ["", "5", &format!("{count}:x"), hash] {
        assert_eq!(scene.sandbox.run(&["verify", "--against", bad]).code, Some(64), "{bad}");
    }
    std::fs::remove_file(scene.lock()).unwrap();
    let result = scene.sandbox.run(&["verify", "--head"]);
    assert!(result.code == Some(1) && result.err.contains("has no head"), "{}", result.err);
}

#[test]
fn a_noted_head_stays_in_the_chain_after_retention_if_it_was_the_end_of_a_segment() {
    let scene = Scene::recorded().copy();
    let end_of_first = lines_of(&scene.segment(0)).pop().unwrap();
    let inside = lines_of(&scene.segment(0)).remove(1);
    let point = |line: &str| {
        let mark = line.split(",\"chain\":\"").nth(1).unwrap().trim_end_matches("\"}").to_owned();
        let fields: Vec<&str> = mark.split(':').collect();
        format!("{}:{}", fields[0], fields[2])
    };
    scene.end_and_retain();
    assert!(!scene.segments().is_empty());
    let (code, kinds_end, value) = kinds(&scene, &["--against", &point(&end_of_first)]);
    assert_eq!((code, kinds_end), (Some(0), vec![]), "{value:#}");
    assert!(value["chain"]["removed"].as_u64().unwrap() > 10, "{value:#}");
    let (code, kinds_inside, _) = kinds(&scene, &["--against", &point(&inside)]);
    assert_eq!((code, kinds_inside), (Some(1), vec!["removed-head".to_owned()]));
}

#[test]
fn a_store_of_an_earlier_version_is_chained_from_the_next_call_on() {
    let scene = Scene::recorded().copy();
    for segment in scene.segments() {
        let unchained = |line: String| line.split(",\"chain\":\"").next().unwrap().to_owned() + "}";
        let lines: Vec<String> = lines_of(&segment).into_iter().map(unchained).collect();
        write_lines(&segment, &lines);
    }
    std::fs::remove_file(scene.lock()).unwrap();
    let (code, _, value) = kinds(&scene, &[]);
    assert_eq!(
        (code, &value["chain"]["head"], &value["chain"]["present"]),
        (Some(0), &Value::Null, &json!(0))
    );
    scene.call("later");
    let (code, _, value) = kinds(&scene, &[]);
    assert_eq!((code, &value["chain"]["present"]), (Some(0), &json!(1)), "{value:#}");
    let told = scene.sandbox.told(&["verify"]);
    assert!(told.contains("cannot be checked for changes: the hash chain begins there"), "{told}");
    let before = value["chain"]["before"].clone();
    assert!(before.as_u64().unwrap() > 10);
    scene.end_and_retain();
    assert_eq!(kinds(&scene, &[]).0, Some(0));
}

#[test]
fn a_pruned_run_is_not_missing() {
    let scene = Scene::retained().copy();
    let result = scene.sandbox.run(&["prune", "--keep", "0", "--yes"]);
    assert_eq!(result.code, Some(0), "{}{}", result.out, result.err);
    assert!(scene.sandbox.teams().is_empty());
    let (code, _, value) = kinds(&scene, &[]);
    assert_eq!((code, &value["checked"]["runs"]), (Some(0), &json!(0)), "{value:#}");
    let part: PathBuf = scene.changes();
    assert!(lines_of(&part).iter().any(|line| line.contains("\"pruned_runs\":[\"")));
}

#[test]
fn a_redacted_export_has_no_hashes_of_what_was_redacted() {
    let scene = Scene::retained().copy();
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
        redacted.contains("\"events.jsonl\"")
            && !redacted.contains("\"chain\":\"")
            && !redacted.contains("\"snapshots\":")
    );
}

#[test]
fn an_imported_run_is_not_part_of_the_chain() {
    let scene = Scene::retained().copy();
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
    let lead = Lead::of(&scene.sandbox, super::tamper_scene::OTHER);
    lead.hook("Stop", json!({}));
    assert_eq!(kinds(&scene, &[]).0, Some(0));
}

#[test]
fn gzip_of_the_tests_is_read_as_the_file_of_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let path: &Path = &dir.path().join("x.gz");
    gzip(path, "one\ntwo\n");
    assert_eq!(gunzip(path), "one\ntwo\n");
}

#[test]
fn a_removal_whose_record_was_cut_off_was_not_made() {
    let scene = Scene::retained();
    let mut changes = std::fs::read(scene.changes()).unwrap();
    changes.extend_from_slice(b"{\"v\":1,\"at\":\"2026-02");
    std::fs::write(scene.changes(), changes).unwrap();
    let (code, found, value) = kinds(&scene, &[]);
    assert_eq!((code, found), (Some(0), vec![]));
    assert_eq!(value["notes"][0]["kind"], "cut-line");
    assert_eq!(value["notes"][0]["what"], "cut off: its writer was probably killed");
    scene.sandbox.set_clock(scene.sandbox.millis() + 86_400_000);
    scene.call("on the next day");
    scene.retain();
    assert!(lines_of(&scene.changes()).last().unwrap().contains("\"removed\":"));
    assert!(kinds(&scene, &[]).1.is_empty(), "later removals are recorded after it");
}

#[test]
fn a_chain_that_starts_again_is_found_once_although_the_run_has_a_copy_of_the_line() {
    let scene = Scene::recorded();
    std::fs::remove_file(scene.lock()).unwrap();
    act(&scene.sandbox, 1);
    end(&scene.sandbox, &Lead::of(&scene.sandbox, "00000001-0000-4000-8000-000000000001"));
    scene.sandbox.finish();
    assert!(scene.part().exists());
    assert_eq!(kinds(&scene, &[]).1, ["restarted-chain"]);
}
