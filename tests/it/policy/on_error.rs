//! `on-error` of a policy file that cannot be used: "block" holds if the file says so, or said so when it was last valid.

use std::path::PathBuf;

use serde_json::json;

use super::gate_sandbox::{SESSION, busy};
use crate::support::sandbox::{Sandbox, feed};

const BLOCK: &str = "[policy]\non-error = \"block\"\n";

fn user(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().parent().unwrap().join("teamkeep.toml")
}

/// What becomes of a tool once something has been done to a sound file that says "block".
fn after(make: impl Fn(&Sandbox)) -> Option<i32> {
    let sandbox = busy(BLOCK);
    assert_eq!(bash(&sandbox), Some(0), "a sound policy has nothing against it");
    make(&sandbox);
    bash(&sandbox)
}

fn bash(sandbox: &Sandbox) -> Option<i32> {
    let bash = json!({"session_id": SESSION, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let mut command = sandbox.command(&["hook", "pre-tool-use"]);
    if user(sandbox).symlink_metadata().is_ok() {
        command.env("TEAMKEEP_CONFIG", user(sandbox));
    }
    feed(&mut command, bash.to_string().as_bytes()).code
}

fn wrote(bytes: impl AsRef<[u8]>) -> Option<i32> {
    after(|sandbox| std::fs::write(user(sandbox), bytes.as_ref()).unwrap())
}

#[test]
fn a_file_with_any_error_keeps_the_last_valid_value() {
    let broken = [
        [BLOCK.as_bytes(), b"# \xff\n"].concat(),
        format!("{BLOCK}{}", "#".repeat(2 << 20)).into_bytes(),
        b"[policy]\non-error = \"allow\"\n# \xff\n".to_vec(),
        b"[policy]\non-error = \"allow\"\nx = 1\n".to_vec(),
        b"[policy]\non-error = \"Allow\"\n".to_vec(),
        b"[policy]\non-error = \"allow\"\non-error = \"allow\"\n".to_vec(),
        b"[policy]\non_error = \"allow\"\n".to_vec(),
        b"[policy]\non-err".to_vec(),
        b"[policy]\nx = 1\n".to_vec(),
    ];
    for text in &broken {
        assert_eq!(wrote(text), Some(2), "{}", String::from_utf8_lossy(&text[..text.len().min(60)]));
    }
    assert_eq!(wrote("[policy]\non-error = \"allow\"\n"), Some(0), "a valid file decides");
}

#[test]
fn a_file_that_was_never_valid_blocks_only_if_it_sets_on_error() {
    let broken = |text: &str| {
        let sandbox = busy("");
        std::fs::write(user(&sandbox), text).unwrap();
        bash(&sandbox)
    };
    assert_eq!(broken(&format!("{BLOCK}x = 1\n")), Some(2));
    assert_eq!(broken("[policy]\non-error = \"blok\"\n"), Some(0));
    assert_eq!(broken("[policy]\non-error = \"allow\"\nx = 1\n"), Some(0));
}

#[test]
fn the_last_valid_on_error_of_an_unreadable_file_applies() {
    let replaced = |make: fn(&PathBuf)| {
        after(move |sandbox| {
            std::fs::remove_file(user(sandbox)).unwrap();
            make(&user(sandbox));
        })
    };
    assert_eq!(replaced(|path| std::fs::create_dir(path).unwrap()), Some(2));
    #[cfg(unix)]
    assert_eq!(replaced(|path| std::os::unix::fs::symlink("nowhere", path).unwrap()), Some(2));
}

#[test]
fn the_last_valid_on_error_is_known_although_the_file_had_warnings() {
    let useless =
        "[[rule]]\nname = \"r\"\nlasting = true\naction = \"warn\"\nreason = \"no\"\ntools = [\"Read\"]\n";
    let then = |word: &str| {
        after(|sandbox| {
            let warned = format!("[policy]\non-error = \"{word}\"\n{useless}");
            std::fs::write(user(sandbox), warned).unwrap();
            assert_eq!(bash(sandbox), Some(0), "it can be used");
            std::fs::write(user(sandbox), "[policy\n").unwrap();
        })
    };
    assert_eq!((then("allow"), then("block")), (Some(0), Some(2)));
}

#[test]
#[cfg_attr(windows, ignore = "no variable names the place of a file of the user")]
fn a_deleted_file_has_no_on_error_unless_it_is_named() {
    let sandbox = busy("");
    let own = sandbox.home().join(".config/teamkeep/teamkeep.toml");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    std::fs::remove_file(user(&sandbox)).unwrap();
    std::fs::write(&own, format!("{BLOCK}x = 1\n")).unwrap();
    assert_eq!(bash(&sandbox), Some(2));
    std::fs::remove_file(&own).unwrap();
    assert_eq!(bash(&sandbox), Some(0));

    let sandbox = busy(BLOCK);
    let call = || {
        let mut command = sandbox.command(&["hook", "pre-tool-use"]);
        command.env("TEAMKEEP_CONFIG", user(&sandbox));
        let payload = json!({"session_id": SESSION, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}});
        feed(&mut command, payload.to_string().as_bytes()).code
    };
    assert_eq!(call(), Some(0));
    std::fs::remove_file(user(&sandbox)).unwrap();
    assert_eq!(call(), Some(2), "TEAMKEEP_CONFIG names it");
}

#[test]
fn an_error_in_a_project_file_is_reported() {
    let project = |text: &str, user: &str| {
        let sandbox = busy(user);
        let file = sandbox.home().join("parser/.claude/teamkeep.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        bash(&sandbox)
    };
    assert_eq!(project(&format!("{BLOCK}x = 1\n"), ""), Some(2));
    assert_eq!(project("x = 1\n", ""), Some(0));
    assert_eq!(project("[policy]\non-error = \"allow\"\nx = 1\n", BLOCK), Some(2), "it can only tighten");
}

#[cfg(unix)]
#[test]
fn a_lasting_rule_applies_without_a_usable_store() {
    let (sandbox, tmp) = (busy(""), tempfile::tempdir().unwrap());
    let refuge = tmp.path().join(format!("teamkeep-{}", rustix::process::getuid().as_raw()));
    std::os::unix::fs::symlink("/nowhere", refuge).unwrap();
    let call = |config: &str, tool: &str| {
        sandbox.write_config(config);
        let mut command = sandbox.command(&["hook", "pre-tool-use"]);
        command.env_remove("HOME").env_remove("TEAMKEEP_HOME").env("TMPDIR", tmp.path());
        let transcript = sandbox.client(&format!("projects/p/{SESSION}.jsonl"));
        let payload = json!({"session_id": SESSION, "transcript_path": transcript, "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": {"command": "ls"}});
        feed(&mut command, payload.to_string().as_bytes())
    };
    let rule = "[[rule]]\nname = \"r\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"Not here.\"\n";
    let result = call(&format!("{rule}lasting = true\n"), "Bash");
    assert_eq!(result.code, Some(2), "{}", result.err);
    assert!(result.err.contains("Not here.") && result.err.contains("is a symlink"), "{}", result.err);
    assert_eq!(call(&format!("{rule}lasting = true\n"), "Read").code, Some(1));
    assert_eq!(call(rule, "Bash").code, Some(1), "what cannot be counted goes on");
    assert_eq!(call(BLOCK, "Bash").code, Some(2));
    assert_eq!(call("", "Bash").code, Some(1));
}
