//! `teamkeep pause`, `resume` and `allow`: the exceptions of a user, and what is recorded of them.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

fn policy(sandbox: &Sandbox, line: &str) -> String {
    let args: Vec<&str> = line.split_whitespace().collect();
    let result = sandbox.run(&args);
    assert_eq!(result.code, Some(0), "{line}: {}", result.err);
    format!("{}{}", result.out, result.err)
}

/// A stage with a store in which nothing is recorded.
fn with_store() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.keep("")).unwrap();
    sandbox
}

/// The active pauses and allowances, as `status` shows them.
fn exceptions(sandbox: &Sandbox) -> String {
    let shown = sandbox.printed(&["status"]);
    let is_exception = |line: &&str| line.starts_with("paused: ") || line.starts_with("allowed once: ");
    shown.lines().filter(is_exception).map(|line| format!("{line}\n")).collect()
}

fn refused(sandbox: &Sandbox, line: &str) -> String {
    let args: Vec<&str> = line.split_whitespace().collect();
    let result = sandbox.run(&args);
    assert_eq!((result.code, result.out.as_str()), (Some(64), ""), "{line}");
    result.err
}

/// The file, without its hash.
fn file(sandbox: &Sandbox) -> Value {
    let bytes = std::fs::read(sandbox.keep("overrides.json")).unwrap();
    let mut file: Value = serde_json::from_slice(&bytes).unwrap();
    file.as_object_mut().unwrap().remove("recorded");
    file
}

