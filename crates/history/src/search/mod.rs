//! Search in everything that is recorded: events of the log, of ended and of imported runs, transcripts, and the team's files.
//!
//! ```text
//! sources ─▶ pattern (of lines) ─▶ texts ─▶ scan ─▶ find() ─▶ hit
//! ```
//!
//! Each search reads all of it, the newest first, in several threads and in constant memory. Only the lines whose bytes can
//! contain a match are parsed.

mod hit;
mod pattern;
mod scan;
mod sources;
mod texts;

pub use hit::Hit;
pub use pattern::{Pattern, Syntax};
pub use scan::Request;
pub use texts::TextKind;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;

use crate::parallel::{self, InOrder};
use crate::reader::Range;
use crate::timeline::RunCatalog;
use scan::{MAX_AGENTS, Scan, Scanned};
use sources::TextSource;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::FEW;
use teamkeep_system::error::Result;

/// An event of a search.
#[derive(Debug)]
pub enum Step {
    /// The size of all sources, in bytes.
    Begin(u64),
    /// So many bytes more were searched.
    Read(u64),
    /// The next hit, the newest first.
    Hit(Box<Hit>),
}

#[derive(Debug, Default)]
pub struct SearchSummary {
    /// Whether there are more than the limit.
    pub has_more: bool,
    /// Whether the deadline ended the search.
    pub is_late: bool,
    /// Some of the agents with matching texts that are not the requested one.
    pub other_agents: BTreeSet<String>,
    /// Why some sources could not be searched to their end: the first reasons.
    pub problems: Vec<String>,
}

impl SearchSummary {
    /// Adds the hits of a source; returns the time before which no hits are needed.
    fn add(&mut self, scanned: Scanned, merge: &mut Merge) -> Option<Timestamp> {
        self.has_more |= scanned.has_more;
        self.other_agents.extend(scanned.other_agents);
        self.problems.extend(scanned.problem);
        merge.add(scanned.hits)
    }
}

/// Searches, and calls `each` for every step until that returns false. Hits have no excerpt and no command yet.
pub fn find(
    catalog: &RunCatalog,
    request: &Request<'_>,
    mut each: impl FnMut(Step) -> Result<bool>,
) -> Result<SearchSummary> {
    let sources = sources::list(catalog, Range { since: request.since, until: request.until })?;
    if !each(Step::Begin(sources.iter().map(|source| source.size).sum()))? {
        return Ok(SearchSummary::default());
    }
    let mut merge = Merge::new(request.limit);
    let scan = Scan::new(catalog, request, merge.most);
    let (mut found, mut is_wanted) = (SearchSummary::default(), true);
    let read = |source: &TextSource, buffer: &mut Vec<u8>| {
        (!scan.is_over() && !scan.is_too_old(source)).then(|| scan.source(source, buffer))
    };
    // In the order of the sources, so that the result does not depend on the threads.
    let mut ready = InOrder::default();
    parallel::for_each(&sources, usize::MAX, read, |place, scanned| -> Result<()> {
        let add = || {
            is_wanted &= each(Step::Read(sources[place].size))?;
            ready.insert(place, scanned);
            while let Some(scanned) = ready.take_due() {
                if let Some(floor) = found.add(scanned, &mut merge) {
                    scan.floor.store(floor.millis(), Ordering::Relaxed);
                }
                let until = sources.get(ready.due).and_then(|source| source.until);
                is_wanted = is_wanted && (until.is_none() || show(&mut merge, until, &mut each)?);
            }
            Ok(())
        };
        let added = add();
        if added.is_err() || merge.is_complete() || !is_wanted {
            // The threads end with what they are reading.
            scan.is_done.store(true, Ordering::Relaxed);
        }
        added
    })?;
    // The hits of sources that are behind one that was not searched.
    for scanned in ready.into_rest() {
        found.add(scanned, &mut merge);
    }
    // The rest has no newer hits to wait for.
    if is_wanted {
        show(&mut merge, None, &mut each)?;
    }
    found.has_more |= merge.has_more;
    found.is_late = scan.is_late.into_inner();
    while found.other_agents.len() > MAX_AGENTS {
        found.other_agents.pop_last();
    }
    found.problems.truncate(FEW);
    Ok(found)
}

/// Passes the hits on that are not older than `until`; returns whether more are wanted.
fn show(
    merge: &mut Merge,
    until: Option<Timestamp>,
    each: &mut impl FnMut(Step) -> Result<bool>,
) -> Result<bool> {
    for hit in merge.ready(until) {
        if !each(Step::Hit(Box::new(hit)))? {
            return Ok(false);
        }
    }
    Ok(true)
}

// Puts the hits of all sources in order, without the repetitions of a text.

