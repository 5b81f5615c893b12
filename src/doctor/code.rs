//! What is looked at. Each check has a name that stays.

use serde::Serialize;

macro_rules! codes {
    ($($code:ident $name:literal $about:literal,)*) => {
        /// What a check is about. The names are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each says itself what it is about")]
        pub enum Code { $($code,)* }

        impl Code {
            /// All of them, in the order in which they are told.
            pub const ALL: &[Code] = &[$(Code::$code,)*];

            /// Its name, in kebab-case.
            pub fn name(self) -> &'static str {
                match self { $(Code::$code => $name,)* }
            }

            /// What it looks at, for the documentation.
            pub fn about(self) -> &'static str {
                match self { $(Code::$code => $about,)* }
            }
        }
    };
}

codes! {
    Client "client" "A client is found, and says its version within five seconds.",
    ClientEvents "client-events" "The client knows every event and the form of every hook in its settings. Before 2.1.101 one event that it does not know makes it skip the whole file.",
    AgentTeams "agent-teams" "Agent teams are switched on, in the environment or in a settings file, for a client that has them.",
    TaskTools "task-tools" "The task tools are on: from 2.1.233 they are off on current models, and then no gate that looks at tasks is ever asked.",
    Settings "settings" "Each settings file of the client can be read by the client: strict JSON, no link to nowhere.",
    HooksEnabled "hooks-enabled" "Nothing keeps hooks from running: `disableAllHooks`, `allowManagedHooksOnly`.",
    HooksInstalled "hooks-installed" "The hooks are in a settings file that the client reads, or in a plugin that is switched on.",
    HooksComplete "hooks-complete" "There is a hook for every event that this client has and this program records.",
    HooksTwice "hooks-twice" "No event runs two different hooks of ours.",
    HookMatcher "hook-matcher" "No matcher keeps a hook from what it is for.",
    SessionEndBudget "session-end-budget" "The SessionEnd hook has a `timeout`: without one all SessionEnd hooks share 1.5 seconds.",
    HookCommand "hook-command" "The program that the hooks name is there and can be run.",
    HookAnswer "hook-answer" "It takes a payload, answers as a hook must, and records it: tried out with a record of its own, which is thrown away.",
    SearchPath "search-path" "`teamkeep` is found on the search path.",
    Versions "versions" "The hooks, the search path and this program are one version.",
    PolicyFiles "policy-files" "The configuration and policy files in force make sense.",
    PolicyTrust "policy-trust" "The project's checks and rules are trusted, as they are now.",
    RulesAsked "rules-asked" "The installed hooks cover the events and tools of every rule in force.",
    StorePrivate "store-private" "The record is the user's own, and nobody else can read it.",
    StoreWritable "store-writable" "The record can be written, or made; no file is in the place of one of its directories.",
    StoreRoom "store-room" "There is room on the disk of the record.",
    LastEvent "last-event" "When the last event was recorded, and that the client was not used since without one.",
    NewestRun "newest-run" "The newest run on record is whole, as `teamkeep verify` sees it.",
    OwnFailures "own-failures" "Hook calls had nothing to complain of in the last 24 hours.",
    TaskLists "task-lists" "Every task of a running team is in a task list that the hooks know. The gates cannot see tasks in other lists.",
    StaleTeams "stale-teams" "No team directory is left of a client that is gone. It is told, and never deleted.",
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}
