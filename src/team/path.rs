//! Classifies paths below Claude Code's directory.

/// A file or directory of a team, by its path below Claude Code's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamPath<'a> {
    /// `teams/<team>`
    Team,
    /// `teams/<team>/config.json`
    Config,
    /// `teams/<team>/inboxes`
    Inboxes,
    /// `teams/<team>/inboxes/<name>`: the file name.
    Inbox(&'a str),
    /// `tasks/<list>`: the list.
    TaskList(&'a str),
    /// `tasks/<list>/<name>`: the list and the file name.
    Task(&'a str, &'a str),
    /// Anything else.
    Other,
}

impl TeamPath<'_> {
    /// Parses a path.
    pub fn of(path: &str) -> TeamPath<'_> {
        let mut parts = path.split('/');
        let mut next = || parts.next();
        match [next(), next(), next(), next(), next()] {
            [Some("teams"), Some(_), None, ..] => TeamPath::Team,
            [Some("teams"), Some(_), Some("config.json"), None, _] => TeamPath::Config,
            [Some("teams"), Some(_), Some("inboxes"), None, _] => TeamPath::Inboxes,
            [Some("teams"), Some(_), Some("inboxes"), Some(name), None] => TeamPath::Inbox(name),
            [Some("tasks"), Some(list), None, ..] => TeamPath::TaskList(list),
            [Some("tasks"), Some(list), Some(name), None, _] => TeamPath::Task(list, name),
            _ => TeamPath::Other,
        }
    }
}