/// Hooks and transcripts record the same text at times that differ by less, in milliseconds.
const SAME_TEXT_MS: i64 = 60_000;

/// Sources are added newest first. A hit is passed on when all sources that follow end before it, so that no later one can come
/// before it or be the same text.
struct Merge {
    /// The newest hits that are not shown yet, in order, and their identities.
    pending: Vec<(blake3::Hash, Hit)>,
    /// The hits that were passed on, by identity.
    shown: HashMap<blake3::Hash, Vec<Known>>,
    count: usize,
    limit: usize,
    /// Maximum number of hits to keep: a later copy of a text can move its hit back. A text has up to three copies, of the
    /// hooks before and after a tool call and in the transcript.
    most: usize,
    /// Whether there are more than the limit.
    has_more: bool,
}

/// The properties that distinguish two hits of the same text.
struct Known {
    kind: TextKind,
    at: Timestamp,
    tool_use_id: Option<String>,
}

impl Merge {
    fn new(limit: usize) -> Merge {
        let most = limit.saturating_mul(3).saturating_add(20);
        Merge { pending: Vec::new(), shown: HashMap::new(), count: 0, limit, most, has_more: false }
    }

    /// Adds hits, and returns the time before which no hits are needed, if there are enough.
    fn add(&mut self, hits: Vec<Hit>) -> Option<Timestamp> {
        let mut places: HashMap<blake3::Hash, Vec<usize>> = HashMap::new();
        for (place, (identity, _)) in self.pending.iter().enumerate() {
            places.entry(*identity).or_default().push(place);
        }
        for hit in hits {
            let (identity, known) = (identity(&hit), Known::of(&hit));
            if self.shown.get(&identity).is_some_and(|all| all.iter().any(|one| one.is_same(&known))) {
                continue;
            }
            let places = places.entry(identity).or_default();
            match places.iter().find(|place| Known::of(&self.pending[**place].1).is_same(&known)) {
                Some(place) => self.pending[*place].1.merge(hit),
                None => {
                    places.push(self.pending.len());
                    self.pending.push((identity, hit));
                }
            }
        }
        let order = |hit: &Hit| (Reverse(hit.at), hit.transcript.clone(), Reverse(hit.line));
        self.pending.sort_by_cached_key(|(_, hit)| order(hit));
        self.has_more |= self.pending.len() > self.most;
        self.pending.truncate(self.most);
        self.pending.get(self.most - 1).map(|(_, oldest)| oldest.at)
    }

    /// Whether as many hits were passed on as are wanted, and there are more.
    fn is_complete(&self) -> bool {
        self.count == self.limit && (self.has_more || !self.pending.is_empty())
    }

    /// The hits that can be shown when nothing newer than `until` can be added any more.
    fn ready(&mut self, until: Option<Timestamp>) -> Vec<Hit> {
        let end = self.pending.partition_point(|(_, hit)| until.is_none_or(|until| hit.at >= until));
        let room = self.limit - self.count;
        self.has_more |= end > room;
        let ready: Vec<(blake3::Hash, Hit)> = self.pending.drain(..end.min(room)).collect();
        self.count += ready.len();
        for (identity, hit) in &ready {
            self.shown.entry(*identity).or_default().push(Known::of(hit));
        }
        ready.into_iter().map(|(_, hit)| hit).collect()
    }
}

impl Hit {
    /// Takes the better one of two hits of the same text: the call of a tool has the time of the sender, and the log
    /// more than a transcript.
    fn merge(&mut self, other: Hit) {
        let rank = |hit: &Hit| (hit.tool_use_id.is_none(), hit.transcript.is_some(), hit.line == 0, hit.at);
        let other = if rank(&other) < rank(self) { std::mem::replace(self, other) } else { other };
        // Only the event has the number of a new task.
        if self.title.is_empty() {
            self.title = other.title;
        }
    }
}

/// A hash of the run, the kind and the words of a hit.
fn identity(hit: &Hit) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let scope = hit.run.as_deref().or(hit.session.as_deref()).unwrap_or_default();
    for part in [scope, &hit.kind.word()].into_iter().chain(hit.text.split_whitespace()) {
        hasher.update(part.as_bytes()).update(b"\n");
    }
    hasher.finalize()
}

impl Known {
    fn of(hit: &Hit) -> Known {
        Known { kind: hit.kind, at: hit.at, tool_use_id: hit.tool_use_id.clone() }
    }

    /// Whether two hits of the same text are the same: hooks and transcripts record it, and a message is in the transcripts
    /// of its sender and of its recipients.
    fn is_same(&self, other: &Known) -> bool {
        if let (Some(one), Some(other)) = (&self.tool_use_id, &other.tool_use_id) {
            return one == other;
        }
        let is_near = (self.at - other.at).num_milliseconds().abs() <= SAME_TEXT_MS;
        // A message is delivered long after it was sent, if its recipient is busy.
        self.kind == TextKind::Task || is_near || self.is_delivery() != other.is_delivery()
    }

