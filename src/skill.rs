//! The skill with which an agent looks up the state and the history of its team, beside the settings file with the hooks.

use std::path::{Path, PathBuf};

use teamkeep_settings::install_records::hash;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs;

/// The skill of this version.
const TEXT: &str = include_str!("../skills/team-history/SKILL.md");

/// Maximum size of a skill that is compared.
const MAX_BYTES: u64 = 1 << 20;

/// A file for the skill.
#[derive(Debug)]
pub struct Skill {
    pub path: PathBuf,
    found: Option<Vec<u8>>,
}

/// A change of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillChange {
    None,
    Written,
    Removed,
    /// It is not the one that was installed, so it is left unchanged.
    Foreign,
}

impl Skill {
    /// The skill beside a settings file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a regular file.
    pub fn beside(settings: &Path) -> Result<Skill> {
        let dir = settings.parent().unwrap_or(Path::new("."));
        let path = dir.join("skills/team-history/SKILL.md");
        let read = fs::if_exists(fs::read_regular(&path, MAX_BYTES)).map_err(|error| {
            Error::from(error).hint("nothing was changed; move the file, then run the command again")
        })?;
        Ok(Skill { path, found: read.map(|(found, _)| found) })
    }

    /// The hash of the installed skill.
    pub fn hash() -> String {
        hash(TEXT.as_bytes())
    }

    pub fn exists(&self) -> bool {
        self.found.is_some()
    }

    fn is(&self, installed: Option<&str>) -> bool {
        self.found.as_ref().is_some_and(|found| found == TEXT.as_bytes() || installed == Some(&hash(found)))
    }

    /// The change that an install makes, if the skill with the hash `installed` was installed before.
    pub fn change(&self, installed: Option<&str>) -> SkillChange {
        match &self.found {
            Some(found) if found == TEXT.as_bytes() => SkillChange::None,
            Some(_) if !self.is(installed) => SkillChange::Foreign,
            _ => SkillChange::Written,
        }
    }

    pub fn write(&self) -> Result<()> {
        Ok(fs::write_atomic(&self.path, TEXT.as_bytes())?)
    }

    /// Removes the skill if it is the installed one, with directories that are empty then.
    pub fn remove(&self, installed: Option<&str>) -> Result<SkillChange> {
        if self.found.is_none() {
            return Ok(SkillChange::None);
        }
        if !self.is(installed) {
            return Ok(SkillChange::Foreign);
        }
        std::fs::remove_file(&self.path).map_err(|error| fs::with_path(error, "remove", &self.path))?;
        // Directories with other files stay.
        let parents = self.path.ancestors().skip(1).take(2);
        for dir in parents {
            if std::fs::remove_dir(dir).is_err() {
                break;
            }
        }
        Ok(SkillChange::Removed)
    }
}
