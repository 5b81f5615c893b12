//! Claude Code's settings: after `install` and `uninstall` the file has the bytes that it had before.

use teamkeep_settings::document::{lenient_data, text_of};
use teamkeep_settings::hook_command::{HookEntry, ours};
use teamkeep_settings::plan::{with_hooks, without_hooks};

pub fn run(data: &[u8]) {
    let entries: Vec<HookEntry> = ["TeammateIdle", "SubagentStop"].map(entry).into();
    let Ok(installed) = with_hooks(data, &entries) else { return };
    assert_eq!(ours(&lenient_data(&installed)), entries);
    assert_eq!(with_hooks(&installed, &entries).as_ref(), Ok(&installed), "a second install changes nothing");
    let removed = without_hooks(&installed).unwrap();
    let (_, text) = text_of(data).unwrap();
    let had_none = ours(&lenient_data(data)).is_empty();
    if had_none && !text.trim().is_empty() {
        assert_eq!(String::from_utf8_lossy(&removed), String::from_utf8_lossy(data));
    }
}

fn entry(event: &str) -> HookEntry {
    let command = format!("/opt/teamkeep-hook {event}");
    let group = serde_json::json!({"hooks": [{"type": "command", "command": command, "timeout": 10}]});
    HookEntry { event: event.to_owned(), group }
}
