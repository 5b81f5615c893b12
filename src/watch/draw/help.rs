//! The page of keys.

use super::page::Page;

const GROUPS: [(&str, &[(&str, &str)]); 3] = [
    (
        "Board",
        &[
            ("Tab, Shift-Tab", "next and previous panel"),
            ("j, k, arrows", "next and previous row; in the tasks, h and l change the column"),
            ("g, G", "first and last row"),
            ("Enter", "details of the selected incident, agent, task or message"),
            ("!", "next alert"),
            ("/", "filter agents, tasks and messages by words; Esc clears the filter"),
            ("f", "follow: to the newest message, and to now or to the end of the run"),
            ("q, Ctrl-C", "quit"),
        ],
    ),
    (
        "Time",
        &[
            ("←, →", "to the previous and next entry of the timeline"),
            ("Shift-←, Shift-→, [, ]", "a minute back and forward"),
            ("0", "to the start of the run"),
            ("space", "play and pause; at the end of a run, play it from its start"),
            ("+, -", "faster and slower; a pause in the run takes at most two seconds"),
        ],
    ),
    (
        "Symbols",
        &[
            ("!", "a stalled agent, or an incident"),
            ("?", "an agent that waits for permission, for approval or for another agent"),
            ("●  ○  ·", "working; idle or joined; left"),
            ("⛔#41", "the task waits for task 41"),
        ],
    ),
];

pub fn page() -> Page {
    let mut page = Page::default();
    for (title, keys) in GROUPS {
        page.heading(title);
        keys.iter().for_each(|(key, what)| page.line(format!("  {key:<24}{what}")));
    }
    page
}
