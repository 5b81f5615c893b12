//! Recorded runs with the project's paths in the form of Windows have the same facts. The files that a hook opens keep their paths.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::traces::ALL;
use crate::support::reenact::{Trace, local};
use crate::support::sandbox::Sandbox;

/// A text with the project's paths in the form of Windows. JSON in it stays JSON.
fn rewritten(text: &str) -> String {
    static PROJECT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"/home/dev/parser[\w./-]*").unwrap());
    if !text.contains("home") {
        return text.to_owned();
    }
    let of_line = |line: &str| match serde_json::from_str(line) {
        Ok(mut value @ (Value::Object(_) | Value::Array(_))) => {
            rewrite(&mut value);
            value.to_string()
        }
        _ => PROJECT
            .replace_all(line, |path: &regex::Captures<'_>| {
                path[0].replacen("/home", "C:/Users", 1).replace('/', "\\")
            })
            .replace("-home-dev-", "C--Users-dev-"),
    };
    match serde_json::from_str::<Value>(text) {
        Ok(value) => of_line(&value.to_string()) + if text.ends_with('\n') { "\n" } else { "" },
        Err(_) => text.split('\n').map(of_line).collect::<Vec<_>>().join("\n"),
    }
}

fn rewrite(value: &mut Value) {
    match value {
        Value::String(text) => *text = rewritten(text),
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        Value::Object(fields) => {
            let renamed = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                rewrite(&mut value);
                (rewritten(&name), value)
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
fn runs_with_the_paths_of_windows_have_the_same_facts() {
    let mut has_paths = false;
    for (name, began) in ALL {
        let mut trace = Trace::read(name, began);
        trace.steps.iter_mut().for_each(rewrite);
        let mut expected = printed(&Trace::read(name, began));
        expected.iter_mut().for_each(rewrite);
        let found = printed(&trace);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(found.len(), expected.len());
        has_paths |= found.iter().any(|fact| fact.to_string().contains(r"C:\\Users\\dev\\parser"));
    }
    assert!(has_paths);
}
