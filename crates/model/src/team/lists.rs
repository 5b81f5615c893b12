//! The task lists of a team if `CLAUDE_CODE_TASK_LIST_ID` names one: the tasks of the session are in that list, and not in
//! the one that is named after the team.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::compat::is_of_team;

/// The file in a task list that stores the highest number of a removed task.
pub const HIGHEST_NUMBER: &str = ".highwatermark";

/// The task list of each session in a run, as named by its hook calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NamedLists(BTreeMap<String, Used>);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Used {
    /// The directory below `tasks/`; `None` for the list that is named after the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<String>,
    /// The last task that a tool of the session named and that was not in any known list.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
}

impl NamedLists {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn of(&self, session: &str) -> Option<&str> {
        self.0.get(session)?.list.as_deref()
    }

    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter_map(|used| used.list.as_deref())
    }

    pub fn session_of(&self, list: &str) -> Option<&str> {
        let mut using = self.0.iter().filter(|(_, used)| used.list.as_deref() == Some(list));
        using.next().map(|(session, _)| session.as_str())
    }

    /// Whether the list of a session is already known. Sessions without a list are recorded only after some session
    /// named one.
    pub fn knows(&self, session: &str, list: Option<&str>) -> bool {
        match self.0.get(session) {
            Some(used) => used.list.as_deref() == list,
            None => list.is_none() && self.0.values().all(|used| used.list.is_none()),
        }
    }

    pub fn note(&mut self, session: &str, list: Option<&str>) {
        let used = Used { list: list.map(str::to_owned), missing: None };
        self.0.insert(session.to_owned(), used);
    }

    /// Records a task that a session named and that is not in any known list, or `None` if the session's last task is
    /// in one. Returns whether this changed anything.
    pub fn note_missing(&mut self, session: &str, task: Option<&str>) -> bool {
        let is_changed = !self.is_missing(session, task);
        if is_changed {
            self.0.entry(session.to_owned()).or_default().missing = task.map(str::to_owned);
        }
        is_changed
    }

    pub fn is_missing(&self, session: &str, task: Option<&str>) -> bool {
        self.0.get(session).and_then(|used| used.missing.as_deref()) == task
    }

    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter_map(|used| used.missing.as_deref())
    }

    /// The lists in use by a team, with the task ids as `session` sees them: the list of each session. The team's own list
    /// is in use unless the lead and every other known session name another one.
    pub fn in_force<'a>(
        &'a self,
        team: Option<&'a str>,
        lead: Option<&str>,
        session: Option<&str>,
    ) -> Lists<'a> {
        let leads_elsewhere = lead.is_some_and(|lead| self.of(lead).is_some());
        let mut named: Vec<&str> = self.all().collect();
        named.sort_unstable();
        named.dedup();
        Lists {
            team,
            own: !leads_elsewhere || self.0.values().any(|used| used.list.is_none()),
            named,
            first: session.or(lead).and_then(|session| self.of(session)),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lists<'a> {
    /// The team; without one, every list is in use.
    team: Option<&'a str>,
    /// Whether the list that is named after the team is in use.
    own: bool,
    named: Vec<&'a str>,
    /// The list whose task ids are plain numbers; `None` for the team's.
    first: Option<&'a str>,
}

impl<'a> Lists<'a> {
    /// The list that is named after a team, or, without one, every list.
    pub fn of_team(team: Option<&'a str>) -> Lists<'a> {
        Lists { team, own: true, ..Lists::default() }
    }

    /// The prefix of the task ids of a list: `Some("")` for the session's own list, the list's name for another one, `None`
    /// for a list that is not in use.
    pub fn prefix<'b>(&self, list: &'b str) -> Option<&'b str> {
        match self.first {
            Some(first) if first == list => Some(""),
            first => {
                let is_own = self.own && self.team.is_none_or(|team| is_of_team(list, team));
                match (is_own, first) {
                    (true, None) => Some(""),
                    (true, Some(_)) => Some(list),
                    (false, _) => self.named.contains(&list).then_some(list),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_a_team_counts_unless_every_session_names_another() {
        let mut lists = NamedLists::default();
        assert!(lists.knows("lead", None), "nothing is noted where nothing is named");
        let prefix = |lists: &NamedLists, session: &str, list: &str| {
            lists.in_force(Some("t"), Some("lead"), Some(session)).prefix(list).map(str::to_owned)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!((prefix(&lists, "lead", "t"), prefix(&lists, "lead", "x")), (some(""), None));
        assert!(!lists.knows("lead", Some("x")));
        lists.note("lead", Some("x"));
        assert!(lists.knows("lead", Some("x")));
        assert_eq!((prefix(&lists, "lead", "t"), prefix(&lists, "lead", "x")), (None, some("")));
        assert!(!lists.knows("pane", None), "this one has the list of the team");
        lists.note("pane", None);
        assert_eq!((prefix(&lists, "lead", "t"), prefix(&lists, "lead", "x")), (some("t"), some("")));
        assert_eq!((prefix(&lists, "pane", "t"), prefix(&lists, "pane", "x")), (some(""), some("x")));
        lists.note("lead", Some("y"));
        assert_eq!((prefix(&lists, "lead", "x"), prefix(&lists, "lead", "y")), (None, some("")));
    }

    #[test]
    fn a_missing_task_belongs_to_one_session_until_it_is_found() {
        let mut lists = NamedLists::default();
        assert!(!lists.note_missing("lead", None) && lists.is_empty());
        assert!(lists.note_missing("pane", Some("7")) && !lists.note_missing("pane", Some("7")));
        lists.note_missing("lead", Some("8"));
        assert_eq!(lists.missing().collect::<Vec<_>>(), ["8", "7"]);
        lists.note_missing("pane", None);
        assert_eq!(lists.missing().collect::<Vec<_>>(), ["8"]);
        lists.note("lead", Some("x"));
        assert_eq!(lists.missing().count(), 0, "another list is another matter");
    }
}
