//! Teams whose work the gates cannot see: tasks in a list that the hooks do not know, and files that cannot be read.

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::archive::Archive;
use crate::event::SafeName;
use crate::settings::command::{quoted, shell_operand};

/// Checks the teams that have not ended.
pub fn check(facts: &Facts<'_>) -> Finding {
    let config = &facts.policy.config;
    let archive = Archive::open(facts.paths.archive(), config);
    let unknown = archive.open_subjects().into_iter().find_map(|subject| {
        let index = archive.index(&subject)?;
        let task = index.lists.missing().next()?.to_owned();
        Some((subject.team().map(SafeName::to_string)?, task))
    });
    let Some((team, task)) = unknown else {
        return Finding::ok(
            Code::TaskLists,
            "every task of the running teams is in a task list that the hooks know",
        );
    };
    let what = format!(
        "team {}: task {} is not in any task list that the hooks know, so the gates cannot see it",
        shell_operand(&team),
        shell_operand(&task)
    );
    let mend = "set CLAUDE_CODE_TASK_LIST_ID under \"env\" in ~/.claude/settings.json, or unset it everywhere; then restart \
                Claude Code";
    Finding::warn(Code::TaskLists, what).with_fix(mend)
}

/// Checks that the files of the teams that have not ended can be read.
pub fn files(facts: &Facts<'_>) -> Finding {
    let config = &facts.policy.config;
    let archive = Archive::open(facts.paths.archive(), config);
    let unreadable = archive.open_subjects().into_iter().find_map(|subject| {
        let team = subject.team()?.as_str();
        let index = archive.index(&subject)?;
        let lists = index.lists(Some(team), None);
        let is_used = |path: &str| {
            let list = path.strip_prefix("tasks/").and_then(|path| path.split('/').next());
            !path.contains(".json.tmp") && list.is_none_or(|list| lists.prefix(list).is_some())
        };
        let mut lost = index.files.iter().filter(|(path, seen)| seen.object.is_none() && is_used(path));
        let (path, seen) = lost.next()?;
        Some((team.to_owned(), path.clone(), seen.skipped.clone().unwrap_or_else(|| "not stored".to_owned())))
    });
    let Some((team, path, why)) = unreadable else {
        return Finding::ok(Code::TeamFiles, "every file of the running teams can be read");
    };
    let place = facts.paths.client.as_ref().map_or_else(|| path.clone().into(), |client| client.join(&path));
    let what =
        format!("team {}: {path} cannot be read ({why}), so the gates cannot see it", shell_operand(&team));
    Finding::warn(Code::TeamFiles, what)
        .with_fix(format!("ls -ld {}; then restore the file or directory", quoted(&place.to_string_lossy())))
}
