//! A check in progress: its findings, and which contents are intact.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use super::journals::JournalChecks;
use super::{Finding, Findings, Kind, Scope, Verifier};
use teamkeep_core::store::archive::{ContentError, is_hash};
use teamkeep_core::store::log::{Lines, Position, Raw};
use teamkeep_core::sys::fs;

/// The hint for a lost content.
const LOST: &str = "only these states are lost; if you have an export of the run, move its directory away and `teamkeep import FILE`";

/// How long to wait for the end of the last line, which may be being written.
const WRITE_TIME: Duration = Duration::from_millis(100);

/// Maximum number of uses to list for a damaged content.
const MAX_USES: usize = 5;

pub(super) struct Check<'a> {
    pub verifier: &'a Verifier<'a>,
    pub findings: Findings,
    pub journals: JournalChecks,
    /// The index of the finding about each content of the run that was checked; `None` if it is intact.
    pub contents: HashMap<blake3::Hash, Option<usize>>,
    /// Called with the number of bytes read.
    done: &'a mut dyn FnMut(u64),
}

/// A state that needs a content.
#[derive(Debug, Clone)]
pub(super) struct ContentUse<'a> {
    pub run: &'a str,
    pub file: &'a Path,
    pub line: Option<u64>,
    /// The file's path and the time of the state.
    pub what: String,
}

impl ContentUse<'_> {
    fn finding(&self, kind: Kind, what: String) -> Finding {
        let finding = Finding::new(kind, self.file, what, LOST).of_run(self.run);
        Finding { line: self.line, ..finding }
    }
}

impl<'a> Check<'a> {
    pub fn new(verifier: &'a Verifier<'a>, done: &'a mut dyn FnMut(u64)) -> Check<'a> {
        let (findings, journals) = (Findings::default(), JournalChecks::default());
        Check { verifier, findings, journals, contents: HashMap::new(), done }
    }

    /// The run to check, if the scope is a single run.
    pub fn single_run(&self) -> Option<&'a str> {
        match &self.verifier.scope {
            Scope::All => None,
            Scope::Run(run) => Some(run),
        }
    }

    /// Notes that a state needs a content of the run that is being checked, and records a finding if the content is lost.
    pub fn require_content(&mut self, hash: &str, of: &ContentUse<'_>) {
        let Some(key) = parsed(hash) else {
            let what = format!("{hash:?} is not a valid hash");
            self.findings.add(of.finding(Kind::DamagedLine, what));
            return;
        };
        let known = self.contents.get(&key).copied();
        let found = known.unwrap_or_else(|| self.content(hash, of));
        self.contents.insert(key, found);
        if let Some(finding) = found.and_then(|at| self.findings.first.get_mut(at))
            && finding.needed_by.len() < MAX_USES
        {
            finding.needed_by.push(format!("{} {}", of.run, of.what));
        }
    }

    /// Reads a content. Returns the index of the finding if it is lost.
    fn content(&mut self, hash: &str, of: &ContentUse<'_>) -> Option<usize> {
        let read = self.verifier.archive.content(of.run, hash);
        self.findings.checked.contents += 1;
        let (kind, what) = match read {
            Ok(bytes) => {
                self.findings.checked.bytes += bytes.len() as u64;
                (self.done)(bytes.len() as u64);
                return None;
            }
            Err(ContentError::Missing { .. }) => (Kind::MissingContent, format!("content {hash} is missing")),
            Err(ContentError::Damaged { .. }) => (Kind::DamagedContent, format!("content {hash} is damaged")),
            Err(ContentError::Io(error)) => (Kind::DamagedContent, error.to_string()),
        };
        self.findings.add(of.finding(kind, what))
    }

    /// Calls `each` for each line of a journal with its number, keeping only one in memory. Returns why reading stopped, if
    /// it failed.
    pub fn each_line(
        &mut self,
        path: &Path,
        mut each: impl FnMut(&mut Self, u64, Vec<u8>),
    ) -> Option<String> {
        if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Some(format!("{} is not a regular file", path.display()));
        }
        let is_packed = path.extension().is_some_and(|kind| kind == "gz");
        let start = Position::default();
        let opened = if is_packed { Lines::open_packed(path, start) } else { Lines::open(path, start) };
        let mut lines = match opened {
            Ok(lines) => lines,
            // Pruned after it was listed.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => return Some(error.to_string()),
        };
        loop {
            match self.next_line(&mut lines, path) {
                Ok(None) => return None,
                Ok(Some(line)) => each(self, lines.position.lines, line),
                Err(error) => return Some(error.to_string()),
            }
        }
    }

    /// The next line; waits for the end of a line that may be being written.
    pub fn next_line(&mut self, lines: &mut Lines, path: &Path) -> std::io::Result<Option<Vec<u8>>> {
        let before = lines.position;
        let mut raw = match lines.next() {
            None => return Ok(None),
            Some(Ok(raw)) => raw,
            Some(Err(error)) => return Err(fs::with_path(error, "read", path)),
        };
        if !raw.whole && path.extension().is_none_or(|kind| kind != "gz") {
            std::thread::sleep(WRITE_TIME);
            if let Some((again, rest)) = read_again(path, before) {
                (raw, *lines) = (again, rest);
            }
        }
        (self.done)(lines.position.offset - before.offset);
        // A line that is too long is damaged, even if it begins like an event.
        Ok(Some(raw.bytes.unwrap_or_else(|| b"too long for a line".to_vec())))
    }
}

/// Reads a line that was not whole again, and what follows it.
fn read_again(path: &Path, from: Position) -> Option<(Raw, Lines)> {
    let mut lines = Lines::open(path, from).ok()?;
    Some((lines.next()?.ok()?, lines))
}

fn parsed(hash: &str) -> Option<blake3::Hash> {
    // Upper-case digits are valid for blake3, but not in the store.
    blake3::Hash::from_hex(hash).ok().filter(|_| is_hash(hash))
}
