//! Names of teams and task lists up to the 255 bytes that a directory's name may have.

use serde_json::json;

use crate::policy::gate_sandbox::{SESSION, TEAM, busy, pairs, shutdown, verdicts};
use crate::support::sandbox::Sandbox;

/// A team with this name, and a task that bob has begun.
fn team(name: &str) -> Sandbox {
    let sandbox = Sandbox::judging();
    let config = json!({"name": name, "createdAt": 1, "leadSessionId": SESSION, "members": [{"name": "team-lead"}, {"name": "bob"}]});
    sandbox.write(&format!("teams/{name}/config.json"), config);
    let task = json!({"id": "2", "subject": "Review", "status": "in_progress", "owner": "bob"});
    sandbox.write(&format!("tasks/{name}/2.json"), task);
    sandbox
}

#[test]
fn a_team_with_a_long_name_is_recorded_and_judged() {
    for length in [200, 201, 245, 255] {
        let name = "t".repeat(length);
        let sandbox = team(&name);
        let result = sandbox.feed("pre-tool-use", shutdown("").as_bytes(), &[]);
        assert_eq!(result.code, Some(2), "{length}: {result:?}");
        assert_eq!(pairs(&verdicts(&sandbox)), [("shutdown-of-busy-teammate", "block")], "{length}");
        assert_eq!(sandbox.diagnostics(), "", "{length}");
        assert_eq!(sandbox.teams()[0]["team"], json!(name));
        assert!(sandbox.printed(&["status"]).contains(&name[..20]));
        assert_eq!(sandbox.run(&["verify"]).code, Some(0), "{length}");
        sandbox.remove_dir(&format!("teams/{name}"));
        sandbox.hook(json!({"hook_event_name": "SessionEnd", "session_id": SESSION, "reason": "other"}), &[]);
        sandbox.finish();
        assert!(sandbox.teams()[0]["ended_at"].is_string(), "{length}");
        assert!(sandbox.archive().open_subjects().is_empty(), "{length}");
    }
}

#[test]
fn two_long_names_with_the_same_beginning_are_two_teams() {
    let (one, other) = (format!("{}1", "t".repeat(250)), format!("{}2", "t".repeat(250)));
    let sandbox = team(&one);
    let config = json!({"name": other, "createdAt": 2, "leadSessionId": "bbbbbbbb-0000-4000-8000-000000000001", "members": [{"name": "team-lead"}]});
    sandbox.write(&format!("teams/{other}/config.json"), config);
    sandbox.feed("pre-tool-use", shutdown("").as_bytes(), &[]);
    assert_eq!(sandbox.archive().open_subjects().len(), 2);
    assert_eq!(sandbox.teams().len(), 2);
}

#[test]
fn a_task_list_with_a_long_name_is_judged() {
    for length in [200, 201, 255] {
        let (sandbox, list) = (busy(""), "l".repeat(length));
        std::fs::rename(sandbox.client(&format!("tasks/{TEAM}")), sandbox.client(&format!("tasks/{list}")))
            .unwrap();
        let env = [("CLAUDE_CODE_TASK_LIST_ID", list.as_str())];
        let result = sandbox.feed("pre-tool-use", shutdown("").as_bytes(), &env);
        assert_eq!(result.code, Some(2), "{length}: {result:?}");
        assert_eq!(pairs(&verdicts(&sandbox)), [("shutdown-of-busy-teammate", "block")], "{length}");
    }
}
