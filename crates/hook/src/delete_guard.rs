//! Blocks a TeamDelete whose files could not be stored. It counts its blocks itself, and no gate or pause changes it.

use super::MAX_CHARS;
use super::call::Call;
use crate::attribution::BlockedDeletes;
use crate::facts::TeamNote;
use crate::response::Response;
use teamkeep_config::OnFailure;
use teamkeep_model::payload::EventKind;
use teamkeep_model::words::count;
use teamkeep_model::{Limit, Note, Severity};
use teamkeep_policy::{Reason, escaped};
use teamkeep_store::archive::CaptureScope;

impl Call<'_> {
    /// Blocks a TeamDelete if something could not be archived. If the store itself fails, it stays blocked: the loss could not
    /// even be recorded. Files that a working store cannot archive block it `max-blocks` times, because it may be impossible to
    /// change them; the count starts again when fewer of them are left.
    pub(crate) fn block_unarchived_delete(&mut self) -> Option<Response> {
        let (received, found) = (&self.received, &self.found);
        if !received.deletes {
            return None;
        }
        let team = self.by.resolved.team.as_ref();
        // Problems of another team do not block, if it is known which team is deleted.
        let is_deleted = |subject: &CaptureScope| team.is_none() || subject.team() == team;
        let concerns = |of_team: &&TeamNote| of_team.subject.as_ref().is_none_or(is_deleted);
        let own = || found.notes.iter().filter(concerns).map(|of_team| &of_team.note);
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
        if received.recorder.config.archive.on_failure == OnFailure::Warn {
            let what = "TeamDelete is allowed although the team could not be archived";
            return Some(Response::failed(format!("teamkeep: {what}: {why}")));
        }
        if store_works {
            let files = problems.iter().map(|note| note.files()).sum();
            let before = received.before.refused.filter(|before| before.files <= files);
            let times = before.map_or(0, |before| before.times);
            if times >= received.recorder.config.policy.max_blocks {
                let lost = format!(
                    "TeamDelete is allowed after {} although not everything was archived: {why}",
                    count(times, "block")
                );
                let response = Response::failed(format!("teamkeep: {lost}"));
                self.outcome.lost_with_team = Some(lost);
                return Some(response);
            }
            self.by.state.refused = Some(BlockedDeletes { times: times + 1, files });
        }
        let team = team.map_or_else(|| "the team".to_owned(), |team| format!("team {:?}", team.as_str()));
        let paths = &received.recorder.paths;
        let (store, config) = (paths.store.display(), paths.config.display());
        // One remedy helps only if the same limit is behind every problem.
        let limits = problems.iter().map(|note| note.limit());
        let limit = limits.reduce(|one, other| one.filter(|_| one == other)).flatten();
        let remedy = match limit.map(Limit::key) {
            Some(None) => "Delete again: each attempt continues where the last one stopped".to_owned(),
            Some(Some(key)) => {
                format!("Ask the user to raise `{key}` under [archive] in {config}, then delete again")
            }
            None => format!(
                "Ask the user to free disk space or to fix the permissions of {store}, then delete again"
            ),
        };
        // File names are untrusted.
        let why = escaped(&why, MAX_CHARS);
        let reason = Reason::default()
            .then(&format!(
                "teamkeep blocks TeamDelete: {team} could not be archived, and deleting it now would lose data that is \
                 not recorded yet ({why})."
            ))
            .instead(&format!("{remedy}; `on-failure = \"warn\"` under [archive] in {config} turns this off."));
        let (reason, advice) = reason.finish();
        Some(Response::block(EventKind::PreToolUse, format!("{reason} {advice}")))
    }
}
