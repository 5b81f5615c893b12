//! Archives transcripts when a run has ended: Claude Code deletes them after 30 days.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::contents::{self, transcript_path};
use super::directory::Archive;
use super::run::{RunRecord, SessionRole};
use crate::packed::{packed, unpack};
use teamkeep_model::json;
use teamkeep_model::paths;
use teamkeep_model::time::Timestamp;
use teamkeep_system::error::Result;
use teamkeep_system::fs::{self, Draft};

/// An archived file: a transcript, or the `.meta.json` beside it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredTranscript {
    /// The content's hash.
    pub object: String,
    /// In bytes.
    pub size: u64,
}

/// Claude Code's note beside an agent's transcript, `agent-<id>.meta.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptNote {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(rename = "agentType", skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
}

impl TranscriptNote {
    /// Parses the note. A missing or damaged part is unknown.
    pub fn parse(bytes: &[u8]) -> TranscriptNote {
        let note = json::parse_lossy(bytes).unwrap_or_default();
        let text = |key: &str| note.get(key).and_then(Value::as_str).map(str::to_owned);
        TranscriptNote { name: text("name"), agent_type: text("agentType") }
    }

    pub fn is_empty(&self) -> bool {
        *self == TranscriptNote::default()
    }
}

/// The agent's id, or the session's, from the name of a transcript.
pub fn agent_of(transcript: &Path) -> &str {
    let name = stem(transcript);
    name.strip_prefix("agent-").unwrap_or(name)
}

pub fn is_agent_transcript(path: &Path) -> bool {
    stem(path).starts_with("agent-")
}

/// The name without its extension.
fn stem(path: &Path) -> &str {
    let name = path.to_str().and_then(|path| paths::parts(path).next_back()).unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The part of its sessions' transcripts that belongs to a run, by Claude Code's clock, which is also the clock of
/// `createdAt`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Interval {
    /// When Claude Code created the team; else when the run was first seen, if an earlier run shares one of its
    /// sessions.
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

impl Interval {
    /// Finds the part of a run. Runs that share a session follow each other.
    pub fn of(run: &RunRecord, all: &[RunRecord]) -> Interval {
        if let Some(imported) = &run.imported {
            return Interval { from: imported.from, until: imported.until };
        }
        let shares = |other: &&RunRecord| {
            other.run != run.run
                && other.imported.is_none()
                && other.sessions.iter().any(|one| run.sessions.iter().any(|own| own.id == one.id))
        };
        let began = |run: &RunRecord| run.created_at.unwrap_or(run.started_at);
        let own = began(run);
        let others: Vec<Timestamp> = all.iter().filter(shares).map(began).collect();
        let from = Some(own).filter(|own| run.created_at.is_some() || others.iter().any(|other| other < own));
        Interval { from, until: others.into_iter().filter(|other| *other > own).min() }
    }

    pub fn contains(&self, at: Option<Timestamp>) -> bool {
        at.is_none_or(|at| {
            self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
        })
    }
}

/// Stores a transcript, or a note beside one, in a run's directory, unless an intact one is there. Returns its hash.
pub fn put_transcript(run: &Path, bytes: &[u8]) -> io::Result<String> {
    let hash = contents::hash(bytes);
    let path = transcript_path(run, &hash);
    if !unpack(&path).is_ok_and(|there| there == bytes) {
        let mut compressed = Vec::new();
        flate2::read::GzEncoder::new(bytes, flate2::Compression::default()).read_to_end(&mut compressed)?;
        // A prune may have removed the run meanwhile, which must not be made again.
        if let Err(error) = fs::make_private_dir(&run.join("transcripts"))
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(error);
        }
        let path = packed(&path);
        let mut draft = Draft::create_in_existing(&path)?;
        draft.write_all(&compressed)?;
        draft.rename_synced(&path)?;
    }
    Ok(hash)
}

/// Maximum size of an archived transcript, in bytes.
const MAX_BYTES: u64 = 256 << 20;

