//! A query: words, phrases or a regular expression, and the filters.

use std::ops::{Bound, Range};

use regex::{Regex, RegexBuilder};
use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, ConstScoreQuery, Occur, PhraseQuery, Query, RangeQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

use super::document::Kind;
use super::index::{Fields, words};
use super::required_words::required_words;
use super::update::NONE;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::sys::clock::Timestamp;

const MAX_WORDS: usize = 64;
/// Maximum size of a compiled regular expression, in bytes.
const MAX_REGEX_BYTES: usize = 4 << 20;

#[derive(Debug, Clone)]
pub enum Pattern {
    /// All of these must occur: each is a word, or the words of a phrase.
    Words(Vec<Vec<String>>),
    Regex(Regex),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Order {
    /// The best match first
    #[default]
    Relevance,
    /// The newest first
    Time,
}

#[derive(Debug)]
pub struct Request<'a> {
    pub pattern: Pattern,
    pub run: Option<&'a RunRecord>,
    /// The names of one agent; empty for all agents.
    pub agents: Vec<String>,
    pub kinds: Vec<Kind>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    pub order: Order,
    pub limit: usize,
}

impl Pattern {
    /// Parses words and phrases in quotes. No character has another meaning.
    pub fn words(text: &str) -> Result<Pattern> {
        let mut parts = Vec::new();
        for (place, part) in text.split('"').enumerate() {
            // Between quotes is a phrase. A quote that is not closed extends to the end.
            match place % 2 {
                0 => parts.extend(part.split_whitespace().map(tokens)),
                _ => parts.push(tokens(part)),
            }
        }
        parts.retain(|words| !words.is_empty());
        if parts.iter().map(Vec::len).sum::<usize>() > MAX_WORDS {
            return Err(Error::usage(format!("more than {MAX_WORDS} words")));
        }
        match parts.is_empty() {
            true => Err(Error::usage(format!("no word in {text:?}"))
                .hint("words are letters and digits; for other characters: --regex")),
            false => Ok(Pattern::Words(parts)),
        }
    }

    pub fn regex(text: &str) -> Result<Pattern> {
        let built =
            RegexBuilder::new(text).size_limit(MAX_REGEX_BYTES).dfa_size_limit(MAX_REGEX_BYTES).build();
        let regex = built.map_err(|error| {
            let error = error.to_string();
            let why = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Error::usage(format!("invalid regular expression {text:?}: {why}"))
        })?;
        match regex.is_match("") {
            true => Err(Error::usage(format!("the regular expression {text:?} matches every text"))),
            false => Ok(Pattern::Regex(regex)),
        }
    }

    /// The places of the matches in a text.
    pub fn matches(&self, text: &str) -> Vec<Range<usize>> {
        match self {
            Pattern::Regex(regex) => {
                regex.find_iter(text).map(|found| found.range()).filter(|range| !range.is_empty()).collect()
            }
            Pattern::Words(parts) => {
                let mut tokens: Vec<(String, Range<usize>)> = Vec::new();
                words().token_stream(text).process(&mut |token| {
                    tokens.push((token.text.clone(), token.offset_from..token.offset_to));
                });
                let starts = (0..tokens.len()).filter_map(|start| {
                    let length =
                        parts.iter().filter(|part| begins(&tokens[start..], part)).map(Vec::len).max()?;
                    Some(tokens[start].1.start..tokens[start + length - 1].1.end)
                });
                starts.collect()
            }
        }
    }
}

fn begins(tokens: &[(String, Range<usize>)], part: &[String]) -> bool {
    tokens.len() >= part.len() && tokens.iter().zip(part).all(|((token, _), word)| token == word)
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    words().token_stream(text).process(&mut |token| tokens.push(token.text.clone()));
    tokens
}

