//! Processes as `/proc` shows them.

use std::os::unix::fs::FileExt;

use super::files::open;
use crate::fs::kinds::OpenMode;

/// More than a `stat` has: 52 numbers and a name of 16 bytes.
const MAX_STAT_BYTES: usize = 2048;

/// The process-id namespace of this process.
pub fn own_space() -> Option<String> {
    std::fs::read_link("/proc/self/ns/pid").ok()?.into_os_string().into_string().ok()
}

/// Start time of a process, in ticks since boot: field 22 of its `stat`.
pub fn start_of(pid: u32) -> Option<String> {
    Stat::of(pid)?.fields().nth(19).map(str::to_owned)
}

/// Whether the process has ended and its parent has not collected its status. A process whose first thread ended before its others is
/// not a zombie.
pub fn is_zombie(pid: u32) -> bool {
    let Some(stat) = Stat::of(pid) else { return false };
    let mut fields = stat.fields();
    let has_ended = matches!(fields.next(), Some("Z" | "X"));
    has_ended
        && fields.nth(16).and_then(|threads| threads.parse().ok()).is_some_and(|threads: u32| threads < 2)
}

/// The name and the parent of a process.
pub fn name_and_parent(pid: u32) -> Option<(String, u32)> {
    let stat = Stat::of(pid)?;
    let parent = stat.fields().nth(1)?.parse().ok()?;
    Some((stat.name()?.to_owned(), parent))
}

/// The text of `/proc/PID/stat`. The name is in parentheses and may contain some; the state is the first field after it.
struct Stat(String);

impl Stat {
    fn of(pid: u32) -> Option<Stat> {
        let file = open(format!("/proc/{pid}/stat").as_ref(), OpenMode::ReadLinked).ok()?;
        // The kernel gives all of it at once, so one read is enough.
        let mut bytes = [0; MAX_STAT_BYTES];
        let count = file.read_at(&mut bytes, 0).ok()?;
        Some(Stat(String::from_utf8_lossy(&bytes[..count]).into_owned()))
    }

    fn name(&self) -> Option<&str> {
        Some(self.0.rsplit_once(") ")?.0.split_once('(')?.1)
    }

    fn fields(&self) -> std::str::Split<'_, char> {
        self.0.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_contain_parentheses() {
        let stat = Stat("8 (a) S (claude) S 7 1 1 0".to_owned());
        assert_eq!((stat.name(), stat.fields().nth(1)), (Some("a) S (claude"), Some("7")));
        assert_eq!(Stat("8".to_owned()).name(), None);
    }
}
