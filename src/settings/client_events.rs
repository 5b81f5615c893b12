//! Which events each version of Claude Code has.

use super::version::Version;

/// The first version with each recorded event. Before 2.1.101 Claude Code ignores a whole settings file with an
/// unknown event. All other events are older than agent teams.
pub const SINCE: &[(&str, Version)] = &[
    ("SubagentStart", Version(2, 0, 43)),
    ("TeammateIdle", Version(2, 1, 33)),
    ("TaskCompleted", Version(2, 1, 33)),
    ("StopFailure", Version(2, 1, 78)),
    ("FileChanged", Version(2, 1, 83)),
    ("TaskCreated", Version(2, 1, 84)),
];

/// The first version of events that other tools may have hooks for.
const OTHERS: &[(&str, Version)] = &[
    ("ConfigChange", Version(2, 1, 49)),
    ("WorktreeCreate", Version(2, 1, 50)),
    ("WorktreeRemove", Version(2, 1, 50)),
    ("CwdChanged", Version(2, 1, 83)),
];

/// Events of the oldest checked version, 2.1.47.
const OLDEST: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "PermissionRequest",
    "Setup",
];

/// Events that were added between two checked versions: the last without and the first with them.
const RANGES: &[(Version, Version, &[&str])] = &[
    (
        Version(2, 1, 47),
        Version(2, 1, 177),
        &[
            "PostToolBatch",
            "UserPromptExpansion",
            "PostCompact",
            "PermissionDenied",
            "Elicitation",
            "ElicitationResult",
            "InstructionsLoaded",
            "MessageDisplay",
        ],
    ),
    (Version(2, 1, 177), NEWEST, &["PreModelSwitch", "PostModelSwitch", "DirectoryAdded"]),
];

/// The newest checked version.
const NEWEST: Version = Version(2, 1, 328);

/// The first version with an event, if it was added later and that is documented.
pub fn since(event: &str) -> Option<Version> {
    SINCE.iter().chain(OTHERS).find(|(name, _)| *name == event).map(|(_, since)| *since)
}

/// Whether any version is known to have an event.
pub fn exists(event: &str) -> bool {
    let mut between = RANGES.iter().flat_map(|(_, _, events)| *events);
    since(event).is_some() || OLDEST.contains(&event) || between.any(|name| *name == event)
}

/// Whether a version has an event; `None` if unknown.
pub fn knows(client: Version, event: &str) -> Option<bool> {
    if let Some(since) = since(event) {
        return Some(client >= since);
    }
    if OLDEST.contains(&event) {
        return Some(true);
    }
    match RANGES.iter().find(|(_, _, events)| events.contains(&event)) {
        Some((_, with, _)) if client >= *with => Some(true),
        Some((without, _, _)) => (client <= *without).then_some(false),
        // A newer version may have it.
        None => (client <= NEWEST).then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_knows_an_event_does_not_or_that_cannot_be_told() {
        for (client, event, known) in [
            (Version(2, 1, 47), "Stop", Some(true)),
            (Version(2, 1, 400), "Stop", Some(true)),
            (Version(2, 1, 83), "TaskCreated", Some(false)),
            (Version(2, 1, 84), "TaskCreated", Some(true)),
            (Version(2, 1, 47), "PostCompact", Some(false)),
            (Version(2, 1, 100), "PostCompact", None),
            (Version(2, 1, 177), "PostCompact", Some(true)),
            (Version(2, 1, 177), "DirectoryAdded", Some(false)),
            (Version(2, 1, 328), "DirectoryAdded", Some(true)),
            (Version(2, 1, 47), "Bogus", Some(false)),
            (Version(2, 1, 328), "Bogus", Some(false)),
            (Version(2, 1, 329), "Bogus", None),
        ] {
            assert_eq!(knows(client, event), known, "{client} {event}");
        }
        assert!(exists("PostCompact") && exists("ConfigChange") && !exists("Bogus"));
    }
}
