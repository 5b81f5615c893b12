//! Whether the environment points a hook call elsewhere than an organization with fixed gates expects. No gate fails then,
//! but the gates may not see the team that Claude Code uses now, or the organization does not find the recorded data.

use std::path::Path;

use super::call::Call;
use super::{MAX_CHARS, Recorder};
use teamkeep_config::OnError;
use teamkeep_policy::{Decision, Verdict, escaped, failure};
use teamkeep_store::access::{Obstacle, unexpected};
use teamkeep_system::fs;

impl Call<'_> {
    /// The verdict if the call is redirected, as `on-error` defines it. A warning is shown once in a session.
    pub(super) fn redirected(&self) -> Option<Verdict> {
        let (received, recorder) = (&self.received, self.received.recorder);
        if !recorder.config.organization.fixes_gates() || !received.kind.is_judged() {
            return None;
        }
        let client = recorder.redirected_client(&received.client);
        let Obstacle { what, fix } = client.or_else(|| recorder.redirected_store())?;
        // The description has two paths.
        let (what, fix) = (escaped(&what, 2 * MAX_CHARS), escaped(&fix, MAX_CHARS));
        let on_error = recorder.config.policy.on_error;
        let mut verdict = failure::verdict(on_error, received.kind, failure::REDIRECTED, String::new());
        if verdict.decision == Decision::Block {
            verdict.reason = format!(
                "{what}. The organization has fixed gates and on-error = \"block\". Do not try \
                 again; ask the user to {fix}, and to restart the session."
            );
            return Some(verdict);
        }
        verdict.reason = format!("{what}. To fix it, {fix}, and restart the session.");
        // A store that cannot be written does not remember it, and is reported itself.
        verdict.repeated = self.by.state.redirected || self.found.store_failures().next().is_some();
        if on_error == OnError::Allow && !verdict.repeated {
            verdict.decision = Decision::Warn;
        }
        Some(verdict)
    }
}

impl Recorder {
    /// The session's transcript is in `client`, and Claude Code writes new files elsewhere.
    fn redirected_client(&self, client: &Path) -> Option<Obstacle> {
        let named = self.paths.client.as_deref().filter(|named| !fs::is_same_path(named, client))?;
        let variable = if self.env.client.is_some() { "CLAUDE_CONFIG_DIR" } else { "HOME" };
        Some(Obstacle {
            what: format!(
                "{variable} points to {}, but this session began in {}, so gates do not see all of its team",
                named.display(),
                client.display()
            ),
            fix: format!("remove {variable} from `env` in the settings of Claude Code"),
        })
    }

    /// The store is not where the organization expects it.
    fn redirected_store(&self) -> Option<Obstacle> {
        let expected = self.config.organization.store_path(self.env.home.as_deref())?;
        unexpected(&self.paths, &self.env, &expected)
    }
}
