//! Stores the work in a worktree of Claude Code when an agent in it stops, because the worktree may be removed next.
//!
//! Claude Code removes a worktree without a hook: at ExitWorktree, at the end of the session if the user chooses so, and
//! weeks later (2.1.330). A hook for WorktreeRemove would replace the removal, so there is none.

use std::io;
use std::path::Path;

use super::call::Call;
use super::facts::BEFORE_DELETE;
use teamkeep_model::Tool;
use teamkeep_model::event::{ActorKind, SafeName};
use teamkeep_model::payload::EventKind;
use teamkeep_store::archive::work_path;
use teamkeep_system::worktree::{self, Header, Work};

impl Call<'_> {
    /// Stores the work in the worktree of the agent that calls. The file belongs to its run.
    pub(crate) fn store_worktree(&mut self) {
        let (received, recorder) = (&self.received, self.received.recorder);
        let removes_next = match received.kind {
            EventKind::PreToolUse => received.payload.tool() == Some(Tool::ExitWorktree),
            kind => kind == EventKind::SubagentStop,
        };
        let is_due = removes_next || matches!(received.kind, EventKind::Stop | EventKind::SessionEnd);
        if !is_due || recorder.is_metadata_only() {
            return;
        }
        let Some((top, name)) = received.payload.text("cwd").map(Path::new).and_then(worktree::containing)
        else {
            return;
        };
        let (Some(own), Some(name)) = (&self.by.own, SafeName::new(name)) else { return };
        let limit = recorder.config.archive.longest_look;
        let limit = limit.saturating_mul(if removes_next { BEFORE_DELETE } else { 1 });
        // A tool call does not always name its agent.
        let agent = Some(&self.by.actor).filter(|actor| actor.kind == ActorKind::Teammate);
        let author = agent.and_then(|agent| agent.name.as_deref()).filter(|name| is_usable(name));
        let author = author.unwrap_or("agent");
        let store = || {
            let scratch = received.archive.scratch(&received.id)?;
            match worktree::bundle(&top, author, &scratch.dir, limit) {
                None => Err(io::Error::other("git failed, or needed too much time or space")),
                Some(Work::None) => Ok(None),
                Some(Work::Bundle { bytes, left_out }) => {
                    // The pack of the same commits can have other bytes.
                    let is_same = |last: &[u8]| Header::parse(last) == Header::parse(&bytes);
                    let path = work_path(&name);
                    let is_new = received.archive.add_file(
                        own,
                        &received.capture_request(),
                        &path,
                        &bytes,
                        is_same,
                    )?;
                    Ok(left_out.filter(|_| is_new))
                }
            }
        };
        let stored = store();
        let what = format!("the work in the worktree {}", top.display());
        if let Some(left_out) = self.outcome.note(&format!("store {what}"), stored).flatten() {
            self.outcome.add(format!("{what} is not stored completely. {left_out}"));
        }
    }
}

/// Whether git accepts the name: it removes some characters, and a name needs others.
fn is_usable(name: &str) -> bool {
    name.contains(char::is_alphanumeric) && !name.contains(char::is_control)
}
