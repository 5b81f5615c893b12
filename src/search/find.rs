//! Answers a request from the index.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::num::NonZeroUsize;
use std::thread;

use regex::Regex;
use tantivy::collector::TopDocs;
use tantivy::query::EnableScoring;
use tantivy::schema::Value as _;
use tantivy::{DocAddress, Searcher, TantivyDocument, Term};

use super::document::Kind;
use super::hit::Hit;
use super::index::{Fields, OpenIndex, failed};
use super::query::{Order, Pattern, Request};
use super::snippet::Snippet;
use super::update::NONE;
use crate::timeline::RunCatalog;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::Claims;
use teamkeep_core::sys::clock::Timestamp;

/// Maximum number of matches that are examined for one answer: the same text can be in several sources.
const MAX_MATCHES: usize = 20_000;
/// Hooks and transcripts record the same text at times that differ by less, in milliseconds.
const SAME_TEXT_MS: i64 = 60_000;
/// Blocks of stored texts that each thread of a scan keeps.
const CACHED_BLOCKS: usize = 4;

#[derive(Debug, Default)]
pub struct Found {
    pub hits: Vec<Hit>,
    /// Whether there are more than the limit.
    pub more: bool,
    /// The agents with texts, if the requested one has none.
    pub other_agents: Option<Vec<String>>,
}

pub fn find(open: &OpenIndex, catalog: &RunCatalog, request: &Request<'_>) -> Result<Found> {
    let searcher = open.searcher()?;
    let finder = Finder { searcher: &searcher, fields: open.fields, catalog, request };
    let mut most = request.limit.saturating_mul(3).saturating_add(20).min(MAX_MATCHES);
    loop {
        let places = finder.places(most)?;
        // A scan returns all its matches at once.
        let is_scan = matches!(request.pattern, Pattern::Regex(_));
        let is_all = is_scan || places.len() < most || most == MAX_MATCHES;
        let mut found = finder.hits(places)?;
        if is_all || found.more {
            if found.hits.is_empty() {
                found.other_agents = finder.other_agents()?;
            }
            return Ok(found);
        }
        most = most.saturating_mul(8).min(MAX_MATCHES);
    }
}

struct Finder<'a> {
    searcher: &'a Searcher,
    fields: Fields,
    catalog: &'a RunCatalog,
    request: &'a Request<'a>,
}

/// The hits so far by run, kind and text.
type Seen = HashMap<(String, Kind, blake3::Hash), Vec<usize>>;

