//! The parts of the live runs that need no client: the page that they write, and the API that they speak.

#![allow(dead_code)]

#[path = "../../live/stream.rs"]
mod stream;
#[path = "../../live/table.rs"]
mod table;
#[path = "../../live/version.rs"]
mod version;

use std::path::Path;

use serde_json::{Value, json};
use table::Table;
use version::Version;

fn page() -> String {
    file("tests/live/results.md")
}

fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn the_contributing_guide_has_the_command_that_just_runs() {
    let justfile = file("justfile");
    let (_, recipe) = justfile.split_once("\nlive *ARGS:\n").unwrap();
    let command = recipe.lines().next().unwrap().trim().strip_suffix(" {{ARGS}}").unwrap();
    assert!(command.ends_with(" -- --live"), "{command}");
    assert!(
        file("CONTRIBUTING.md").lines().any(|line| line.starts_with(&format!("{command} "))),
        "{command}"
    );
}

#[test]
fn the_table_of_the_live_runs_is_as_the_command_writes_it() {
    let page = page();
    let table = Table::read(&page).unwrap();
    assert_eq!(table.written_into(&page).unwrap(), page);
    let usage = file("tests/live/arguments.rs");
    assert!(table.runs.iter().all(|(_, run, _)| usage.contains(run.as_str())), "{:?}", table.runs);
    for text in ["2.1.328", "2.1.177", "2.1.47"] {
        let version = Version::parse(text).unwrap();
        for run in ["in-process", "plugin", "plugin-and-settings"] {
            assert!(table.runs.iter().any(|row| row.0 == version && row.1 == run), "{text} {run}");
        }
        let events = &table.events[&version];
        assert!(events.is_sorted() && events.iter().any(|event| event == "TeammateIdle"), "{events:?}");
    }
}

#[test]
fn a_run_that_is_seen_again_takes_the_place_of_its_row() {
    let cells = |word: &str| std::array::from_fn(|_| word.to_owned());
    let mut table = Table::default();
    for (version, run) in [("2.1.47", "panes"), ("2.1.328", "panes"), ("2.1.328", "policy")] {
        assert!(!table.put(Version::parse(version).unwrap(), run, cells("old")));
    }
    assert!(table.put(Version::parse("2.1.328").unwrap(), "panes", cells("new")));
    let order: Vec<String> =
        table.runs.iter().map(|(version, run, cells)| format!("{version} {run} {}", cells[0])).collect();
    assert_eq!(order, ["2.1.328 panes new", "2.1.328 policy old", "2.1.47 panes old"]);
    table.forget(Version::parse("2.1.328").unwrap(), "panes");
    assert_eq!(table.runs.len(), 2, "one that failed is not told any more");
}

#[test]
fn a_row_with_a_cell_too_few_is_no_table() {
    let page = page().replace("| version | run |", "| 2.1.1 | panes | only this |\n| client | run |");
    assert!(Table::read(&page).unwrap_err().contains("another number of cells"));
}

#[test]
fn a_streamed_message_adds_up_to_the_whole_one() {
    let content = json!([
        {"type": "text", "text": "über\n\nline"},
        {"type": "tool_use", "id": "toolu_1", "name": "TaskUpdate", "input": {"taskId": "1"}},
    ]);
    let message = json!({"id": "msg_1", "content": content, "stop_reason": "tool_use"});
    let text = stream::events(&message);
    let mut built = Vec::new();
    let mut stop = Value::Null;
    for event in text.split("\n\n").filter(|event| !event.is_empty()) {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name, format!("event: {}", data["type"].as_str().unwrap()));
        match data["type"].as_str().unwrap() {
            "content_block_start" => built.push(data["content_block"].clone()),
            "content_block_delta" if data["delta"]["type"] == "text_delta" => {
                built.last_mut().unwrap()["text"] = data["delta"]["text"].clone();
            }
            "content_block_delta" => {
                let input = data["delta"]["partial_json"].as_str().unwrap();
                built.last_mut().unwrap()["input"] = serde_json::from_str(input).unwrap();
            }
            "message_delta" => stop = data["delta"]["stop_reason"].clone(),
            _ => {}
        }
    }
    assert_eq!((json!(built), stop), (message["content"].clone(), json!("tool_use")));
}
