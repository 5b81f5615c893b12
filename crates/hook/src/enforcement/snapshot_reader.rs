//! The state of a team at a hook call, from the snapshots that the call has just taken.

use std::path::Path;
use std::time::Instant;

use teamkeep_model::json;
use teamkeep_model::team::{FileFacts, Flaw, TeamFile};
use teamkeep_policy::{TeamState, Unreadable};
use teamkeep_store::archive::{Archive, CapturedFile, Index, RunContents};
use teamkeep_system::fs;

/// Where and until when a team's files are read.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotReader<'a> {
    pub archive: &'a Archive,
    /// Claude Code's directory, for contents that the store does not have: it is damaged, or has only sizes and hashes in
    /// metadata-only mode.
    pub client: Option<&'a Path>,
    /// Whether to read the files there first.
    pub live_first: bool,
    /// The deadline for reading. Files that are not read by then are counted ([`TeamState::unread`]).
    pub until: Option<Instant>,
}

type ListedFile<'a> = (&'a str, TeamFile<'a>, &'a CapturedFile);

impl SnapshotReader<'_> {
    /// Reads the state of a team, without a ledger. Task ids are those that the session sees, or else the
    /// lead.
    pub fn team(&self, (team, session): (Option<&str>, Option<&str>), index: Option<&Index>) -> TeamState {
        let mut state = TeamState { name: team.map(str::to_owned), ..TeamState::default() };
        let Some(index) = index else { return state };
        let lists = index.lists(team, session);
        state.missing = index.lists.missing().map(str::to_owned).collect();
        let mut files: Vec<ListedFile<'_>> = Vec::new();
        for (path, captured) in &index.files {
            match TeamFile::of(path, &lists) {
                Some(file) if captured.object.is_some() => files.push((path.as_str(), file, captured)),
                _ => {
                    let why = captured.why_unreadable();
                    state.unreadable.extend(why.and_then(|why| Unreadable::of(path, why, &lists)));
                }
            }
        }
        let mut contents = self.archive.contents(&index.run);
        for (number, file) in files.iter().enumerate() {
            if self.until.is_some_and(|until| Instant::now() >= until) {
                state.unread = files.len() - number;
                break;
            }
            match self.facts(&mut contents, *file) {
                Ok(facts) => state.put_file(file.1, facts),
                Err(why) => state.unreadable.extend(Unreadable::of(file.0, why, &lists)),
            }
        }
        state
    }

    fn facts(&self, contents: &mut RunContents, file: ListedFile<'_>) -> Result<FileFacts, &'static str> {
        let (path, file, captured) = file;
        if let Some(facts) = &captured.facts
            && !self.live_first
            && file.fits(facts)
        {
            return Ok(facts.clone());
        }
        let largest = self.archive.largest;
        // Before a TeamDelete, larger files are archived as well; a hook call does not have the time to read them.
        let mut stored = || (captured.stamp.0 <= largest).then(|| contents.of_file(captured)).flatten();
        let live = || {
            let (bytes, _) = fs::read_regular(&self.client?.join(path), largest).ok()?;
            json::parse_lossy(&bytes).is_some().then_some(bytes)
        };
        let content = match self.live_first {
            true => live().or_else(stored),
            false => stored().or_else(live),
        };
        let content = content.ok_or("its content cannot be read")?;
        file.parse(&content).ok_or_else(|| Flaw::of(path, &content).unwrap_or(Flaw::NotJson).text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_store::archive::ContentWriter;

    #[test]
    fn files_after_the_deadline_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::new(dir.path().to_owned(), 1 << 20, std::time::Duration::ZERO);
        let mut index = Index { run: "0123456789abcdef".into(), ..Index::default() };
        let mut contents = ContentWriter::new(&archive.run_dir(&index.run).unwrap(), "event", true);
        for number in 1..=100 {
            let text = format!("{{\"status\":\"pending\",\"owner\":\"worker-{number}\"}}");
            let (object, place) = contents.put(text.as_bytes(), None).unwrap();
            let seen = CapturedFile { object: Some(object), place, ..CapturedFile::default() };
            index.files.insert(format!("tasks/t/{number}.json"), seen);
        }
        contents.flush().unwrap();
        let read = |until| {
            SnapshotReader { archive: &archive, client: None, live_first: false, until }
                .team((Some("t"), None), Some(&index))
        };
        let all = read(None);
        assert_eq!((all.tasks.len(), all.unread), (100, 0));
        assert_eq!(all.tasks["77"].owner.as_deref(), Some("worker-77"));
        let none = read(Some(Instant::now()));
        assert_eq!((none.tasks.len(), none.unread), (0, 100));
    }
}
