//! Before 2.1.178 a team's name is free text with two spellings: the configuration of `Parser_Team` is in
//! `teams/parser-team`, its inboxes and tasks are in `teams/Parser_Team` and `tasks/Parser_Team`. Seen with 2.1.47 and
//! 2.1.177.

/// The directory of a team's configuration, by the name of the directory of its inboxes.
pub fn config_directory(inboxes: &str) -> String {
    inboxes.replace('_', "-").to_ascii_lowercase()
}

/// Whether a directory below `teams/` or `tasks/` belongs to the team, in either spelling.
pub fn is_of_team(directory: &str, team: &str) -> bool {
    let as_config_directory = |letter: u8| if letter == b'_' { b'-' } else { letter.to_ascii_lowercase() };
    directory == team
        || (directory.len() == team.len() && directory.bytes().map(as_config_directory).eq(team.bytes()))
}
