//! Directory names of teams that Claude Code is deleting.

use super::names::is_uuid;

/// The separator between the team's name and the UUID.
const MARK: &str = ".deleted-";

/// The team's directory name, if Claude Code (2.1.328) has renamed it to `NAME.deleted-UUID` before deleting it.
pub fn erasing(directory: &str) -> Option<&str> {
    let (name, uuid) = directory.rsplit_once(MARK)?;
    (!name.is_empty() && is_uuid(uuid)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

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
