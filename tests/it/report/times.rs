//! Times for people are in the local time zone; files and JSON are in UTC.

use serde_json::json;
use teamkeep_model::time;

use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, START, Sandbox};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
/// Central European time as a POSIX string, which needs no zone files.
const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

/// A run of three calls, of which the first is at this time.
fn sandbox(first: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let since = time::parse(first).unwrap() - time::parse(START).unwrap();
    sandbox.set_clock(since.num_milliseconds());
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(time::parse(first).unwrap().millis(), &["alice"]);
    lead.start("startup");
    lead.hook("Stop", json!({}));
    lead.erase();
    lead.end("other");
    sandbox.finish();
    sandbox
}

fn run(sandbox: &Sandbox, zone: &str, args: &[&str]) -> CommandResult {
    sandbox.command(args).env("TZ", zone).output().unwrap().into()
}

fn berlin(sandbox: &Sandbox, args: &[&str]) -> String {
    let result = run(sandbox, BERLIN, args);
    assert_eq!((result.code, result.err.as_str()), (Some(0), ""), "{args:?}");
    result.out
}

/// The time that a text means in Berlin at 2026-11-22 05:00 local time.
fn meant(sandbox: &Sandbox, time: &str) -> String {
    let args = ["log", "--since", time, "--until", "1970-01-01"];
    let mut command = sandbox.command(&args);
    let result: CommandResult =
        command.env("TZ", BERLIN).env("TEAMKEEP_NOW", "2026-11-22T04:00:00Z").output().unwrap().into();
    assert_eq!(result.code, Some(64));
    let time = result.err.strip_prefix("error: --since ").unwrap_or(&result.err);
    time.split(" is later").next().unwrap().to_owned()
}

