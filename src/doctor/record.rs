//! Checks the recorded data: the last event, the newest run, failures of teamkeep, and the teams that run or are stale.

use chrono::TimeDelta;
use std::path::{Path, PathBuf};
use teamkeep_model::words::{FEW, and_more, count};

use super::{CheckInput, Diagnosis, bad, ok, unknown, warn};
use crate::restore::holder;
use crate::verify::{Scope, Verifier};
use teamkeep_history::Range;
use teamkeep_model::event::{OVERRIDE, SafeName};
use teamkeep_model::team::{TeamConfig, erasing};
use teamkeep_model::time::{self, Timestamp};
use teamkeep_settings::program::shell_operand;
use teamkeep_store::archive::Archive;
use teamkeep_store::log::{self, Logs};
use teamkeep_system::command::quoted;
use teamkeep_system::diagnostics::SLOW_CALL;
use teamkeep_system::error::Result;
use teamkeep_system::fs::{MAX_SETTINGS_BYTES, read_regular};
use teamkeep_system::os;
use teamkeep_system::process::is_gone;

/// Maximum size of a day's diagnostics in bytes.
const MAX_DIAGNOSTICS_BYTES: u64 = 64 << 20;

/// Checks the time of the last event, and whether Claude Code was used since.
pub fn last_event(input: &CheckInput<'_>) -> Diagnosis {
    let is_event = |line: &log::Line| line.recorded.event != OVERRIDE;
    let logs = match Logs::of(input.paths).all() {
        Ok(logs) => logs,
        Err(error) => return bad(format!("cannot read the logs: {error}")),
    };
    let (lines, _) = teamkeep_history::last(&logs, Range::default(), 1, is_event);
    let last = lines.last().map(|line| line.recorded.at);
    let Some(last) = last else {
        return unknown("no events recorded yet; start a Claude Code session");
    };
    let what = format!("last event: {}", when(last, input.now));
    let used = input.paths.client.as_deref().and_then(last_used);
    // A single turn of one agent can be long without an event.
    match used.filter(|used| *used - last > TimeDelta::hours(1)) {
        Some(used) => warn(format!("{what}, but Claude Code was used {}", when(used, input.now)))
            .with_fix("check /hooks in Claude Code; restart sessions that started before the install"),
        None => ok(what),
    }
}

/// When Claude Code last wrote a transcript.
fn last_used(client: &Path) -> Option<Timestamp> {
    let within = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten();
    within(&client.join("projects"))
        .flat_map(|project| within(&project.path()).collect::<Vec<_>>())
        .filter(|entry| entry.path().extension().is_some_and(|kind| kind == "jsonl"))
        .filter_map(|entry| entry.metadata().ok()?.modified().ok().map(Timestamp::from))
        .max()
}

/// `2026-02-03 04:05:06 UTC (3 h ago)`.
pub(super) fn when(time: Timestamp, now: Timestamp) -> String {
    format!("{} ({})", time::moment(time), time::ago(time, now))
}

/// Checks that the newest run is complete. If the store cannot be read, that is a finding, and the other checks still run.
pub fn newest_run(input: &CheckInput<'_>) -> Diagnosis {
    let verify = format!("{} verify", input.call);
    inspect(input, &verify).unwrap_or_else(|error| bad(error.to_string()).with_fix(verify))
}

fn inspect(input: &CheckInput<'_>, verify: &str) -> Result<Diagnosis> {
    let archive = archive(input);
    let (runs, damaged) = archive.runs();
    if let Some(why) = archive.why_unlisted() {
        return Ok(bad(format!("cannot list the runs: {why}")).with_fix(verify));
    }
    if let Some(run) = damaged.first() {
        return Ok(bad(archive.why_damaged(run)).with_fix(verify));
    }
    let Some(run) = runs.iter().rev().find(|run| run.team.is_some()).or(runs.last()) else {
        return Ok(unknown("no run recorded yet"));
    };
    let (logs, paths, scope) = (Logs::of(input.paths), Some(input.paths), Scope::Run(run.run.clone()));
    let verifier = Verifier { archive: &archive, logs: &logs, paths, scope, against: &[] };
    let damage = verifier.run(&mut |_| ())?.count;
    let name = run.team.as_deref().unwrap_or("a session without a team");
    if damage == 0 {
        return Ok(ok(format!("the newest run is undamaged: {name} ({})", run.run)));
    }
    let damage = count(usize::try_from(damage).unwrap_or(usize::MAX), "place");
    let what = format!("the newest run, {name}, is damaged in {damage}");
    Ok(bad(what).with_fix(format!("{verify} {}", run.run)))
}

fn archive(input: &CheckInput<'_>) -> Archive {
    Archive::open(input.paths.store.clone(), &input.policy.config)
}

/// Checks the failures of hook calls.
pub fn failures(input: &CheckInput<'_>) -> Diagnosis {
    let dir = input.paths.diagnostics();
    let files = std::fs::read_dir(&dir).into_iter().flatten().flatten();
    let read = files.filter_map(|file| read_regular(&file.path(), MAX_DIAGNOSTICS_BYTES).ok());
    let failures = read.flat_map(|(bytes, _)| {
        String::from_utf8_lossy(&bytes).lines().filter_map(failure).collect::<Vec<_>>()
    });
    let mut failures: Vec<(Timestamp, String)> =
        failures.filter(|(at, _)| input.now - *at <= TimeDelta::days(1)).collect();
    failures.sort();
    let Some((_, newest)) = failures.last() else { return ok("no hook errors in the last 24 hours") };
    let errors = count(failures.len(), "hook error");
    warn(format!("{errors} in the last 24 hours; newest: {newest}"))
        .with_fix(format!("see {}", dir.display()))
}

