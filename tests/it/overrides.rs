//! `teamkeep policy pause`, `resume`, `allow` and `pauses`: what a human lets through, and what is left of it in the record.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::play::Lead;
use crate::stage::Stage;

fn policy(stage: &Stage, line: &str) -> String {
    let args: Vec<&str> = std::iter::once("policy").chain(line.split_whitespace()).collect();
    let said = stage.run(&args);
    assert_eq!(said.code, Some(0), "{line}: {}", said.err);
    format!("{}{}", said.out, said.err)
}

fn refused(stage: &Stage, line: &str) -> String {
    let args: Vec<&str> = std::iter::once("policy").chain(line.split_whitespace()).collect();
    let said = stage.run(&args);
    assert_eq!((said.code, said.out.as_str()), (Some(64), ""), "{line}");
    said.err
}

fn file(stage: &Stage) -> Value {
    serde_json::from_slice(&std::fs::read(stage.keep("policy/overrides.json")).unwrap()).unwrap()
}

#[test]
fn a_pause_is_in_force_until_its_time_is_over() {
    let stage = Stage::new();
    assert_snapshot!(policy(&stage, "pause --gate premature-shutdown --team t1 15m"), @r#"paused premature-shutdown in team "t1" until 2026-02-03 04:20:06 UTC; to end it: teamkeep policy resume"#);
    assert_snapshot!(policy(&stage, "pause 1h30m"), @"paused every gate until 2026-02-03 05:35:06 UTC; to end it: teamkeep policy resume");
    assert_snapshot!(policy(&stage, "pauses"), @r#"
    paused: premature-shutdown in team "t1" until 2026-02-03 04:20:06 UTC
    paused: every gate until 2026-02-03 05:35:06 UTC
    "#);
    stage.set_clock(15 * 60_000);
    assert_snapshot!(policy(&stage, "pauses"), @"paused: every gate until 2026-02-03 05:35:06 UTC");
    policy(&stage, "pause --gate rule 24h");
    assert_eq!(
        file(&stage)["pauses"].as_array().unwrap().len(),
        2,
        "what is over goes when the file is written"
    );
}

#[test]
fn the_last_pause_of_the_same_gate_and_team_counts() {
    let stage = Stage::new();
    policy(&stage, "pause --team t1 10h");
    policy(&stage, "pause --team t1 1m");
    assert_eq!(
        file(&stage),
        json!({"v": 1, "pauses": [{"gate": null, "team": "t1", "until": "2026-02-03T04:06:06.000Z"}], "shutdowns": []})
    );
}

#[test]
fn a_resume_ends_what_it_names_and_says_what_stays() {
    let stage = Stage::new();
    for line in ["pause --gate rule 1h", "pause --gate rule --team t1 1h", "pause 1h", "allow shutdown bob"] {
        policy(&stage, line);
    }
    assert_snapshot!(policy(&stage, "resume --gate rule --team t1"), @r#"
    ended: rule in team "t1" until 2026-02-03 05:05:06 UTC
    still paused: rule until 2026-02-03 05:05:06 UTC; to end every pause: teamkeep policy resume
    still paused: every gate until 2026-02-03 05:05:06 UTC; to end every pause: teamkeep policy resume
    "#);
    assert_snapshot!(policy(&stage, "resume"), @r#"
    ended: rule until 2026-02-03 05:05:06 UTC
    ended: every gate until 2026-02-03 05:05:06 UTC
    ended: allowed shutdown of bob
    "#);
    assert_snapshot!(policy(&stage, "resume"), @"no active pauses or allowances");
    assert_eq!(policy(&stage, "pauses"), "no active pauses or allowances\n");
}

#[test]
fn a_shutdown_is_allowed_for_one_occasion() {
    let stage = Stage::new();
    assert_snapshot!(policy(&stage, "allow shutdown bob"), @r#"the next shutdown of "bob" is allowed; to undo: teamkeep policy resume"#);
    policy(&stage, "allow shutdown bob");
    assert_eq!(file(&stage), json!({"v": 1, "pauses": [], "shutdowns": ["bob"]}));
    assert_snapshot!(policy(&stage, "pauses"), @r#"allowed once: shutdown of bob"#);
    policy(&stage, "resume --team t1");
    assert_eq!(file(&stage)["shutdowns"], json!(["bob"]), "it is not of one team");
    policy(&stage, "resume --gate premature-shutdown");
    assert_eq!(file(&stage)["shutdowns"], json!([]));
}

#[test]
fn a_name_that_nobody_alive_has_is_doubted_and_allowed_all_the_same() {
    let stage = Stage::new();
    let lead = Lead::of(&stage, "aaaaaaaa-1111-4111-8111-111111111111");
    lead.roster(1_770_091_200_000, &["alice", "bob"]);
    lead.start("startup");
    assert_snapshot!(policy(&stage, "allow shutdown bobb"), @r#"
    warning: no running team has a teammate named "bobb"; did you mean bob?
    the next shutdown of "bobb" is allowed; to undo: teamkeep policy resume
    "#);
    assert!(!policy(&stage, "allow shutdown Bob").contains("no teammate"));
}

#[test]
fn the_lead_s_shutdown_is_not_allowed_by_name() {
    let stage = Stage::new();
    for name in ["team-lead", "Team-Lead"] {
        let said = stage.run(&["policy", "allow", "shutdown", name]);
        assert_eq!(said.code, Some(1));
        assert!(said.err.contains("protect-lead"), "{}", said.err);
    }
    assert!(!stage.keep("policy/overrides.json").exists() && stage.log().is_empty());
}

#[test]
fn each_use_is_on_record() {
    let stage = Stage::new();
    for line in ["pause --gate rule --team t1 15m", "allow shutdown bob", "resume"] {
        policy(&stage, line);
    }
    let events = stage.log();
    let user = json!({"name": "user", "id": null, "kind": "unknown"});
    assert!(events.iter().all(|event| event["event"] == "PolicyOverride" && event["actor"] == user));
    let payloads: Vec<&Value> = events.iter().map(|event| &event["payload"]).collect();
    let until = "2026-02-03T04:20:06.000Z";
    assert_eq!(
        payloads,
        [
            &json!({"override": "pause", "gate": "rule", "team": "t1", "until": until, "terminal": false}),
            &json!({"override": "allow-shutdown", "gate": "premature-shutdown", "team": null, "name": "bob", "terminal": false}),
            &json!({"override": "resume", "gate": null, "team": null, "terminal": false}),
        ]
    );
    assert_eq!((&events[0]["team"], &events[1]["team"]), (&json!("t1"), &json!(null)));
    assert_snapshot!(stage.told(&["log"]), @"
    2026-02-03 UTC
    04:05:06.000 PolicyOverride   user       pause rule until 2026-02-03 04:20:06 UTC (no terminal) t1
    04:05:06.000 PolicyOverride   user       allow-shutdown premature-shutdown bob (no terminal)
    04:05:06.000 PolicyOverride   user       resume every gate (no terminal)
    ");
}

#[test]
fn what_cannot_be_recorded_is_not_let_through() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.keep("")).unwrap();
    std::fs::write(stage.keep("log"), "no directory").unwrap();
    let said = stage.run(&["policy", "pause", "1h"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.err.starts_with("error: cannot record the override, so nothing was changed: "),
        "{}",
        said.err
    );
    assert!(!stage.keep("policy/overrides.json").exists());
}

#[test]
fn what_makes_no_sense_is_refused_and_leaves_nothing() {
    let stage = Stage::new();
    assert_snapshot!(refused(&stage, "pause --gate premature 15m"), @r#"
    error: unknown gate "premature"
    hint: known gates: premature-shutdown, protect-lead, idle-with-work, completion-check, unfinished-dependencies, report-before-idle, team-size, lead-stops-early, rule
    "#);
    for (line, why) in [
        ("resume --gate all", "hint: known gates: premature-shutdown, "),
        ("pause 25h", "longer than 24h; to turn a gate off for good, set its mode in teamkeep.toml"),
        ("pause 24h1ms", "longer than 24h"),
        ("pause 9000000000d", "invalid duration"),
        ("pause 15", "invalid duration; expected a value such as \"15m\" or \"1h30m\""),
        ("pause 0s", "invalid duration"),
        ("pause -- -5m", "invalid duration"),
        ("pause soon", "invalid duration"),
        ("pause", "<DURATION>"),
        ("pause --team ../t1 5m", "no team or teammate has this name"),
        ("allow shutdown a/b", "no team or teammate has this name"),
        ("allow shutdown", "<NAME>"),
        ("allow everything", "unrecognized subcommand"),
    ] {
        let said = refused(&stage, line);
        assert!(said.contains(why), "{line}: {said}");
    }
    assert!(!stage.keep("").exists());
}

#[test]
fn a_damaged_file_lets_nothing_through_and_is_begun_anew() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.keep("policy")).unwrap();
    let path = stage.keep("policy/overrides.json");
    std::fs::write(&path, r#"{"v":1,"pauses":[{"until":"2030-01-01T00:00:00Z"}],"shutdowns":["bob"]}"#)
        .unwrap();
    let said = stage.run(&["policy", "pauses", "--json"]);
    let listed: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(listed, json!({"v": 1, "pauses": [], "shutdowns": []}));
    let start = format!(
        "warning: pauses and allowances ignored: {} is damaged: missing field `gate`",
        path.display()
    );
    assert!(said.err.starts_with(&start), "{}", said.err);
    policy(&stage, "pause --gate rule 1m");
    assert_eq!(file(&stage)["shutdowns"], json!([]));
    assert!(policy(&stage, "pauses").starts_with("paused: rule until "));
}
