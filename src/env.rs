//! The environment, read in one place. The log records only one of its values: `CLAUDE_CODE_TASK_LIST_ID`.

use std::ffi::OsString;
use std::path::PathBuf;

/// One variable that this program reads: its name and what it does.
pub struct Variable {
    /// The name.
    pub name: &'static str,
    /// What it does, for `--help` and the documentation.
    pub about: &'static str,
}

/// Every variable that this program reads.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "TEAMKEEP_HOME",
        about: "an absolute path: where the record is kept, instead of the platform's data directory",
    },
    Variable {
        name: "TEAMKEEP_CONFIG",
        about: "an absolute path: the configuration file, instead of the one in the platform's config directory",
    },
    Variable {
        name: "TEAMKEEP_NOW",
        about: "an RFC 3339 time that stands for the clock (tests and the demo)",
    },
    Variable { name: "CLAUDE_CONFIG_DIR", about: "the client's directory, instead of ~/.claude" },
    Variable { name: "CLAUDE_PROJECT_DIR", about: "the project of the session, set by the client" },
    Variable { name: "CLAUDE_PID", about: "the process of the client, set by the client" },
    Variable {
        name: "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS",
        about: "whether the client has agent teams: `doctor` looks",
    },
    Variable {
        name: "CLAUDE_CODE_ENABLE_TODO_TOOLS",
        about: "whether the client has its task tools: `doctor` looks",
    },
    Variable {
        name: "CLAUDE_CODE_TASK_LIST_ID",
        about: "the task list that the session uses instead of its team's; recorded with each event",
    },
    Variable { name: "TMUX_PANE", about: "the pane of a split-pane teammate, set by tmux" },
    Variable { name: "HOME", about: "the user's home" },
    Variable { name: "TMPDIR", about: "where the record goes when there is no home" },
    Variable { name: "PATH", about: "where `install` looks for this program and the client" },
    Variable { name: "NO_COLOR", about: "no colour in the terminal" },
    Variable { name: "TERM", about: "`dumb` for a terminal that only takes lines" },
];

/// What the environment says, as far as this program asks.
#[derive(Debug, Clone, Default)]
pub struct Env {
    /// `TEAMKEEP_HOME`
    pub store: Option<PathBuf>,
    /// `TEAMKEEP_CONFIG`
    pub config: Option<PathBuf>,
    /// `TEAMKEEP_NOW`
    pub now: Option<String>,
    /// `CLAUDE_CONFIG_DIR`
    pub client: Option<PathBuf>,
    /// `CLAUDE_PROJECT_DIR`
    pub project: Option<PathBuf>,
    /// `CLAUDE_PID`
    pub client_pid: Option<u32>,
    /// `CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS`
    pub agent_teams: Option<String>,
    /// `CLAUDE_CODE_ENABLE_TODO_TOOLS`
    pub task_tools: Option<String>,
    /// `CLAUDE_CODE_TASK_LIST_ID`, whatever it holds
    pub task_list: Option<String>,
    /// `TMUX_PANE`
    pub pane: Option<String>,
    /// `HOME`
    pub home: Option<PathBuf>,
    /// `TMPDIR`
    pub tmp: Option<PathBuf>,
    /// `PATH`
    pub search: Option<OsString>,
    /// `TERM`
    pub term: Option<String>,
}

impl Env {
    /// Reads the variables of this process. An empty one counts as absent.
    pub fn read() -> Env {
        Env {
            store: path("TEAMKEEP_HOME"),
            config: path("TEAMKEEP_CONFIG"),
            now: value("TEAMKEEP_NOW").map(|now| now.to_string_lossy().into_owned()),
            client: path("CLAUDE_CONFIG_DIR"),
            project: path("CLAUDE_PROJECT_DIR"),
            client_pid: text("CLAUDE_PID").and_then(|pid| pid.parse().ok()),
            agent_teams: text("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS"),
            task_tools: text("CLAUDE_CODE_ENABLE_TODO_TOOLS"),
            task_list: value("CLAUDE_CODE_TASK_LIST_ID").map(|list| list.to_string_lossy().into_owned()),
            pane: text("TMUX_PANE"),
            home: path("HOME"),
            tmp: path("TMPDIR"),
            search: value("PATH"),
            term: text("TERM"),
        }
    }

    /// The project that this process runs in: the client's word for it, else the current directory.
    pub fn project_dir(&self) -> Option<PathBuf> {
        self.project.clone().or_else(|| std::env::current_dir().ok())
    }
}

#[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
fn value(name: &str) -> Option<OsString> {
    debug_assert!(VARIABLES.iter().any(|known| known.name == name), "{name} is missing in VARIABLES");
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn path(name: &str) -> Option<PathBuf> {
    value(name).map(PathBuf::from)
}

fn text(name: &str) -> Option<String> {
    value(name).and_then(|value| value.into_string().ok())
}
