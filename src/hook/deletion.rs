//! Whether a TeamDelete may run: files that are not archived before it are lost.

use super::Recorder;
use super::attribute::Attributed;
use super::capture::TeamNote;
use crate::archive::CaptureScope;
use crate::attribution::BlockedDeletes;
use crate::config::OnFailure;
use crate::model::{Limit, Note, Severity};
use crate::payload::Kind;
use crate::policy::{Reason, escaped};
use crate::response::Answer;

/// Maximum length of a quoted cause, in characters.
const MAX_CHARS: usize = 300;

impl Attributed<'_> {
    /// Blocks a TeamDelete if something could not be archived. If the store itself fails, it stays blocked: the loss could
    /// not even be recorded. If the store works but cannot archive some files, they block it `max-blocks` times, because it
    /// may be impossible to change them; the count starts again when fewer of them are left.
    pub fn block_unarchived_delete(&mut self) -> Option<Answer> {
        let (call, found) = (&self.call, &self.found);
        if !call.deletes {
            return None;
        }
        let team = self.by.resolved.team.as_ref();
        // Problems of another team do not block, if it is known which team is deleted.
        let meant = |subject: &CaptureScope| team.is_none() || subject.team() == team;
        let is_meant = |of_team: &&TeamNote| of_team.subject.as_ref().is_none_or(meant);
        let own = || found.notes.iter().filter(is_meant).map(|of_team| &of_team.note);
        let mut problems: Vec<&Note> = own().filter(|note| note.is_store_failure()).collect();
        if !team.and_then(|team| found.teams.get(team)).is_some_and(|index| index.present) {
            problems.extend(found.overlooked());
        }
        let store_works = problems.is_empty();
        problems.extend(own().filter(|note| note.severity == Severity::Loss && !note.is_store_failure()));
        if problems.is_empty() {
            self.by.state.refused = None;
            return None;
        }
        let texts: Vec<&str> = problems.iter().map(|note| note.text.as_str()).collect();
        let why = texts.join("; ");
        if call.recorder.config.archive.on_failure == OnFailure::Warn {
            let what = "TeamDelete is allowed although the team could not be archived";
            return Some(Answer::failed(format!("teamkeep: {what}: {why}")));
        }
        if store_works {
            let files = problems.iter().map(|note| note.files()).sum();
            let before = call.before.refused.filter(|before| before.files <= files);
            let times = before.map_or(0, |before| before.times);
            if times >= call.recorder.config.policy.max_blocks {
                let lost = format!(
                    "TeamDelete is allowed after {times} blocks although not everything was archived: {why}"
                );
                let answer = Answer::failed(format!("teamkeep: {lost}"));
                self.outcome.lost_with_team = Some(lost);
                return Some(answer);
            }
            self.by.state.refused = Some(BlockedDeletes { times: times + 1, files });
        }
        let team = team.map_or_else(|| "the team".to_owned(), |team| format!("team {:?}", team.as_str()));
        let limits: Vec<Option<Limit>> = problems.iter().map(|note| note.limit()).collect();
        Some(call.recorder.delete_refusal(&team, &limits, &why))
    }
}

impl Recorder {
    /// The response that blocks. `limits` has the limit behind each problem.
    fn delete_refusal(&self, team: &str, limits: &[Option<Limit>], why: &str) -> Answer {
        let (store, config) = (self.paths.store.display(), self.paths.config.display());
        // One remedy helps only if the same limit is behind every problem.
        let limit = limits.iter().copied().reduce(|one, other| one.filter(|_| one == other)).flatten();
        let remedy = match limit.map(Limit::key) {
            Some(None) => "Delete again: each attempt continues where the last one stopped".to_owned(),
            Some(Some(key)) => {
                format!("Ask the user to raise `{key}` under [archive] in {config}, then delete again")
            }
            None => {
                format!(
                    "Ask the user to free disk space or to fix the permissions of {store}, then delete again"
                )
            }
        };
        // File names are untrusted.
        let why = escaped(why, MAX_CHARS);
        let reason = Reason::default()
            .then(&format!(
                "teamkeep blocks TeamDelete: {team} could not be archived, and deleting it now would lose data that is \
                 not recorded yet ({why})."
            ))
            .instead(&format!("{remedy}; `on-failure = \"warn\"` under [archive] in {config} turns this off."));
        Answer::block(Kind::PreToolUse, reason.finish())
    }
}
