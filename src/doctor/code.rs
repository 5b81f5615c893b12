//! The table of all checks of `doctor`: code, function, name and documentation. The names are stable.

use serde::Serialize;

use super::facts::Facts;
use super::finding::{Finding, Health};
use super::{
    answer, client, client_flags, duplicate_hooks, enabled, events, hooks, lists, matcher, policy, program,
    record, store, teams, versions,
};

macro_rules! codes {
    ($($code:ident $check:path, $name:literal $about:literal,)*) => {
        /// A check. The names are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($code,)* }

        impl Code {
            /// All checks in the order of the output.
            pub const ALL: &[Code] = &[$(Code::$code,)*];

            /// Its name in kebab-case.
            pub fn name(self) -> &'static str {
                match self { $(Code::$code => $name,)* }
            }

            /// Its description for the documentation.
            pub fn about(self) -> &'static str {
                match self { $(Code::$code => $about,)* }
            }

            /// Runs it. It changes nothing.
            pub fn run(self, facts: &Facts<'_>) -> Vec<Finding> {
                match self { $(Code::$code => $check(facts).into(),)* }
            }
        }
    };
}

codes! {
    Client client::check, "client" "Claude Code is found, and prints its version within ten seconds.",
    ClientEvents events::check, "client-events" "Claude Code supports every event and hook format in its settings. Before 2.1.101, one unknown event makes it ignore the whole file.",
    AgentTeams client_flags::teams, "agent-teams" "Agent teams are enabled in the environment or in a settings file, and this version of Claude Code has them.",
    TaskTools client_flags::tasks, "task-tools" "The task tools are on. Since 2.1.233 they are off by default on current models, and without them the gates that check tasks are inactive.",
    Settings enabled::settings, "settings" "Claude Code can read each of its settings files: strict JSON, no dangling symlink.",
    HooksEnabled enabled::hooks, "hooks-enabled" "No setting disables hooks (`disableAllHooks`, `allowManagedHooksOnly`).",
    HooksInstalled hooks::installed, "hooks-installed" "The hooks are in a settings file that Claude Code reads, or in an enabled plugin.",
    HooksComplete hooks::complete, "hooks-complete" "There is a hook for every event that this version of Claude Code has and teamkeep records.",
    HooksTwice duplicate_hooks::check, "hooks-twice" "No event calls teamkeep twice.",
    HookMatcher matcher::check, "hook-matcher" "No matcher excludes tools or events that teamkeep records.",
    SessionEndBudget hooks::budget, "session-end-budget" "The SessionEnd hook has a `timeout`. Without one, all SessionEnd hooks share 1.5 seconds.",
    HookCommand program::check, "hook-command" "The program that the hooks run exists and is executable.",
    HookAnswer answer::check, "hook-answer" "That program accepts a test payload, responds as a hook must, and records it. The test uses a temporary store.",
    SearchPath program::search_path, "search-path" "`teamkeep` is in `PATH`.",
    Versions versions::check, "versions" "The hooks, `PATH` and this program have the same version of teamkeep.",
    PolicyFiles policy::files, "policy-files" "The configuration and policy files in force are valid.",
    PolicyTrust policy::trust, "policy-trust" "The current version of the project's checks and rules is trusted.",
    RulesAsked policy::asked, "rules-asked" "The installed hooks cover the events and tools of every rule in force.",
    StorePrivate store::private, "store-private" "The store belongs to you, and no other user can read it.",
    StoreWritable store::writable, "store-writable" "The store is writable, or can be created, and each of its directories is a directory.",
    StoreRoom store::free_space, "store-room" "There is free space on the disk of the store.",
    LastEvent record::last_event, "last-event" "Shows when the last event was recorded. Claude Code was not used for more than an hour after it without an event.",
    NewestRun record::newest_run, "newest-run" "`teamkeep verify` finds no damage in the newest run.",
    OwnFailures record::failures, "own-failures" "No hook call reported an error in the last 24 hours.",
    TaskLists lists::check, "task-lists" "Every task of a running team is in a task list that the hooks know. The gates cannot see tasks in other lists.",
    TeamFiles lists::files, "team-files" "Every file of a running team can be read. The gates cannot see what is behind a symlink, a special file or a missing permission.",
    StaleTeams teams::check, "stale-teams" "No team directory belongs to a Claude Code process that has exited. Such directories are reported and never deleted.",
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// Runs all checks without changing anything: the hooks' program is tested with a temporary store.
pub fn run_checks(facts: &Facts<'_>) -> Health {
    Health { findings: Code::ALL.iter().flat_map(|code| code.run(facts)).collect() }
}
