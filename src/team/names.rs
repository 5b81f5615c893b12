//! How the client spells names as names of files.
//!
//! Before 2.1.178 a team's name is free, and is spelled in two ways: `Parser_Team` has its configuration in
//! `teams/parser-team`, and its inboxes and tasks in `teams/Parser_Team` and `tasks/Parser_Team`.

/// The directory of a team's configuration: small letters and digits, a dash for all else.
pub fn directory(team: &str) -> String {
    spell(team, |letter| letter.is_ascii_alphanumeric()).to_ascii_lowercase()
}

/// The name of an agent's inbox without `.json`, of a task list, and of the directory that a team's inboxes lie in: a
/// dash for all but letters, digits, `-` and `_`.
pub fn mailbox(name: &str) -> String {
    spell(name, |letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
}

/// Whether a directory below `teams/` or `tasks/` is the team's, in either spelling.
pub fn is_of(directory: &str, team: &str) -> bool {
    let as_directory = |letter: u8| match letter {
        b'_' => b'-',
        letter => letter.to_ascii_lowercase(),
    };
    directory == team
        || (directory.len() == team.len() && directory.bytes().map(as_directory).eq(team.bytes()))
}

/// Whether this is a UUID, as the ids of sessions are.
pub fn is_uuid(name: &str) -> bool {
    name.len() == 36
        && name.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The client counts what it replaces in units of UTF-16.
fn spell(name: &str, is_kept: impl Fn(char) -> bool) -> String {
    let spelled = |unit: u16| {
        let letter = u8::try_from(unit).ok().map(char::from);
        letter.filter(|letter| is_kept(*letter)).unwrap_or('-')
    };
    name.encode_utf16().map(spelled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_the_client_does() {
        for (name, team, inbox) in [
            ("parser-team", "parser-team", "parser-team"),
            ("UPPER_Case.Team", "upper-case-team", "UPPER_Case-Team"),
            ("Équipe Rouge v1.2 (Test)", "-quipe-rouge-v1-2--test-", "-quipe-Rouge-v1-2--Test-"),
            ("日本 チーム", "------", "------"),
            ("a💥", "a--", "a--"),
        ] {
            assert_eq!((directory(name).as_str(), mailbox(name).as_str()), (team, inbox));
            assert!(is_of(inbox, team) && is_of(team, team));
        }
        assert!(
            !is_of("parser-team", "Parser-Team"),
            "a team is named for the directory of its configuration"
        );
        assert!(!is_of("aaaaaaaa-0000-4000-8000-000000000001", "session-aaaaaaaa"));
    }
}
