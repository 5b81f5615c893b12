//! `teamkeep install --skills`, and how `uninstall` removes the skill.

#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::support::install_home::{Home, MINE};

const TEXT: &str = include_str!("../../../skills/team-history/SKILL.md");

fn skill(home: &Home) -> PathBuf {
    home.at(".claude/skills/team-history/SKILL.md")
}

#[test]
fn skill_is_installed_on_request_and_removed_with_the_hooks() {
    let home = Home::with(MINE);
    home.ok("install");
    assert!(!skill(&home).exists(), "not requested");
    let dry = home.ok("install --skills --dry-run");
    assert!(dry.err.contains("would write the skill ~/.claude/skills/team-history/SKILL.md"), "{}", dry.err);
    assert!(!skill(&home).exists());
    assert!(home.ok("install --skills").err.contains("wrote the skill "));
    assert_eq!(std::fs::read_to_string(skill(&home)).unwrap(), TEXT);
    assert!(home.ok("install --skills").err.contains("nothing to do: the skill "));
    home.ok("install");
    let dry = home.ok("uninstall --dry-run");
    assert!(dry.err.contains("would remove the skill ") && skill(&home).exists(), "{}", dry.err);
    assert!(home.ok("uninstall").err.contains("removed the skill "));
    assert!(!home.at(".claude/skills").exists());
    assert_eq!(home.read(), MINE);
}

#[test]
fn skill_of_an_earlier_version_is_replaced_and_an_edited_one_is_kept() {
    let home = Home::with(MINE);
    home.ok("install --skills");
    let old = "an earlier version";
    std::fs::write(skill(&home), old).unwrap();
    let edited = home.ok("install --skills");
    assert!(
        edited.err.contains("is left unchanged: teamkeep did not write it, or it was edited"),
        "{}",
        edited.err
    );
    assert_eq!(std::fs::read_to_string(skill(&home)).unwrap(), old);
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(home.record()).unwrap()).unwrap();
    let mut earlier = record.clone();
    earlier["skill"] = blake3::hash(old.as_bytes()).to_hex().as_str().into();
    std::fs::write(home.record(), format!("{earlier}\n")).unwrap();
    assert!(home.ok("install").err.contains("wrote the skill "), "an upgrade");
    assert_eq!(std::fs::read_to_string(skill(&home)).unwrap(), TEXT);
    std::fs::remove_file(skill(&home)).unwrap();
    home.ok("install");
    assert!(!skill(&home).exists(), "the user removed it");
    home.ok("install --skills");
    std::fs::write(skill(&home), "edited").unwrap();
    std::fs::write(home.at(".claude/skills/team-history/more.md"), "mine").unwrap();
    let kept = home.ok("uninstall");
    assert!(
        kept.err.contains("note: the skill ~/.claude/skills/team-history/SKILL.md is left unchanged"),
        "{}",
        kept.err
    );
    assert_eq!(std::fs::read_to_string(skill(&home)).unwrap(), "edited");
}

#[cfg(unix)]
#[test]
fn link_in_place_of_the_skill_is_not_followed() {
    let home = Home::with(MINE);
    let other = home.at("other.md");
    std::fs::write(&other, "other").unwrap();
    std::fs::create_dir_all(skill(&home).parent().unwrap()).unwrap();
    symlink(&other, skill(&home)).unwrap();
    let result = home.run("install --skills");
    assert_eq!(result.code, Some(1), "{}", result.err);
    assert_eq!((home.read().as_str(), std::fs::read_to_string(&other).unwrap().as_str()), (MINE, "other"));
}

#[test]
fn commands_in_the_skill_exist() {
    let home = Home::new();
    let lines = TEXT.split('`').filter(|code| code.starts_with("teamkeep "));
    let mut checked = 0;
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let command = words.iter().take_while(|word| !word.starts_with('-') && **word != "latest");
        let command: Vec<&str> = command.copied().collect();
        let help = home.ok(&format!("{} --help", command.join(" "))).out;
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(option), "{option} of {line}");
        }
        checked += 1;
    }
    assert!(checked > 8, "{checked}");
}
