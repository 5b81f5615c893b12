//! Checks the whole setup: Claude Code, its settings, teamkeep's hooks, the policy, the store; and fixes it (`doctor --fix`).
//!
//! The [`CheckInput`] is collected once. The table of checks names one function for each, which turns it into findings.
//! Only a [`FixStep`] changes anything; a new check that `install` fixes is also in [`FIXED_BY_INSTALL`].

mod claude_code;
mod hooks;
mod organization;
mod program;
mod record;
mod shipping;
mod store;

pub use store::OpenPath;

use std::path::{Path, PathBuf};

use serde::Serialize;

use teamkeep_config::{Effective, Files, Problem};
use teamkeep_model::time::Timestamp;
use teamkeep_settings::hook_command::HookEntry;
use teamkeep_settings::layer::{
    SettingsLayer, SettingsScope, layers, managed_with_hooks, plugins, running, with_most_hooks,
};
use teamkeep_settings::program::{shell_invocation, typed_to_install};
use teamkeep_settings::version::{ClientVersion, Version, VersionProbe};
use teamkeep_system::env::Env;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs::with_path;
use teamkeep_system::os;
use teamkeep_system::paths::Paths;

macro_rules! checks {
    ($($code:ident $check:path, $name:literal $about:literal,)*) => {
        /// A check. The names are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum DoctorCheck { $($code,)* }

        impl DoctorCheck {
            /// All checks in the order of the output.
            pub const ALL: &[DoctorCheck] = &[$(DoctorCheck::$code,)*];

            /// Its name in kebab-case.
            pub fn name(self) -> &'static str {
                match self { $(DoctorCheck::$code => $name,)* }
            }

            /// Its description for the documentation.
            pub fn about(self) -> &'static str {
                match self { $(DoctorCheck::$code => $about,)* }
            }

            fn run(self, input: &CheckInput<'_>) -> Vec<Diagnosis> {
                match self { $(DoctorCheck::$code => $check(input).into(),)* }
            }
        }
    };
}

checks! {
    Client claude_code::version, "client" "Claude Code is found, and prints its version within ten seconds.",
    ClientEvents claude_code::events, "client-events" "Claude Code supports every event and hook format in its settings. Before 2.1.101, one unknown event makes it ignore the whole file.",
    AgentTeams claude_code::teams, "agent-teams" "Agent teams are enabled in the environment or in a settings file, and this version of Claude Code has them.",
    TaskTools claude_code::tasks, "task-tools" "The task tools are on. Since 2.1.233 they are off by default on current models, and without them the gates that check tasks are inactive.",
    Settings claude_code::settings, "settings" "Claude Code can read each of its settings files: strict JSON, no dangling symlink.",
    ManagedSettings organization::managed_settings, "managed-settings" "Only root can change the managed settings of Claude Code and the program that their hooks run, and every user can use both.",
    HooksEnabled claude_code::hooks_enabled, "hooks-enabled" "No setting disables hooks (`disableAllHooks`, `allowManagedHooksOnly`).",
    HooksInstalled hooks::installed, "hooks-installed" "The hooks are in a settings file that Claude Code reads, or in an enabled plugin.",
    HooksComplete hooks::complete, "hooks-complete" "The hooks are those that `install` writes for this version of Claude Code and the policy.",
    HooksTwice hooks::duplicates, "hooks-twice" "No event calls teamkeep twice.",
    HookForm hooks::form, "hook-form" "Every hook in the settings has a valid form, including hooks of other programs. Before 2.1.328, one malformed hook makes Claude Code ignore the whole file; later, only at PreToolUse, PermissionRequest and PreSkillShellCommand.",
    HookCommand program::check, "hook-command" "The program that the hooks run exists and is executable.",
    HookAnswer program::test_call, "hook-answer" "That program accepts a test payload, responds as a hook must, and records it. The test uses a temporary store.",
    SearchPath program::search_path, "search-path" "`teamkeep` is in `PATH`.",
    Versions program::versions, "versions" "The hooks, `PATH` and this program have the same version of teamkeep.",
    Organization organization::configuration, "organization" "The organization's configuration is valid, and only root can change it.",
    PolicyFiles organization::files, "policy-files" "The configuration and policy files in force are valid.",
    PolicyTrust organization::trust, "policy-trust" "The current version of the project's checks and rules is trusted.",
    Notifications shipping::notifications, "notifications" "If notifications are configured, `curl` and the secret that they need can be used. Nothing is sent; `teamkeep config test-notify` does that.",
    Shipping shipping::check, "shipping" "If shipping is configured, `teamkeep-ship` is installed, the files with secrets can be used, the last shipping had no error, and the log has room for segments that are not shipped yet.",
    StorePrivate store::private, "store-private" "The store belongs to you, and no other user can read it. Not checked on Windows.",
    StoreWritable store::writable, "store-writable" "The store is writable, or can be created, and each of its directories is a directory.",
    StoreRoom store::free_space, "store-room" "There is free space on the disk of the store.",
    LastEvent record::last_event, "last-event" "Shows when the last event was recorded. Claude Code has not run for more than an hour since then without an event.",
    NewestRun record::newest_run, "newest-run" "`teamkeep verify` finds no damage in the newest run.",
    OwnFailures record::failures, "own-failures" "No hook call reported an error in the last 24 hours.",
    TaskLists record::task_lists, "task-lists" "Every task of a running team is in a task list that the hooks know. The gates cannot see tasks in other lists.",
    TeamFiles record::team_files, "team-files" "Every file of a running team can be read. The gates cannot see a file behind a symlink, a special file, a file without permission, or a file that is not valid JSON.",
    StaleTeams record::stale_teams, "stale-teams" "No team directory belongs to a Claude Code process that has exited. Such directories are reported and never deleted.",
}

