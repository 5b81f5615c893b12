mod edits;
#[cfg(unix)]
mod git;
#[path = "../../../policy/src/tests/scene.rs"]
#[allow(dead_code, reason = "the tests of the policy use the rest")]
mod scene;

use teamkeep_config::Policy;
use teamkeep_policy::{Access, FileHistory, JudgedEvent};

/// Asks the disk and git.
fn facts(policy: &Policy, event: &JudgedEvent<'_>, history: &FileHistory) -> Option<Access> {
    super::access(policy, event, || history.clone())
}
