//! The row of a machine: from it an administrator sees that a machine is silent, broken, outdated or changed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use teamkeep::verify::{LogHead, Scope, Verifier};
use teamkeep_config::{Config, ORGANIZATION_FILE};
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::Archive;
use teamkeep_store::log::Appending;

use super::receiver::{Answer, Receiver};
use crate::support::Machine;

/// The row of the last shipment.
fn last(machine: &Machine) -> Value {
    machine.rows("hosts").pop().unwrap()
}

fn shipped_heads(machine: &Machine) -> BTreeSet<String> {
    let lists = machine.rows("hosts").into_iter().map(|row| row["heads"].as_array().unwrap().clone());
    lists.flatten().map(|head| head.as_str().unwrap().to_owned()).collect()
}

/// The problems that `teamkeep verify --against` finds with these heads.
fn problems(machine: &Machine, heads: &BTreeSet<String>) -> u64 {
    let against: Vec<LogHead> = heads.iter().map(|head| head.parse().unwrap()).collect();
    let archive = Archive::open(machine.store(), &Config::default());
    let logs = machine.logs();
    let verifier =
        Verifier { archive: &archive, logs: &logs, paths: None, scope: Scope::All, against: &against };
    verifier.run(&mut |_| ()).unwrap().count
}

#[test]
fn the_row_has_the_state_of_the_machine() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("privacy = \"redacted\"");
    let settings = machine.home().join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let hook = json!([{"hooks": [{"type": "command", "command": "/opt/teamkeep/teamkeep-hook"}]}]);
    let foreign = json!([{"hooks": [{"type": "command", "command": "say done"}]}]);
    let hooks = json!({"hooks": {"Stop": foreign, "SessionStart": hook, "PreToolUse": hook}});
    std::fs::write(settings, hooks.to_string()).unwrap();
    let removed = json!({"v": 1, "at": "2026-02-03T04:05:06.789Z", "segments": 2, "bytes": 77});
    std::fs::write(machine.store().join("marks/shipping-removed.json"), removed.to_string()).unwrap();
    machine.ship_all();
    let row = last(&machine);
    for (column, value) in [
        ("user_name", json!("dev")),
        ("shipper_version", json!(env!("CARGO_PKG_VERSION"))),
        ("hooks", json!(["PreToolUse", "SessionStart"])),
        ("privacy", json!("redacted")),
        ("lost_bytes", json!(77)),
        ("unreadable_bytes", json!(0)),
        ("runs", json!(1)),
        ("events", json!(machine.log_lines().len())),
        ("time", row["shipped_at"].clone()),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    assert_eq!(row.get("last_error"), None);
}

#[test]
fn the_row_has_the_hash_of_the_organizations_file() {
    let machine = Machine::new();
    machine.record("v328-headless");
    machine.configure_lake("");
    let (dir, content) = (machine.dir.join("etc"), "[organization]\nallow-pauses = true\n");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("teamkeep.toml"), content).unwrap();
    let target = Path::new(ORGANIZATION_FILE).parent().unwrap();
    // In a mount namespace, the scratch directory is `/etc/teamkeep`.
    let script = format!(
        "mount -t tmpfs none /etc && mkdir {target} && mount --bind {source} {target} && exec {program} --once",
        target = target.display(),
        source = dir.display(),
        program = env!("CARGO_BIN_EXE_teamkeep-ship")
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &script]);
    for (name, value) in machine.shipper(&[]).get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let output = command.output();
    if !output.as_ref().is_ok_and(|output| output.status.success()) {
        println!("skipped: the system allows no mount namespace: {output:?}");
        return;
    }
    assert_eq!(last(&machine)["policy"], blake3::hash(content.as_bytes()).to_hex().to_string());
    machine.change_state(|destination| destination["at"] = json!("2026-02-03T04:05:06.789Z"));
    machine.ship_all();
    assert_eq!(last(&machine).get("policy"), None, "without one");
}

#[test]
fn the_heads_of_all_logs_with_new_lines_are_those_that_verify_accepts() {
    let machine = Machine::new();
    machine.configure_lake("");
    machine.record("v328-headless");
    machine.ship_all();
    let first = machine.heads();
    assert!(!first.is_empty());
    assert_eq!(shipped_heads(&machine), first);
    machine.record("v328-notasks");
    machine.ship_all();
    let all = machine.heads();
    assert!(all.len() > first.len());
    assert_eq!(shipped_heads(&machine), all);
    let new: BTreeSet<String> = all.difference(&first).cloned().collect();
    assert_eq!(last(&machine)["heads"], json!(new), "only logs with new lines");
    let before = problems(&machine, &BTreeSet::new());
    assert_eq!(problems(&machine, &shipped_heads(&machine)), before);
    let (log, _) = new.first().unwrap().split_once(':').unwrap();
    let other = BTreeSet::from([format!("{log}:1:{}", "0".repeat(32))]);
    assert_eq!(problems(&machine, &other), before + 1);
}

#[test]
fn each_shipment_of_a_log_that_continues_has_its_lines_once_and_its_head() {
    let machine = Machine::new();
    machine.configure_lake("");
    let log = machine.logs().session(None);
    let (mut expected, patience) = (BTreeSet::new(), Duration::from_secs(60));
    let how = Appending { segment_size: 1 << 20, patience, durable: false };
    for round in 1..=3 {
        for number in 0..2 {
            let line = json!({"v": 1, "at": "2026-02-03T04:05:06.789Z", "id": format!("{round}-{number}"), "event": "E"});
            log.append(line.to_string().as_bytes(), Timestamp::default(), how).unwrap();
        }
        expected.insert(format!("session-no-session:{}", log.head().unwrap()));
        machine.ship_all();
        assert_eq!(machine.all_rows("events").len(), 2 * round);
        assert_eq!(shipped_heads(&machine), expected);
        log.compress().unwrap();
    }
    assert_eq!(machine.objects().len(), 3);
}

#[test]
fn the_error_of_the_round_before_is_there_without_paths_and_the_words_of_a_server() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    let receiver = Receiver::responding(|_| Answer::Refused("401 Words-of-the-server", ""));
    let blocked = machine.dir.join("blocked");
    std::fs::write(&blocked, "in the way").unwrap();
    let key = machine.dir.join("none.key");
    for (config, expected) in [
        (format!("otlp = \"{}\"", receiver.base), "cannot send logs".to_owned()),
        (
            format!("directory = \"{}\"", blocked.display()),
            "cannot append rows to the file in `ship.directory`".to_owned(),
        ),
        (
            format!("pseudonym-key-file = \"{}\"", key.display()),
            "cannot use `ship.pseudonym-key-file`".to_owned(),
        ),
    ] {
        machine.configure_lake(&config);
        let error = machine.ship_in_vain();
        assert!(error.contains(&expected), "{error}");
        machine.configure_lake("");
        machine.change_state(|destination| destination["at"] = json!("2026-02-03T04:05:06.789Z"));
        machine.ship_all();
        let found = last(&machine)["last_error"].as_str().unwrap().to_owned();
        assert_eq!(found, expected);
        assert!(!found.contains("Words") && !found.contains(machine.dir.to_str().unwrap()), "{found}");
        machine.change_state(|destination| destination["at"] = json!("2026-02-03T04:05:06.789Z"));
        machine.ship_all();
        assert_eq!(last(&machine).get("last_error"), None, "it has succeeded since");
    }
}
