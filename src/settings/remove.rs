//! Removes teamkeep's entries from a settings text, with the containers that were created for them.

use std::ops::Range;

use jsonc_parser::ast::{Array, Value};

use crate::settings::document::{Container, Document};
use crate::settings::hook_command;
use crate::settings::splice::Splice;

/// The changes that remove every command of teamkeep, the groups that contain nothing else, and the events and the
/// `hooks` object that contain nothing else and were created by teamkeep. With `tidy` the blanks before them are
/// removed too.
pub fn remove(document: &Document, tidy: bool) -> Vec<Splice> {
    let Some(hooks) = document.hooks() else {
        return Vec::new();
    };
    let removal = Removal { document, tidy };
    let mut splices = Vec::new();
    let events: Vec<bool> = hooks
        .properties
        .iter()
        .map(|event| event.value.as_array().is_some_and(|groups| removal.event(groups, &mut splices)))
        .collect();
    if removal.settle(&Container::of_object(hooks), &events, &mut splices) {
        let root = Container::of_object(&document.root);
        let is_hooks = |range: &Range<usize>| range.contains(&hooks.range.start);
        let gone: Vec<bool> = root.items.iter().map(is_hooks).collect();
        splices.extend(removal.take_out(&root, &gone));
        splices.extend(removal.close_up(&root, &gone));
    }
    splices
}

struct Removal<'d> {
    document: &'d Document<'d>,
    tidy: bool,
}

impl Removal<'_> {
    /// Cleans the groups of one event. Returns whether the whole event is to be removed.
    fn event(&self, groups: &Array, splices: &mut Vec<Splice>) -> bool {
        let gone: Vec<bool> = groups.elements.iter().map(|group| self.group(group, splices)).collect();
        self.settle(&Container::of_array(groups), &gone, splices)
    }

    /// Cleans the commands of one group. Returns whether the whole group is to be removed.
    fn group(&self, group: &Value, splices: &mut Vec<Splice>) -> bool {
        let Some(commands) = group.as_object().and_then(|group| group.get_array("hooks")) else {
            return false;
        };
        let ours: Vec<bool> =
            commands.elements.iter().map(|command| hook_command::is_ours(&command.clone().into())).collect();
        if ours.iter().all(|ours| *ours) {
            return !ours.is_empty();
        }
        splices.extend(self.take_out(&Container::of_array(commands), &ours));
        false
    }

    /// Removes these items. Returns whether the container is then empty and is to be removed, too.
    fn settle(&self, inside: &Container, gone: &[bool], splices: &mut Vec<Splice>) -> bool {
        if !gone.is_empty() && gone.iter().all(|gone| *gone) && self.made_by_us(inside) {
            return true;
        }
        splices.extend(self.take_out(inside, gone));
        false
    }

    /// Whether teamkeep created this container: in a container that existed, the first inserted item directly follows
    /// the bracket. A container with a comment stays.
    fn made_by_us(&self, inside: &Container) -> bool {
        let Some(first) = inside.items.first() else {
            return false;
        };
        let (text, has_line) =
            (self.document.text, |range: Range<usize>| has_newline(self.document.text, range));
        debug_assert!(first.end <= text.len());
        self.document.comments(inside).is_empty()
            && (has_line(inside.open..first.start) || !has_line(first.clone()))
    }

    /// The changes that remove these items, each with one comma.
    fn take_out(&self, inside: &Container, gone: &[bool]) -> Vec<Splice> {
        let commas = self.document.commas(inside);
        let trailing = commas.len() == inside.items.len();
        let last_kept = gone.iter().rposition(|gone| !gone);
        let mut splices = Vec::new();
        for (index, item) in inside.items.iter().enumerate() {
            if !gone.get(index).is_some_and(|gone| *gone) {
                continue;
            }
            let start = if self.tidy { self.document.end_before(item.start) } else { item.start };
            splices.push(Splice::delete(start..item.end));
            let followed = trailing || last_kept.is_some_and(|kept| kept > index);
            let comma = if followed { Some(index) } else { index.checked_sub(1) };
            splices.extend(comma.and_then(|comma| commas.get(comma)).cloned().map(Splice::delete));
        }
        splices
    }

    /// Restores `{}` if nothing is left.
    fn close_up(&self, root: &Container, gone: &[bool]) -> Option<Splice> {
        let (first, last) = (root.items.first()?, root.items.last()?);
        let emptied = gone.iter().all(|gone| *gone) && self.document.comments(root).is_empty();
        let end = self.document.commas(root).last().map_or(last.end, |comma| comma.end.max(last.end));
        (self.tidy && emptied && has_newline(self.document.text, root.open..first.start))
            .then(|| Splice::delete(end..root.close))
    }
}

fn has_newline(text: &str, range: Range<usize>) -> bool {
    text.get(range).is_some_and(|text| text.contains(['\n', '\r']))
}
