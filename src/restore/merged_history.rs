//! Inboxes and rosters with everything that was ever in them. Claude Code removes messages once read and members after
//! their shutdown, so the last state has little.

use serde_json::Value;

use crate::json;
use crate::team::TeamPath;
use crate::timeline::RunData;

/// The merged content of an inbox or a roster in Claude Code's format; `None` for any other file, and if the last
/// state, `bytes`, has everything.
pub fn merged_history(data: &RunData, path: &str, bytes: &[u8]) -> Option<String> {
    let last = json::parse_lossy(bytes);
    let whole = match TeamPath::of(path) {
        TeamPath::Inbox(name) => {
            let owner = name.strip_suffix(".json")?;
            let copies = data.history.copies.iter().filter(|copy| copy.inbox == owner);
            Value::Array(copies.map(|copy| copy.entry.raw.clone()).collect())
        }
        TeamPath::Config => {
            let mut config = last.clone().filter(Value::is_object)?;
            let members = data.history.members();
            let order = data.members.iter().filter_map(|name| members.get(name.as_str()));
            config["members"] = order.map(|member| member.raw.clone()).collect();
            config
        }
        _ => return None,
    };
    if last.as_ref() == Some(&whole) {
        return None;
    }
    serde_json::to_string_pretty(&whole).ok()
}
