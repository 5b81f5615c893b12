//! Checks the recorded data: the last event, the newest run, failures of teamkeep.

use std::path::Path;

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::archive::Archive;
use crate::clock::{self, Time};
use crate::error::Result;
use crate::event::OVERRIDE;
use crate::fs::read_regular;
use crate::log::{self, Parts, Range};
use crate::settings::change::count;
use crate::verify::{Scope, Verifier};

/// Seconds after which a session that writes without an event is taken to have no hooks. A single turn of one agent
/// can be long.
const QUIET_SECONDS: i64 = 60 * 60;
/// Seconds in a day.
const DAY_SECONDS: i64 = 24 * 60 * 60;
/// Maximum size of a day's diagnostics in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Checks the time of the last event, and whether Claude Code was used since.
pub fn last_event(facts: &Facts<'_>) -> Finding {
    let code = Code::LastEvent;
    let last = match log::last(&facts.paths.log(), &Parts::default(), Range::default(), 1, |line| {
        line.recorded.event != OVERRIDE
    }) {
        Ok(last) => last.lines.back().and_then(|line| clock::parse(&line.recorded.at)),
        Err(error) => return Finding::bad(code, format!("cannot read the log: {error}")),
    };
    let used = facts.paths.client.as_deref().and_then(last_used);
    let Some(last) = last else {
        let what = "no events recorded yet; start a Claude Code session";
        return Finding::unknown(code, what);
    };
    let what = format!("last event: {}", when(last, facts.now));
    match used.filter(|used| (*used - last).num_seconds() > QUIET_SECONDS) {
        Some(used) => {
            let what = format!("{what}, but Claude Code was used {}", when(used, facts.now));
            let mend = "check /hooks in Claude Code; restart sessions that started before the install";
            Finding::warn(code, what).with_fix(mend)
        }
        None => Finding::ok(code, what),
    }
}

/// When Claude Code last wrote a transcript.
fn last_used(client: &Path) -> Option<Time> {
    let within = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten();
    within(&client.join("projects"))
        .flat_map(|project| within(&project.path()).collect::<Vec<_>>())
        .filter(|entry| entry.path().extension().is_some_and(|kind| kind == "jsonl"))
        .filter_map(|entry| entry.metadata().ok()?.modified().ok().map(Time::from))
        .max()
}

/// `2026-02-03 04:05:06 UTC (3 hours ago)`.
fn when(time: Time, now: Time) -> String {
    let seconds = (now - time).num_seconds().max(0);
    let age = match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} ago", count((seconds / 60) as usize, "minute")),
        3_600..DAY_SECONDS => format!("{} ago", count((seconds / 3_600) as usize, "hour")),
        _ => format!("{} ago", count((seconds / DAY_SECONDS) as usize, "day")),
    };
    format!("{} ({age})", clock::moment(time))
}

/// Checks that the newest run is complete. If the store cannot be read, that is a finding, and the other checks still run.
pub fn newest_run(facts: &Facts<'_>) -> Finding {
    let mend = || format!("{} verify", facts.call);
    inspect(facts).unwrap_or_else(|error| Finding::bad(Code::NewestRun, error.to_string()).with_fix(mend()))
}

fn inspect(facts: &Facts<'_>) -> Result<Finding> {
    let (code, config) = (Code::NewestRun, &facts.policy.config);
    let archive = Archive::open(facts.paths.archive(), config);
    let (runs, damaged) = archive.runs();
    if let Some(why) = archive.why_unlisted() {
        let what = format!("cannot list the runs: {why}");
        return Ok(Finding::bad(code, what).with_fix(format!("{} verify", facts.call)));
    }
    if let Some(run) = damaged.first() {
        let what = archive.why_damaged(run);
        return Ok(Finding::bad(code, what).with_fix(format!("{} verify", facts.call)));
    }
    let Some(run) = runs.iter().rev().find(|run| run.team.is_some()).or(runs.last()) else {
        return Ok(Finding::unknown(code, "no run recorded yet"));
    };
    let (log, sessions, policy) = (facts.paths.log(), facts.paths.sessions(), facts.paths.policy());
    let scope = Scope::Run(run.run.clone());
    let verifier = Verifier { archive: &archive, log: &log, sessions: &sessions, policy: &policy, scope };
    let findings = verifier.run(&mut |_| ())?;
    let name = run.team.as_deref().unwrap_or("a session without a team");
    Ok(match findings.count {
        0 => Finding::ok(code, format!("the newest run is undamaged: {name} ({})", run.run)),
        damaged => {
            let damaged = count(usize::try_from(damaged).unwrap_or(usize::MAX), "place");
            let what = format!("the newest run, {name}, is damaged in {damaged}");
            Finding::bad(code, what).with_fix(format!("{} verify {}", facts.call, run.run))
        }
    })
}

/// Checks the failures of hook calls.
pub fn failures(facts: &Facts<'_>) -> Finding {
    let code = Code::OwnFailures;
    let dir = facts.paths.diagnostics();
    let files = std::fs::read_dir(&dir).into_iter().flatten().flatten();
    let mut notes: Vec<(Time, String)> = files
        .filter_map(|file| read_regular(&file.path(), MAX_BYTES).ok())
        .flat_map(|(bytes, _)| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            text.lines().filter_map(note).collect::<Vec<_>>()
        })
        .filter(|(at, _)| (facts.now - *at).num_seconds() <= DAY_SECONDS)
        .collect();
    notes.sort();
    match notes.last() {
        None => Finding::ok(code, "no hook errors in the last 24 hours"),
        Some((_, newest)) => {
            let notes = count(notes.len(), "hook error");
            let what = format!("{notes} in the last 24 hours; newest: {newest}");
            Finding::warn(code, what).with_fix(format!("see {}", dir.display()))
        }
    }
}

/// `<time> [<pid>] <message>`.
fn note(line: &str) -> Option<(Time, String)> {
    let (time, rest) = line.split_once(" [")?;
    let (_, message) = rest.split_once("] ")?;
    let short: String = message.chars().take(200).collect();
    Some((clock::parse(time)?, short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_the_largest_unit() {
        let now = clock::parse("2026-02-03T04:05:06Z").unwrap();
        let age = |seconds: i64| when(now - chrono::TimeDelta::seconds(seconds), now);
        assert_eq!(age(-5), "2026-02-03 04:05:11 UTC (just now)");
        assert_eq!(age(61), "2026-02-03 04:04:05 UTC (1 minute ago)");
        assert_eq!(age(7_200), "2026-02-03 02:05:06 UTC (2 hours ago)");
        assert_eq!(age(3 * DAY_SECONDS), "2026-01-31 04:05:06 UTC (3 days ago)");
    }
}
