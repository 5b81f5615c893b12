//! A notifier sends each incident once, whatever happens to it and to the receiver.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::stalled_team::{SECRET, by, incidents, is_watched, notifier, post_to, run, stalled, stop, wait};
use crate::support::client_files::Lead;
use crate::support::receiver::{Receiver, Reply, Request};
use crate::support::sandbox::{Sandbox, below};

const OK: Reply = Reply::Status("204 No Content");

fn body(request: &Request) -> Value {
    serde_json::from_str(&request.body).unwrap()
}

/// The signature that the body must have.
fn signature(unix: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("{unix}.{body}").as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={unix},v1={hex}")
}

#[test]
fn a_hook_call_starts_a_notifier_that_posts_an_incident_once_and_ends_with_the_session() {
    let sandbox = Sandbox::new();
    let receiver = Receiver::replying(&[OK]);
    post_to(&sandbox, &receiver.url);
    let lead = stalled(&sandbox);
    receiver.wait(1);
    assert!(is_watched(&sandbox) && sandbox.runs("notify watch"));
    lead.hook("SubagentStart", by("bob"));
    let request = &receiver.requests()[0];
    assert_eq!(request.line, "POST /hook?key=hidden HTTP/1.1");
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert!(request.header("user-agent").unwrap().starts_with("teamkeep/"));
    let signed = request.header("teamkeep-signature").unwrap();
    let unix = signed.split([',', '=']).nth(1).unwrap();
    assert_eq!(signed, signature(unix, &request.body));
    let body = body(request);
    assert_eq!(
        (&body["v"], &body["team"], &body["run"]),
        (&json!(1), &json!(lead.team), &json!(run(&sandbox)))
    );
    let incident = &body["incident"];
    assert_eq!((&incident["kind"], &incident["agents"]), (&json!("stalled-agent"), &json!(["alice"])));
    assert_eq!(incident["id"], incidents(&sandbox)[0]["id"]);
    lead.end("prompt_input_exit");
    wait(|| !is_watched(&sandbox));
    sandbox.finish();
    let kinds: Vec<Value> =
        receiver.requests().iter().map(|request| self::body(request)["incident"]["kind"].clone()).collect();
    assert_eq!(kinds, ["stalled-agent"], "the end of the session is the same incident");
    assert_eq!(sandbox.diagnostics(), "");
}

#[test]
fn a_receiver_that_fails_at_first_gets_the_incident_once_it_works() {
    let sandbox = Sandbox::new();
    let receiver = Receiver::replying(&[Reply::Status("503 Service Unavailable"), OK]);
    stalled(&sandbox);
    post_to(&sandbox, &receiver.url);
    let mut child = notifier(&sandbox);
    let requests = receiver.wait(2);
    stop(&sandbox);
    assert!(child.wait().unwrap().success());
    assert_eq!(body(&requests[0])["incident"]["id"], body(&requests[1])["incident"]["id"]);
    post_to(&sandbox, &receiver.url);
    let mut again = notifier(&sandbox);
    wait(|| is_watched(&sandbox));
    stop(&sandbox);
    assert!(again.wait().unwrap().success());
    assert_eq!(receiver.requests().len(), 2, "what was delivered is not sent again");
}

#[test]
fn of_two_notifiers_one_sends() {
    let sandbox = Sandbox::new();
    let receiver = Receiver::replying(&[OK]);
    stalled(&sandbox);
    post_to(&sandbox, &receiver.url);
    let mut children = [notifier(&sandbox), notifier(&sandbox)];
    receiver.wait(1);
    // The one without the lock ends by itself.
    wait(|| is_watched(&sandbox));
    std::thread::scope(|scope| {
        let waits = children.each_mut().map(|child| scope.spawn(|| child.wait().unwrap()));
        wait(|| waits.iter().any(|wait| wait.is_finished()));
        assert!(is_watched(&sandbox));
        stop(&sandbox);
    });
    assert_eq!(receiver.requests().len(), 1);
}

