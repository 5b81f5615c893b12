//! What is on record, and what each run of it needs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::needs::needs;
use crate::archive::{Archive, RunRecord, Stored};
use crate::clock::{self, Time};
use crate::error::{Error, Result};
use crate::fs::Stamp;
use crate::log::{self, Contents, Name};
use crate::retention;
use crate::timeline::{Library, is_client_gone};
use crate::verify::{Scope, Verifier};

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It may go.
    Over,
    /// Its client may be at work.
    Alive,
    /// It has ended, and its transcripts are not kept yet.
    Unfinished,
    /// So much of it cannot be read.
    Damaged(u64),
}

/// One run, and what it takes.
#[derive(Debug, Clone)]
pub struct Held {
    /// The run.
    pub run: RunRecord,
    /// How it stands.
    pub standing: Standing,
    /// When it was over, or came here.
    pub since: Option<Time>,
    /// The bytes of its own files.
    pub bytes: u64,
    /// The contents that it needs, by their places in [`Survey::contents`].
    pub needs: Vec<usize>,
}

/// One content, and its files.
#[derive(Debug, Clone, Default)]
pub struct Content {
    /// Its files: plain, compressed, or both.
    pub files: Vec<Stored>,
    /// Whether something that is no run needs it, or may.
    pub pinned: bool,
}

