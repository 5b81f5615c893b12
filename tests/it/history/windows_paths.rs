//! Recorded runs with the project's paths in the forms of Windows, on a drive and on a server, have the same facts. The files that a
//! hook opens keep their paths.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::traces::{ALL, V328};
use crate::store::bundle_sandbox::{export, import, unpacked};
use crate::support::reenact::{Trace, local};
use crate::support::sandbox::Sandbox;

/// Where the project is.
#[derive(Clone, Copy)]
struct Place {
    /// In place of `/home`, with slashes.
    root: &'static str,
    /// In place of `-home-`, in the names of directories of transcripts.
    spelled: &'static str,
}

const PLACES: [Place; 2] = [
    Place { root: "C:/Users", spelled: "C--Users-" },
    Place { root: "//server/home", spelled: "--server-home-" },
];

/// A text with the project's paths in the form of Windows. JSON in it stays JSON.
fn rewritten(text: &str, place: Place) -> String {
    static PROJECT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"/home/dev/parser[\w./-]*").unwrap());
    if !text.contains("home") {
        return text.to_owned();
    }
    let of_line = |line: &str| match serde_json::from_str(line) {
        Ok(mut value @ (Value::Object(_) | Value::Array(_))) => {
            rewrite(&mut value, place);
            value.to_string()
        }
        _ => PROJECT
            .replace_all(line, |path: &regex::Captures<'_>| {
                path[0].replacen("/home", place.root, 1).replace('/', "\\")
            })
            .replace("-home-dev-", &format!("{}dev-", place.spelled)),
    };
    match serde_json::from_str::<Value>(text) {
        Ok(value) => of_line(&value.to_string()) + if text.ends_with('\n') { "\n" } else { "" },
        Err(_) => text.split('\n').map(of_line).collect::<Vec<_>>().join("\n"),
    }
}

fn rewrite(value: &mut Value, place: Place) {
    match value {
        Value::String(text) => *text = rewritten(text, place),
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite(item, place)),
        Value::Object(fields) => {
            let renamed = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                rewrite(&mut value, place);
                (rewritten(&name, place), value)
            });
            *fields = renamed.collect();
        }
        _ => {}
    }
}

/// What the commands print of a run, as in the recorded user's home. The background work after each call is awaited: in a session
/// that continues after its run, both replays archive the same part of its transcript.
fn printed(trace: &Trace) -> Vec<Value> {
    let sandbox = Sandbox::new();
    for (payload, result) in trace.settled_answers(&sandbox) {
        assert_eq!(result.code, Some(0), "{payload}: {result:?}");
    }
    std::fs::remove_dir_all(sandbox.client("projects")).unwrap();
    let commands: [&[&str]; 3] = [
        &["log", "latest", "--json"],
        &["show", "latest", "--json"],
        &["report", "latest", "--format", "json"],
    ];
    let (home, spelled) = (local(&sandbox, "/home/dev"), local(&sandbox, "-home-dev-"));
    let outputs = commands.map(|command| sandbox.printed(command));
    let lines = outputs.iter().flat_map(|output| match serde_json::from_str::<Value>(output) {
        Ok(whole) => vec![whole],
        Err(_) => output.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
    });
    let recorded =
        lines.map(|line| line.to_string().replace(&home, "/home/dev").replace(&spelled, "-home-dev-"));
    recorded.map(|line| serde_json::from_str(&line).unwrap()).collect()
}

#[test]
fn a_redacted_export_has_no_home_directory_of_windows() {
    for place in PLACES {
        let (name, began) = V328;
        let mut trace = Trace::read(name, began);
        trace.steps.iter_mut().for_each(|step| rewrite(step, place));
        let sandbox = Sandbox::new();
        trace.settled_answers(&sandbox);
        check_redacted(&sandbox);
    }
}

/// Checks that the home directory is in the export of a run, and not in the redacted one.
fn check_redacted(sandbox: &Sandbox) {
    let home = Regex::new(r"(?i)(users|home)[\\/-]+dev").unwrap();
    let has_home = |name: &str, options: &[&str]| {
        let files = unpacked(&export(sandbox, "latest", name, options));
        files.values().any(|file| home.is_match(&String::from_utf8_lossy(file)))
    };
    assert!(has_home("run.tar.gz", &[]));
    assert!(!has_home("clean.tar.gz", &["--redact"]));
}

#[test]
fn the_agents_of_transcripts_with_the_paths_of_windows_are_found() {
    let (name, began) = V328;
    let (sandbox, elsewhere) = (Sandbox::new(), Sandbox::new());
    Trace::read(name, began).play(&sandbox, 1);
    sandbox.finish();
    let bundle = export(&sandbox, "latest", "run.tar.gz", &[]);
    assert_eq!(import(&elsewhere, &bundle).code, Some(0));
    let run = elsewhere.library().runs[0].run.clone();
    let found = || {
        let result = elsewhere.run(&["search", "e", "--json", "--limit", "1000"]);
        let found: Value = serde_json::from_str(&result.out).unwrap();
        let hits = found["hits"].as_array().unwrap().iter();
        let of_transcripts = hits.filter(|hit| !hit["transcript"].is_null());
        of_transcripts.map(|hit| json!([hit["agent"], hit["session"], hit["snippet"]])).collect::<Vec<_>>()
    };
    let before = found();
    assert!(before.iter().any(|hit| hit[0] == "Explore"), "{before:?}");
    let home = sandbox.home();
    for file in ["run.json", "transcripts.json"] {
        let path = elsewhere.keep(&format!("runs/{run}/{file}"));
        let mut json: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        to_windows(&mut json, home.to_str().unwrap());
        assert!(json.to_string().contains("subagents") || file == "run.json");
        assert!(!json.to_string().contains("/projects/"));
        std::fs::write(&path, json.to_string()).unwrap();
    }
    assert_eq!(found(), before);
}

/// Moves the paths below this home directory to a drive, in values and in keys.
fn to_windows(value: &mut Value, home: &str) {
    let moved = |text: &str| match text.strip_prefix(home) {
        Some(below) => format!("C:/Users/dev{below}").replace('/', "\\"),
        None => text.to_owned(),
    };
    match value {
        Value::String(text) => *text = moved(text),
        Value::Array(items) => items.iter_mut().for_each(|item| to_windows(item, home)),
        Value::Object(fields) => {
            let renamed = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                to_windows(&mut value, home);
                (moved(&name), value)
            });
            *fields = renamed.collect();
        }
        _ => {}
    }
}

#[test]
fn runs_with_the_paths_of_windows_have_the_same_facts() {
    let mut places_found = [false; PLACES.len()];
    for (name, began) in ALL {
        let recorded = printed(&Trace::read(name, began));
        for (place, is_found) in PLACES.into_iter().zip(&mut places_found) {
            let mut trace = Trace::read(name, began);
            trace.steps.iter_mut().for_each(|step| rewrite(step, place));
            let mut expected = recorded.clone();
            expected.iter_mut().for_each(|fact| rewrite(fact, place));
            let found = printed(&trace);
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{name} in {}", place.root);
            }
            assert_eq!(found.len(), expected.len());
            let project = format!("{}/dev/parser", place.root).replace('/', "\\\\");
            *is_found |= found.iter().any(|fact| fact.to_string().contains(&project));
        }
    }
    assert_eq!(places_found, [true; PLACES.len()]);
}