#[test]
fn a_delivery_during_which_the_notifier_is_killed_is_repeated_with_the_same_id() {
    let sandbox = Sandbox::new();
    let receiver = Receiver::replying(&[Reply::Silence, OK]);
    stalled(&sandbox);
    post_to(&sandbox, &receiver.url);
    let mut child = notifier(&sandbox);
    receiver.wait(1);
    child.kill().unwrap();
    child.wait().unwrap();
    wait(|| !is_watched(&sandbox));
    for _ in 0..2 {
        post_to(&sandbox, &receiver.url);
        let mut child = notifier(&sandbox);
        let requests = receiver.wait(2);
        assert_eq!(requests[0].body, requests[1].body);
        stop(&sandbox);
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(receiver.requests().len(), 2, "one that got no reply, and one that did");
}

#[test]
fn a_hook_call_starts_a_killed_notifier_again() {
    let sandbox = Sandbox::new();
    let receiver = Receiver::replying(&[OK]);
    post_to(&sandbox, &receiver.url);
    let lead = stalled(&sandbox);
    receiver.wait(1);
    let ledger = sandbox.keep(&format!("runs/{}/notifications.json", run(&sandbox)));
    wait(|| std::fs::read_to_string(&ledger).unwrap().contains("\"sent\""));
    // Two hook calls can each have started one.
    wait(|| !sandbox.kill("notify watch") && !is_watched(&sandbox));
    lead.hook("SubagentStart", by("bob"));
    wait(|| is_watched(&sandbox));
    lead.end("prompt_input_exit");
    wait(|| !is_watched(&sandbox));
    sandbox.finish();
    assert_eq!(receiver.requests().len(), 1, "what was delivered is not sent again");
}

#[test]
fn a_delivery_that_is_given_up_is_noted_for_doctor_and_not_repeated() {
    let sandbox = Sandbox::new();
    let receiver = Receiver::replying(&[Reply::Status("503 Service Unavailable")]);
    stalled(&sandbox);
    let id = incidents(&sandbox)[0]["id"].as_str().unwrap().to_owned();
    post_to(&sandbox, &receiver.url);
    // An attempt failed long ago.
    let destination = format!("url-{}", &blake3::hash(receiver.url.as_bytes()).to_hex()[..16]);
    let failed = json!({"kind": "stalled-agent", "agent": "alice", "state": "pending", "at": "2026-02-03T04:05:06.000Z"});
    let ledger = json!({"v": 1, "deliveries": {destination: {&id: failed}}});
    std::fs::write(sandbox.keep(&format!("runs/{}/notifications.json", run(&sandbox))), ledger.to_string())
        .unwrap();
    let mut child = notifier(&sandbox);
    wait(|| sandbox.diagnostics().contains("was not delivered to"));
    stop(&sandbox);
    assert!(child.wait().unwrap().success());
    let host = receiver.url.split("/hook").next().unwrap();
    let problem =
        format!("a notification (stalled-agent {id}) was not delivered to {host} in 15 minutes: HTTP 503");
    assert!(sandbox.diagnostics().contains(&problem), "{}", sandbox.diagnostics());
    assert!(sandbox.run(&["doctor"]).out.contains(&problem), "{}", sandbox.run(&["doctor"]).out);
    post_to(&sandbox, &receiver.url);
    let mut again = notifier(&sandbox);
    wait(|| is_watched(&sandbox));
    stop(&sandbox);
    assert!(again.wait().unwrap().success());
    assert_eq!(receiver.requests().len(), 1);
}

#[test]
fn only_the_wanted_incidents_are_sent() {
    let cases = [
        ("", true),
        ("severity = \"low\"\n", true),
        ("severity = \"high\"\n", true),
        ("kinds = [\"stalled-agent\", \"lost-work\"]\n", true),
        ("kinds = [\"lost-work\"]\n", false),
    ];
    let sends = |config: &str, is_sent: bool| {
        let sandbox = Sandbox::new();
        stalled(&sandbox);
        assert_eq!(incidents(&sandbox)[0]["severity"], "high");
        let got = sandbox.home().join("got");
        sandbox.configure(&format!("[notify]\ncommand = \"cat > got\"\n{config}"));
        let mut child = notifier(&sandbox);
        wait(|| is_watched(&sandbox) && (!is_sent || got.exists()));
        stop(&sandbox);
        assert!(child.wait().unwrap().success());
        assert_eq!(got.exists(), is_sent, "{config}");
    };
    std::thread::scope(|scope| {
        for (config, is_sent) in cases {
            scope.spawn(move || sends(config, is_sent));
        }
    });
}

#[test]
fn a_command_gets_the_incident_once_and_its_failure_is_in_the_diagnostics_only() {
    let sandbox = Sandbox::new();
    stalled(&sandbox);
    let got = sandbox.home().join("got");
    sandbox.configure("[notify]\ncommand = \"cat >> got; echo to-stdout; echo to-stderr >&2\"\n");
    let mut child = notifier(&sandbox);
    wait(|| std::fs::read_to_string(&got).is_ok_and(|text| text.ends_with('\n')));
    stop(&sandbox);
    assert!(child.wait().unwrap().success());
    let text = std::fs::read_to_string(&got).unwrap();
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(body["incident"], incidents(&sandbox)[0]);
    assert_eq!(sandbox.diagnostics(), "");
}

#[test]
fn without_a_configuration_no_notifier_is_started() {
    let sandbox = Sandbox::new();
    // A project's file cannot turn notifications on.
    let project = sandbox.home().join("parser/.claude");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("teamkeep.toml"), "[notify]\ncommand = \"cat > ~/got\"\n").unwrap();
    let lead = stalled(&sandbox);
    lead.hook("TeammateIdle", json!({"teammate_name": "bob"}));
    lead.hook("SubagentStart", by("bob"));
    assert!(!sandbox.runs("notify watch"));
    let files = below(&sandbox.keep(""));
    assert!(!files.iter().any(|path| path.to_string_lossy().contains("notifications")), "{files:?}");
    assert!(!is_watched(&sandbox));
}

