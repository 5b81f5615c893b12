//! Recorded runs are the same elsewhere.

use serde_json::Value;

use super::bundle_sandbox::{export, import, outputs, unpacked};
use crate::support::reenact::Trace;
use crate::support::sandbox::Sandbox;

fn played((name, began): (&str, &'static str)) {
    let here = Sandbox::new();
    Trace::read(name, began).play(&here, 1);
    here.finish();
    std::fs::remove_dir_all(here.client("projects")).unwrap();
    let path = export(&here, "latest", "run.tar.gz", &[]);
    let elsewhere = Sandbox::new();
    here.set_clock(0);
    let result = import(&elsewhere, &path);
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert_eq!(outputs(&here), outputs(&elsewhere));
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
    let third = Sandbox::new();
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
fn a_run_of_2_1_47_is_the_same_after_an_import() {
    played(("v47-inprocess", "2026-11-20T04:37:57.500Z"));
}

#[test]
fn a_run_of_2_1_177_is_the_same_after_an_import() {
    played(("v177-inprocess", "2026-11-20T04:39:22.700Z"));
}

#[test]
fn a_run_of_2_1_328_is_the_same_after_an_import() {
    played(("v328-inprocess", "2026-11-20T04:40:41.150Z"));
}

#[test]
fn a_run_in_split_panes_is_the_same_after_an_import() {
    played(("v328-panes", "2026-11-20T04:41:53.770Z"));
}

#[test]
fn a_run_without_tasks_is_the_same_after_an_import() {
    played(("v328-notasks", "2026-11-20T04:43:10.860Z"));
}

#[test]
fn a_run_whose_tasks_were_erased_is_the_same_after_an_import() {
    played(("v328-gc", "2026-11-20T04:54:29.340Z"));
}

#[test]
fn a_session_without_a_team_is_the_same_after_an_import() {
    played(("v328-headless", "2026-11-20T05:15:34.240Z"));
}
