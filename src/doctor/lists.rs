//! Teams whose tasks are in a list that the hooks do not know.

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::archive::Archive;
use crate::event::SafeName;
use crate::settings::command::operand;

/// Looks for them among the teams that have not ended.
pub fn check(facts: &Facts<'_>) -> Finding {
    let config = &facts.policy.config;
    let archive = Archive::new(facts.paths.archive(), config.archive.largest_file, config.log.lock_patience);
    let unknown = archive.open_subjects().into_iter().find_map(|subject| {
        let index = archive.index(&subject)?;
        let task = index.lists.missing().next()?.to_owned();
        Some((subject.team().map(SafeName::to_string)?, task))
    });
    let Some((team, task)) = unknown else {
        return Finding::ok(Code::TaskLists, "the tasks of every running team are in a known task list");
    };
    let what = format!(
        "team {}: task {} is in no task list that the hooks name, so no gate sees the work there",
        operand(&team),
        operand(&task)
    );
    let mend = "put CLAUDE_CODE_TASK_LIST_ID into \"env\" in ~/.claude/settings.json, or unset it, and start Claude Code again";
    Finding::warn(Code::TaskLists, what).mend(mend)
}
