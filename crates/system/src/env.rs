//! The environment, read in one place. The log records only two of its values: `CLAUDE_CODE_TASK_LIST_ID` and a valid
//! `TRACEPARENT`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::error::Error;
use crate::os;
use teamkeep_model::time;

pub const VARIABLES: &[(&str, &str)] = &[
    ("TEAMKEEP_HOME", "Absolute path of the store, instead of the platform's data directory"),
    (
        "TEAMKEEP_CONFIG",
        "Absolute path of the configuration file, instead of the one in the platform's config directory",
    ),
    ("TEAMKEEP_PAGER", "Pager for long output on a terminal; takes precedence over `PAGER`"),
    ("TEAMKEEP_COMPLETE", "Set by the completion scripts that `completions` prints"),
    ("TEAMKEEP_NOW", "RFC 3339 time to use instead of the clock (for tests)"),
    (
        "CLAUDE_CONFIG_DIR",
        "Claude Code's directory, instead of `~/.claude`. Hooks use that of the session's transcript",
    ),
    ("CLAUDE_PROJECT_DIR", "Project of the session; set by Claude Code"),
    ("CLAUDE_PID", "Process ID of Claude Code; set by Claude Code"),
    ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "Turns on agent teams in Claude Code; checked by `doctor`"),
    ("CLAUDE_CODE_ENABLE_TODO_TOOLS", "Turns on the task tools in Claude Code; checked by `doctor`"),
    (
        "CLAUDE_CODE_TASK_LIST_ID",
        "Task list that the session uses instead of its team's; recorded with each event",
    ),
    ("TRACEPARENT", "W3C trace context of the hook call; recorded with each event if it is valid"),
    ("TMUX_PANE", "Pane of a teammate in split-pane mode; set by tmux"),
    (os::HOME_VARIABLE, "Home directory"),
    ("XDG_DATA_HOME", "Directory of the store on Linux (default: `~/.local/share`)"),
    ("XDG_CONFIG_HOME", "Directory of the configuration on Linux (default: `~/.config`)"),
    (os::TMP_VARIABLE, "Directory for the store when there is no home directory"),
    ("PATH", "Where teamkeep looks for programs: itself, Claude Code, the pager, `curl`"),
    ("PAGER", "Pager for long output on a terminal (default: `less`)"),
    ("LESS", "Options for `less`; teamkeep sets `FRX` when it is unset"),
    (os::USER_VARIABLE, "Name of the user in shipped data (default: that of the account)"),
    (
        "AWS_PROFILE",
        "Profile with the credentials of an object store; read by `teamkeep-ship`, as the other `AWS_*`",
    ),
    ("AWS_SHARED_CREDENTIALS_FILE", "File with the profiles, instead of `~/.aws/credentials`"),
    ("AWS_CONFIG_FILE", "File with the profiles' settings, instead of `~/.aws/config`"),
    ("NO_COLOR", "Turns off colors"),
    ("CLICOLOR_FORCE", "Turns on colors in a pipe"),
    ("TZ", "Time zone of times in text output (default: that of the system). An unknown zone is UTC"),
    ("TERM", "`dumb` turns off colors and live output"),
];

#[derive(Debug, Clone, Default)]
pub struct Env {
    pub store: Option<PathBuf>,
    pub config: Option<PathBuf>,
    pub now: Option<String>,
    pub client: Option<PathBuf>,
    pub project: Option<PathBuf>,
    pub client_pid: Option<u32>,
    pub agent_teams: Option<String>,
    pub task_tools: Option<String>,
    pub task_list: Option<String>,
    pub trace_parent: Option<String>,
    pub pane: Option<String>,
    pub home: Option<PathBuf>,
    pub tmp: Option<PathBuf>,
    pub search: Option<OsString>,
    pub term: Option<String>,
}

impl Env {
    /// Reads the variables of this process. An empty variable counts as unset.
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
            trace_parent: text("TRACEPARENT"),
            pane: text("TMUX_PANE"),
            home: path(os::HOME_VARIABLE),
            tmp: path(os::TMP_VARIABLE),
            search: value("PATH"),
            term: text("TERM"),
        }
    }

    /// The pager's command; an empty one means no pager. Not a field, because a hook call needs none.
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn pager() -> Option<String> {
        let set = ["TEAMKEEP_PAGER", "PAGER"].iter().find_map(std::env::var_os);
        set.map(|command| command.to_string_lossy().into_owned())
    }

    pub fn has_less_options() -> bool {
        value("LESS").is_some()
    }

    /// The shell whose completion script calls this process.
    pub fn completion_shell() -> Option<String> {
        text("TEAMKEEP_COMPLETE")
    }

    /// The name of the user.
    pub fn user() -> Option<String> {
        text(os::USER_VARIABLE)
    }

    /// The name of the AWS profile, and the files with the credentials and the settings of the profiles.
    pub fn aws_profiles(&self) -> (Option<String>, [Option<PathBuf>; 2]) {
        let below_home = |name: &str| self.home.as_ref().map(|home| home.join(".aws").join(name));
        let file = |variable: &str, name: &str| path(variable).or_else(|| below_home(name));
        let files = [file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), file("AWS_CONFIG_FILE", "config")];
        (text("AWS_PROFILE"), files)
    }

    /// The project of this process: the one that Claude Code names, else the current directory.
    pub fn project_dir(&self) -> Option<PathBuf> {
        self.project.clone().or_else(|| std::env::current_dir().ok())
    }

    /// Errors in environment variables whose defaults a hook call uses instead.
    pub fn problems(&self) -> Vec<Error> {
        let store = self.store.as_ref().filter(|store| !store.is_absolute()).map(|store| {
            Error::new(format!("invalid TEAMKEEP_HOME {store:?}: not an absolute path"))
                .hint("set it to an absolute path, or unset it")
        });
        let now = self.now.as_deref().filter(|now| time::parse(now).is_none()).map(|now| {
            Error::new(format!("invalid TEAMKEEP_NOW {now:?}: not an RFC 3339 time"))
                .hint("set it to a time such as 2026-02-03T04:05:06Z, or unset it")
        });
        store.into_iter().chain(now).collect()
    }
}

#[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
fn value(name: &str) -> Option<OsString> {
    debug_assert!(VARIABLES.iter().any(|(known, _)| *known == name), "{name} is missing in VARIABLES");
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn path(name: &str) -> Option<PathBuf> {
    value(name).map(PathBuf::from)
}

fn text(name: &str) -> Option<String> {
    value(name).and_then(|value| value.into_string().ok())
}

/// The directories of a search path without its relative and empty entries, which lead to the current directory: nothing
/// may be run only because it is there.
pub fn absolute_dirs(search: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(search).filter(|dir| dir.is_absolute())
}

/// The search path of this process with only its [`absolute_dirs`].
pub fn absolute_search() -> OsString {
    let search = value("PATH").unwrap_or_default();
    let absolute = std::env::join_paths(absolute_dirs(&search)).unwrap_or_default();
    // An empty search path is the current directory.
    if absolute.is_empty() { OsString::from(os::SEARCH_PATH) } else { absolute }
}