/// `<time> [<pid>] <message>`. A slow call is not an error.
fn failure(line: &str) -> Option<(Timestamp, String)> {
    let (time, rest) = line.split_once(" [")?;
    let (_, message) = rest.split_once("] ").filter(|(_, message)| !message.starts_with(SLOW_CALL))?;
    Some((time::parse(time)?, message.chars().take(200).collect()))
}

/// Checks that no running team has tasks in a list that the hooks do not know.
pub fn task_lists(input: &CheckInput<'_>) -> Diagnosis {
    let archive = archive(input);
    let unlisted = archive.open_subjects().into_iter().find_map(|subject| {
        let task = archive.index(&subject)?.lists.missing().next()?.to_owned();
        Some((subject.team().map(SafeName::to_string)?, task))
    });
    let Some((team, task)) = unlisted else {
        return ok("every task of the running teams is in a task list that the hooks know");
    };
    let (team, task) = (shell_operand(&team), shell_operand(&task));
    warn(format!(
        "team {team}: task {task} is not in any task list that the hooks know, so the gates cannot see it"
    ))
    .with_fix(
        "set CLAUDE_CODE_TASK_LIST_ID under \"env\" in ~/.claude/settings.json, or unset it everywhere; then restart \
         Claude Code",
    )
}

/// Checks that the files of the running teams can be read.
pub fn team_files(input: &CheckInput<'_>) -> Diagnosis {
    let archive = archive(input);
    let unreadable = archive.open_subjects().into_iter().find_map(|subject| {
        let team = subject.team()?.as_str();
        let index = archive.index(&subject)?;
        let lists = index.lists(Some(team), None);
        let is_used = |path: &str| {
            let list = path.strip_prefix("tasks/").and_then(|path| path.split('/').next());
            !path.contains(".json.tmp") && list.is_none_or(|list| lists.prefix(list).is_some())
        };
        let mut lost = index.files.iter().filter(|(path, _)| is_used(path));
        let (path, seen, why) = lost.find_map(|(path, seen)| Some((path, seen, seen.why_unreadable()?)))?;
        // Its content is stored, so only that is wrong.
        let run = seen.object.is_some().then(|| index.run.clone());
        let own = index.config_dir.as_ref().map(|dir| PathBuf::from(&dir.path));
        let full = own.or_else(|| input.paths.client.clone()).unwrap_or_default().join(path);
        Some((team.to_owned(), path.clone(), full, why.to_owned(), run))
    });
    let Some((team, path, full, why, run)) = unreadable else {
        return ok("every file of the running teams can be read");
    };
    let (team, full) = (shell_operand(&team), quoted(&full.to_string_lossy()));
    let fix = match run {
        Some(run) => format!("{} show {run}; then correct or delete {full}", input.call),
        None => format!("ls -ld {full}; then restore the file or directory"),
    };
    warn(format!("team {team}: {path} cannot be read ({why}), so the gates cannot see it")).with_fix(fix)
}

/// Finds teams whose Claude Code process is certainly gone. They are reported and never deleted.
pub fn stale_teams(input: &CheckInput<'_>) -> Diagnosis {
    let Some(client) = input.paths.client.as_deref() else {
        return unknown("cannot find Claude Code's teams: HOME is not set");
    };
    let teams = std::fs::read_dir(client.join("teams")).into_iter().flatten().flatten();
    let names = teams.filter_map(|entry| entry.file_name().into_string().ok());
    let mut stale: Vec<String> =
        names.filter(|name| SafeName::new(name).is_some() && is_stale(client, name)).collect();
    stale.sort();
    let Some(first) = stale.first() else { return ok("no stale team directories") };
    let (listed, others) = stale.split_at(stale.len().min(FEW));
    let names = listed.join(", ") + &and_more(others.len());
    let team = shell_operand(erasing(first).unwrap_or(first));
    let path = client.join("teams").join(first);
    warn(format!("{} whose Claude Code process has exited: {names}", count(stale.len(), "team"))).with_fix(
        format!(
            "check with `{} show {team}`, then: {}",
            input.call,
            os::shell::remove_directory(&quoted(&path.to_string_lossy()))
        ),
    )
}

fn is_stale(client: &Path, name: &str) -> bool {
    let config = read_regular(&client.join("teams").join(name).join("config.json"), MAX_SETTINGS_BYTES);
    let Some(team) = config.ok().and_then(|(bytes, _)| TeamConfig::parse(&bytes)) else { return false };
    match team.lead_process {
        Some(lead) => is_gone(lead.pid, lead.space.as_deref(), lead.start.as_deref()),
        // Claude Code before 2.1.328 names no process, and after `/clear` its session has another id than the team's
        // lead. As long as any session runs, it may be this one.
        None => holder(client, name).is_none() && !has_running_session(client),
    }
}

/// Whether a session that Claude Code has noted (`sessions/<pid>.json`) may still run.
fn has_running_session(client: &Path) -> bool {
    let notes = std::fs::read_dir(client.join("sessions")).into_iter().flatten().flatten();
    let mut pids = notes.filter_map(|note| note.path().file_stem()?.to_str()?.parse::<u32>().ok());
    pids.any(|pid| !is_gone(pid, None, None))
}
