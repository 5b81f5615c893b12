//! `teamkeep policy test` and `policy explain`, and verdicts on record.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use teamkeep::clock;
use teamkeep::event::{Event, Id, Recorded};
use teamkeep::gatekeeper::line;
use teamkeep::policy::{Decision, Verdict};

use super::reenact::{Trace, local};
use super::stage::{Said, Stage, below, feed, lines};

const BEGAN: &str = "2026-11-20T04:40:41.059Z";
/// The lead asks bob to stop, who has not finished.
const ASKED: usize = 81;

fn trace(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/traces/{name}.jsonl"));
    path.to_str().unwrap().to_owned()
}

/// The gates that decide, by event.
fn decided(lines: &[Value]) -> Vec<(String, String)> {
    let word = |line: &Value| {
        format!("{} {}", line["verdict"]["decision"], line["verdict"]["gate"]).replace('"', "")
    };
    lines.iter().map(|line| (line["of"].as_str().unwrap().to_owned(), word(line))).collect()
}

fn test(stage: &Stage, args: &[&str]) -> Said {
    stage.run(&[&["policy", "test"], args].concat())
}

fn file(stage: &Stage, name: &str, text: &str) -> String {
    let path = stage.home().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_recorded_run_file_is_tested_and_nothing_is_kept_of_it() {
    let stage = Stage::judging();
    let said = test(&stage, &[&trace("v328-inprocess")]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let told: Vec<&str> = said.out.lines().map(|line| line.split('…').next().unwrap()).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    session-1353b3db ea152cffbc8dfe99
        7.6s PreToolUse    bob       unfinished-dependencies warn Warning: starting task 2 "Review the parser" (pending, owner bob) before what it waits for: task 1 
        9.4s TeammateIdle  bob       idle-with-work warn Warning: bob goes idle while owning task 2 "Review the parser" (in_progress, owner bob). A message 
       40.4s PreToolUse    team-lead premature-shutdown block Refused: a shutdown request to bob, who still owns task 2 "Review the parser" (in_progress, owner b
       41.5s TeammateIdle  carol     idle-with-work warn Warning: carol goes idle while nobody has taken task 2 "Review the parser" (pending, no owner). The
    110 events: 1 blocked, 3 warned
    "#);
    assert!(!stage.keep("").exists());
}

#[test]
fn a_premature_shutdown_is_found_in_the_runs_of_every_client() {
    let stage = Stage::judging();
    for (name, place) in
        [("v47-inprocess", 77), ("v177-inprocess", 71), ("v328-inprocess", ASKED), ("v328-panes", 69)]
    {
        let found = decided(&lines(&test(&stage, &[&trace(name), "--json"]).out));
        let blocks: Vec<_> = found.iter().filter(|(_, word)| word.starts_with("block")).collect();
        assert_eq!(blocks, [&(format!("{name}:{place}"), "block premature-shutdown".to_owned())]);
    }
    for name in ["v328-gc", "v328-headless", "v328-notasks"] {
        let found = decided(&lines(&test(&stage, &[&trace(name), "--json"]).out));
        assert!(found.iter().all(|(_, word)| word.starts_with("warn")), "{found:?}");
    }
}

#[test]
fn a_run_on_record_is_tested_as_its_file_is() {
    let stage = Stage::new();
    Trace::read("v328-inprocess", BEGAN).play(&stage, 1);
    stage.unconfigure();
    stage.finish();
    let before = everything(&stage);
    let by_run = lines(&test(&stage, &["latest", "--json"]).out);
    assert_eq!(everything(&stage), before, "a test changes nothing");
    let by_file = lines(&test(&stage, &[&trace("v328-inprocess"), "--json"]).out);
    let words = |lines: &[Value]| -> Vec<(Value, Value)> {
        lines.iter().map(|line| (line["actor"].clone(), line["verdict"].clone())).collect()
    };
    assert_eq!(words(&by_run), words(&by_file));
}

#[test]
fn expectations_are_held_against_what_is_found() {
    let stage = Stage::judging();
    let named = trace("v328-inprocess");
    let all = "{\"event\": \"v328-inprocess:81\", \"decision\": \"block\", \"gate\": \"premature-shutdown\"}\n\n\
        {\"event\": \"v328-inprocess:26\", \"decision\": \"warn\"}\n\
        {\"event\": \"v328-inprocess:60\", \"decision\": \"warn\"}\n{\"event\": \"v328-inprocess:99\", \"decision\": \"warn\"}\n\
        {\"event\": \"v328-inprocess:1\", \"decision\": \"allow\"}\n";
    let met = file(&stage, "met.jsonl", all);
    let said = test(&stage, &[&named, "--expect", &met, "--strict"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(said.out.ends_with("all 5 expectations are met\n"), "{}", said.out);
    let unmet = file(
        &stage,
        "unmet.json",
        r#"[{"event": "v328-inprocess:81", "decision": "block", "gate": "protect-lead"},
            {"event": "v328-inprocess:26", "decision": "block"}, {"event": "v328-inprocess:999", "decision": "allow"}]"#,
    );
    let said = test(&stage, &[&named, "--expect", &unmet]);
    assert_eq!(said.code, Some(1));
    insta::assert_snapshot!(said.err, @r"
    teamkeep: v328-inprocess:81: expected: block protect-lead, but found: block premature-shutdown
    teamkeep: v328-inprocess:26: expected: block, but found: warn unfinished-dependencies
    teamkeep: v328-inprocess:999: there is no such event
    ");
    let said = test(&stage, &[&named, "--expect", &unmet, "--strict"]);
    assert!(
        said.err.contains("v328-inprocess:60: nothing was expected, but found: warn idle-with-work"),
        "{}",
        said.err
    );
    let broken = file(&stage, "broken.jsonl", "{\"event\": \"x\", \"decision\": \"explode\"}\n");
    let said = test(&stage, &[&named, "--expect", &broken]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("line 1: unknown variant `explode`"), "{}", said.err);
}

#[test]
fn two_policies_are_compared_and_checks_are_not_run() {
    let stage = Stage::judging();
    let strict = file(
        &stage,
        "strict.toml",
        "[policy.idle-with-work]\nmode = \"block\"\n[[policy.completion-check.check]]\nrun = \"touch ran\"\n",
    );
    let args = [&trace("v328-inprocess"), "--against", &strict, "--json"];
    let differences = lines(&test(&stage, &args).out);
    let words: Vec<Value> = differences
        .iter()
        .map(|line| {
            json!([line["of"], line["verdict"]["decision"], line["against"]["decision"], line["not_judged"]])
        })
        .collect();
    assert_eq!(
        words,
        [
            json!(["v328-inprocess:42", null, null, "completion-check"]),
            json!(["v328-inprocess:55", null, null, "completion-check"]),
            json!(["v328-inprocess:60", "warn", "block", null]),
            json!(["v328-inprocess:99", "warn", "block", null]),
        ]
    );
    let said = test(&stage, &[&trace("v328-inprocess"), "--policy", &strict]);
    assert!(said.out.ends_with("110 events: 3 blocked, 1 warned, 2 not judged\n"), "{}", said.out);
    assert!(!stage.home().join("parser/ran").exists());
}

#[test]
fn what_is_no_run_and_no_recorded_run_is_said() {
    let stage = Stage::judging();
    let said = test(&stage, &["nowhere.jsonl"]);
    assert_eq!((said.code, said.err.as_str()), (Some(1), "teamkeep: there is no file nowhere.jsonl\n"));
    let broken = file(&stage, "broken.jsonl", "{\"at_ms\": 0, \"payload\": {}}\nnonsense\n");
    let said = test(&stage, &[&broken]);
    assert!(said.err.contains("line 2 is no call of a recorded run"), "{}", said.err);
    let outside =
        file(&stage, "out.jsonl", "{\"at_ms\": 0, \"write\": {\"../../x\": \"\"}, \"payload\": {}}\n");
    assert!(test(&stage, &[&outside]).err.contains("leads out of the scratch directory"));
}

#[test]
fn verdicts_on_record_are_told_beside_what_happened() {
    let stage = Stage::new();
    Trace::read("v328-inprocess", BEGAN).play(&stage, 1);
    stage.unconfigure();
    stage.finish();
    let found = lines(&test(&stage, &["latest", "--json"]).out);
    let (idle, shutdown) = (&found[1], &found[2]);
    let say = |one: &Value, decision, escalated| {
        let event = stage.log().into_iter().find(|event| event["id"] == one["of"]).unwrap();
        let event: Recorded = serde_json::from_str(&event.to_string()).unwrap();
        let text = |key: &str| one["verdict"][key].as_str().unwrap().to_owned();
        let verdict = Verdict {
            decision,
            gate: text("gate"),
            code: text("code"),
            reason: "not yet".to_owned(),
            rule: None,
            file_line: None,
            escalated,
            paused: false,
            repeated: false,
        };
        record(&stage, &event, &verdict);
    };
    say(idle, Decision::Warn, false);
    (0..3).for_each(|_| say(shutdown, Decision::Block, false));
    say(shutdown, Decision::Allow, true);
    let of = shutdown["of"].as_str().unwrap();
    let told = stage.replay("latest");
    let told: Vec<&Value> = told.iter().filter(|entry| entry["kind"] == "verdict").collect();
    assert_eq!(told.len(), 5);
    assert_eq!(
        told[4],
        &json!({"at": shutdown["at"], "kind": "verdict", "actor": "team-lead", "summary": "premature-shutdown",
            "text": "not yet", "decision": "allow", "of": of, "blocks": 3, "sources": ["hook"]})
    );
    let story = stage.told(&["replay"]);
    for words in [
        "bob       was warned: not yet (idle-with-work)",
        "team-lead was held back: not yet (premature-shutdown)",
        "team-lead was let through after 3 blocks: not yet (premature-shutdown)",
    ] {
        assert!(story.contains(words), "{words} is not in\n{story}");
    }
    let log = stage.told(&["log", "--event", "verdict"]);
    assert!(log.contains("Verdict          bob        warn idle-with-work: not yet"), "{log}");
    assert!(log.contains("team-lead  let through premature-shutdown: not yet"), "{log}");
    let found = lines(&test(&stage, &["latest", "--json"]).out);
    assert_eq!(found.len(), 4, "a verdict is no event");
    assert_eq!((&found[0]["recorded"], &found[2]["recorded"]["decision"]), (&Value::Null, &json!("block")));
    let said = test(&stage, &["latest"]).out;
    assert!(said.contains("(was: idle-with-work warn)"), "{said}");
}

/// Appends a verdict behind an event, as a hook does.
fn record(stage: &Stage, event: &Recorded, verdict: &Verdict) {
    let id = Id::new(clock::parse(&event.at).unwrap());
    let judged = Event {
        v: 1,
        at: &event.at,
        id: &event.id,
        event: &event.event,
        session: event.session.as_deref(),
        team: event.team.as_deref(),
        actor: &event.actor,
        run: event.run.as_deref(),
        warning: None,
        malformed: None,
        verdict: None,
        payload: &event.payload,
    };
    let line = line(verdict, &id, &judged).unwrap();
    let log = teamkeep::log::Log::open(stage.keep("log"), &teamkeep::config::Log::default());
    log.append(&line, clock::parse(&event.at).unwrap()).unwrap();
}

fn explain(stage: &Stage, payload: &str, args: &[&str]) -> Said {
    feed(&mut stage.command(&[&["policy", "explain"], args].concat()), payload.as_bytes())
}

/// Every file of the store.
fn everything(stage: &Stage) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = below(&stage.keep("")).into_iter().filter(|path| path.is_file());
    files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn a_decision_is_explained_and_nothing_is_changed() {
    let stage = Stage::new();
    let mut played = Trace::read("v328-inprocess", BEGAN);
    let payload = played.steps[ASKED - 1]["payload"].clone();
    played.steps.truncate(ASKED - 1);
    played.play(&stage, 1);
    stage.unconfigure();
    let payload = local(&stage, &payload.to_string());
    let before = everything(&stage);
    let said = explain(&stage, &payload, &[]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{}", said.out);
    insta::assert_snapshot!("explain", said.out);
    let line =
        format!(r#"{{"v":1,"at":"2026-02-03T04:05:06.000Z","event":"PreToolUse","payload":{payload}}}"#);
    assert_eq!(explain(&stage, &line, &[]).out, said.out, "a line of the log says the same");
    // By the run's record alone the same is said.
    let by_run = explain(&stage, &payload, &["--run", "latest"]);
    let from = |text: &str| text.split("  premature-shutdown").nth(1).unwrap().to_owned();
    assert_eq!(from(&by_run.out), from(&said.out));
    let idle =
        json!({"session_id": "1353b3db-15db-4165-b1fb-ed39ac7e091c", "hook_event_name": "Notification"});
    let said = explain(&stage, &idle.to_string(), &[]);
    assert!(said.out.contains("verdict   allow\nanswer    exit 0\n"), "{}", said.out);
    assert_eq!(everything(&stage), before, "no line, no count, no lock");
    let said = explain(&stage, "nonsense", &[]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.starts_with("teamkeep: stdin is no payload of a hook: no JSON"), "{}", said.err);
}

/// A project with a file of its own, and a rule in it that holds back `make`.
fn project(stage: &Stage, name: &str) -> PathBuf {
    let project = stage.home().join(name);
    std::fs::create_dir_all(project.join(".claude")).unwrap();
    let rules = "[policy.protect-lead]\nmode = \"block\"\n[[rule]]\nname = \"no-make\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\n";
    std::fs::write(project.join(".claude/teamkeep.toml"), rules).unwrap();
    project
}

#[test]
fn explain_reads_the_project_s_file_as_the_hook_does() {
    let stage = Stage::new();
    let project = project(&stage, "lexer");
    let at = |cwd: &PathBuf| {
        json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": cwd, "tool_input": {"command": "make"}})
            .to_string()
    };
    let named = ["--project", project.to_str().unwrap()];
    let said = explain(&stage, &at(&project), &[]);
    assert!(said.out.contains("verdict   allow\n"), "{}", said.out);
    let file = project.join(".claude/teamkeep.toml");
    assert!(
        said.out.contains(&format!("policy    the policy in force, and {}\n", file.display())),
        "{}",
        said.out
    );
    assert!(
        said.err.contains("warning[untrusted]: 1 rule left out") && said.err.contains("policy trust"),
        "{}",
        said.err
    );
    assert_eq!(
        stage.run(&["policy", "trust", "--yes", "--project", project.to_str().unwrap()]).code,
        Some(0)
    );
    for (cwd, args, verdict) in [
        (&project, &[][..], "block rule no-make"),
        (&stage.home(), &[], "allow"),
        (&stage.home(), &named, "block rule no-make"),
        (&project, &["--policy", "/dev/null"], "allow"),
    ] {
        let said = explain(&stage, &at(cwd), args);
        assert!(said.out.contains(&format!("verdict   {verdict}\n")), "{} {}", said.out, said.err);
    }
    let said = explain(&stage, &at(&project), &["--project", "/nowhere"]);
    assert!(
        said.code == Some(1) && said.err.contains("cannot read the project's policy /nowhere/.claude"),
        "{}",
        said.err
    );
}

#[test]
fn a_test_reads_the_file_of_the_project_that_it_is_made_in() {
    let stage = Stage::judging();
    let project = project(&stage, "lexer");
    let named = project.to_str().unwrap();
    assert_eq!(stage.run(&["policy", "trust", "--yes", "--project", named]).code, Some(0));
    let blocked = |args: &[&str], here: &std::path::Path| {
        let trace = trace("v328-inprocess");
        let mut command = stage.command(&[&["policy", "test", &trace], args].concat());
        let said: Said = command.current_dir(here).output().unwrap().into();
        said.out.lines().filter(|line| line.contains("rule no-make")).count()
    };
    let all = blocked(&[], &project);
    assert!(all > 0);
    assert_eq!(blocked(&[], &stage.home()), 0);
    assert_eq!(blocked(&["--project", named], &stage.home()), all);
    assert_eq!(blocked(&["--policy", "/dev/null"], &project), 0, "another policy alone");
    let empty = file(&stage, "empty.toml", "");
    assert_eq!(blocked(&["--policy", &empty, "--project", named], &stage.home()), all);
    assert_eq!(blocked(&["--against", &empty, "--project", named], &stage.home()), 0, "no difference");
}

#[test]
fn what_a_project_may_not_run_is_told_to_the_user_when_a_session_begins() {
    let stage = Stage::judging();
    let project = project(&stage, "my lexer");
    let start = |source: &str| {
        let payload =
            json!({"hook_event_name": "SessionStart", "session_id": "s", "source": source}).to_string();
        let said = stage.feed("", payload.as_bytes(), &[("CLAUDE_PROJECT_DIR", project.to_str().unwrap())]);
        serde_json::from_str::<Value>(&said.out).unwrap()
    };
    let answer = start("startup");
    let told = answer["systemMessage"].as_str().unwrap();
    let command = format!("teamkeep policy trust --project '{}'", project.display());
    assert!(told.contains("1 rule left out: nobody has trusted it") && told.ends_with(&command), "{told}");
    assert_eq!(answer["hookSpecificOutput"].get("additionalContext"), None, "the model has no say in it");
    assert_eq!(start("compact").get("systemMessage"), None, "once");
    assert_eq!(
        stage.run(&["policy", "trust", "--yes", "--project", project.to_str().unwrap()]).code,
        Some(0)
    );
    assert_eq!(start("startup").get("systemMessage"), None);
}
