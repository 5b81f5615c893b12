//! A project's checks and rules that were trusted and are taken away: an agent may have done that.

use serde_json::{Value, json};

use crate::support::sandbox::Sandbox;

const RULE: &str = "[[rule]]\nname = \"r\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\n";

fn trusted(sandbox: &Sandbox) -> std::path::PathBuf {
    let file = sandbox.home().join("parser/.claude/teamkeep.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, RULE).unwrap();
    assert_eq!(sandbox.run(&["policy", "trust", "--yes"]).code, Some(0));
    file
}

fn told(sandbox: &Sandbox, session: &str, mut payload: Value) -> Option<String> {
    payload["session_id"] = json!(session);
    let result = sandbox.feed("", payload.to_string().as_bytes(), &[]);
    assert_eq!(result.code, Some(0), "{result:?}");
    let answer: Option<Value> = serde_json::from_str(&result.out).ok();
    Some(answer?["systemMessage"].as_str()?.to_owned())
}

#[test]
fn a_trusted_file_that_disappeared_is_reported_and_recorded_once_a_session() {
    let sandbox = Sandbox::judging();
    let file = trusted(&sandbox);
    let bash = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    for (session, left) in [("s1", None), ("s2", Some("[policy]\nmax-blocks = 2\n"))] {
        match left {
            None => std::fs::remove_file(&file).unwrap(),
            Some(text) => std::fs::write(&file, text).unwrap(),
        }
        let words = told(&sandbox, session, bash.clone()).unwrap();
        assert!(words.contains("the trusted checks and rules do not run"), "{words}");
        assert_eq!(told(&sandbox, session, bash.clone()), None, "once");
    }
    let start = json!({"hook_event_name": "SessionStart", "source": "startup"});
    let words = told(&sandbox, "s3", start).unwrap();
    assert!(words.contains("the file no longer has any"), "{words}");
    assert_eq!(told(&sandbox, "s3", bash.clone()), None, "it was told when the session began");
    let codes = sandbox.log().iter().filter(|line| line["verdict"]["code"] == "policy-untrusted").count();
    assert_eq!(codes, 2);
}

#[test]
fn check_and_doctor_report_a_lost_trusted_file_until_it_is_removed() {
    let sandbox = Sandbox::judging();
    std::fs::remove_file(trusted(&sandbox)).unwrap();
    let check = sandbox.run(&["config", "check"]);
    assert!(check.out.contains("warning[trust-gone]") && check.code == Some(0), "{check:?}");
    let doctor = sandbox.run(&["doctor"]);
    assert!(doctor.out.contains("do not run: the file is gone"), "{}", doctor.out);
    assert_eq!(sandbox.run(&["policy", "trust", "--remove"]).code, Some(0));
    assert!(!sandbox.run(&["config", "check"]).out.contains("trust-gone"));
    let bash = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    assert_eq!(told(&sandbox, "s", bash), None);
}
