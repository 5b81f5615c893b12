//! The fixes of `doctor --fix`, which are safe. A check that `install` fixes is in a list here.

use std::path::{Path, PathBuf};

use teamkeep_settings::hook_command::HookEntry;
use teamkeep_settings::layer::{SettingsScope, managed_with_hooks};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs::with_path;
use teamkeep_system::os;

use super::store::{OpenPath, is_store, open_to_others};
use super::{DoctorCheck, Facts, Health, claude_code};

/// One fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FixStep {
    /// Run `install` for the user's settings.
    Install,
    /// Enable agent teams and task tools in this settings file of the user's, if the user confirms it.
    EnableTeams(PathBuf),
    /// Make something in the store private.
    Shut(OpenPath),
}

/// The checks that `install` fixes if the hooks are in the user's settings.
const FIXED_BY_INSTALL: &[DoctorCheck] = &[
    DoctorCheck::ClientEvents,
    DoctorCheck::HooksComplete,
    DoctorCheck::HooksTwice,
    DoctorCheck::HookCommand,
    DoctorCheck::HookAnswer,
];

/// The fixes for these results. Hooks and settings of others, a project's files and team directories are not changed.
pub fn plan(facts: &Facts<'_>, health: &Health) -> Vec<FixStep> {
    let mut steps = Vec::new();
    // With hooks in managed settings, an install for the user would add others.
    let is_managed = managed_with_hooks(&facts.layers).is_some();
    let mut users = facts.layers.iter().filter(|layer| layer.kind == SettingsScope::User && !is_managed);
    if let Some(user) = users.find(|layer| !layer.is_lost()) {
        let is_installed = user.ours().iter().any(HookEntry::is_written);
        // If an event runs a command of the user's beside teamkeep's hook, the user must decide.
        let is_custom = || facts.ours().iter().any(|ours| !ours.entry.is_written());
        let is_fixable = |code: &DoctorCheck| {
            health.has_issue(*code) && !(*code == DoctorCheck::HooksTwice && is_custom())
        };
        if health.has_issue(DoctorCheck::HooksInstalled)
            || (is_installed && FIXED_BY_INSTALL.iter().any(is_fixable))
        {
            steps.push(FixStep::Install);
        }
    }
    let user = facts.layers.iter().find(|layer| layer.kind == SettingsScope::User && !layer.is_lost());
    if let Some(user) = user.filter(|_| claude_code::can_enable(facts, health)) {
        steps.push(FixStep::EnableTeams(user.path.clone()));
    }
    if is_store(&facts.paths.store) {
        steps.extend(open_to_others(&facts.paths.store).into_iter().map(FixStep::Shut));
    }
    steps
}

/// Removes the permissions of others from a file or directory of this user. Links and files of others are left
/// unchanged.
pub fn restrict_permissions(path: &Path) -> Result<()> {
    os::access::restrict(path).map_err(|error| Error::from(with_path(error, "change the mode of", path)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use teamkeep_settings::version::Version;

    use super::*;
    use crate::doctor::tests::facts;
    use crate::doctor::{CheckVerdict, Finding};

    /// Whether an install is planned for a problem of this check.
    fn installs(settings: &[(SettingsScope, Value)], code: DoctorCheck) -> bool {
        let mut facts = facts(Version(2, 1, 328), settings);
        let paths = teamkeep_system::paths::Paths { store: "/no/such/record".into(), ..facts.paths.clone() };
        facts.paths = &paths;
        let finding = Finding { code, verdict: CheckVerdict::Bad, what: String::new(), fix: None };
        plan(&facts, &Health { findings: vec![finding] }) == [FixStep::Install]
    }

    #[test]
    fn install_is_planned_only_for_hooks_in_the_user_file() {
        let ours = || json!({"hooks": {"Stop": [{"hooks": [{"command": "/bin/teamkeep hook stop"}]}]}});
        let user = [(SettingsScope::User, ours())];
        assert!(installs(&user, DoctorCheck::HookCommand) && installs(&user, DoctorCheck::HooksComplete));
        assert!(!installs(&user, DoctorCheck::HooksEnabled), "a switch is the user's own");
        assert!(!installs(&user, DoctorCheck::PolicyFiles));
        let project = [(SettingsScope::Project, ours()), (SettingsScope::User, json!({}))];
        assert!(!installs(&project, DoctorCheck::HookCommand), "a project's file is everybody's");
        assert!(installs(&[(SettingsScope::User, json!({}))], DoctorCheck::HooksInstalled));
        assert!(!installs(&[], DoctorCheck::HooksInstalled), "there is no settings file");
    }
}
