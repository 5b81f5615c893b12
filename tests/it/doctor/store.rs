//! `teamkeep doctor` on the policy, the record and the client's team directories.

use insta::assert_snapshot;
use serde_json::json;

use crate::doctor::checks::{examined, of, one, well};
use crate::support::access::{assert_mode, set_mode};
use crate::support::install_home::{Home, result};
use crate::support::sandbox::feed;

const STORE: &str = ".local/share/teamkeep";

fn chmod(home: &Home, path: &str, mode: u32) {
    set_mode(home.at(path), mode);
}

/// One event of a session with a team.
fn record(home: &Home) {
    let team = "session-1a2b3c4d";
    std::fs::create_dir_all(home.at(".claude/teams").join(team)).unwrap();
    let config = json!({"name": team, "createdAt": 1, "leadSessionId": "s1", "leadProcess": {"pid": std::process::id()},
        "members": [{"name": "team-lead", "agentId": format!("team-lead@{team}"), "tmuxPaneId": "leader"}]});
    std::fs::write(home.at(".claude/teams").join(team).join("config.json"), config.to_string()).unwrap();
    let payload = json!({"session_id": "s1", "transcript_path": home.at(".claude/projects/p/s1.jsonl"),
        "cwd": home.dir.path(), "hook_event_name": "UserPromptSubmit", "prompt": "go"});
    let result = feed(&mut home.command("hook user-prompt-submit"), payload.to_string().as_bytes());
    assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
}

#[cfg(unix)]
#[test]
fn doctor_reports_and_restricts_a_store_that_others_can_read() {
    let home = well();
    record(&home);
    assert!(one(&home, "store-private").starts_with("ok: "));
    chmod(&home, STORE, 0o755);
    assert!(one(&home, "store-private").starts_with("warn: other users can list "));
    chmod(&home, &format!("{STORE}/runs"), 0o750);
    assert_snapshot!(one(&home, "store-private"), @"bad: other users can access the store: ~/.local/share/teamkeep (mode 755), ~/.local/share/teamkeep/runs (mode 750) => teamkeep doctor --fix");
    let value = examined(&home, "doctor --fix --json");
    assert_eq!(value["fixed"].as_array().unwrap().len(), 2, "{value}");
    assert_mode(home.at(STORE), 0o700);
    assert_mode(home.at(STORE).join("runs"), 0o700);
    assert!(one(&home, "store-private").starts_with("ok: "));
    let before = home.everything();
    assert_eq!(home.ok("doctor --fix").err, "nothing to fix\n");
    assert_eq!(home.everything(), before);
}

#[cfg(unix)]
#[test]
fn doctor_does_not_follow_links_out_of_the_store() {
    let home = well();
    std::fs::write(home.at("mine"), "").unwrap();
    chmod(&home, "mine", 0o644);
    std::os::unix::fs::symlink(home.at("mine"), home.at(STORE).join("link")).unwrap();
    chmod(&home, STORE, 0o755);
    home.ok("doctor --fix");
    assert_mode(home.at("mine"), 0o644);
    assert_mode(home.at(STORE), 0o700);
}

#[test]
fn doctor_reports_and_verifies_recorded_data() {
    let home = well();
    assert_eq!(one(&home, "newest-run"), "unknown: no run recorded yet");
    record(&home);
    assert_eq!(one(&home, "last-event"), "ok: last event: 2026-02-03 04:05:06 UTC (just now)");
    assert!(one(&home, "newest-run").starts_with("ok: the newest run is undamaged: session-1a2b3c4d ("));
    let runs = crate::support::sandbox::below(&home.at(STORE).join("runs"));
    for path in runs.into_iter().filter(|path| path.ends_with("contents.jsonl")) {
        std::fs::remove_file(path).unwrap();
    }
    let (verdict, what, fix) = of(&home, "newest-run").remove(0);
    assert_eq!(
        (verdict.as_str(), what.as_str()),
        ("bad", "the newest run, session-1a2b3c4d, is damaged in 1 place")
    );
    assert!(fix.unwrap().starts_with("teamkeep verify "));
}

