//! One run, one list of incidents: `watch`, `status`, the page and `report --json` have the same at the same moment, and each
//! lost task belongs to one of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use teamkeep_model::time;

use super::incident_kinds::Team;
use crate::history::traces::{ALL, GC, PANES, V328, play};
use crate::store::bundle_sandbox::{export, import};
use crate::support::altered::{cut, slowed};
use crate::support::big_run::{BigRun, Course};
use crate::support::sandbox::Sandbox;
use crate::watch::{Watcher, after, recording, stalled};

fn ids(incidents: &Value) -> Vec<String> {
    let ids = incidents.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned());
    ids.collect()
}

/// Holds the views against each other, now, and returns the report.
pub fn check(sandbox: &Sandbox) -> Value {
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    let known = ids(&report["incidents"]);
    let page = sandbox.printed(&["report", "--format", "html"]);
    let data = page.split_once(r#"id="report">"#).unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!((ids(&data["incidents"]), &data["verdict"]), (known.clone(), &report["verdict"]));
    let now = after(0) + chrono::TimeDelta::milliseconds(sandbox.millis());
    let mut watcher = Watcher::new(recording(sandbox, now), now);
    let moment = watcher.moment();
    let mut alerts: Vec<String> = moment.alerts.iter().map(|alert| alert.id.clone()).collect();
    let screen = watcher.screen(200, 60);
    assert_eq!(screen.contains("no incidents"), known.is_empty(), "{screen}");
    let run = &report["overview"]["run"];
    let status: Value = serde_json::from_str(&sandbox.printed(&["status", "--json"])).unwrap();
    let team = status["teams"].as_array().unwrap().iter().find(|team| team["run"] == *run);
    if let Some(team) = team {
        assert_eq!(ids(&team["incidents"]), known);
        // Those that are over are last on the board.
        alerts.sort_by_key(|id| known.iter().position(|one| one == id));
    } else {
        assert!(moment.alerts.iter().all(|alert| !alert.is_over), "{:?}", moment.alerts);
    }
    assert_eq!(alerts, known, "{screen}");
    check_losses(&report);
    report
}

/// Each unfinished task of a run that is over belongs to one incident, and each incident names the tasks that it lost.
fn check_losses(report: &Value) {
    let mut lost: BTreeMap<&str, &str> = BTreeMap::new();
    let mut sum = 0;
    for incident in report["incidents"].as_array().unwrap() {
        let number = incident["cost"]["tasks_lost"].as_u64().unwrap();
        sum += number;
        if number == 0 {
            continue;
        }
        let tasks = incident["tasks"].as_array().unwrap();
        assert_eq!(tasks.len() as u64, number, "{incident}");
        for task in tasks.iter().map(|id| id.as_str().unwrap()) {
            let before = lost.insert(task, incident["id"].as_str().unwrap());
            assert_eq!(before, None, "#{task} is lost twice: {incident}");
        }
        let first = format!("#{}", tasks[0].as_str().unwrap());
        assert!(incident["summary"].as_str().unwrap().contains(&first), "{incident}");
    }
    let is_over = report["verdict"]["kind"] != "running";
    let open = report["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|task| is_over && !["completed", "deleted"].contains(&task["status"].as_str().unwrap()));
    let open: Vec<&str> = open.map(|task| task["id"].as_str().unwrap()).collect();
    assert_eq!(sum, open.len() as u64, "{open:?} {:#}", report["incidents"]);
    assert!(open.iter().all(|id| lost.contains_key(id)), "{open:?} {lost:?}");
}

#[test]
fn recorded_runs_have_the_same_incidents_in_all_views() {
    for run in ALL {
        check(&play(run, 1).sandbox);
    }
}

#[test]
fn crashed_and_slow_runs_have_the_same_incidents_in_all_views() {
    for run in [V328, PANES, GC] {
        for part in [3, 6] {
            let steps = crate::support::reenact::Trace::read(run.0, run.1).steps.len();
            let sandbox = Sandbox::new();
            cut(run, steps * part / 8).play(&sandbox, 1);
            sandbox.finish();
            let report = check(&sandbox);
            assert_eq!(report["verdict"]["kind"], "crashed", "{}", run.0);
        }
        let sandbox = Sandbox::new();
        slowed(run, 60).play(&sandbox, 1);
        sandbox.finish();
        check(&sandbox);
    }
}

#[test]
fn big_run_and_demo_have_the_same_incidents_in_all_views() {
    let sandbox = Sandbox::new();
    BigRun::write(&sandbox.keep(""), &sandbox.client(""), Course::Stall);
    assert_eq!(check(&sandbox)["incidents"].as_array().unwrap().len(), 1);
    let sandbox = Sandbox::new();
    sandbox.printed(&["demo", "--keep", sandbox.keep("").to_str().unwrap()]);
    check(&sandbox);
}

#[test]
fn running_team_has_the_same_incidents_and_one_duration_in_all_views() {
    let sandbox = Sandbox::new();
    stalled(&sandbox);
    sandbox.set_clock(41 * 60_000);
    let report = check(&sandbox);
    assert_eq!(report["verdict"]["kind"], "running");
    assert_eq!(report["overview"]["duration_ms"], 41 * 60_000);
    let sentence = report["verdict"]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("1 of 4 tasks done in 41 min"), "{sentence}");
    assert!(sandbox.printed(&["report"]).contains(", running for 41 min\n"));
    assert!(sandbox.printed(&["status"]).contains("running for 41 min,"));
}

#[test]
fn crash_without_tasks_is_an_alert() {
    let team = Team::new(&["bob"]);
    team.crash(1);
    let report = check(&team.sandbox);
    assert_eq!(report["incidents"][0]["kind"], "crashed-lead");
    assert_eq!(report["incidents"][0]["tasks"], json!([]));
}

#[test]
fn crash_that_only_the_transcript_dates_is_an_alert() {
    let team = Team::new(&["bob"]);
    team.at(1).task("1", "in_progress", Some("bob"));
    team.crash(2);
    // Its last sign of life comes a moment after its last hook call.
    let path = team.sandbox.client(&team.lead().transcript());
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let late = time::parse(&team.sandbox.last()).unwrap() + chrono::TimeDelta::milliseconds(94);
    let call = json!({"type": "tool_use", "id": "toolu_9", "name": "Read", "input": {}});
    let record = json!({"type": "assistant", "uuid": "late", "timestamp": late.to_string(),
        "message": {"role": "assistant", "id": "msg_9", "model": "claude-opus-4-5-20251101", "content": [call],
            "usage": {"input_tokens": 1, "output_tokens": 1}}});
    team.sandbox.write(&team.lead().transcript(), format!("{known}{record}\n"));
    let report = check(&team.sandbox);
    assert_eq!(report["incidents"][0]["kind"], "crashed-lead");
    assert_eq!(report["incidents"][0]["from"], late.to_string(), "{report:#}");
}

#[test]
fn imported_run_is_judged_at_its_end() {
    for ends in [true, false] {
        let team = Team::new(&["bob"]);
        team.at(1).task("1", "in_progress", Some("bob"));
        team.at(20).prompt();
        if ends {
            team.at(21).end();
        }
        team.sandbox.finish();
        let known = check(&team.sandbox);
        let path = export(&team.sandbox, "latest", "run.tar", &[]);
        let other = Sandbox::new();
        let result = import(&other, &path);
        assert_eq!(result.code, Some(0), "{}", result.err);
        other.set_clock(90 * 24 * 60 * 60_000);
        let imported = check(&other);
        assert_eq!(ids(&imported["incidents"]), ids(&known["incidents"]));
        let minutes = imported["overview"]["duration_ms"].as_i64().unwrap() / 60_000;
        assert!((19..=21).contains(&minutes), "{minutes}");
    }
}
