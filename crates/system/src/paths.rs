//! The paths of teamkeep's store and configuration, and of Claude Code's directory.

use std::io;
use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::{Cause, Error, Result};
use crate::{fs, os};

macro_rules! parts {
    ($($(#[$about:meta])* $part:ident = $name:literal,)+) => {
        /// All entries of the store. Other entries of its directory do not belong to teamkeep: `TEAMKEEP_HOME` can name any
        /// directory, even the user's home.
        pub const PARTS: &[&str] = &[$($name),+];

        impl Paths {
            $($(#[$about])* pub fn $part(&self) -> PathBuf {
                self.store.join($name)
            })+
        }
    };
}

parts! {
    /// Files that can be computed again. They may be deleted at any time.
    cache = "cache",
    diagnostics = "diagnostics",
    installs = "installs",
    /// See [`StoreLock`](crate::store_lock::StoreLock).
    locks = "locks",
    /// Mostly empty files, of which only their existence or their modification times matter.
    marks = "marks",
    /// Active pauses and allowances.
    overrides = "overrides.json",
    restores = "restores",
    /// One directory for each run.
    runs = "runs",
    sessions = "sessions",
    /// The recorded data that each destination has.
    shipping = "shipping.json",
    /// The last snapshot of each team.
    teams = "teams",
    /// Directories that are complete or gone when their process has ended.
    tmp = "tmp",
    trust = "trust.json",
}

#[derive(Debug, Clone)]
pub struct Paths {
    /// Root of the store. Never below Claude Code's directory.
    pub store: PathBuf,
    pub config: PathBuf,
    pub client: Option<PathBuf>,
    /// Why the store is not in its usual place, if so.
    pub warning: Option<String>,
}

impl Paths {
    /// Without a home directory, the store is a private directory below the temporary one, and `warning` is set.
    pub fn find(env: &Env) -> Paths {
        // A relative path would depend on the directory in which the hook runs.
        let home = env.home.as_ref().filter(|home| home.is_absolute());
        let dirs = home.and_then(|_| directories::ProjectDirs::from("", "", "teamkeep"));
        let mut warning = None;
        let store = env.store.clone().filter(|store| store.is_absolute()).unwrap_or_else(|| match &dirs {
            Some(dirs) => dirs.data_local_dir().to_path_buf(),
            None => {
                let tmp = env.tmp.clone().unwrap_or_else(|| PathBuf::from(os::TMP_DIR));
                let path = tmp.join(format!("teamkeep-{}", os::access::user_id()));
                let why = if env.home.is_some() { "HOME is not an absolute path" } else { "HOME is not set" };
                warning = Some(format!("{why}: recording to {}", path.display()));
                path
            }
        });
        let config = env.config.clone().unwrap_or_else(|| match &dirs {
            Some(dirs) => dirs.config_local_dir().join("teamkeep.toml"),
            None => store.join("teamkeep.toml"),
        });
        let client = env.client.clone().or_else(|| home.map(|home| home.join(".claude")));
        Paths { store, config, client, warning }
    }

    /// Creates the fallback store, if it is in use, and checks that it is safe. A store that the user chose is not checked.
    pub fn secure(&self) -> Result<()> {
        if self.warning.is_none() {
            return Ok(());
        }
        match fs::make_private_dir(&self.store) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(self.refuse(error)),
            _ => self.check(),
        }
    }

    /// Points the store to a path that cannot exist (below a device), so that nothing is written or read.
    pub fn abandon(&mut self) {
        let nowhere = PathBuf::from(os::NOWHERE);
        if self.config.starts_with(&self.store) {
            self.config = nowhere.join("teamkeep.toml");
        }
        self.store = nowhere;
    }

    /// Checks that the fallback store, if it is in use, belongs to this user only: another user may have created it.
    pub fn check(&self) -> Result<()> {
        let metadata = match self.store.symlink_metadata() {
            _ if self.warning.is_none() => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(|error| self.refuse(error))?,
        };
        let kind = metadata.file_type();
        let why = match (os::access::other_owner(&metadata), os::access::open_mode(&metadata)) {
            _ if kind.is_symlink() => "it is a symlink".to_owned(),
            _ if !kind.is_dir() => "it is not a directory".to_owned(),
            (Some(owner), _) => format!("it belongs to another user ({owner})"),
            (None, Some(mode)) => format!("it is open to other users (mode {mode:o})"),
            (None, None) => return Ok(()),
        };
        Err(self.refuse(why))
    }

    fn refuse(&self, why: impl Into<Cause>) -> Error {
        let what = format!("cannot use {} as the store (HOME is not set)", self.store.display());
        Error::caused(what, why).hint("set HOME or TEAMKEEP_HOME")
    }

    /// Claude Code's directory: the one with the session's transcript (`<directory>/projects/<slug>/<session>.jsonl`), if
    /// it exists here, else that of the environment. Claude Code applies `env` of its settings to its hooks, also when it
    /// changes during a session, whose team and transcript remain where they are (2.1.332).
    pub fn client_for(&self, transcript: Option<&Path>) -> Option<PathBuf> {
        let of_transcript = transcript.and_then(|path| {
            let (projects, root) = (path.ancestors().nth(2)?, path.ancestors().nth(3)?);
            (root.is_absolute() && projects.ends_with("projects")).then_some(root)
        });
        match (of_transcript, &self.client) {
            (Some(root), Some(client)) if root == client || !root.is_dir() => Some(client.clone()),
            (Some(root), _) => Some(root.to_path_buf()),
            (None, client) => client.clone(),
        }
    }
}