#[test]
fn doctor_reports_claude_code_use_without_recorded_events() {
    let home = well();
    record(&home);
    // The transcript is of now, and the clock of the event stands in February.
    std::fs::create_dir_all(home.at(".claude/projects/p")).unwrap();
    std::fs::write(home.at(".claude/projects/p/s2.jsonl"), "{}\n").unwrap();
    let told = one(&home, "last-event");
    assert!(
        told.starts_with("warn: last event: 2026-02-03 04:05:06 UTC (just now), but Claude Code was used 20"),
        "{told}"
    );
}

#[test]
fn doctor_reports_internal_failures_for_a_day() {
    let home = well();
    std::fs::create_dir_all(home.at(STORE).join("diagnostics")).unwrap();
    let notes = "2026-02-01T04:05:06.789Z [7] long ago\n2026-02-03T03:05:06.789Z [7] the disk is full\nnonsense\n\
         2026-02-03T03:06:06.789Z [8] slow hook call: pre-tool-use took 504 ms\n";
    std::fs::write(home.at(STORE).join("diagnostics/teamkeep.2026-02-03.log"), notes).unwrap();
    assert_snapshot!(one(&home, "own-failures"), @"warn: 1 hook error in the last 24 hours; newest: the disk is full => see ~/.local/share/teamkeep/diagnostics");
}

#[test]
fn doctor_reports_a_team_of_a_dead_client_and_preserves_it() {
    let home = well();
    record(&home);
    assert!(one(&home, "stale-teams").starts_with("ok: "), "its lead is this process");
    let mut child = teamkeep_system::os::process::shell("exit 0").spawn().unwrap();
    let dead = child.id();
    child.wait().unwrap();
    std::fs::create_dir_all(home.at(".claude/teams/parser")).unwrap();
    std::fs::create_dir_all(home.at(".claude/teams/odd")).unwrap();
    std::fs::write(home.at(".claude/teams/odd/config.json"), "not json").unwrap();
    let config = json!({"name": "parser", "leadProcess": {"pid": dead}, "members": []});
    std::fs::write(home.at(".claude/teams/parser/config.json"), config.to_string()).unwrap();
    // An older team names no process. Any session that may run can be its own, also one whose note is half written.
    std::fs::create_dir_all(home.at(".claude/teams/older")).unwrap();
    std::fs::write(
        home.at(".claude/teams/older/config.json"),
        json!({"name": "older", "leadSessionId": "aaaaaaaa-0000-4000-8000-000000000001", "members": []})
            .to_string(),
    )
    .unwrap();
    let note = home.at(&format!(".claude/sessions/{}.json", std::process::id()));
    std::fs::create_dir_all(note.parent().unwrap()).unwrap();
    std::fs::write(&note, "{ half").unwrap();
    let remove = if cfg!(windows) { "Remove-Item -Recurse -LiteralPath" } else { "rm -r" };
    let found = one(&home, "stale-teams").replacen(remove, "REMOVE", 1);
    assert_snapshot!(found, @"warn: 1 team whose Claude Code process has exited: parser => check with `teamkeep show parser`, then: REMOVE ~/.claude/teams/parser");
    std::fs::remove_file(note).unwrap();
    let finding = one(&home, "stale-teams");
    assert!(
        finding.starts_with("warn: 2 teams whose Claude Code process has exited: older, parser => "),
        "{finding}"
    );
    home.ok("doctor --fix");
    assert!(home.at(".claude/teams/parser/config.json").exists());
}

