//! What `search` finds, and where.

pub mod options;
pub mod queries;
pub mod recorded_runs;
pub mod sources;

use serde_json::Value;

use crate::support::sandbox::Sandbox;

/// The hits of a search, which must succeed.
pub fn hits(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    let out = sandbox.printed(&[&["search", "--json"], args].concat());
    let mut found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&found["v"], &found["stopped"]), (&Value::from(1), &Value::Null));
    found["hits"].as_array_mut().unwrap().drain(..).collect()
}

pub fn text<'a>(hit: &'a Value, key: &str) -> &'a str {
    hit[key].as_str().unwrap_or_default()
}

/// The matches that are marked in an excerpt.
pub fn marked(hit: &Value) -> Vec<String> {
    let chars: Vec<char> = text(&hit["snippet"], "text").chars().collect();
    let marks = hit["snippet"]["marks"].as_array().unwrap().iter();
    let place = |mark: &Value, end: usize| usize::try_from(mark[end].as_u64().unwrap()).unwrap();
    marks.map(|mark| chars[place(mark, 0)..place(mark, 1)].iter().collect()).collect()
}
