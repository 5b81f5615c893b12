//! Oddities of a payload, which is recorded nevertheless.

use crate::event::SafeName;
use crate::payload::{Kind, Payload};
use crate::policy::escaped;

/// Maximum length of a quoted text, in characters.
const MAX_CHARS: usize = 300;

/// The warning about odd values in a payload, which is recorded nevertheless.
pub fn payload_warnings(payload: &Payload, asked: Option<&str>) -> Option<String> {
    let mut warnings = Vec::new();
    if let (Some(asked), Some(told)) = (asked, payload.event_name())
        && asked != told
        && asked != kebab(told)
    {
        warnings.push(format!("called as {asked}, but the payload names {told}"));
    }
    type Parse = fn(&str) -> Option<SafeName>;
    for (key, safe) in [("session_id", SafeName::stem as Parse), ("team_name", SafeName::new)] {
        if payload.field(key).is_some_and(|value| !value.is_string()) {
            warnings.push(format!("{key} is not a string"));
        }
        if let Some(name) = payload.text(key).filter(|name| safe(name).is_none()) {
            warnings.push(format!("{key} {name:?} is not a valid name"));
        }
    }
    (!warnings.is_empty()).then(|| warnings.join("; "))
}

/// The warning about missing fields and unknown events, which are recorded and allowed nevertheless.
pub fn payload_gaps(payload: &Payload, kind: Kind, asked: Option<&str>) -> Option<String> {
    if payload.malformed.is_some() {
        return None;
    }
    let mut gaps = Vec::new();
    match payload.event_name().or(asked).filter(|name| !name.is_empty()) {
        Some(name) if kind == Kind::Unknown => {
            gaps.push(format!("unknown event {}", escaped(name, MAX_CHARS)));
        }
        Some(_) => {}
        None => gaps.push("the payload names no event".to_owned()),
    }
    if payload.field("session_id").is_none() {
        gaps.push("the payload has no session_id".to_owned());
    }
    (!gaps.is_empty()).then(|| format!("{}; recorded without changes", gaps.join(" and ")))
}

/// The subcommand's spelling of an event, also for unknown ones: `SubagentStop` becomes `subagent-stop`.
fn kebab(name: &str) -> String {
    let mut kebab = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.push(c.to_ascii_lowercase());
    }
    kebab
}
