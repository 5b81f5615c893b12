//! Verdicts on record, told beside what happened.

use serde_json::{Value, json};
use teamkeep_model::event::{Event, Id, Recorded};
use teamkeep_policy::log_line;
use teamkeep_policy::{Decision, Verdict};

use super::recorded_cases::{BEGAN, test};
use crate::support::reenact::Trace;
use crate::support::sandbox::{Sandbox, lines};

#[test]
fn recorded_verdicts_are_shown_in_the_timeline() {
    let sandbox = Sandbox::new();
    Trace::read("v328-inprocess", BEGAN).play(&sandbox, 1);
    sandbox.unconfigure();
    sandbox.finish();
    let found = lines(&test(&sandbox, &["latest", "--json"]).out);
    let (idle, shutdown) = (&found[1], &found[2]);
    let say = |one: &Value, decision, escalated| {
        let event = sandbox.log().into_iter().find(|event| event["id"] == one["of"]).unwrap();
        let event: Recorded = serde_json::from_str(&event.to_string()).unwrap();
        let text = |key: &str| one["verdict"][key].as_str().unwrap().to_owned();
        let verdict = Verdict {
            decision,
            gate: text("gate"),
            code: text("code"),
            reason: "not yet".to_owned(),
            advice: String::new(),
            rule: None,
            file_line: None,
            escalated,
            blocks: escalated.then_some(3),
            paused: false,
            repeated: false,
        };
        record(&sandbox, &event, &verdict);
    };
    say(idle, Decision::Warn, false);
    (0..3).for_each(|_| say(shutdown, Decision::Block, false));
    say(shutdown, Decision::Allow, true);
    let of = shutdown["of"].as_str().unwrap();
    let told = sandbox.replay("latest");
    let told: Vec<&Value> = told.iter().filter(|entry| entry["kind"] == "verdict").collect();
    assert_eq!(told.len(), 5);
    let mut last = told[4].clone();
    assert!(last.as_object_mut().unwrap().remove("id").is_some());
    assert_eq!(
        last,
        json!({"at": shutdown["at"], "kind": "verdict", "actor": "team-lead", "summary": "premature-shutdown",
            "text": "not yet", "decision": "allow", "of": of, "blocks": 3, "sources": ["hook"]})
    );
    let story = sandbox.printed(&["log"]);
    for words in [
        "bob         was warned: not yet (idle-with-work)",
        "team-lead   was blocked: not yet (premature-shutdown)",
        "team-lead   was allowed after 3 blocks: not yet (premature-shutdown)",
    ] {
        assert!(story.contains(words), "{words} is not in\n{story}");
    }
    let log = sandbox.printed(&["log", "--raw", "--event", "verdict"]);
    assert!(log.contains("Verdict          bob        warn idle-with-work: not yet"), "{log}");
    assert!(log.contains("team-lead  allow after blocks premature-shutdown: not yet"), "{log}");
    let found = lines(&test(&sandbox, &["latest", "--json"]).out);
    // The request was refused, so that the approval of it is a breach of its own.
    assert_eq!(found.len(), 5, "a verdict is no event");
    assert_eq!((&found[0]["recorded"], &found[2]["recorded"]["decision"]), (&Value::Null, &json!("block")));
    let result = test(&sandbox, &["latest"]).out;
    assert!(result.contains("2 verdicts same as recorded"), "{result}");
}

/// Appends a verdict behind an event, as a hook does.
fn record(sandbox: &Sandbox, event: &Recorded, verdict: &Verdict) {
    let id = Id::new(event.at);
    let judged = Event {
        v: 1,
        at: event.at,
        id: &event.id,
        event: &event.event,
        session: event.session.as_deref(),
        team: event.team.as_deref(),
        actor: &event.actor,
        run: event.run.as_deref(),
        task_list: None,
        traceparent: None,
        warning: None,
        malformed: None,
        verdict: None,
        snapshots: None,
        plugin: false,
        payload: &event.payload,
    };
    let line = log_line(verdict, &id, &judged).unwrap();
    let how = teamkeep_store::log::Appending {
        segment_size: 1 << 20,
        patience: std::time::Duration::from_secs(60),
        durable: false,
    };
    sandbox.run_log().append(&line, event.at, how).unwrap();
}
