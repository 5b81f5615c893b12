//! A line that an agent runs in Bash: the git commands in it, as far as they can be read.

use std::path::Path;

use teamkeep_policy::GitCommands;

pub fn run(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else { return };
    let found = GitCommands::parse(line, Path::new("/w"));
    // Read again, the same.
    assert_eq!(format!("{:?}", GitCommands::parse(line, Path::new("/w"))), format!("{found:?}"));
    // A shell runs `g\it` and `g"i"t`, too.
    let plain: String = line.chars().filter(|c| !['\\', '\'', '"', '\n'].contains(c)).collect();
    assert!(plain.contains("git") || found.commands.is_empty(), "no git in {line:?}");
}