impl RunRecord {
    /// The agent that a transcript belongs to: by the run's sessions, by the name in the note beside it if that is a
    /// member's, by the agent that hooks named for this id, else by the type in the note: a member's name, or a role.
    pub fn owner_of<'a>(
        &'a self,
        transcript: &Path,
        note: &'a TranscriptNote,
        is_member: impl Fn(&str) -> bool,
        by_hooks: impl FnOnce(&str) -> Option<&'a str>,
    ) -> Option<&'a str> {
        let id = agent_of(transcript);
        if !is_agent_transcript(transcript) {
            let session = self.sessions.iter().find(|session| session.id == id);
            let pane = session.filter(|session| session.role == SessionRole::Pane);
            return Some(pane.and_then(|pane| pane.name.as_deref()).unwrap_or(self.lead()));
        }
        let TranscriptNote { name, agent_type } = note;
        let by_note = name.as_deref().filter(|name| is_member(name));
        by_note.or_else(|| by_hooks(id)).or(agent_type.as_deref())
    }

    /// The existing transcripts of the run's sessions and their agents. Does not follow links.
    pub fn transcripts(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        // The paths in an imported run belong to another machine; files at these paths here are unrelated.
        if self.imported.is_some() || self.metadata_only {
            return found;
        }
        let paths = self.sessions.iter().filter_map(|session| session.transcript.as_deref()).map(Path::new);
        for path in paths.filter(|path| is_below_projects(path)) {
            if path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
                found.push(path.to_path_buf());
            }
            let session = path.with_extension("");
            let agents = session.join("subagents");
            if is_dir(&session) && is_dir(&agents) {
                let is_transcript = |name: &str| name.ends_with(".jsonl") || name.ends_with(".meta.json");
                let files = fs::entries(&agents).filter(|entry| {
                    entry.file_name().to_str().is_some_and(is_transcript)
                        && entry.file_type().is_ok_and(|kind| kind.is_file())
                });
                found.extend(files.map(|entry| entry.path()));
            }
        }
        found.sort();
        found.dedup();
        found
    }
}

/// Whether the path contains no link below Claude Code's `projects/`. That directory itself may be a link.
fn is_below_projects(path: &Path) -> bool {
    let Some(parent) = path.parent() else { return false };
    let above: Vec<&Path> = parent.ancestors().skip(1).take_while(|dir| dir.file_name().is_some()).collect();
    let projects = above.iter().position(|dir| dir.ends_with("projects"));
    is_dir(parent) && projects.is_none_or(|end| above[..end].iter().all(|dir| is_dir(dir)))
}

/// Whether this is a directory and not a link to one.
fn is_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

impl Archive {
    /// The run's existing transcripts that may be read: none in metadata-only mode, even if it was off when the run
    /// began.
    pub fn transcripts(&self, run: &RunRecord) -> Vec<PathBuf> {
        if self.metadata_only { Vec::new() } else { run.transcripts() }
    }

