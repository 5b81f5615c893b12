//! A roster, an inbox or a task. A file that has no flaw is parsed, and facts kept in the index are those of the file.

use teamkeep_model::team::{Facts, Flaw, Lists, TeamFile};

const PATHS: [&str; 4] = [
    "teams/session-a/config.json",
    "teams/session-a/inboxes/bob.json",
    "tasks/session-a/1.json",
    "tasks/bob/3.json",
];

pub fn run(data: &[u8]) {
    let Some((first, bytes)) = data.split_first() else { return };
    let path = PATHS[usize::from(*first) % PATHS.len()];
    let lists = Lists::of_team(Some("session-a"));
    let flaw = Flaw::of(path, bytes);
    let facts = Facts::of(path, bytes);
    let Some(file) = TeamFile::of(path, &lists) else { return };
    let parsed = file.parse(bytes);
    assert!(flaw.is_none() || parsed.is_none(), "a file that Claude Code cannot read was parsed: {flaw:?}");
    let Some(facts) = facts else { return };
    let kept = serde_json::to_vec(&facts).unwrap();
    let again: Facts = serde_json::from_slice(&kept).unwrap();
    let without_text = |mut content: Option<Facts>| {
        // The index has only the fields that gates read.
        if let Some(Facts::Task(Some(task))) = &mut content {
            task.raw = serde_json::Value::Null;
        }
        format!("{content:?}")
    };
    assert_eq!(without_text(Some(again)), without_text(parsed));
}
