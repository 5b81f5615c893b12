//! `teamkeep notify test`.

use serde_json::{Value, json};

use super::stalled_team::post_to;
use crate::support::access::set_mode;
use crate::support::receiver::{Receiver, Reply};
use crate::support::sandbox::Sandbox;

#[test]
fn a_test_notification_is_sent_to_every_destination() {
    let sandbox = Sandbox::new();
    let receiver = Receiver::replying(&[Reply::Status("202 Accepted")]);
    sandbox.configure(&format!("[notify]\nurl = \"{}\"\ncommand = \"cat > got\"\n", receiver.url));
    let host = receiver.url.split("/hook").next().unwrap();
    let expected = format!("sent to the command: exit code 0\nsent to {host}: HTTP 202\n");
    assert_eq!(sandbox.printed(&["config", "test-notify"]), expected);
    let request = &receiver.requests()[0];
    assert_eq!(request.header("teamkeep-signature"), None, "no secret is configured");
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!((&body["test"], &body["incident"]["agents"]), (&json!(true), &json!(["example"])));
    let got = std::fs::read_to_string(sandbox.home().join("got")).unwrap();
    assert_eq!(got.trim_end(), request.body);
}

#[test]
fn a_failure_is_shown_and_is_the_exit_code() {
    let sandbox = Sandbox::new();
    let elsewhere = Receiver::replying(&[Reply::Status("200 OK")]);
    let receiver = Receiver::replying(&[Reply::Redirect(elsewhere.url.clone()), Reply::Status("500 Oops")]);
    let host = receiver.url.split("/hook").next().unwrap();
    post_to(&sandbox, &receiver.url);
    for status in ["307", "500"] {
        let result = sandbox.run(&["config", "test-notify"]);
        assert_eq!((result.code, result.out.as_str()), (Some(1), ""));
        assert_eq!(result.err, format!("error: cannot send to {host}: HTTP {status}\n"));
    }
    assert!(elsewhere.requests().is_empty(), "no redirect is followed");
    let refused = sandbox.run(&["config", "test-notify", "--url", "http://127.0.0.1:1/"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.starts_with("error: cannot send to http://127.0.0.1:1: curl: (7) "), "{refused:?}");
    let failed = sandbox.run(&["config", "test-notify", "--command", "echo no such channel >&2; exit 2"]);
    assert_eq!(failed.err, "error: cannot send to the command: exit code 2: no such channel\n");
}

#[test]
fn nothing_is_sent_without_a_valid_destination() {
    let sandbox = Sandbox::new();
    let result = sandbox.run(&["config", "test-notify"]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.starts_with("error: no destination is configured\nhint: "), "{}", result.err);
    let result = sandbox.run(&["config", "test-notify", "--url", "ftp://example.com"]);
    assert_eq!(result.code, Some(64), "{}", result.err);
    sandbox.configure("[notify]\nurl = \"example.com/hook\"\n");
    let result = sandbox.run(&["config", "test-notify"]);
    assert_eq!(result.code, Some(1), "{}", result.err);
    assert!(result.err.contains("`notify.url`: invalid address"), "{}", result.err);
}

#[test]
fn a_command_runs_in_the_home_directory_without_the_token_of_claude_code() {
    let sandbox = Sandbox::new();
    let line = "pwd > ~/got; echo \"${CLAUDE_CODE_MESSAGING_TOKEN-none}\" >> ~/got; wc -l >> ~/got";
    let mut command = sandbox.command(&["config", "test-notify", "--command", line]);
    let result = command.env("CLAUDE_CODE_MESSAGING_TOKEN", "my-secret!").output().unwrap();
    assert!(result.status.success(), "{result:?}");
    let home = sandbox.home().canonicalize().unwrap();
    let got = std::fs::read_to_string(home.join("got")).unwrap();
    let got: Vec<&str> = got.lines().map(str::trim).collect();
    assert_eq!(got, [home.to_str().unwrap(), "none", "1"], "the directory, the token, the lines of JSON");
}

#[cfg(unix)]
#[test]
fn doctor_checks_the_secret_and_sends_nothing() {
    let sandbox = Sandbox::new();
    let receiver = Receiver::replying(&[]);
    let host = receiver.url.split("/hook").next().unwrap();
    let found = || {
        let out = sandbox.run(&["doctor", "-v"]).out;
        let line = out.lines().find(|line| line.contains("notifications")).unwrap_or_else(|| panic!("{out}"));
        line.to_owned()
    };
    post_to(&sandbox, &receiver.url);
    assert!(found().ends_with(&format!("notifications are sent to {host}")), "{}", found());
    let secret = sandbox.home().join("secret");
    set_mode(&secret, 0o644);
    assert!(found().contains("other users have access to "), "{}", found());
    let result = sandbox.run(&["config", "test-notify"]);
    assert!(result.code == Some(1) && result.err.contains("hint: chmod 600 "), "{result:?}");
    std::fs::remove_file(&secret).unwrap();
    assert!(found().contains("cannot read the secret"), "{}", found());
    assert!(receiver.requests().is_empty());
}
