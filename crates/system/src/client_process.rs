//! Versions whose hooks have no `CLAUDE_PID` in their environment: the process of Claude Code is found above the hook. Of
//! the measured versions (2.1.47, 2.1.177, 2.1.328), only the last one has the variable.

const CLIENT: &str = "claude";

/// Shells that can be between Claude Code and a hook that it runs as a shell command.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ash", "ksh", "busybox"];

const HEIGHT: usize = 4;

/// Finds the process of Claude Code above this one, with only shells in between. `None` if the system has no `/proc`.
pub fn find_client_ancestor() -> Option<u32> {
    above(std::os::unix::process::parent_id(), &|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()
    })
}

fn above(first: u32, stat: &dyn Fn(u32) -> Option<String>) -> Option<u32> {
    let mut pid = first;
    for _ in 0..HEIGHT {
        let stat = stat(pid)?;
        // The name is in parentheses and may contain some. After it come the state and the parent.
        let (head, rest) = stat.rsplit_once(") ")?;
        let (_, name) = head.split_once('(')?;
        if name == CLIENT {
            return Some(pid);
        }
        if !SHELLS.contains(&name) {
            return None;
        }
        pid = rest.split(' ').nth(1)?.parse().ok()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(family: &[(u32, &str, u32)]) -> Option<u32> {
        above(9, &|pid| {
            let (_, name, parent) = family.iter().find(|(known, ..)| *known == pid)?;
            Some(format!("{pid} ({name}) S {parent} 1 1 0"))
        })
    }

    #[test]
    fn the_client_is_found_only_above_shells() {
        assert_eq!(found(&[(9, "claude", 1)]), Some(9));
        assert_eq!(found(&[(9, "sh", 8), (8, "claude", 7)]), Some(8));
        assert_eq!(found(&[(9, "sh", 8), (8, "bash", 7), (7, "claude", 1)]), Some(7));
        assert_eq!(
            found(&[(9, "make", 8), (8, "claude", 7)]),
            None,
            "a program's child is not the client's hook"
        );
        assert_eq!(found(&[(9, "sh", 1), (1, "init", 0)]), None);
        assert_eq!(found(&[(9, "sh", 9)]), None, "and nobody goes round for ever");
        assert_eq!(found(&[]), None, "nothing is known where the system does not tell");
        assert_eq!(found(&[(9, "sh", 8), (8, "a) S (claude", 7)]), None);
    }
}
