//! Resolves the name of a task list.

use std::path::Path;

use crate::error::{Error, Result};
use crate::event::SafeName;
use crate::team::{is_uuid, mailbox};

/// A task list, by the name of its directory below `tasks/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// The directory's name.
    pub name: String,
    /// The session that it belongs to, if a session's id was given.
    pub session: Option<String>,
}

impl List {
    /// The list of a team or a session. Claude Code keeps letters, digits, `-` and `_` of a name and replaces the rest
    /// by `-`; the team of a session is named by the first eight characters of its id, and a session without a team
    /// has a list under its whole id. Of a session's two lists the team's is used, unless only the other exists.
    ///
    /// # Errors
    /// It is not a valid name.
    pub fn of(named: &str, client: &Path) -> Result<List> {
        let Some(name) = SafeName::new(named) else {
            return Err(Error::usage(format!("{named:?} is not a valid team or session name"))
                .hint("a team's name, such as session-1a2b3c4d, or a session's id"));
        };
        let spelled = mailbox(name.as_str());
        if !is_uuid(&spelled) {
            return Ok(List { name: spelled, session: None });
        }
        let team = format!("session-{}", &spelled[..8]);
        let is_there = |path: &str| client.join(path).symlink_metadata().is_ok();
        let alone = is_there(&format!("tasks/{spelled}"))
            && !is_there(&format!("tasks/{team}"))
            && !is_there(&format!("teams/{team}"));
        let name = if alone { spelled.clone() } else { team };
        Ok(List { name, session: Some(spelled) })
    }
}

impl List {
    /// The list of exactly this name, as stored.
    ///
    /// # Errors
    /// It is not a valid name of a list.
    pub fn exact_match(name: &str) -> Result<List> {
        let safe = SafeName::new(name).filter(|name| mailbox(name.as_str()) == name.as_str());
        let safe = safe.ok_or_else(|| Error::new(format!("{name:?} is not a valid task list name")))?;
        Ok(List { name: safe.as_str().to_owned(), session: None })
    }

    /// Whether this name belongs to this list.
    pub fn is(&self, name: &str) -> bool {
        self.name == mailbox(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "abcdef01-2345-4678-9abc-def012345678";

    #[test]
    fn a_list_is_named_as_the_client_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let name = |named: &str| List::of(named, dir.path()).map(|list| list.name);
        assert_eq!(name("parser-team").unwrap(), "parser-team");
        assert_eq!(name("über 💥.x").unwrap(), "-ber----x");
        assert_eq!(name(SESSION).unwrap(), "session-abcdef01");
        for bad in ["", ".", "..", "../x", "a/b", "a\0b", "a\nb", ".lock", "a\\b"] {
            assert_eq!(name(bad).unwrap_err().exit_code(), 64, "{bad:?}");
        }
    }

    #[test]
    fn a_session_without_a_team_has_a_list_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("tasks").join(SESSION)).unwrap();
        assert_eq!(List::of(SESSION, dir.path()).unwrap().name, SESSION);
        std::fs::create_dir_all(dir.path().join("teams/session-abcdef01")).unwrap();
        assert_eq!(List::of(SESSION, dir.path()).unwrap().name, "session-abcdef01");
    }
}