#[cfg_attr(windows, ignore = "Windows reads no zone from a variable")]
#[test]
fn text_output_uses_the_local_zone_and_names_it() {
    let sandbox = sandbox("2026-02-03T22:59:59.000Z");
    assert!(berlin(&sandbox, &["log"]).contains("\n2026-02-03 23:59:59 +01:00, lasted 2 s,"));
    assert!(berlin(&sandbox, &["report"]).contains("\n2026-02-03 23:59:59 +01:00, lasted 2 s,"));
    assert!(
        berlin(&sandbox, &["show", "--at", "+1s"]).contains("\nas of 2026-02-04 00:00:00 +01:00 (+1.0s)\n")
    );
    insta::assert_snapshot!(berlin(&sandbox, &["log", "--raw"]), @"
    2026-02-03 +01:00
    23:59:59.000 SessionStart     team-lead  startup session-aaaaaaaa
    2026-02-04 +01:00
    00:00:00.000 Stop             team-lead  session-aaaaaaaa
    00:00:01.000 SessionEnd       team-lead  other session-aaaaaaaa
    ");
    let paused = run(&sandbox, BERLIN, &["pause", "15m"]).err;
    assert!(paused.contains("every gate and rule until 2026-02-04 00:15:02 +01:00;"), "{paused}");
    assert!(berlin(&sandbox, &["status"]).contains("every gate and rule until 2026-02-04 00:15:02 +01:00\n"));
    assert!(berlin(&sandbox, &["status", "--json"]).contains("\"2026-02-03T23:15:02.000Z\""));
}

#[test]
fn utc_and_json_do_not_depend_on_the_zone() {
    let sandbox = sandbox("2026-02-03T22:59:59.000Z");
    for args in [&["list", "--utc"][..], &["log", "--utc"], &["report", "--utc"], &["log", "--raw", "--utc"]]
    {
        assert_eq!(berlin(&sandbox, args), sandbox.printed(args), "{args:?}");
    }
    for args in
        [&["list", "--json"][..], &["log", "--json"], &["report", "--json"], &["log", "--raw", "--json"]]
    {
        assert_eq!(berlin(&sandbox, args), sandbox.printed(args), "{args:?}");
    }
    assert!(
        berlin(&sandbox, &["report", "--format", "html"]).contains("<html lang=\"en\" data-zone=\"local\">")
    );
    assert!(berlin(&sandbox, &["report", "--format", "html", "--utc"]).contains("data-zone=\"utc\""));
}

#[cfg_attr(windows, ignore = "Windows reads no zone from a variable")]
#[test]
fn utc_offset_change_during_a_run_is_visible() {
    let sandbox = sandbox("2026-10-25T00:59:59.500Z");
    let log = berlin(&sandbox, &["log", "--raw"]);
    let times: Vec<&str> = log.lines().filter_map(|line| line.get(..17)).collect();
    assert_eq!(
        times,
        [
            "2026-10-25 +02:00",
            "02:59:59.500 Sess",
            "2026-10-25 +01:00",
            "02:00:00.500 Stop",
            "02:00:01.500 Sess"
        ]
    );
    let ended = run(&sandbox, BERLIN, &["log", "--since", "+1h"]);
    assert!(ended.err.contains("the run had ended at 2026-10-25 02:00:01 +01:00 (+2.0s)\n"), "{}", ended.err);
}

#[cfg_attr(windows, ignore = "Windows reads no zone from a variable")]
#[test]
fn every_time_format_is_read_in_the_local_zone() {
    let sandbox = sandbox("2026-11-20T04:40:41.000Z");
    for (time, means) in [
        ("2026-11-20 05:40", "2026-11-20 05:40:00 +01:00"),
        ("2026-11-20T05:40:41", "2026-11-20 05:40:41 +01:00"),
        ("2026-11-20 05:40:41 +01:00", "2026-11-20 05:40:41 +01:00"),
        ("2026-11-20 04:40:41 UTC", "2026-11-20 05:40:41 +01:00"),
        ("2026-11-20T04:40Z", "2026-11-20 05:40:00 +01:00"),
        ("2026-11-20", "2026-11-20 00:00:00 +01:00"),
        ("today", "2026-11-22 00:00:00 +01:00"),
        ("yesterday", "2026-11-21 00:00:00 +01:00"),
        ("now", "2026-11-22 05:00:00 +01:00"),
        ("1d12h ago", "2026-11-20 17:00:00 +01:00"),
        ("1w", "2026-11-15 05:00:00 +01:00"),
        ("+1m30s", "2026-11-20 05:42:11 +01:00"),
        ("-5s", "2026-11-20 05:40:36 +01:00"),
        ("2026-07-01 12:00", "2026-07-01 12:00:00 +02:00"),
        // This hour is skipped, and the next one is there twice.
        ("2026-03-29 02:30", "2026-03-29 03:30:00 +02:00"),
        ("2026-10-25 02:30", "2026-10-25 02:30:00 +02:00"),
    ] {
        assert_eq!(meant(&sandbox, time), means, "{time}");
    }
}

#[test]
fn every_command_accepts_the_same_time_formats() {
    let sandbox = sandbox("2026-11-20T04:40:41.000Z");
    let to = sandbox.home().join("then");
    let forms = "hint: expected 17:53, 2026-11-20 04:40 (local), 2026-11-20T04:40:00Z, 2026-11-20, today,";
    for args in [
        &["list", "--since"][..],
        &["list", "--until"],
        &["log", "--raw", "--since"],
        &["log", "--raw", "latest", "--until"],
        &["show", "--at"],
        &["show", "--diff", "2026-11-19"],
        &["log", "--since"],
        &["log", "--until"],
        &["restore", "latest", "--dry-run", "--files", to.to_str().unwrap(), "--at"],
    ] {
        let result = sandbox.run(&[args, &["25:40"]].concat());
        let complaint = format!("error: invalid time \"25:40\"\n{forms}");
        assert!(result.code == Some(64) && result.err.starts_with(&complaint), "{args:?}: {}", result.err);
        for time in ["2026-11-20 04:40:42", "2026-11-20T04:40:42.5Z", "now", "2h ago"] {
            let result = sandbox.run(&[args, &[time]].concat());
            assert_eq!(result.code, Some(0), "{args:?} {time}: {}", result.err);
        }
    }
    let stops = |args: &[&str]| sandbox.printed(args).contains("Stop");
    assert!(
        stops(&["log", "--raw", "latest", "--since", "+1s"])
            && !stops(&["log", "--raw", "latest", "--since", "+2s"])
    );
    let result = sandbox.run(&["log", "--raw", "--since", "+1s"]);
    let complaint =
        "error: invalid time \"+1s\": it is relative to the start of a run, and no run is named\n";
    assert!(result.code == Some(64) && result.err.starts_with(complaint), "{}", result.err);
    assert_eq!(sandbox.run(&["prune", "--older-than", "1w", "--dry-run"]).code, Some(0));
}
