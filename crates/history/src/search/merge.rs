//! Puts the hits of all sources in order, without the repetitions of a text.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::hit::Hit;
use super::texts::TextKind;
use teamkeep_model::time::Timestamp;

/// Hooks and transcripts record the same text at times that differ by less, in milliseconds.
const SAME_TEXT_MS: i64 = 60_000;

/// Sources are added newest first. A hit is passed on when all sources that follow end before it, so that no later one can come
/// before it or be the same text.
pub(super) struct Merge {
    /// The newest hits that are not shown yet, in order, and their identities.
    pending: Vec<(blake3::Hash, Hit)>,
    /// The hits that were passed on, by identity.
    shown: HashMap<blake3::Hash, Vec<Known>>,
    count: usize,
    limit: usize,
    /// Maximum number of hits to keep: a later copy of a text can move its hit back. A text has up to three copies, of the
    /// hooks before and after a tool call and in the transcript.
    pub most: usize,
    /// Whether there are more than the limit.
    pub has_more: bool,
}

/// The properties that distinguish two hits of the same text.
struct Known {
    kind: TextKind,
    at: Timestamp,
    tool_use_id: Option<String>,
}

impl Merge {
    pub(super) fn new(limit: usize) -> Merge {
        let most = limit.saturating_mul(3).saturating_add(20);
        Merge { pending: Vec::new(), shown: HashMap::new(), count: 0, limit, most, has_more: false }
    }

    /// Adds hits, and returns the time before which no hits are needed, if there are enough.
    pub(super) fn add(&mut self, hits: Vec<Hit>) -> Option<Timestamp> {
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
    pub(super) fn is_complete(&self) -> bool {
        self.count == self.limit && (self.has_more || !self.pending.is_empty())
    }

    /// The hits that can be shown when nothing newer than `until` can be added any more.
    pub(super) fn ready(&mut self, until: Option<Timestamp>) -> Vec<Hit> {
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