#[test]
fn a_pause_applies_until_its_end() {
    let sandbox = with_store();
    assert_snapshot!(policy(&sandbox, "pause premature-shutdown --team t1 15m"), @r#"
    warning: no running team is named "t1"
    paused premature-shutdown in team "t1" until 2026-02-03 04:20:06 UTC; to end it: teamkeep resume
    "#);
    assert_snapshot!(policy(&sandbox, "pause 1h30m"), @"paused every gate and rule until 2026-02-03 05:35:06 UTC; to end it: teamkeep resume");
    assert_snapshot!(exceptions(&sandbox), @r#"
    paused: premature-shutdown in team t1 until 2026-02-03 04:20:06 UTC
    paused: every gate and rule until 2026-02-03 05:35:06 UTC
    "#);
    sandbox.set_clock(15 * 60_000);
    assert_snapshot!(exceptions(&sandbox), @"paused: every gate and rule until 2026-02-03 05:35:06 UTC");
    policy(&sandbox, "pause rule 24h");
    assert_eq!(
        file(&sandbox)["pauses"].as_array().unwrap().len(),
        2,
        "what is over goes when the file is written"
    );
}

#[test]
fn a_later_pause_replaces_that_of_the_same_gate_and_team() {
    let sandbox = Sandbox::new();
    policy(&sandbox, "pause --team t1 10h");
    policy(&sandbox, "pause --team t1 1m");
    assert_eq!(
        file(&sandbox),
        json!({"v": 1, "pauses": [{"gate": null, "team": "t1", "until": "2026-02-03T04:06:06.000Z"}], "shutdowns": []})
    );
}

#[test]
fn resume_ends_the_named_pauses_and_lists_the_others() {
    let sandbox = Sandbox::new();
    for line in ["pause rule 1h", "pause rule --team t1 1h", "pause 1h", "allow bob --force"] {
        policy(&sandbox, line);
    }
    assert_snapshot!(policy(&sandbox, "resume rule --team t1"), @r#"
    ended the pause of rule in team "t1"
    still paused: rule until 2026-02-03 05:05:06 UTC; to end every pause: teamkeep resume
    still paused: every gate and rule until 2026-02-03 05:05:06 UTC; to end every pause: teamkeep resume
    "#);
    assert_snapshot!(policy(&sandbox, "resume"), @r#"
    ended the pause of rule
    ended the pause of every gate and rule; the policy is active again
    ended the allowance of bob's shutdown
    "#);
    assert_snapshot!(policy(&sandbox, "resume"), @"no active pauses or allowances");
    assert_eq!(exceptions(&sandbox), "");
}

#[test]
fn an_allowed_shutdown_is_allowed_once() {
    let sandbox = with_store();
    assert_snapshot!(policy(&sandbox, "allow bob --force"), @r#"the next shutdown of "bob" is allowed until 2026-02-04 04:05:06 UTC; to undo: teamkeep resume bob"#);
    policy(&sandbox, "allow bob --force");
    let until = json!({"bob": "2026-02-04T04:05:06.000Z"});
    assert_eq!(file(&sandbox), json!({"v": 1, "pauses": [], "shutdowns": ["bob"], "shutdowns_until": until}));
    assert_snapshot!(exceptions(&sandbox), @"allowed once: shutdown of bob until 2026-02-04 04:05:06 UTC");
    for line in ["resume --team t1", "resume premature-shutdown"] {
        policy(&sandbox, line);
        assert_eq!(file(&sandbox)["shutdowns"], json!(["bob"]), "{line}");
    }
    assert_snapshot!(policy(&sandbox, "resume Bob"), @"ended the allowance of bob's shutdown");
    assert_eq!(file(&sandbox)["shutdowns"], json!([]));
    policy(&sandbox, "allow bob --force");
    sandbox.set_clock(24 * 3_600_000);
    assert_eq!(exceptions(&sandbox), "");
}

#[test]
fn allowing_an_unknown_name_needs_force() {
    let sandbox = with_store();
    assert_snapshot!(sandbox.run(&["allow", "bob"]).err, @"
    error: no team is running
    hint: to allow it for a team that starts later: teamkeep allow bob --force
    ");
    let lead = Lead::of(&sandbox, "aaaaaaaa-1111-4111-8111-111111111111");
    lead.roster(1_770_091_200_000, &["alice", "bob"]);
    lead.start("startup");
    assert_snapshot!(sandbox.run(&["allow", "bobb"]).err, @r#"
    error: no running team has a teammate named "bobb"
    hint: did you mean "bob"?
    hint: to allow it for a team that starts later: teamkeep allow bobb --force
    "#);
    assert!(!sandbox.keep("overrides.json").exists());
    assert!(policy(&sandbox, "allow Bob").contains("is allowed until"));
}

#[test]
fn the_lead_s_shutdown_is_not_allowed_by_name() {
    let sandbox = Sandbox::new();
    for name in ["team-lead", "Team-Lead"] {
        let result = sandbox.run(&["allow", name]);
        assert_eq!(result.code, Some(1));
        assert!(result.err.contains("protect-lead"), "{}", result.err);
    }
    assert!(!sandbox.keep("overrides.json").exists() && sandbox.log().is_empty());
}

#[test]
fn each_use_of_an_override_is_recorded() {
    let sandbox = Sandbox::new();
    for line in ["pause rule --team t1 15m", "allow bob --force", "resume bob", "resume"] {
        policy(&sandbox, line);
    }
    let events = sandbox.log();
    let user = json!({"name": "user", "id": null, "kind": "unknown"});
    assert!(events.iter().all(|event| event["event"] == "PolicyOverride" && event["actor"] == user));
    let payloads: Vec<&Value> = events.iter().map(|event| &event["payload"]).collect();
    let (until, end) = ("2026-02-03T04:20:06.000Z", "2026-02-04T04:05:06.000Z");
    assert_eq!(
        payloads,
        [
            &json!({"override": "pause", "gate": "rule", "team": "t1", "until": until, "terminal": false}),
            &json!({"override": "allow-shutdown", "gate": "premature-shutdown", "team": null, "name": "bob", "until": end, "terminal": false}),
            &json!({"override": "resume", "gate": "premature-shutdown", "team": null, "name": "bob", "terminal": false}),
            &json!({"override": "resume", "gate": null, "team": null, "terminal": false}),
        ]
    );
    assert_eq!((&events[0]["team"], &events[1]["team"]), (&json!("t1"), &json!(null)));
    assert_snapshot!(sandbox.printed(&["log", "--raw"]), @"
    2026-02-03 UTC
    04:05:06.000 PolicyOverride   user       pause rule until 2026-02-03 04:20:06 UTC (no terminal) t1
    04:05:06.000 PolicyOverride   user       allow-shutdown premature-shutdown bob until 2026-02-04 04:05:06 UTC (no terminal)
    04:05:06.000 PolicyOverride   user       resume premature-shutdown bob (no terminal)
    04:05:06.000 PolicyOverride   user       resume every gate and rule (no terminal)
    ");
}

#[test]
fn an_override_that_cannot_be_recorded_does_not_apply() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.keep("")).unwrap();
    std::fs::write(sandbox.keep("sessions"), "no directory").unwrap();
    let result = sandbox.run(&["pause", "1h"]);
    assert_eq!(result.code, Some(1));
    assert!(
        result.err.starts_with("error: cannot record the override, so nothing was changed: "),
        "{}",
        result.err
    );
    assert!(!sandbox.keep("overrides.json").exists());
}

#[test]
fn invalid_arguments_are_rejected_and_change_nothing() {
    let sandbox = Sandbox::new();
    assert_snapshot!(refused(&sandbox, "pause premature 15m"), @r#"
    error: unknown gate "premature"
    hint: did you mean "premature-shutdown"?
    "#);
    assert_snapshot!(refused(&sandbox, "pause shutdowns 15m"), @r#"
    error: unknown gate "shutdowns"
    hint: known gates: premature-shutdown, protect-lead, idle-with-work, completion-check, unfinished-dependencies, report-before-idle, team-size, lead-stops-early, edit-collision, history-rewrite, add-everything, budget, rule
    "#);
    let unknown = sandbox.run(&["resume", "all"]);
    assert_eq!(unknown.code, Some(1));
    assert!(
        unknown.err.starts_with("error: no gate and no allowed shutdown is named \"all\"\n"),
        "{unknown:?}"
    );
    for (line, why) in [
        ("pause 25h", "longer than 24h; to turn a gate off for good, set its mode in teamkeep.toml"),
        ("pause 24h1ms", "longer than 24h"),
        ("pause 9000000000d", "invalid duration"),
        ("pause 15", "invalid duration \"15\": expected a value such as \"15m\" or \"1h30m\""),
        ("pause 15", "hint: did you mean 15m?"),
        ("pause 15m rule", "hint: did you mean: teamkeep pause rule 15m?"),
        ("pause premature", "hint: did you mean: teamkeep pause premature-shutdown 15m?"),
        ("pause 0s", "invalid duration"),
        ("pause -- -5m", "invalid duration"),
        ("pause soon", "invalid duration"),
        ("pause rule", "hint: for how long? teamkeep pause rule 15m"),
        ("pause", "missing DURATION\nhint: for how long? teamkeep pause 15m"),
        ("pause --team ../t1 5m", "no team or teammate has this name"),
        ("allow a/b", "no team or teammate has this name"),
        ("allow", "<TEAMMATE>"),
    ] {
        let result = refused(&sandbox, line);
        assert!(result.contains(why), "{line}: {result}");
    }
    assert!(!sandbox.keep("").exists());
}

#[test]
fn a_damaged_override_file_allows_nothing_and_is_replaced() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.keep("")).unwrap();
    let path = sandbox.keep("overrides.json");
    std::fs::write(&path, r#"{"v":1,"pauses":[{"until":"2030-01-01T00:00:00Z"}],"shutdowns":["bob"]}"#)
        .unwrap();
    let result = sandbox.run(&["status", "--json"]);
    let status: Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(status["overrides"], json!({"v": 1, "pauses": [], "shutdowns": []}));
    let start = format!(
        "warning: pauses and allowances ignored: {} is damaged: missing field `gate`",
        path.display()
    );
    assert!(result.err.starts_with(&start), "{}", result.err);
    policy(&sandbox, "pause rule 1m");
    assert_eq!(file(&sandbox)["shutdowns"], json!([]));
    assert!(exceptions(&sandbox).starts_with("paused: rule until "));
}