    /// Whether this is a message as its recipient received it.
    fn is_delivery(&self) -> bool {
        self.kind == TextKind::Message && self.tool_use_id.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;
    use teamkeep_store::archive::Archive;
    use teamkeep_store::log::Logs;
    use teamkeep_system::env::Env;
    use teamkeep_system::paths::Paths;

    use super::*;

    /// A store with sessions that have a prompt every minute.
    fn store(segments: u32, prompts: u32) -> (tempfile::TempDir, RunCatalog) {
        let dir = tempfile::tempdir().unwrap();
        for segment in 0..segments {
            let start = 1_770_000_000_000 + i64::from(segment) * 3_600_000;
            let start = Timestamp::from_millis(start).unwrap();
            let line = |place: u32| {
                let at = start + chrono::TimeDelta::minutes(place.into());
                let payload = json!({"prompt": format!("needle {segment}.{place}")});
                let event = json!({"v": 1, "at": at, "id": format!("{:026}", segment * 100 + place), "event": "UserPromptSubmit",
                    "session": "s", "actor": {"kind": "lead"}, "payload": payload});
                format!("{event}\n")
            };
            let log = dir.path().join(format!("sessions/s{segment}"));
            std::fs::create_dir_all(&log).unwrap();
            let path = log.join("events.jsonl");
            std::fs::write(&path, (0..prompts).map(line).collect::<String>()).unwrap();
            let modified = std::time::SystemTime::UNIX_EPOCH
                + Duration::from_millis(start.millis() as u64 + u64::from(prompts) * 60_000);
            std::fs::File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
        }
        let env = Env { store: Some(dir.path().to_owned()), ..Env::default() };
        let paths = Paths::find(&env);
        let archive = Archive::new(paths.store.clone(), 1 << 20, Duration::ZERO);
        let catalog = RunCatalog::open(archive, Logs::of(&paths));
        (dir, catalog)
    }

    fn search(catalog: &RunCatalog, limit: usize, deadline: Option<Instant>) -> (Vec<String>, SearchSummary) {
        let pattern = Pattern::parse("needle", Syntax::default()).unwrap();
        let (agents, kinds) = (Vec::new(), Vec::new());
        let request =
            Request { pattern, run: None, agents, kinds, since: None, until: None, limit, deadline };
        let mut texts = Vec::new();
        let found = find(catalog, &request, |step| {
            if let Step::Hit(hit) = step {
                texts.push(hit.text);
            }
            Ok(true)
        });
        (texts, found.unwrap())
    }

    #[test]
    fn the_newest_hits_of_all_sources_come_first_and_a_limit_leaves_the_oldest_out() {
        let (_dir, catalog) = store(40, 5);
        let all: Vec<String> = (0..40)
            .rev()
            .flat_map(|segment| (0..5).rev().map(move |place| format!("needle {segment}.{place}")))
            .collect();
        for limit in [1, 3, 5, 6, 199, 200, 201] {
            let (texts, found) = search(&catalog, limit, None);
            assert_eq!(texts, all[..limit.min(200)], "{limit}");
            assert_eq!((found.has_more, found.is_late), (limit < 200, false), "{limit}");
        }
    }

    #[test]
    fn a_deadline_ends_the_search_and_is_reported() {
        let (_dir, catalog) = store(4, 2);
        let (texts, found) = search(&catalog, 10, Some(Instant::now()));
        assert!(texts.is_empty() && found.is_late);
        let (texts, found) = search(&catalog, 10, Some(Instant::now() + Duration::from_secs(3_600)));
        assert!(texts.len() == 8 && !found.is_late && !found.has_more);
    }

    #[test]
    fn a_reader_that_has_enough_ends_the_search() {
        let (_dir, catalog) = store(40, 5);
        let pattern = Pattern::parse("needle", Syntax::default()).unwrap();
        let (agents, kinds) = (Vec::new(), Vec::new());
        let request = Request {
            pattern,
            run: None,
            agents,
            kinds,
            since: None,
            until: None,
            limit: 100,
            deadline: None,
        };
        let mut hits = 0;
        let found = find(&catalog, &request, |step| {
            hits += usize::from(matches!(step, Step::Hit(_)));
            Ok(!matches!(step, Step::Hit(_)))
        });
        assert!(found.is_ok() && hits < 100, "{hits}");
        let failed = find(&catalog, &request, |_| Err(teamkeep_system::error::Error::new("stdout is full")));
        assert_eq!(failed.unwrap_err().to_string(), "stdout is full");
    }
}
