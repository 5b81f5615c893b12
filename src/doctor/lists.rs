//! Teams whose tasks are in a list that the hooks do not know.

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::archive::Archive;
use crate::event::SafeName;
use crate::settings::command::operand;

/// Checks the teams that have not ended.
pub fn check(facts: &Facts<'_>) -> Finding {
    let config = &facts.policy.config;
    let archive = Archive::new(facts.paths.archive(), config.archive.largest_file, config.log.lock_patience);
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
        operand(&team),
        operand(&task)
    );
    let mend = "set CLAUDE_CODE_TASK_LIST_ID under \"env\" in ~/.claude/settings.json, or unset it everywhere; then restart \
                Claude Code";
    Finding::warn(Code::TaskLists, what).mend(mend)
}
