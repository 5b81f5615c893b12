//! Plans and applies the safe fixes.

use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::finding::Health;
use super::store::{OpenPath, is_store, open_to_others};
use super::{Code, Facts};
use teamkeep_core::client::settings::layer::Kind;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::sys::fs::with_path;

/// One fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FixStep {
    /// Run `install` for the user's settings.
    Install,
    /// Make something in the store private.
    Shut(OpenPath),
}

/// The checks that `install` fixes if the hooks are in the user's settings.
const FIXED_BY_INSTALL: &[Code] = &[
    Code::ClientEvents,
    Code::HooksComplete,
    Code::HooksTwice,
    Code::HookMatcher,
    Code::RulesAsked,
    Code::SessionEndBudget,
    Code::HookCommand,
    Code::HookAnswer,
];

/// The fixes for these results. Hooks and settings of others, a project's files and team directories are not changed.
pub fn plan(facts: &Facts<'_>, health: &Health) -> Vec<FixStep> {
    let mut steps = Vec::new();
    if let Some(user) = facts.layers.iter().find(|layer| layer.kind == Kind::User && !layer.is_lost()) {
        let is_installed = user.ours().iter().any(|ours| ours.entry.is_written());
        // If an event runs a command of the user's beside teamkeep's hook, the user must decide.
        let is_custom = || facts.ours().iter().any(|ours| !ours.entry.is_written());
        let is_fixable = |code: &Code| health.has_issue(*code) && !(*code == Code::HooksTwice && is_custom());
        if health.has_issue(Code::HooksInstalled) || (is_installed && FIXED_BY_INSTALL.iter().any(is_fixable))
        {
            steps.push(FixStep::Install);
        }
    }
    if is_store(&facts.paths.store) {
        steps.extend(open_to_others(&facts.paths.store).into_iter().map(FixStep::Shut));
    }
    steps
}

/// Removes the permissions of others from a file or directory of this user. Links and files of others are left
/// unchanged.
pub fn restrict_permissions(path: &Path) -> Result<()> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
    let change = || -> std::io::Result<()> {
        let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let metadata = file.metadata()?;
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(std::io::Error::other("it belongs to another user"));
        }
        let mode = metadata.permissions().mode() & 0o700;
        file.set_permissions(std::fs::Permissions::from_mode(mode))
    };
    change().map_err(|error| Error::from(with_path(error, "change the mode of", path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::{Finding, Verdict};
    use crate::doctor::tests::facts;
    use serde_json::{Value, json};
    use teamkeep_core::client::settings::version::Version;

    /// Whether an install is planned for a problem of this check.
    fn installs(settings: &[(Kind, Value)], code: Code) -> bool {
        let mut facts = facts(Version(2, 1, 328), settings);
        let paths =
            teamkeep_core::sys::paths::Paths { store: "/no/such/record".into(), ..facts.paths.clone() };
        facts.paths = &paths;
        let finding = Finding { code, verdict: Verdict::Bad, what: String::new(), fix: None };
        plan(&facts, &Health { findings: vec![finding] }) == [FixStep::Install]
    }

    #[test]
    fn install_is_planned_only_for_hooks_in_the_user_file() {
        let ours = || json!({"hooks": {"Stop": [{"hooks": [{"command": "/bin/teamkeep hook stop"}]}]}});
        let user = [(Kind::User, ours())];
        assert!(installs(&user, Code::HookCommand) && installs(&user, Code::HooksComplete));
        assert!(!installs(&user, Code::HooksEnabled), "a switch is the user's own");
        assert!(!installs(&user, Code::PolicyFiles));
        let project = [(Kind::Project, ours()), (Kind::User, json!({}))];
        assert!(!installs(&project, Code::HookCommand), "a project's file is everybody's");
        assert!(installs(&[(Kind::User, json!({}))], Code::HooksInstalled));
        assert!(!installs(&[], Code::HooksInstalled), "there is no telling where");
    }
}
