//! Versions of the client, and what sets them apart for a script.

use std::fmt;

/// The version of a client: `2.1.328`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Version([u32; 3]);

/// Which tools a client has for teams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Generation {
    /// SendMessage with `recipient` and `content`; agents are started by the tool Task.
    Flat,
    /// SendMessage with `to` and `message`; teams are made and deleted by tools.
    Create,
    /// One team a session, and no tool for teams.
    Session,
}

impl Version {
    /// Reads three numbers with dots between them.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        numbers?.try_into().ok().map(Self)
    }

    /// Tells which tools this client has.
    pub fn generation(self) -> Generation {
        match self {
            old if old < Self([2, 1, 63]) => Generation::Flat,
            old if old < Self([2, 1, 178]) => Generation::Create,
            _ => Generation::Session,
        }
    }

    /// Tells whether this client knows a hook event.
    pub fn knows(self, event: &str) -> bool {
        let late =
            [("StopFailure", 78), ("FileChanged", 83), ("TaskCreated", 84), ("PreSkillShellCommand", 332)];
        late.iter().all(|(name, patch)| *name != event || self >= Self([2, 1, *patch]))
    }

    /// Tells whether this client's roster has the prompts of the members.
    pub fn keeps_prompts(self) -> bool {
        self < Self([2, 1, 332])
    }

    /// Tells whether this client reads drop-in files of managed settings.
    pub fn reads_drop_ins(self) -> bool {
        self >= Self([2, 1, 83])
    }

    /// Tells whether this client's teammates in panes run the hooks of plugins.
    pub fn has_plugins_in_panes(self) -> bool {
        self > Self([2, 1, 177])
    }

    /// Tells whether this client can be told to do without its task tools.
    pub fn can_do_without_tasks(self) -> bool {
        self >= Self([2, 1, 233])
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(out, "{major}.{minor}.{patch}")
    }
}