    /// Archives the transcripts of a run, compressed, and returns how many were new or had grown, and why others are skipped.
    /// Also records that there were none: transcripts that are missing later were lost.
    pub fn keep_transcripts(&self, run: &RunRecord) -> io::Result<(usize, Vec<String>)> {
        let dir = self.run_dir(&run.run).ok_or(io::ErrorKind::InvalidInput)?;
        let (kept, mut problems, mut new) = (self.kept(&run.run), Vec::new(), BTreeMap::new());
        for path in self.transcripts(run) {
            let Some(name) = path.to_str() else { continue };
            let size = path.symlink_metadata().map(|metadata| metadata.len()).unwrap_or_default();
            if kept.get(name).is_some_and(|kept| kept.size >= size) {
                continue;
            }
            if size > MAX_BYTES {
                let most = MAX_BYTES >> 20;
                problems.push(format!("{name} is larger than {most} MiB: it is not archived"));
                continue;
            }
            match fs::read_regular(&path, MAX_BYTES) {
                Ok((bytes, _)) => {
                    let object = put_transcript(&dir, &bytes)?;
                    new.insert(name.to_owned(), StoredTranscript { object, size: bytes.len() as u64 });
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
        let count = new.len();
        if count > 0 || (dir.exists() && matches!(self.read_kept(&run.run), Ok(None))) {
            self.list_transcripts(run, &dir, new)?;
        }
        Ok((count, problems))
    }

    /// Adds transcripts to the list, and removes the shorter ones before them. Another process may do the same.
    fn list_transcripts(
        &self,
        run: &RunRecord,
        dir: &Path,
        new: BTreeMap<String, StoredTranscript>,
    ) -> io::Result<()> {
        let subject = run.subject();
        let lock = subject.as_ref().map(|subject| self.lock(subject)).transpose()?.flatten();
        let (mut kept, mut former) = (self.kept(&run.run), Vec::new());
        for (name, stored) in new {
            if kept.get(&name).is_none_or(|kept| kept.size < stored.size) {
                former.extend(kept.insert(name, stored));
            }
        }
        self.write_note(&run.run, "transcripts.json", &serde_json::to_vec(&kept)?)?;
        let is_needed = |former: &StoredTranscript| kept.values().any(|kept| kept.object == former.object);
        for former in former.iter().filter(|former| lock.is_some() && !is_needed(former)) {
            let _ = std::fs::remove_file(packed(&transcript_path(dir, &former.object)));
        }
        Ok(())
    }

    /// The archived transcripts of a run by their original paths; empty if they cannot be read.
    pub fn kept(&self, run: &str) -> BTreeMap<String, StoredTranscript> {
        self.read_kept(run).ok().flatten().unwrap_or_default()
    }

    /// The transcripts of a run and the notes beside them, by path: the archived copy, or `None` if Claude Code's file has
    /// more.
    pub fn longest_transcripts(&self, run: &RunRecord) -> BTreeMap<String, Option<StoredTranscript>> {
        let kept = self.kept(&run.run).into_iter().map(|(path, kept)| (path, Some(kept)));
        let mut longest: BTreeMap<String, Option<StoredTranscript>> = kept.collect();
        for path in self.transcripts(run) {
            let (Some(name), Ok(there)) = (path.to_str(), path.symlink_metadata()) else { continue };
            let kept = longest.get(name).and_then(Option::as_ref);
            if kept.is_none_or(|kept| there.len() > kept.size) {
                longest.insert(name.to_owned(), None);
            }
        }
        longest
    }

    /// Opens one of [`Archive::longest_transcripts`].
    pub fn open_transcript(
        &self,
        run: &str,
        path: &str,
        stored: Option<&StoredTranscript>,
    ) -> Result<Box<dyn io::Read>> {
        Ok(match stored {
            Some(stored) => Box::new(self.open_content(run, &stored.object)?),
            None => Box::new(fs::open_regular(Path::new(path))?),
        })
    }

    /// The archived transcripts of a run; `None` if nothing was recorded. A list that cannot be read could name any
    /// object.
    pub fn read_kept(&self, run: &str) -> io::Result<Option<BTreeMap<String, StoredTranscript>>> {
        let Some(dir) = self.run_dir(run) else { return Ok(None) };
        let read = fs::if_exists(fs::read_regular(&dir.join("transcripts.json"), MAX_BYTES))?;
        Ok(read.map(|(bytes, _)| serde_json::from_slice(&bytes)).transpose()?)
    }
}

#[cfg(test)]
mod path_tests {
    use super::*;

    #[test]
    fn the_agent_of_a_transcript_is_known_by_a_path_of_any_system() {
        for path in ["/p/s/subagents/agent-abob-1.jsonl", r"C:\p\s\subagents\agent-abob-1.jsonl"] {
            assert!(is_agent_transcript(Path::new(path)));
            assert_eq!(agent_of(Path::new(path)), "abob-1");
        }
        assert_eq!(agent_of(Path::new("C:/p/s.jsonl")), "s");
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::archive::{SessionRecord, SessionRole};
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    fn run(transcript: &Path) -> RunRecord {
        let session = SessionRecord {
            transcript: transcript.to_str().map(str::to_owned),
            ..SessionRecord::new("s".into(), SessionRole::Lead)
        };
        RunRecord { run: "0123456789abcdef".into(), sessions: vec![session], ..RunRecord::default() }
    }

    #[test]
    fn links_below_projects_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (away, projects) = (dir.path().join("away"), dir.path().join("real/projects"));
        std::fs::create_dir_all(away.join("s/subagents")).unwrap();
        std::fs::create_dir_all(projects.join("p/s")).unwrap();
        for path in ["s.jsonl", "s/subagents/agent-a.jsonl"] {
            std::fs::write(away.join(path), "private").unwrap();
        }
        symlink(&away, projects.join("linked")).unwrap();
        symlink(away.join("s/subagents"), projects.join("p/s/subagents")).unwrap();
        symlink(dir.path().join("real"), dir.path().join("home")).unwrap();
        std::fs::write(projects.join("p/s.jsonl"), "own").unwrap();
        assert!(run(&projects.join("linked/s.jsonl")).transcripts().is_empty());
        let own = dir.path().join("home/projects/p/s.jsonl");
        assert_eq!(run(&own).transcripts(), [own], "the client's directory may be a link");
    }

    #[test]
    fn a_transcript_that_is_too_large_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("projects/p/s.jsonl");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        let archive = Archive::new(dir.path().join("archive"), 1, Duration::ZERO);
        let (new, problems) = archive.keep_transcripts(&run(&path)).unwrap();
        let problem = format!("{} is larger than 256 MiB: it is not archived", path.display());
        assert_eq!((new, problems), (0, vec![problem]));
    }
}