impl Content {
    /// Its bytes on disk.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// A segment of the log that is no longer written to.
#[derive(Debug, Clone)]
pub struct Closed {
    /// The segment.
    pub segment: log::Segment,
    /// Which runs and sessions it is about.
    pub contents: Contents,
}

/// All of the record.
#[derive(Debug, Default)]
pub struct Survey {
    /// The runs, the oldest first.
    pub runs: Vec<Held>,
    /// Every content.
    pub contents: Vec<Content>,
    /// The segments of the log that nobody writes to, the oldest first.
    pub segments: Vec<Closed>,
    /// All segments of the log.
    pub log: Vec<log::Segment>,
    /// The one that is written to.
    pub current: Option<Name>,
    /// Runs whose record cannot be read.
    pub damaged: Vec<String>,
    /// A run that names a content that is not there: its hash may be what is damaged, and one that no run names be meant.
    pub missing: Option<String>,
    /// Why no content may go, if so: something may need one that nobody can read.
    pub obstacle: Option<String>,
}

/// A content that no run names is left alone for so long: its writer may be about to name it.
const YOUNG: i64 = 3_600 * 1_000_000_000;

/// Looks at all of the record.
///
/// # Errors
/// When a directory of it cannot be listed: nobody knows what the runs need then.
pub fn survey(library: &Library, log: &Path, now: Time, done: &mut dyn FnMut(u64)) -> Result<Survey> {
    let archive = &library.archive;
    if let Some(why) = &library.unlisted {
        return Err(Error::new(format!("cannot prune: {why}"))
            .hint("nothing was removed: nobody can tell which runs there are and what they need")
            .hint("bring the directory back; `teamkeep verify` says whether all is whole then"));
    }
    let mut survey = Survey { damaged: library.damaged.clone(), ..Survey::default() };
    let mut places: HashMap<String, usize> = HashMap::new();
    archive.objects.each(|stored| {
        let place = *places.entry(stored.hash.clone()).or_insert_with(|| {
            survey.contents.push(Content::default());
            survey.contents.len() - 1
        });
        let young = stored
            .path
            .symlink_metadata()
            .is_ok_and(|metadata| Stamp::of(&metadata).modified.saturating_add(YOUNG) > clock::file_time());
        let content = &mut survey.contents[place];
        content.pinned |= young;
        content.files.push(stored);
        Ok(())
    })?;
    let cached = archive.cached_objects();
    for run in &library.runs {
        let needs = needs(archive, run, &cached);
        if let Some(why) = needs.unread {
            survey.obstacle.get_or_insert(why);
        }
        // A hook may have written since the contents were listed.
        let is_missing = |hash: &String| !places.contains_key(hash) && !archive.objects.is_there(hash);
        if needs.hashes.iter().any(is_missing) {
            survey.missing.get_or_insert_with(|| run.run.clone());
        }
        let needs = needs.hashes.iter().chain(&needs.cached);
        let needs: BTreeSet<usize> = needs.filter_map(|hash| places.get(hash).copied()).collect();
        // What a run needs is no new arrival.
        needs.iter().for_each(|place| survey.contents[*place].pinned = false);
        done(1);
        survey.runs.push(Held {
            standing: standing(archive, run),
            since: since(archive, run),
            bytes: archive.run_size(&run.run),
            needs: needs.into_iter().collect(),
            run: run.clone(),
        });
    }
    for run in &library.damaged {
        survey.obstacle.get_or_insert(format!("the record of run {run} cannot be read"));
    }
    // What runs on record were last seen to have goes with them; what others were, nobody can tell of.
    let own: BTreeSet<&str> = library.runs.iter().map(|run| run.run.as_str()).collect();
    for (run, hashes) in cached.iter().filter(|(run, _)| !own.contains(run.as_str())) {
        for place in hashes.iter().filter_map(|hash| places.get(hash)) {
            survey.contents[*place].pinned = true;
        }
        if archive.run_dir(run).is_none_or(|dir| dir.symlink_metadata().is_err()) {
            survey.obstacle.get_or_insert(format!("run {run}, which a cache names, is missing"));
        }
    }
    survey.log = log::list(log)?;
    survey.current = log::written_to(log);
    let closed = retention::closed(&survey.log, survey.current.as_ref(), now);
    let read = |segment: &log::Segment| Closed {
        contents: Contents::of(log, segment, done),
        segment: segment.clone(),
    };
    survey.segments = closed.into_iter().map(read).collect();
    Ok(survey)
}

fn standing(archive: &Archive, run: &RunRecord) -> Standing {
    match () {
        () if archive.is_unfinished(&run.run) => Standing::Unfinished,
        () if run.ended_at.is_some() => Standing::Over,
        // Of one that came before it ended, nothing is heard here unless its client goes on here.
        () if run.imported.is_some() && !is_under_way(archive, run) => Standing::Over,
        () if is_client_gone(archive, run) => Standing::Over,
        () => Standing::Alive,
    }
}

/// Whether hook calls of this machine capture it.
fn is_under_way(archive: &Archive, run: &RunRecord) -> bool {
    let index = run.subject().and_then(|subject| archive.index(&subject));
    index.is_some_and(|index| index.run == run.run && !index.ended)
}

/// When a run was over; of an imported one, when it came here.
fn since(archive: &Archive, run: &RunRecord) -> Option<Time> {
    let imported = run.imported.as_ref().map(|imported| imported.at.clone());
    let last = || archive.journal(&run.run).snapshots.pop().map(|last| last.at);
    clock::parse(&imported.or(run.ended_at.clone()).or_else(last).unwrap_or_else(|| run.started_at.clone()))
}

impl Survey {
    /// Shows that these runs can be read, and marks those that cannot. Says whether there were any.
    ///
    /// # Errors
    /// When a directory of the record cannot be listed.
    pub fn verify(&mut self, archive: &Archive, runs: &[usize], done: &mut dyn FnMut(u64)) -> Result<bool> {
        let mut any = false;
        // Not the log's lines: they go by themselves, and one that cannot be read keeps its segment.
        let nowhere = Path::new("/nonexistent");
        for place in runs {
            let held = &mut self.runs[*place];
            let scope = Scope::Run(held.run.run.clone());
            let verifier = Verifier { archive, log: nowhere, sessions: nowhere, scope };
            let findings = verifier.run(done)?;
            if !findings.is_whole() {
                held.standing = Standing::Damaged(findings.count);
                any = true;
            }
        }
        Ok(any)
    }

    /// How many runs need each content.
    pub(super) fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.contents.len()];
        for held in &self.runs {
            held.needs.iter().for_each(|place| uses[*place] += 1);
        }
        uses
    }

    /// The bytes of the archive.
    pub fn bytes(&self) -> u64 {
        self.contents.iter().map(Content::bytes).sum::<u64>()
            + self.runs.iter().map(|held| held.bytes).sum::<u64>()
    }

    /// The sessions of the runs that stay.
    pub(super) fn sessions(&self, stays: impl Fn(usize) -> bool) -> BTreeMap<&str, &str> {
        let staying = self.runs.iter().enumerate().filter(|(place, _)| stays(*place));
        let sessions = staying.flat_map(|(_, held)| {
            held.run.sessions.iter().map(|session| (session.id.as_str(), held.run.run.as_str()))
        });
        sessions.collect()
    }
}