impl Serialize for DoctorCheck {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// The verdict, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    Ok,
    /// It could not be determined.
    Unknown,
    /// It works, but could be better.
    Warn,
    /// It does not work.
    Bad,
}

/// The result of a check, before [`run_checks`] adds the check's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    pub verdict: CheckVerdict,
    pub what: String,
    pub fix: Option<String>,
}

fn ok(what: impl Into<String>) -> Diagnosis {
    Diagnosis { verdict: CheckVerdict::Ok, what: what.into(), fix: None }
}

fn unknown(what: impl Into<String>) -> Diagnosis {
    Diagnosis { verdict: CheckVerdict::Unknown, ..ok(what) }
}

fn warn(what: impl Into<String>) -> Diagnosis {
    Diagnosis { verdict: CheckVerdict::Warn, ..ok(what) }
}

fn bad(what: impl Into<String>) -> Diagnosis {
    Diagnosis { verdict: CheckVerdict::Bad, ..ok(what) }
}

impl Diagnosis {
    fn with_fix(self, fix: impl Into<String>) -> Diagnosis {
        Diagnosis { fix: Some(fix.into()), ..self }
    }
}

impl From<Diagnosis> for Vec<Diagnosis> {
    fn from(diagnosis: Diagnosis) -> Self {
        vec![diagnosis]
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub code: DoctorCheck,
    pub verdict: CheckVerdict,
    /// One line. It may quote files, so escape it for a terminal.
    pub what: String,
    /// The command that fixes it, or an instruction.
    pub fix: Option<String>,
}

/// The results of all checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// One or more per check, in the order of the checks.
    pub findings: Vec<Finding>,
}

impl Health {
    /// Whether no check failed. Warnings and unknown results are allowed.
    pub fn is_ok(&self) -> bool {
        self.count(CheckVerdict::Bad) == 0
    }

    pub fn count(&self, verdict: CheckVerdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    /// Whether a check found a problem.
    pub fn has_issue(&self, code: DoctorCheck) -> bool {
        self.findings.iter().any(|finding| finding.code == code && finding.verdict >= CheckVerdict::Warn)
    }
}

/// Runs all checks without changing anything: the hooks' program is tested with a temporary store.
pub fn run_checks(input: &CheckInput<'_>) -> Health {
    let run = |code: &DoctorCheck| {
        let code = *code;
        let finding = move |Diagnosis { verdict, what, fix }| Finding { code, verdict, what, fix };
        code.run(input).into_iter().map(finding)
    };
    Health { findings: DoctorCheck::ALL.iter().flat_map(run).collect() }
}

/// One hook that calls teamkeep.
#[derive(Debug, Clone)]
struct InstalledHook<'a> {
    layer: &'a SettingsLayer,
    entry: HookEntry,
}

/// The input of the checks.
#[derive(Debug)]
pub struct CheckInput<'a> {
    pub env: &'a Env,
    pub paths: &'a Paths,
    pub now: Timestamp,
    /// The answer of `claude --version`.
    pub probe: VersionProbe,
    /// The settings files, highest precedence first.
    pub layers: Vec<SettingsLayer>,
    /// Enabled teamkeep plugins.
    pub plugins: Vec<String>,
    /// The policy files.
    pub files: Files,
    /// The policy in force.
    pub policy: Effective,
    /// The problem with the name of the configuration file.
    pub misnamed: Option<Problem>,
    /// The command by which the user calls this program.
    pub call: String,
    /// The command by which the user runs `install`, which needs a program named `teamkeep`.
    pub installer: String,
}

