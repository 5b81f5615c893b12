//! Names of teams and task lists up to the 255 bytes that a directory's name may have.

use serde_json::json;

use super::policy_stage::{SESSION, TEAM, busy, pairs, shutdown, verdicts};
use super::stage::Stage;

/// A team with this name, and a task that bob has begun.
fn team(name: &str) -> Stage {
    let stage = Stage::judging();
    let config = json!({"name": name, "createdAt": 1, "leadSessionId": SESSION, "members": [{"name": "team-lead"}, {"name": "bob"}]});
    stage.write(&format!("teams/{name}/config.json"), config);
    let task = json!({"id": "2", "subject": "Review", "status": "in_progress", "owner": "bob"});
    stage.write(&format!("tasks/{name}/2.json"), task);
    stage
}

#[test]
fn a_team_with_a_long_name_is_recorded_and_judged() {
    for length in [200, 201, 245, 255] {
        let name = "t".repeat(length);
        let stage = team(&name);
        let said = stage.feed("pre-tool-use", shutdown("").as_bytes(), &[]);
        assert_eq!(said.code, Some(2), "{length}: {said:?}");
        assert_eq!(pairs(&verdicts(&stage)), [("shutdown-of-busy-teammate", "block")], "{length}");
        assert_eq!(stage.diagnostics(), "", "{length}");
        assert_eq!(stage.teams()[0]["team"], json!(name));
        assert!(stage.told(&["status"]).contains(&name[..20]));
        assert_eq!(stage.run(&["verify"]).code, Some(0), "{length}");
        stage.remove_dir(&format!("teams/{name}"));
        stage.hook(json!({"hook_event_name": "SessionEnd", "session_id": SESSION, "reason": "other"}), &[]);
        stage.finish();
        assert!(stage.teams()[0]["ended_at"].is_string(), "{length}");
        assert!(stage.archive().open_subjects().is_empty(), "{length}");
    }
}

#[test]
fn two_long_names_with_the_same_beginning_are_two_teams() {
    let (one, other) = (format!("{}1", "t".repeat(250)), format!("{}2", "t".repeat(250)));
    let stage = team(&one);
    let config = json!({"name": other, "createdAt": 2, "leadSessionId": "bbbbbbbb-0000-4000-8000-000000000001", "members": [{"name": "team-lead"}]});
    stage.write(&format!("teams/{other}/config.json"), config);
    stage.feed("pre-tool-use", shutdown("").as_bytes(), &[]);
    assert_eq!(stage.archive().open_subjects().len(), 2);
    assert_eq!(stage.teams().len(), 2);
}

#[test]
fn a_task_list_with_a_long_name_is_judged() {
    for length in [200, 201, 255] {
        let (stage, list) = (busy(""), "l".repeat(length));
        std::fs::rename(stage.client(&format!("tasks/{TEAM}")), stage.client(&format!("tasks/{list}")))
            .unwrap();
        let env = [("CLAUDE_CODE_TASK_LIST_ID", list.as_str())];
        let said = stage.feed("pre-tool-use", shutdown("").as_bytes(), &env);
        assert_eq!(said.code, Some(2), "{length}: {said:?}");
        assert_eq!(pairs(&verdicts(&stage)), [("shutdown-of-busy-teammate", "block")], "{length}");
    }
}
