//! No line of the skill ran, and each model that loaded it read why.

use super::super::home::Home;
use super::super::scenarios::skill::{LEFT, LOADS, READ};
use super::same;

pub fn differences(home: &Home) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(same("a line of the skill ran", false, home.root.join("project").join(LEFT).exists()));
    // A transcript can have what the model read more than once.
    let read = home.transcripts().matches(READ).count();
    if read < LOADS {
        found.push(format!("{LOADS} loads, and the model read why in {read}"));
    }
    found
}