impl<'a> CheckInput<'a> {
    /// Collects the input, without changing anything.
    pub fn gather(
        (env, paths): (&'a Env, &'a Paths),
        (files, misnamed): (&Files, Option<Problem>),
        now: Timestamp,
        probe: VersionProbe,
    ) -> CheckInput<'a> {
        let layers = layers(env, paths);
        let plugins = plugins(&layers);
        let (files, policy) = (files.clone(), teamkeep_config::layers::load(files));
        let (call, installer) = (shell_invocation(env), typed_to_install(env));
        CheckInput { env, paths, now, probe, layers, plugins, files, policy, misnamed, call, installer }
    }

    /// Claude Code's version, if known.
    pub fn version(&self) -> Option<Version> {
        match self.probe.answer {
            ClientVersion::Known(version) => Some(version),
            ClientVersion::Unknown(_) => None,
        }
    }

    /// All of teamkeep's hooks that Claude Code runs.
    fn ours(&self) -> Vec<InstalledHook<'_>> {
        let of =
            |layer| SettingsLayer::ours(layer).into_iter().map(move |entry| InstalledHook { layer, entry });
        let read = running(&self.layers).filter(|layer| !hooks::is_ignored(layer, self.version()));
        read.flat_map(of).collect()
    }

    /// The command that installs into managed settings if they have teamkeep's hooks, else into the file with most of them,
    /// else into the user's.
    fn install(&self) -> String {
        let most = managed_with_hooks(&self.layers).or(with_most_hooks(&self.layers));
        most.map_or_else(
            || format!("{} install", self.installer),
            |layer| layer.command(&self.installer, "install"),
        )
    }
}

/// A fix of `doctor --fix`, which is safe.
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
pub fn plan_fixes(input: &CheckInput<'_>, health: &Health) -> Vec<FixStep> {
    let mut steps = Vec::new();
    // With hooks in managed settings, an install for the user would add others.
    let is_managed = managed_with_hooks(&input.layers).is_some();
    let mut users = input.layers.iter().filter(|layer| layer.kind == SettingsScope::User && !is_managed);
    if let Some(user) = users.find(|layer| !layer.is_lost()) {
        let is_installed = user.ours().iter().any(HookEntry::is_written);
        // If an event runs a command of the user's beside teamkeep's hook, the user must decide.
        let is_custom = || input.ours().iter().any(|ours| !ours.entry.is_written());
        let is_fixable = |code: &DoctorCheck| {
            health.has_issue(*code) && !(*code == DoctorCheck::HooksTwice && is_custom())
        };
        if health.has_issue(DoctorCheck::HooksInstalled)
            || (is_installed && FIXED_BY_INSTALL.iter().any(is_fixable))
        {
            steps.push(FixStep::Install);
        }
    }
    let user = input.layers.iter().find(|layer| layer.kind == SettingsScope::User && !layer.is_lost());
    if let Some(user) = user.filter(|_| claude_code::can_enable(input, health)) {
        steps.push(FixStep::EnableTeams(user.path.clone()));
    }
    if store::is_store(&input.paths.store) {
        steps.extend(store::open_to_others(&input.paths.store).into_iter().map(FixStep::Shut));
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

    use super::*;
    use teamkeep_settings::layer::State;

    /// The input for this version of Claude Code with these settings, highest precedence first.
    pub fn input(version: Version, settings: &[(SettingsScope, Value)]) -> CheckInput<'static> {
        let env: &'static Env = Box::leak(Box::default());
        let paths: &'static Paths = Box::leak(Box::new(Paths::find(env)));
        let path = |kind: SettingsScope| PathBuf::from(format!("/{kind:?}.json"));
        let layer = |(kind, value): &(SettingsScope, Value)| SettingsLayer {
            kind: *kind,
            path: path(*kind),
            state: State::Read(value.clone()),
        };
        let layers: Vec<SettingsLayer> = settings.iter().map(layer).collect();
        let probe = VersionProbe { at: Some("claude".into()), answer: ClientVersion::Known(version) };
        let (plugins, files, policy) = (plugins(&layers), Files::default(), Effective::default());
        let now = teamkeep_model::time::parse("2026-02-03T04:05:06Z").unwrap();
        let (call, installer) = ("teamkeep".to_owned(), "teamkeep".to_owned());
        CheckInput { env, paths, now, probe, layers, plugins, files, policy, misnamed: None, call, installer }
    }

    /// Whether an install is planned for a problem of this check.
    fn installs(settings: &[(SettingsScope, Value)], code: DoctorCheck) -> bool {
        let mut input = input(Version(2, 1, 328), settings);
        let paths = teamkeep_system::paths::Paths { store: "/no/such/record".into(), ..input.paths.clone() };
        input.paths = &paths;
        let finding = Finding { code, verdict: CheckVerdict::Bad, what: String::new(), fix: None };
        plan_fixes(&input, &Health { findings: vec![finding] }) == [FixStep::Install]
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
        assert!(!installs(&[], DoctorCheck::HooksInstalled), "without a settings file");
    }
}
