//! The event log: many processes at once, killed ones, a full disk; and `teamkeep log`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use teamkeep_history::{Range, ReadErrors, Reader};
use teamkeep_model::event::SafeName;
use teamkeep_model::time;
use teamkeep_store::log::{Appending, EventLog, Logs};
use teamkeep_system::env::Env;
use teamkeep_system::paths::Paths;

use crate::support::sandbox::{native, unix_paths};

const AT: &str = "2026-02-03T04:05:06.789Z";
/// What tells the child to append: the directory, its name, how many lines, how many bytes each.
const JOB: &str = "TEAMKEEP_TEST_APPEND";

const SESSION: &str = "1353b3db-15db";

/// The log of the session in a store.
fn session_log(home: &Path) -> EventLog {
    let env = Env { store: Some(home.to_owned()), ..Env::default() };
    Logs::of(&Paths::find(&env)).session(SafeName::new(SESSION).as_ref())
}

fn write(log: &EventLog, at: &str, line: &str) -> teamkeep_system::error::Result<()> {
    let how = Appending { segment_size: 4 << 20, patience: Duration::from_secs(300), durable: false };
    log.append(line.as_bytes(), time::parse(at).unwrap(), how).map(drop)
}

fn record(at: &str, id: &str, event: &str, actor: &str, payload: &str) -> String {
    format!(
        r#"{{"v":1,"at":"{at}","id":"{id}","event":"{event}","session":"1353b3db-15db","team":"t1","actor":{{"name":"{actor}","id":"a{actor}","kind":"teammate"}},"run":null,"payload":{payload}}}"#
    )
}

fn append(home: &Path, at: &str, line: &str) {
    write(&session_log(home), at, line).unwrap();
}

/// Not a test by itself: appends when a test has started it as a process of its own, and says a dot for each.
#[test]
fn a_child_that_appends() {
    let Ok(job) = std::env::var(JOB) else { return };
    let words: Vec<&str> = job.split('|').collect();
    let [dir, name, count, size] = words[..] else { panic!("{job}") };
    let (count, size): (u32, usize) = (count.parse().unwrap(), size.parse().unwrap());
    let log = session_log(Path::new(dir));
    let payload = format!("\"{}\"", "x".repeat(size));
    for number in 0..count {
        let line = record(AT, &format!("{name}-{number}"), "Stop", "bob", &payload);
        if write(&log, AT, &line).is_err() {
            break;
        }
        std::io::stderr().write_all(b".").unwrap();
    }
}