impl Request<'_> {
    /// The query of the index: of a regular expression, the filters and the words that each match contains.
    pub(super) fn query(&self, fields: &Fields) -> tantivy::Result<Box<dyn Query>> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut must = |query: Box<dyn Query>| clauses.push((Occur::Must, query));
        if let Pattern::Words(parts) = &self.pattern {
            parts.iter().for_each(|part| must(words_query(fields.text, part)));
        }
        if let Pattern::Regex(regex) = &self.pattern {
            for word in required_words(regex.as_str()) {
                must(constant(word.query(fields.text)?));
            }
        }
        if let Some(run) = self.run {
            must(constant(run_query(fields, run)));
        }
        if !self.agents.is_empty() {
            let agents = self.agents.iter().map(|agent| value_query(fields.agent, agent));
            must(constant(Box::new(BooleanQuery::union(agents.collect()))));
        }
        if !self.kinds.is_empty() {
            let kinds = self.kinds.iter().map(|kind| value_query(fields.kind, &kind.word()));
            must(constant(Box::new(BooleanQuery::union(kinds.collect()))));
        }
        if self.since.is_some() || self.until.is_some() {
            let bound = |at: Option<Timestamp>| {
                at.map_or(Bound::Unbounded, |at| {
                    Bound::Included(Term::from_field_i64(fields.at, at.millis()))
                })
            };
            must(constant(Box::new(RangeQuery::new(bound(self.since), bound(self.until)))));
        }
        Ok(if clauses.is_empty() { Box::new(AllQuery) } else { Box::new(BooleanQuery::new(clauses)) })
    }
}

/// A filter does not change the relevance.
fn constant(query: Box<dyn Query>) -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(query, 0.0))
}

fn value_query(field: Field, value: &str) -> Box<dyn Query> {
    Box::new(TermQuery::new(Term::from_field_text(field, value), IndexRecordOption::Basic))
}

fn words_query(field: Field, words: &[String]) -> Box<dyn Query> {
    let mut terms: Vec<Term> = words.iter().map(|word| Term::from_field_text(field, word)).collect();
    match terms.len() {
        1 => Box::new(TermQuery::new(terms.remove(0), IndexRecordOption::WithFreqs)),
        _ => Box::new(PhraseQuery::new(terms)),
    }
}

/// The texts of a run, and those of its sessions that name no run.
fn run_query(fields: &Fields, run: &RunRecord) -> Box<dyn Query> {
    let sessions = run.sessions.iter().map(|session| value_query(fields.session, &session.id));
    let unnamed = BooleanQuery::intersection(vec![
        value_query(fields.run, NONE),
        Box::new(BooleanQuery::union(sessions.collect())),
    ]);
    Box::new(BooleanQuery::union(vec![value_query(fields.run, &run.run), Box::new(unnamed)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<Vec<String>> {
        match Pattern::words(text) {
            Ok(Pattern::Words(parts)) => parts,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn words_and_phrases_are_parsed_and_nothing_else_has_a_meaning() {
        assert_eq!(parts("Parser fails"), [["parser"], ["fails"]]);
        assert_eq!(parts("a \"b  C\" snake_case"), [vec!["a"], vec!["b", "c"], vec!["snake", "case"]]);
        assert_eq!(parts("\"not closed"), [["not", "closed"]]);
        assert_eq!(
            parts("text:* OR -x^2 NEAR(a) AND"),
            [vec!["text"], vec!["or"], vec!["x", "2"], vec!["near", "a"], vec!["and"]]
        );
        for empty in ["", " ", "\"\"", "-- *", "\0"] {
            assert!(Pattern::words(empty).is_err(), "{empty:?}");
        }
        assert!(Pattern::words(&"w ".repeat(MAX_WORDS + 1)).is_err());
    }

    #[test]
    fn matches_are_whole_words_and_whole_phrases() {
        let text = "The parser's Parser; parsers. Test the PARSER";
        let found = |pattern: Pattern| -> Vec<&str> {
            pattern.matches(text).into_iter().map(|range| &text[range]).collect()
        };
        assert_eq!(found(Pattern::words("parser").unwrap()), ["parser", "Parser", "PARSER"]);
        assert_eq!(found(Pattern::words("\"the parser\"").unwrap()), ["The parser", "the PARSER"]);
        assert_eq!(found(Pattern::regex(r"P\w+").unwrap()), ["Parser", "PARSER"]);
    }

    #[test]
    fn a_regular_expression_that_is_invalid_or_matches_everything_is_rejected() {
        for bad in ["(", "a*", "", "(a{1000}){1000}"] {
            assert!(Pattern::regex(bad).is_err(), "{bad}");
        }
    }
}
