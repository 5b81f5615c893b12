//! Where things are: our record and configuration, and the client's directory.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::{Error, Result};
use crate::fs;

/// The names of what lies directly in the record's directory.
pub const PARTS: [&str; 8] =
    ["archive", "diagnostics", "installs", "log", "policy", "restores", "sessions", "trust.json"];

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
        // A relative path would be another place for each directory that a hook runs in.
        let home = env.home.as_ref().filter(|home| home.is_absolute());
        let dirs = home.and_then(|_| directories::ProjectDirs::from("", "", "teamkeep"));
        let mut warning = None;
        let store = env.store.clone().filter(|store| store.is_absolute()).unwrap_or_else(|| match &dirs {
            Some(dirs) => dirs.data_dir().to_path_buf(),
            None => {
                let path = homeless(env);
                let why = if env.home.is_some() { "HOME is no absolute path" } else { "HOME is not set" };
                warning = Some(format!("{why}: recording to {}", path.display()));
                path
            }
        });
        let config = env.config.clone().unwrap_or_else(|| match &dirs {
            Some(dirs) => dirs.config_dir().join("teamkeep.toml"),
            None => store.join("teamkeep.toml"),
        });
        let client = env.client.clone().or_else(|| home.map(|home| home.join(".claude")));
        Paths { store, config, client, warning }
    }

    /// Makes the refuge below the temporary directory when the record goes there, and shows that it is safe. A
    /// store that the user or the platform chose is taken as it is.
    ///
    /// # Errors
    /// When it cannot be made, or others can reach what is in it.
    pub fn secure(&self) -> Result<()> {
        if self.warning.is_none() {
            return Ok(());
        }
        match fs::make_private_dir(&self.store) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(self.refuse(error)),
            _ => self.check(),
        }
    }

    /// Keeps nothing and reads nothing of what is kept: for a call that cannot have a place of its own. Below a device there
    /// can be no file.
    pub fn abandon(&mut self) {
        let nowhere = PathBuf::from("/dev/null/teamkeep");
        if self.config.starts_with(&self.store) {
            self.config = nowhere.join("teamkeep.toml");
        }
        self.store = nowhere;
    }

    /// Shows that the refuge, if the record is there, is a directory of this user alone: anybody can have made one
    /// of that name before.
    ///
    /// # Errors
    /// When others can reach what is in it.
    pub fn check(&self) -> Result<()> {
        let metadata = match self.store.symlink_metadata() {
            _ if self.warning.is_none() => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.map_err(|error| self.refuse(error))?,
        };
        let (mode, own) = (metadata.permissions().mode() & 0o777, rustix::process::getuid().as_raw());
        let why = match metadata.file_type() {
            kind if kind.is_symlink() => "it is a symlink".to_owned(),
            kind if !kind.is_dir() => "it is no directory".to_owned(),
            _ if metadata.uid() != own => format!("it belongs to another user ({})", metadata.uid()),
            _ if mode & 0o077 != 0 => format!("it is open to other users (mode {mode:o})"),
            _ => return Ok(()),
        };
        Err(self.refuse(why))
    }

    fn refuse(&self, why: impl std::fmt::Display) -> Error {
        let what = format!("cannot keep the record in {}, where it goes without HOME", self.store.display());
        Error::caused(what, why).hint("set HOME or TEAMKEEP_HOME")
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

    /// The gatekeeper's directory.
    pub fn policy(&self) -> PathBuf {
        self.store.join("policy")
    }

    /// What is remembered of the settings that the hooks were added to, and how those were before.
    pub fn installs(&self) -> PathBuf {
        self.store.join("installs")
    }

    /// What is remembered of restores, so that they can be taken back.
    pub fn restores(&self) -> PathBuf {
        self.store.join("restores")
    }

    /// Which projects' checks and rules may run.
    pub fn trust(&self) -> PathBuf {
        self.store.join("trust.json")
    }

    /// Everything that lies directly in the record's directory. What else is there is not ours: `TEAMKEEP_HOME` can name
    /// any directory, the user's home among them.
    pub fn parts(&self) -> Vec<PathBuf> {
        PARTS.iter().map(|part| self.store.join(part)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_the_record_is_one_of_its_parts() {
        let paths = Paths { store: "/r".into(), config: "/c".into(), client: None, warning: None };
        let mut places = vec![paths.archive(), paths.diagnostics(), paths.installs(), paths.log()];
        places.extend([paths.policy(), paths.restores(), paths.sessions(), paths.trust()]);
        assert_eq!(paths.parts(), places);
    }
}
