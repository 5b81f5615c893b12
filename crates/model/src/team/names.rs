//! How Claude Code spells the names of teams and agents in paths and messages.

use crate::compat;
use crate::unicode::{fold, is_invisible};

/// The directory of a team below `teams`.
pub fn directory(team: &str) -> String {
    compat::config_directory(&mailbox(team))
}

/// The name of an agent's inbox (without `.json`), of a task list, and of the directory with a team's inboxes: a dash
/// replaces each UTF-16 code unit except letters, digits, `-` and `_`.
pub fn mailbox(name: &str) -> String {
    let is_kept = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let spelled = |unit: u16| u8::try_from(unit).ok().map(char::from).filter(is_kept).unwrap_or('-');
    name.encode_utf16().map(spelled).collect()
}

/// Finds a name among the known ones: the same name, or else the first one that folds to the same.
pub fn spelled<'a, I: Iterator<Item = &'a str>>(word: &str, known: impl Fn() -> I) -> Option<&'a str> {
    known().find(|name| *name == word).or_else(|| {
        let word = fold(word);
        known().find(|name| fold(name) == word)
    })
}

/// Finds the recipient of a message to this name: as [`spelled`] does, or else the agent whose inbox has this file
/// name. Claude Code before 2.1.178 does not resolve names but writes to that inbox.
pub fn reached<'a, I: Iterator<Item = &'a str>>(word: &str, known: impl Fn() -> I) -> Option<&'a str> {
    spelled(word, &known).or_else(|| {
        let inbox = mailbox(word);
        known().find(|name| mailbox(name) == inbox)
    })
}

/// The name in an address such as `@bob` or `bob@team`.
pub fn without_team(address: &str) -> &str {
    let is_at = |c: char| matches!(c, '@' | '＠' | '﹫');
    let is_blank = |c: char| c.is_whitespace() || is_invisible(c);
    let address = address.trim_matches(is_blank).trim_start_matches(is_at);
    address.split_once(is_at).map_or(address, |(name, _)| name)
}

/// A recipient without the reference that Claude Code (2.1.330) shows after names: `bob [d19019]`.
pub fn without_reference(word: &str) -> &str {
    let hex = |reference: &str| {
        (6..=12).contains(&reference.len()) && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let parts = word.trim().strip_suffix(']').and_then(|word| word.rsplit_once('['));
    parts.filter(|(_, reference)| hex(reference)).map_or(word, |(name, _)| name.trim())
}

pub fn is_uuid(name: &str) -> bool {
    name.len() == 36
        && name.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The team's directory name, if Claude Code (2.1.328) has renamed it to `NAME.deleted-UUID` before deleting it.
pub fn erasing(directory: &str) -> Option<&str> {
    let (name, uuid) = directory.rsplit_once(".deleted-")?;
    (!name.is_empty() && is_uuid(uuid)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::is_of_team;

    #[test]
    fn the_same_spelling_comes_before_one_that_folds_to_it() {
        let known = || ["bob", "Bob", "my-agent"].into_iter();
        assert_eq!(spelled("Bob", known), Some("Bob"));
        assert_eq!(spelled("BOB\u{200b}", known), Some("bob"), "the first of them");
        assert_eq!((spelled("my agent", known), spelled("my.agent", known)), (Some("my-agent"), None));
        assert_eq!((reached("my.agent", known), reached("bob.", known)), (Some("my-agent"), None));
    }

    #[test]
    fn a_reference_is_six_hexadecimal_digits_or_more() {
        for (word, name) in [
            ("bob [d19019]", "bob"),
            (" bob[0123456789ab] ", "bob"),
            ("bob [d1901]", "bob [d1901]"),
            ("bob [d1901x]", "bob [d1901x]"),
            ("bob", "bob"),
        ] {
            assert_eq!(without_reference(word), name);
        }
    }

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
            assert!(is_of_team(inbox, team) && is_of_team(team, team));
        }
        assert!(
            !is_of_team("parser-team", "Parser-Team"),
            "a team is named for the directory of its configuration"
        );
        assert!(!is_of_team("aaaaaaaa-0000-4000-8000-000000000001", "session-aaaaaaaa"));
    }

    #[test]
    fn only_a_name_with_the_clients_own_ending_is_a_directory_that_is_being_erased() {
        let erased = erasing("session-caa6ae01.deleted-473501be-525d-43fb-9bf6-86c251f4f63d");
        assert_eq!(erased, Some("session-caa6ae01"));
        for other in [
            "session-caa6ae01",
            "notes.deleted-yesterday",
            "a.deleted-473501be-525d-43fb-9bf6-86c251f4f63",
            "a.deleted-473501bx-525d-43fb-9bf6-86c251f4f63d",
            ".deleted-473501be-525d-43fb-9bf6-86c251f4f63d",
            "a.deleted-473501be-525d-43fb-9bf6-86c251f4f63d.old",
        ] {
            assert_eq!(erasing(other), None, "{other}");
        }
    }
}