#[test]
fn a_crash_of_claude_code_is_sent_and_ends_the_notifier() {
    let sandbox = Sandbox::new();
    let receiver = Receiver::replying(&[OK]);
    let mut client = teamkeep_system::os::process::shell("exit 0").spawn().unwrap();
    client.wait().unwrap();
    let lead = Lead::of(&sandbox, "bbbbbbbb-0000-4000-8000-000000000002");
    lead.config(1_770_091_200_000, &["alice"], json!({"leadProcess": {"pid": client.id()}}));
    lead.task("1", "in_progress", Some("alice"));
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    post_to(&sandbox, &receiver.url);
    assert!(notifier(&sandbox).wait().unwrap().success());
    let requests = receiver.requests();
    let kinds: Vec<Value> =
        requests.iter().map(|request| body(request)["incident"]["kind"].clone()).collect();
    assert_eq!(kinds, ["crashed-lead"]);
    assert!(notifier(&sandbox).wait().unwrap().success());
    assert_eq!(receiver.requests().len(), 1);
}

/// The notification of the stalled team, whose task has this subject.
fn sent(sandbox: &Sandbox, config: &str, subject: &str) -> String {
    sandbox.configure(config);
    let lead = stalled(sandbox);
    let task = json!({"id": "1", "subject": subject, "status": "in_progress", "owner": "alice"});
    sandbox.write(&format!("tasks/{}/1.json", lead.team), task);
    lead.hook("Notification", json!({}));
    let got = sandbox.home().join("got");
    sandbox.configure(&format!("[notify]\ncommand = \"cat >> got\"\n{config}"));
    let mut child = notifier(sandbox);
    wait(|| std::fs::read_to_string(&got).is_ok_and(|text| text.ends_with('\n')));
    stop(sandbox);
    assert!(child.wait().unwrap().success());
    std::fs::read_to_string(&got).unwrap()
}

#[test]
fn secrets_in_texts_are_not_sent() {
    let sandbox = Sandbox::new();
    let sent = sent(&sandbox, "", "Use ghp_0123456789abcdefghijABCDEFGHIJ012345 for #4");
    assert!(incidents(&sandbox)[0].to_string().contains("ghp_"), "the report has it");
    assert!(sent.contains("Use [redacted:") && !sent.contains("ghp_"), "{sent}");
}

#[test]
fn in_metadata_only_mode_no_texts_are_sent() {
    let sandbox = Sandbox::new();
    let sent = sent(&sandbox, "[privacy]\nrecord = \"metadata\"\n", "Port the parser");
    assert!(sent.contains("stalled-agent") && !sent.contains("Port the"), "{sent}");
}
