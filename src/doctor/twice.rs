//! Whether an event runs more than one hook of ours.

use std::collections::BTreeMap;

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;

/// Looks for events that run two different hooks. The same one in several files the client runs once.
pub fn check(facts: &Facts<'_>) -> Finding {
    let ours = facts.ours();
    let mut handlers: BTreeMap<&str, Vec<Vec<String>>> = BTreeMap::new();
    for ours in &ours {
        let (words, known) = (ours.words(), handlers.entry(&ours.entry.event).or_default());
        if !known.contains(&words) {
            known.push(words);
        }
    }
    let twice: Vec<(&&str, &Vec<Vec<String>>)> =
        handlers.iter().filter(|(_, handlers)| handlers.len() > 1).collect();
    if let Some((event, commands)) = twice.first() {
        let programs: Vec<&str> =
            commands.iter().filter_map(|words| words.first()).map(String::as_str).collect();
        let others = match twice.len() {
            1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        let files: Vec<String> = facts
            .layers
            .iter()
            .filter(|layer| layer.ours().iter().any(|ours| ours.entry.event == ***event))
            .map(|layer| layer.path.display().to_string())
            .collect();
        let what = format!(
            "{event}{others} runs different hooks of ours: {} (in {})",
            programs.join(", "),
            files.join(", ")
        );
        // In one file an install replaces all of ours; of several files one must do.
        let mend = match files.len() {
            1 => facts.install(),
            _ => uninstall(facts),
        };
        return Finding::bad(Code::HooksTwice, what).mend(mend);
    }
    if let (Some(plugin), false) = (facts.plugins.first(), ours.is_empty()) {
        let what = format!("the plugin {plugin} leaves to the settings' hooks what they record");
        return Finding::ok(Code::HooksTwice, what);
    }
    Finding::ok(Code::HooksTwice, "no event runs two hooks of ours")
}

/// The command that takes ours out of the weaker file.
fn uninstall(facts: &Facts<'_>) -> String {
    let last = facts.layers.iter().rev().find(|layer| !layer.ours().is_empty());
    last.and_then(|layer| layer.command(&facts.call, "uninstall"))
        .unwrap_or_else(|| format!("{} uninstall", facts.call))
}
