//! The recorded runs, and how a user refers to one. A run whose description is lost is described by its log.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::PathBuf;

use super::events::{DetailLevel, EarlierLife, EventKey, logs_of, segments};
use super::{RunData, by_run, is_client_gone};
use crate::reader::{Claims, Range, ReadErrors, Reader};
use teamkeep_model::event::{ActorKind, OVERRIDE, Recorded};
use teamkeep_model::payload::{EventKind, Payload};
use teamkeep_model::words::count;
use teamkeep_model::{paths, team, time};
use teamkeep_store::archive::{Archive, EndedBy, RunRecord, SessionRecord, SessionRole};
use teamkeep_store::log::{Line, Logs, Segment};
use teamkeep_system::error::{Error, Result, candidates, nearest};
use teamkeep_system::fs::Stamp;

/// With fewer digits a slip would show another run.
const MIN_DIGITS: usize = 4;

/// The home directories of the run's users: Claude Code's directory is in one.
pub fn homes(run: &RunRecord) -> Vec<String> {
    let transcripts = run.sessions.iter().filter_map(|session| session.transcript.as_deref());
    let homes = transcripts.filter_map(|path| {
        let (home, _) = path.split_once("/.claude/").or_else(|| path.split_once(r"\.claude\"))?;
        paths::is_absolute(home).then(|| home.to_owned())
    });
    homes.collect::<BTreeSet<String>>().into_iter().collect()
}

#[derive(Debug)]
pub struct RunCatalog {
    pub archive: Archive,
    /// All runs, oldest first. One whose description is damaged is described by its log.
    pub runs: Vec<RunRecord>,
    /// The IDs of the runs whose description cannot be read.
    pub damaged: Vec<String>,
    pub unlisted: Option<String>,
    /// That the store does not exist, if so.
    pub missing_store: Option<String>,
    pub logs: Logs,
}

#[derive(Debug)]
pub struct OpenedRun {
    pub runs: Vec<RunData>,
    pub problems: ReadErrors,
}

impl RunCatalog {
    pub fn open(archive: Archive, logs: Logs) -> RunCatalog {
        let (mut runs, damaged) = archive.runs();
        runs.extend(damaged.iter().filter_map(|run| rebuilt_run(&archive, &logs, run)));
        runs.sort_by(RunRecord::in_order);
        let unlisted = archive.why_unlisted();
        RunCatalog { archive, runs, damaged, unlisted, missing_store: None, logs }
    }

    pub fn ids(&self) -> Vec<&str> {
        self.runs.iter().map(|run| run.run.as_str()).collect()
    }

    /// Whether no session ever joined the run and none will: it has ended, or its process is gone.
    pub fn is_stray(&self, run: &RunRecord) -> bool {
        let nobody = run.team.is_some() && run.sessions.is_empty() && run.imported.is_none();
        run.is_stray() || (nobody && is_client_gone(&self.archive, run))
    }

    pub fn empty(&self) -> Error {
        if !self.damaged.is_empty() {
            let error = Error::not_found("cannot read the recorded runs: all of them are damaged");
            return error.hint("teamkeep verify");
        }
        // Pauses are recorded without a hook.
        let logs = match self.logs.all() {
            Err(error) => return error.into(),
            Ok(logs) => logs,
        };
        let lines = Reader::of(&logs, Range::default());
        let events = lines.filter(|line| line.recorded.event != OVERRIDE).count();
        match events {
            0 => Error::not_found(match &self.missing_store {
                Some(missing) => format!("no runs recorded yet: {missing}"),
                None => "no runs recorded yet".to_owned(),
            })
            .hint("check the hooks: teamkeep doctor")
            .hint("see an example run: teamkeep demo"),
            _ => {
                let events = count(events, "event");
                Error::not_found(format!("no runs recorded yet; hooks are working ({events})"))
            }
        }
    }

    /// Why the runs cannot be listed, if so: an empty list would mean that nothing was recorded.
    pub fn listing_error(&self) -> Option<Error> {
        let why = self.unlisted.as_ref()?;
        Some(Error::caused("cannot list the recorded runs", why.clone()).hint("teamkeep doctor"))
    }

    /// Finds a run by `latest`, a team name (its last run), a session ID (its last run), or a unique prefix of a run ID or
    /// a session ID.
    pub fn find(&self, name: &str) -> Result<&RunRecord> {
        if name.is_empty() {
            return Err(Error::usage("RUN is empty").hint("list the runs: teamkeep list"));
        }
        let last = |wanted: &dyn Fn(&RunRecord) -> bool| self.runs.iter().rev().find(|run| wanted(run));
        if name == "latest" || self.runs.is_empty() {
            let latest = last(&|run| run.team.is_some() && !self.is_stray(run));
            let latest = latest.or_else(|| last(&|run| run.team.is_some())).or(self.runs.last());
            return latest.ok_or_else(|| self.empty());
        }
        // The directory of a team can have another name than the team.
        let directory = team::directory(name);
        let exact =
            last(&|run| run.team.as_deref() == Some(name) || run.name() == Some(name) || run.run == name)
                .or_else(|| last(&|run| run.team.as_ref() == Some(&directory)))
                .or_else(|| last(&|run| run.sessions.iter().any(|session| session.id == name)));
        if let Some(run) = exact {
            return Ok(run);
        }
        let mut matching: Vec<&RunRecord> =
            self.runs.iter().filter(|run| run.run.starts_with(name)).collect();
        if matching.is_empty() {
            let of_session =
                |run: &&RunRecord| run.sessions.iter().any(|session| session.id.starts_with(name));
            matching.extend(self.runs.iter().filter(of_session));
        }
        let is_short = name.chars().count() < MIN_DIGITS;
        match matching.as_slice() {
            some @ [_, ..] if is_short => {
                let what = format!("{name:?} is too short: a run ID needs at least {MIN_DIGITS} digits");
                Err(Error::not_found(what).hint(more_digits(some)))
            }
            [run] => Ok(run),
            [] => {
                let error = Error::not_found(format!("no run matches {name:?}"));
                let error = match self.similar_teams(name).as_slice() {
                    [] => error,
                    [near] => error.hint(format!("did you mean {near}?")),
                    several => error.hint(format!("did you mean one of: {}?", candidates(several))),
                };
                Err(error.hint("list all runs: teamkeep list --all"))
            }
            several => {
                let what = format!("{name:?} matches {} runs", several.len());
                Err(Error::not_found(what).hint(more_digits(several)))
            }
        }
    }

    /// The teams whose names contain the word, else the most similar one.
    fn similar_teams(&self, name: &str) -> Vec<&str> {
        let mut teams: Vec<&str> = self.runs.iter().rev().filter_map(|run| run.team.as_deref()).collect();
        let mut known = HashSet::new();
        teams.retain(|team| known.insert(*team));
        let part = name.to_lowercase();
        let containing = teams.iter().copied().filter(|team| team.to_lowercase().contains(&part));
        let found: Vec<&str> = containing.collect();
        if !found.is_empty() {
            return found;
        }
        teams.push("latest");
        nearest(name, &teams, 2).into_iter().collect()
    }

    /// Opens runs with all their events.
    pub fn open_runs(&self, wanted: &[&RunRecord]) -> Result<OpenedRun> {
        self.load(wanted, DetailLevel::Whole)
    }

    /// Opens runs with the events that their timelines need.
    pub fn open_timelines(&self, wanted: &[&RunRecord]) -> Result<OpenedRun> {
        self.load(wanted, DetailLevel::Timeline)
    }

    pub fn load(&self, wanted: &[&RunRecord], depth: DetailLevel) -> Result<OpenedRun> {
        if wanted.is_empty() {
            return Ok(OpenedRun { runs: Vec::new(), problems: ReadErrors::default() });
        }
        let names: HashSet<&str> = wanted.iter().map(|run| run.run.as_str()).collect();
        let is_wanted = |run: &str| names.contains(run);
        let (mut events, problems): (HashMap<_, _>, _) = by_run(&self.logs, &self.runs, is_wanted, depth)?;
        let runs = wanted.iter().map(|run| {
            let events = events.remove(&run.run).unwrap_or_default();
            let mut data = RunData::open(&self.archive, (*run).clone(), events, &self.runs);
            if !self.logs.run(&run.run).is_some_and(|log| log.has_first_line()) {
                data.miss_events();
            }
            data
        });
        Ok(OpenedRun { runs: runs.collect(), problems })
    }
}

/// The hint for a beginning that is not enough, with the newest runs that have it.
fn more_digits(matching: &[&RunRecord]) -> String {
    let described = matching.iter().rev().map(|run| {
        let team = run.team.as_deref().unwrap_or("no team");
        format!("{} ({team}, {})", run.run, time::moment(run.started_at))
    });
    format!("give more digits: {}", candidates(&described.collect::<Vec<_>>()))
}

/// Two fingerprints differ if the timeline of the run may have changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Sizes and times of all files of the run.
    files: Vec<(PathBuf, u64, i64)>,
    is_client_gone: bool,
}

impl RunCatalog {
    /// Visits the log lines of one run, without those from before the run that its timeline does not need. One line is
    /// in memory at a time.
    pub fn lines_of(
        &self,
        run: &RunRecord,
        mut each: impl FnMut(&Line) -> io::Result<()>,
    ) -> Result<ReadErrors> {
        let claims = Claims::new(&self.runs);
        let belongs = |line: &Line| {
            let Recorded { run: named, session, at, .. } = &line.recorded;
            let claimed = claims.run_of(named.as_deref(), session.as_deref(), *at);
            run.imported.is_some() || claimed.as_deref() == Some(&run.run)
        };
        let logs = logs_of(&self.logs, run);
        let mut earlier_life = EarlierLife::new(run.started_at);
        for line in Reader::of(&logs, Range::default()).filter(&belongs) {
            earlier_life.note(&EventKey::of_line(&line.recorded));
        }
        let mut reader = Reader::of(&logs, Range::default());
        for line in reader.by_ref().filter(belongs) {
            let tool = || Payload::fields_of(&line.recorded.payload).tool();
            if earlier_life.selects(&EventKey::of_line(&line.recorded), tool) {
                each(&line)?;
            }
        }
        Ok(reader.problems)
    }

    pub fn fingerprint(&self, run: &RunRecord) -> Fingerprint {
        let mut paths: Vec<PathBuf> = Vec::new();
        let (segments, _) = segments(&self.logs, std::iter::once(run));
        paths.extend(segments.iter().map(Segment::path));
        if let Some(dir) = self.archive.run_dir(&run.run) {
            let listing = std::fs::read_dir(dir).into_iter().flatten().flatten();
            paths.extend(listing.map(|entry| entry.path()));
        }
        paths.extend(self.archive.transcripts(run));
        paths.sort();
        let stamp = |path: PathBuf| {
            let there = std::fs::symlink_metadata(&path).ok()?;
            let stamp = Stamp::of(&there);
            Some((path, stamp.size, stamp.modified))
        };
        Fingerprint {
            files: paths.into_iter().filter_map(stamp).collect(),
            is_client_gone: is_client_gone(&self.archive, run),
        }
    }
}

/// Describes a run whose `run.json` is damaged by its own events; `None` if it has none. A deletion of the team is not seen as its
/// end, and an end without a hook call is at the last event.
fn rebuilt_run(archive: &Archive, logs: &Logs, id: &str) -> Option<RunRecord> {
    let log = logs.run(id)?;
    let mut run = RunRecord {
        v: 1,
        run: id.to_owned(),
        metadata_only: archive.metadata_only,
        finished: archive.run_dir(id)?.join("transcripts.json").is_file(),
        ..RunRecord::default()
    };
    let mut last = None;
    for line in Reader::of(&[log], Range::default()) {
        let event = line.recorded;
        if last.is_none() {
            run.started_at = event.at;
        }
        last = Some(event.at);
        run.team = run.team.or(event.team);
        let (kind, Some(session)) = (event.actor.kind, event.session) else { continue };
        let leads = |known: &SessionRecord| known.id == session && known.role == SessionRole::Lead;
        let role = match kind {
            ActorKind::Lead => SessionRole::Lead,
            // A teammate in the lead's process has the lead's session.
            ActorKind::Teammate if !run.sessions.iter().any(leads) => SessionRole::Pane,
            _ => continue,
        };
        let payload = Payload::fields_of(&event.payload);
        if role == SessionRole::Lead {
            run.lead_session.get_or_insert_with(|| session.clone());
            if EventKind::named(&event.event) == EventKind::SessionEnd {
                run.end(EndedBy::SessionEnd, payload.text("reason"), event.at);
            }
        }
        let transcript = payload.transcript().map(|path| path.display().to_string());
        let name = event.actor.name.filter(|_| role == SessionRole::Pane);
        run.join(SessionRecord { name, transcript, ..SessionRecord::new(session, role) });
    }
    let is_open = || {
        let index = archive.index(&run.subject()?)?;
        Some(index.run == run.run && !index.ended)
    };
    if run.ended_at.is_none() && is_open() != Some(true) {
        run.end(EndedBy::Disappeared, None, last?);
    }
    last.map(|_| run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_directories_of_both_systems_are_found_by_transcripts() {
        let session = |transcript: &str| SessionRecord {
            transcript: Some(transcript.to_owned()),
            ..SessionRecord::new("s".to_owned(), SessionRole::Lead)
        };
        let transcripts = [
            r"D:\root\ute\.claude\projects\D--work\s.jsonl",
            "/srv/people/ada/.claude/projects/-work/s.jsonl",
            "C:/Users/nina/.claude/projects/C--work/s.jsonl",
            "people/.claude/projects/s.jsonl",
            "/elsewhere/projects/-work/s.jsonl",
        ];
        let run = RunRecord { sessions: transcripts.map(session).to_vec(), ..RunRecord::default() };
        assert_eq!(homes(&run), ["/srv/people/ada", "C:/Users/nina", r"D:\root\ute"]);
    }
}