fn job(command: &mut Command, dir: &Path, name: &str, count: u32, size: usize) -> std::process::Child {
    command.env(JOB, format!("{}|{name}|{count}|{size}", dir.display()));
    command.args(["--exact", "store::log::a_child_that_appends"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn itself() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// Waits for the child, and counts the lines that it knew to be written.
fn dots(mut child: std::process::Child) -> u32 {
    let mut result = Vec::new();
    child.stderr.take().unwrap().read_to_end(&mut result).unwrap();
    child.wait().unwrap();
    result.iter().filter(|byte| **byte == b'.').count() as u32
}

/// The numbers of each writer's lines, in the order in which they stand.
fn numbers(dir: &Path) -> (HashMap<String, Vec<u32>>, ReadErrors) {
    let mut found: HashMap<String, Vec<u32>> = HashMap::new();
    let mut reader = Reader::of(&[session_log(dir)], Range::default());
    for line in reader.by_ref() {
        let (name, number) = line.recorded.id.split_once('-').unwrap();
        found.entry(name.to_owned()).or_default().push(number.parse().unwrap());
    }
    (found, reader.problems)
}

#[test]
fn eight_processes_append_at_once_and_no_line_is_lost_torn_or_doubled() {
    let dir = tempfile::tempdir().unwrap();
    let start = |name: u32| job(&mut itself(), dir.path(), &name.to_string(), 500, 20_000);
    let children: Vec<_> = (0..8).map(start).collect();
    assert_eq!(children.into_iter().map(dots).sum::<u32>(), 4_000);
    let (found, problems) = numbers(dir.path());
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(found.len(), 8);
    assert!(found.values().all(|numbers| *numbers == (0..500).collect::<Vec<_>>()));
    let segments = session_log(dir.path()).segments().unwrap();
    assert!(segments.len() > 10);
    assert!(segments.iter().all(|segment| segment.size <= 4 << 20 && !segment.name.is_single()));
}

#[test]
fn a_killed_writer_loses_at_most_its_own_line() {
    let dir = tempfile::tempdir().unwrap();
    let mut result = HashMap::new();
    for round in 0..20u64 {
        let pair: Vec<_> = (0..2)
            .map(|one| {
                let name = format!("{round}.{one}");
                (name.clone(), job(&mut itself(), dir.path(), &name, 1_000_000, 300_000))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(5 + 2 * round));
        for (name, mut child) in pair {
            child.kill().unwrap();
            result.insert(name, dots(child));
        }
        let after = format!("after-{round}");
        append(dir.path(), AT, &record(AT, &after, "Stop", "bob", "{}"));
    }
    let (mut found, problems) = numbers(dir.path());
    assert_eq!(found.remove("after").unwrap(), (0..20).collect::<Vec<_>>());
    assert!(problems.count <= 40, "{problems:?}");
    for (name, result) in result {
        let numbers = found.remove(&name).unwrap_or_default();
        assert_eq!(numbers, (0..numbers.len() as u32).collect::<Vec<_>>(), "{name}");
        let kept = numbers.len() as u32;
        assert!(kept == result || kept == result + 1, "{name} said {result}, and {kept} are there");
    }
}

#[test]
#[cfg_attr(windows, ignore = "fills the disk with the limits of a shell")]
fn a_line_that_does_not_fit_leaves_the_log_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap());
    // What the segment does not take goes to files of its own, and what none takes is not there.
    assert_eq!(dots(job(&mut shell, dir.path(), "full", 10, 20_000)), 10);
    assert_eq!(dots(job(&mut shell, dir.path(), "larger", 1, 60_000)), 0);
    append(dir.path(), AT, &record(AT, "after-0", "Stop", "bob", "{}"));
    let (found, problems) = numbers(dir.path());
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!((found["full"].len(), found.get("larger"), found["after"].len()), (10, None, 1));
}

fn teamkeep(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_teamkeep"));
    command.env_clear().env("TEAMKEEP_HOME", home).env("TZ", "UTC");
    let config = home.join("teamkeep.toml");
    command.envs(config.exists().then_some(("TEAMKEEP_CONFIG", config)));
    command.env("TEAMKEEP_NOW", "2026-02-04T05:00:00Z").args(["log", "--raw"]);
    command
}

fn run(home: &Path, args: &[&str]) -> Output {
    teamkeep(home).args(args).output().unwrap()
}

fn out(home: &Path, args: &[&str]) -> String {
    let output = run(home, args);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A store with a few events of two days.
fn store() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let message = r#"{"tool_name":"SendMessage","tool_input":{"to":"bob","summary":"ready for review"}}"#;
    let update = r#"{"tool_name":"TaskUpdate", "tool_input":{"taskId":"1","status":"completed"}}"#;
    for (at, id, event, actor, payload) in [
        ("2026-02-03T04:00:00.001Z", "1", "SessionStart", "team-lead", r#"{"source":"startup"}"#),
        ("2026-02-04T04:00:00.002Z", "2", "PreToolUse", "alice", message),
        ("2026-02-04T04:30:00.003Z", "3", "PostToolUse", "bob", update),
        ("2026-02-04T04:59:00.004Z", "4", "SubagentStop", "alice", r#"{"odd":1e0400}"#),
    ] {
        append(home.path(), at, &record(at, id, event, actor, payload));
    }
    home
}

#[test]
fn log_text_lists_the_oldest_event_first() {
    insta::assert_snapshot!(out(store().path(), &[]), @r#"
    2026-02-03 UTC
    04:00:00.001 SessionStart     team-lead  startup t1
    2026-02-04 UTC
    04:00:00.002 PreToolUse       alice      SendMessage → bob "ready for review" t1
    04:30:00.003 PostToolUse      bob        TaskUpdate #1 → completed t1
    04:59:00.004 SubagentStop     alice      t1
    "#);
}

#[test]
fn json_output_has_the_lines_as_they_were_recorded() {
    let home = store();
    let (at, odd) = ("2026-02-04T04:59:00.004Z", r#"{"odd":1e0400}"#);
    let last = out(home.path(), &["--json", "-n", "1"]);
    let (line, chain) = last.split_once(",\"chain\":\"4:").unwrap();
    assert_eq!(format!("{line}}}"), record(at, "4", "SubagentStop", "alice", odd));
    assert!(chain.len() == 2 * 32 + 4 && chain.ends_with("\"}\n"), "{chain}");
    let all = out(home.path(), &["--json"]);
    assert!(all.ends_with(&last) && all.lines().count() == 4);
}

#[test]
fn filters_narrow_the_log() {
    let home = store();
    let ids = |args: &[&str]| {
        let printed = out(home.path(), &[&["--json"], args].concat());
        let id = |line: &str| line.split("\"id\":\"").nth(1).unwrap()[..1].to_owned();
        printed.lines().map(id).collect::<String>()
    };
    assert_eq!(ids(&["--team", "t1", "--session", "1353"]), "1234");
    assert_eq!(ids(&["--session", "353"]), "");
    assert_eq!(ids(&["--event", "subagent-stop", "--event", "PreToolUse"]), "24");
    assert_eq!(ids(&["--agent", "alice", "-n", "1"]), "4");
    assert_eq!(ids(&["--agent", "abob"]), "3");
    assert_eq!(
        (ids(&["--agent", "teammate"]), ids(&["--agent", "lead"])),
        ("1234".to_owned(), String::new())
    );
    assert_eq!(ids(&["--since", "30m"]), "34");
    assert_eq!(ids(&["--until", "2026-02-03T23:00:00-05:00"]), "1");
}

#[test]
fn empty_log_is_not_an_error() {
    let home = tempfile::tempdir().unwrap();
    let result = |home: &Path, args: &[&str]| {
        let output = run(home, args);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b""[..]));
        String::from_utf8(output.stderr).unwrap()
    };
    for args in [&["--json"][..], &["-n", "3"], &["--event", "Stop"]] {
        assert!(result(home.path(), args).starts_with("no events recorded yet; "));
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "and nothing is made");
    assert_eq!(result(store().path(), &["--event", "Stop"]), "no events match these filters\n");
}

#[test]
fn an_unknown_name_is_an_error_with_the_nearest_known_one() {
    let home = store();
    let err = |args: &[&str]| {
        let output = run(home.path(), args);
        // The program knows the events; the other names are in the recorded data.
        let code = if args[0] == "--event" { 64 } else { 1 };
        assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0));
        String::from_utf8(output.stderr).unwrap()
    };
    insta::assert_snapshot!(err(&["--event", "subagent-stpo"]), @r#"
    error: unknown event "subagent-stpo"
    hint: did you mean "SubagentStop"?
    "#);
    insta::assert_snapshot!(err(&["--team", "parser"]), @r#"
    error: unknown team "parser"
    hint: known teams: t1
    "#);
    assert!(err(&["--agent", "somebody"]).contains("\nhint: known agents: alice, "));
    insta::assert_snapshot!(err(&["--agent", "alise"]), @r#"
    error: unknown agent "alise"
    hint: did you mean "alice"?
    "#);
}

#[test]
fn lines_that_cannot_be_read_are_named_at_the_end() {
    let home = store();
    let segment = home.path().join(native("sessions/other/events.jsonl"));
    std::fs::create_dir(segment.parent().unwrap()).unwrap();
    std::fs::write(&segment, "\u{1b}[2Jnonsense\n{}\n").unwrap();
    let output = run(home.path(), &["--json"]);
    assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 4);
    let (result, path) = (String::from_utf8(output.stderr).unwrap(), segment.display());
    let over = "the line is passed over";
    let lines =
        format!("  {path}:1: no JSON object; {over}\n  {path}:2: no record: it has no version; {over}\n");
    assert_eq!(result, format!("warning: 2 log lines cannot be read:\n{lines}"));
}

#[test]
fn wrong_usage_and_a_wrong_configuration_name_the_error() {
    let home = store();
    let output = run(home.path(), &["--since", "tomorrow"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&output.stderr).contains("invalid time"));
    std::fs::write(home.path().join("teamkeep.toml"), "[log]\nkeep_size = \"1 GiB\"\n").unwrap();
    let output = run(home.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "the record can be read with any configuration");
    let result = unix_paths(&String::from_utf8(output.stderr).unwrap(), home.path(), "HOME");
    insta::assert_snapshot!(result, @r"
    warning: cannot use the configuration HOME/teamkeep.toml:2:1: unknown key `keep_size`
    hint: did you mean `keep-size`?
    hint: until it is fixed, the defaults are used
    ");
}

#[test]
fn closed_output_pipe_is_not_an_error() {
    let home = store();
    let payload = format!("\"{}\"", "x".repeat(200_000));
    (0..5).for_each(|_| append(home.path(), AT, &record(AT, "9", "Stop", "bob", &payload)));
    let mut child =
        teamkeep(home.path()).arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(
        child.wait_with_output().map(|output| (output.status.code(), output.stderr)).unwrap(),
        (Some(0), vec![])
    );
}

#[test]
fn following_prints_existing_lines_and_new_ones() {
    let home = store();
    let mut child =
        teamkeep(home.path()).args(["--follow", "-n", "1", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains(r#""id":"4""#));
    for (at, id) in [("2026-02-04T05:00:00Z", "5"), ("2026-02-05T00:00:00Z", "6")] {
        append(home.path(), at, &record(at, id, "Stop", "bob", "{}"));
        assert!(lines.next().unwrap().contains(&format!(r#""id":"{id}""#)), "also from a new segment");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
