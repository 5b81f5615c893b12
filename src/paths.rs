//! Where things are: our record and configuration, and the client's directory.

use std::path::{Path, PathBuf};

use crate::env::Env;

/// The directories of one call.
#[derive(Debug, Clone)]
pub struct Paths {
    /// The root of our record. Never below the client's directory.
    pub store: PathBuf,
    /// Our configuration file, whether it exists or not.
    pub config: PathBuf,
    /// The client's directory (`~/.claude`), if there is any way to know it.
    pub client: Option<PathBuf>,
    /// Why the record is not where it should be, if so.
    pub warning: Option<String>,
}

impl Paths {
    /// Finds them from the environment; without any home the record goes to a private directory below
    /// the temporary one, and `warning` says so.
    pub fn find(env: &Env) -> Paths {
        let dirs = env.home.as_ref().and_then(|_| directories::ProjectDirs::from("", "", "teamkeep"));
        let mut warning = None;
        let store = env.store.clone().unwrap_or_else(|| match &dirs {
            Some(dirs) => dirs.data_dir().to_path_buf(),
            None => {
                let path = homeless(env);
                warning = Some(format!("HOME is not set: recording to {}", path.display()));
                path
            }
        });
        let config = env.config.clone().unwrap_or_else(|| match &dirs {
            Some(dirs) => dirs.config_dir().join("teamkeep.toml"),
            None => store.join("teamkeep.toml"),
        });
        let client = env.client.clone().or_else(|| env.home.as_ref().map(|home| home.join(".claude")));
        Paths { store, config, client, warning }
    }

    /// The event log's directory.
    pub fn log(&self) -> PathBuf {
        self.store.join("log")
    }

    /// The archive's directory.
    pub fn archive(&self) -> PathBuf {
        self.store.join("archive")
    }

    /// What is remembered of sessions.
    pub fn sessions(&self) -> PathBuf {
        self.store.join("sessions")
    }

    /// What is remembered of the settings that the hooks were added to, and how those were before.
    pub fn installs(&self) -> PathBuf {
        self.store.join("installs")
    }

    /// Our own failures.
    pub fn diagnostics(&self) -> PathBuf {
        self.store.join("diagnostics")
    }

    /// The client's directory: the environment's, or the one that a transcript's path lies in
    /// (`<client>/projects/<slug>/<session>.jsonl`).
    pub fn client_for(&self, transcript: Option<&Path>) -> Option<PathBuf> {
        self.client.clone().or_else(|| {
            let root = transcript?.ancestors().nth(3)?;
            (root.is_absolute() && transcript?.ancestors().nth(2)?.ends_with("projects"))
                .then(|| root.to_path_buf())
        })
    }
}

/// A directory of this user's own below the temporary one, for a call that has no home at all.
fn homeless(env: &Env) -> PathBuf {
    let tmp = env.tmp.clone().unwrap_or_else(|| PathBuf::from("/tmp"));
    tmp.join(format!("teamkeep-{}", rustix::process::getuid().as_raw()))
}