#[test]
fn doctor_reports_invalid_and_untrusted_policies() {
    let home = well();
    let config = home.at(".config/teamkeep/teamkeep.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, "[log]\nkep = 1\n").unwrap();
    assert_snapshot!(one(&home, "policy-files"), @"bad: ~/.config/teamkeep/teamkeep.toml:2:1: unknown key `kep` => teamkeep config check");
    std::fs::write(&config, "").unwrap();
    assert_eq!(one(&home, "policy-files"), "ok: ~/.config/teamkeep/teamkeep.toml is valid");
    std::fs::write(
        home.at(".claude/teamkeep.toml"),
        "[[rule]]\nname = \"r\"\nevents = [\"pre-tool-use\"]\naction = \"block\"\nreason = \"no\"\n",
    )
    .unwrap();
    assert_snapshot!(one(&home, "policy-trust"), @"warn: ~/.claude/teamkeep.toml is not trusted: 1 rule disabled => teamkeep policy trust");
    home.ok("policy trust --yes");
    assert!(one(&home, "policy-trust").starts_with("ok: "));
}

#[cfg(unix)]
#[test]
fn doctor_reports_the_store_path_if_home_is_not_set() {
    let home = well();
    std::fs::create_dir(home.at("tmp")).unwrap();
    let mut command = home.command("doctor");
    let result = result(home.dir.path(), command.env_remove("HOME").env("TMPDIR", home.at("tmp")));
    // The settings are found all the same: this directory is the project.
    assert_eq!(result.code, Some(0));
    let line = result.out.lines().find(|line| line.contains(" store-writable: ")).unwrap();
    let user = std::os::unix::fs::MetadataExt::uid(&home.at("tmp").metadata().unwrap());
    assert_eq!(
        line,
        format!("warning: store-writable: HOME is not set; data is stored in ~/tmp/teamkeep-{user}")
    );
}

#[cfg(unix)]
#[test]
fn doctor_reports_an_unwritable_store() {
    let home = well();
    std::fs::remove_dir_all(home.at(STORE)).unwrap();
    std::fs::write(home.at(STORE), "").unwrap();
    assert!(one(&home, "store-private").starts_with("bad: ~/.local/share/teamkeep is not a directory"));
    home.run("doctor --fix");
    assert_eq!(std::fs::read(home.at(STORE)).unwrap(), b"");
    // A disk that is not mounted.
    std::fs::remove_file(home.at(STORE)).unwrap();
    std::os::unix::fs::symlink(home.at("disk/store"), home.at(STORE)).unwrap();
    let expected = "bad: ~/.local/share/teamkeep is a link to ~/disk/store, which does not exist";
    assert!(one(&home, "store-writable").starts_with(expected), "{}", one(&home, "store-writable"));
    let listed = home.run("list");
    assert!(listed.code == Some(1) && listed.err.contains("which does not exist"), "{}", listed.err);
}

#[cfg(unix)]
#[test]
fn doctor_does_not_restrict_a_directory_with_other_content() {
    let home = well();
    for path in ["Documents", "cache", "bin"] {
        std::fs::create_dir_all(home.at(path)).unwrap();
        chmod(&home, path, 0o755);
    }
    set_mode(&home.dir, 0o755);
    let mut command = home.command("doctor --fix");
    let result = result(home.dir.path(), command.env("TEAMKEEP_HOME", home.dir.path()));
    let line = result.out.lines().find(|line| line.contains(" store-private: ")).unwrap();
    assert_snapshot!(line, @"error: store-private: other users can access the store: ~ (mode 755), ~/cache (mode 755)");
    assert!(
        result.out.contains("hint: set TEAMKEEP_HOME to a directory that only teamkeep uses"),
        "{}",
        result.out
    );
    for path in ["Documents", "cache", "bin", ""] {
        assert_mode(home.at(path), 0o755);
    }
    assert!(!result.err.contains("closed"), "{}", result.err);
}

#[test]
fn doctor_reports_a_file_in_place_of_a_store_directory_and_continues() {
    for part in ["runs", "sessions", "teams", "diagnostics"] {
        let home = well();
        record(&home);
        let place = home.at(STORE).join(part);
        let _ = std::fs::remove_dir_all(&place);
        std::fs::write(&place, "").unwrap();
        chmod(&home, &format!("{STORE}/{part}"), 0o600);
        let shown = format!("~/.local/share/teamkeep/{part}");
        let told = one(&home, "store-writable");
        assert!(
            told.starts_with(&format!(
                "bad: {shown} is not a directory: nothing can be recorded in it => mv -n "
            )),
            "{told}"
        );
        assert!(!one(&home, "newest-run").is_empty() && !one(&home, "own-failures").is_empty());
    }
}
