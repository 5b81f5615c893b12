//! A roster, an inbox or a task. A file that has no flaw is parsed, and facts kept in the index are those of the file.

use teamkeep_model::team::{FileFacts, Flaw, Lists, TeamFile};
use teamkeep_policy::TeamState;

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
    let facts = FileFacts::of(path, bytes);
    let Some(file) = TeamFile::of(path, &lists) else { return };
    let parsed = file.parse(bytes);
    assert!(flaw.is_none() || parsed.is_none(), "a file that Claude Code cannot read was parsed: {flaw:?}");
    let Some(facts) = facts else { return };
    let kept = serde_json::to_vec(&facts).unwrap();
    let again: FileFacts = serde_json::from_slice(&kept).unwrap();
    assert!(file.fits(&again));
    let team_without_text = |mut facts: FileFacts| {
        // The index has only the fields that gates read.
        if let FileFacts::Task(Some(task)) = &mut facts {
            task.raw = serde_json::Value::Null;
        }
        let mut team = TeamState::default();
        team.put_file(file, facts);
        format!("{team:?}")
    };
    assert_eq!(team_without_text(again), team_without_text(parsed.unwrap()));
}