impl Finder<'_> {
    /// The places of the first matches, in order.
    fn places(&self, most: usize) -> Result<Vec<DocAddress>> {
        let query = self.request.query(&self.fields).map_err(failed)?;
        let top = TopDocs::with_limit(most);
        match (&self.request.pattern, self.request.order) {
            (Pattern::Regex(regex), _) => self.scan(regex),
            (Pattern::Words(_), Order::Relevance) => {
                let found = self.searcher.search(&*query, &top.order_by_score()).map_err(failed)?;
                Ok(found.into_iter().map(|(_, place)| place).collect())
            }
            (Pattern::Words(_), Order::Time) => {
                let newest = top.order_by_fast_field::<i64>("at", tantivy::Order::Desc);
                let found = self.searcher.search(&*query, &newest).map_err(failed)?;
                Ok(found.into_iter().map(|(_, place)| place).collect())
            }
        }
    }

    /// Reads all stored texts that pass the filters and have the required words, in several threads. The newest matches
    /// are first.
    fn scan(&self, regex: &Regex) -> Result<Vec<DocAddress>> {
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let mut newest: BinaryHeap<Reverse<(i64, DocAddress)>> = BinaryHeap::new();
        let query = self.request.query(&self.fields).map_err(failed)?;
        let weight = query.weight(EnableScoring::disabled_from_searcher(self.searcher)).map_err(failed)?;
        for (segment, reader) in (0u32..).zip(self.searcher.segment_readers()) {
            let mut texts: Vec<u32> = Vec::new();
            weight.for_each_no_score(reader, &mut |docs| texts.extend_from_slice(docs)).map_err(failed)?;
            let results: Vec<Result<Vec<(i64, u32)>>> = thread::scope(|scope| {
                let parts = texts.chunks(texts.len().div_ceil(threads).max(1));
                let started: Vec<_> =
                    parts.map(|part| scope.spawn(move || self.scan_part(regex, segment, part))).collect();
                // A thread that failed has panicked, and the process with it.
                started.into_iter().filter_map(|thread| thread.join().ok()).collect()
            });
            for result in results {
                for (at, doc) in result? {
                    newest.push(Reverse((at, DocAddress::new(segment, doc))));
                    if newest.len() > MAX_MATCHES {
                        newest.pop();
                    }
                }
            }
        }
        Ok(newest.into_sorted_vec().into_iter().map(|Reverse((_, place))| place).collect())
    }

    fn scan_part(&self, regex: &Regex, segment: u32, texts: &[u32]) -> Result<Vec<(i64, u32)>> {
        let reader = self.searcher.segment_reader(segment);
        let store = reader
            .get_store_reader(CACHED_BLOCKS)
            .map_err(|error| failed(tantivy::TantivyError::from(error)))?;
        let times = reader.fast_fields().i64("at").map_err(failed)?;
        let mut found = Vec::new();
        for &doc in texts {
            if !reader.is_deleted(doc) {
                let stored: TantivyDocument = store.get(doc).map_err(failed)?;
                let text = stored.get_first(self.fields.text).and_then(|value| value.as_str());
                if text.is_some_and(|text| regex.is_match(text)) {
                    found.push((times.first(doc).unwrap_or_default(), doc));
                }
            }
        }
        Ok(found)
    }

    /// The first agents with texts, if the requested one has none.
    fn other_agents(&self) -> Result<Option<Vec<String>>> {
        const MAX_AGENTS: usize = 20;
        let field = self.fields.agent;
        let mut requested = self.request.agents.iter();
        let has_texts =
            |name: &String| self.searcher.doc_freq(&Term::from_field_text(field, name)).ok() != Some(0);
        if self.request.agents.is_empty() || requested.any(has_texts) {
            return Ok(None);
        }
        let mut agents = BTreeSet::new();
        for reader in self.searcher.segment_readers() {
            let index = reader.inverted_index(field).map_err(failed)?;
            let mut terms = index.terms().stream().map_err(tantivy::TantivyError::from).map_err(failed)?;
            while agents.len() < MAX_AGENTS && terms.advance() {
                agents.insert(String::from_utf8_lossy(terms.key()).into_owned());
            }
        }
        Ok(Some(agents.into_iter().collect()))
    }

    /// The hits of these places, without the repetitions of a text.
    fn hits(&self, places: Vec<DocAddress>) -> Result<Found> {
        let claims = Claims::new(&self.catalog.runs);
        let (mut found, mut seen) = (Found::default(), Seen::new());
        for place in places {
            let hit = self.hit(place, &claims)?;
            if self.request.run.is_some_and(|run| hit.run.as_ref() != Some(&run.run)) {
                continue;
            }
            let known = seen.entry(identity(&hit)).or_default();
            if let Some(same) = known.iter().find(|known| is_same(&found.hits[**known], &hit)) {
                let same = &mut found.hits[*same];
                // The call of the tool has the time of the sender.
                let other = if same.tool_use_id.is_none() { std::mem::replace(same, hit) } else { hit };
                // Only the event has the number of a new task.
                if same.title.is_empty() {
                    same.title = other.title;
                }
                continue;
            }
            if found.hits.len() == self.request.limit {
                found.more = true;
                break;
            }
            known.push(found.hits.len());
            found.hits.push(hit);
        }
        Ok(found)
    }

    fn hit(&self, place: DocAddress, claims: &Claims<'_>) -> Result<Hit> {
        let stored: TantivyDocument = self.searcher.doc(place).map_err(failed)?;
        let text = |field| stored.get_first(field).and_then(|value| value.as_str()).unwrap_or_default();
        let known =
            |field| Some(text(field)).filter(|text| *text != NONE && !text.is_empty()).map(str::to_owned);
        let at = stored.get_first(self.fields.at).and_then(|value| value.as_i64());
        let at = at.and_then(Timestamp::from_millis).unwrap_or_default();
        let session = known(self.fields.session);
        let run = known(self.fields.run).or_else(|| claims.run_of(None, session.as_deref(), at));
        let record = self.catalog.runs.iter().find(|record| Some(&record.run) == run.as_ref());
        let kind = Kind::parse(text(self.fields.kind))
            .map_err(|_| Error::new("the search index contains an unknown kind"))?;
        let body = text(self.fields.text);
        let matches = self.request.pattern.matches(body);
        let source = text(self.fields.source);
        let hit = Hit {
            at,
            kind,
            agent: text(self.fields.agent).to_owned(),
            team: record.and_then(|record| record.team.clone()),
            started_at: record.map(|record| record.started_at),
            run,
            session,
            title: text(self.fields.title).to_owned(),
            tool_use_id: known(self.fields.key),
            transcript: source
                .strip_prefix("transcript:")
                .and_then(|id| id.split_once(':'))
                .map(|(_, path)| path.to_owned()),
            line: stored.get_first(self.fields.line).and_then(|value| value.as_u64()).unwrap_or_default(),
            snippet: Snippet::of(body, &matches),
            text: body.to_owned(),
            command: None,
        };
        Ok(Hit { command: hit.show_command(), ..hit })
    }
}

/// The run, the kind and the text of a hit.
fn identity(hit: &Hit) -> (String, Kind, blake3::Hash) {
    let words = hit.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let scope = hit.run.clone().or(hit.session.clone()).unwrap_or_default();
    (scope, hit.kind, blake3::hash(words.as_bytes()))
}

/// Whether two hits of the same text are the same: hooks and transcripts record it, and a message is in the transcripts of
/// its sender and of its recipients.
fn is_same(one: &Hit, other: &Hit) -> bool {
    if let (Some(one), Some(other)) = (&one.tool_use_id, &other.tool_use_id) {
        return one == other;
    }
    let is_near = (one.at - other.at).num_milliseconds().abs() <= SAME_TEXT_MS;
    // A message is delivered long after it was sent, if its recipient is busy.
    one.kind == Kind::Task || is_near || is_delivery(one) != is_delivery(other)
}

/// Whether this is a message as its recipient received it.
fn is_delivery(hit: &Hit) -> bool {
    hit.kind == Kind::Message && hit.tool_use_id.is_none()
}
