//! Inserts teamkeep's entries into a settings text, and removes them.
//!
//! The tree comes from jsonc-parser. Its own `append` and `remove` also change line breaks, blanks and comments of the
//! neighbors, so that an uninstall could not restore the file. Here an object or array is edited as the list of its
//! parts, and its new text takes its place in the tree.
//!
//! Each insertion is formatted so that its removal restores the previous text: a new object or array has its first item
//! on its own line; in an existing empty one, the first item directly follows the bracket.

use std::iter;

use jsonc_parser::cst::{CstArray, CstContainerNode, CstInputValue, CstNode};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::document::Document;
use crate::hook_command::{self, HookEntry};

/// The text with these entries at the end.
pub fn insert(document: &Document, entries: &[HookEntry]) -> String {
    let layout = Layout::of(document);
    let mut events: Map<String, Value> = Map::new();
    for entry in entries {
        let groups = events.entry(&entry.event).or_insert_with(|| Value::Array(Vec::new()));
        groups.as_array_mut().into_iter().for_each(|groups| groups.push(entry.group.clone()));
    }
    let Some(hooks) = &document.hooks else {
        let settings = Container::of(document.settings.clone());
        let indent = layout.item_indent(&settings);
        let hooks = property("hooks", &layout.render(&Value::Object(events), &indent));
        settings.append(vec![hooks], &layout, &indent);
        return document.root.to_string();
    };
    // The indentation is computed before the text changes.
    let indent = layout.item_indent(&Container::of(hooks.clone()));
    let mut missing = Vec::new();
    let mut edits = Vec::new();
    for (event, groups) in &events {
        match document.events.iter().find(|(name, _)| name == event) {
            Some((_, array)) => {
                let array = Container::of(array.clone());
                let indent = layout.item_indent(&array);
                let groups = groups.as_array().into_iter().flatten();
                let groups = groups.map(|group| layout.render(group, &indent)).collect();
                edits.push((array, groups, indent));
            }
            None => missing.push(property(event, &layout.render(groups, &indent))),
        }
    }
    for (array, groups, indent) in edits {
        array.append(groups, &layout, &indent);
    }
    Container::of(hooks.clone()).append(missing, &layout, &indent);
    document.root.to_string()
}

/// The text of a property.
pub(super) fn property(name: &str, value: &str) -> String {
    format!("{}: {value}", Value::from(name))
}

/// The treatment of the blanks before removed items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blanks {
    Remove,
    Keep,
}

/// The text after the removal of something, with the blanks before it if the settings are right then; `None` if they are not right
/// without that either.
pub(super) fn cut(
    text: &str,
    remove: impl Fn(&Document, Blanks),
    is_right: impl Fn(Value) -> bool,
) -> Option<String> {
    [Blanks::Remove, Blanks::Keep].into_iter().find_map(|blanks| {
        let document = Document::parse(text).ok()?;
        remove(&document, blanks);
        let after = document.root.to_string();
        is_right(Document::parse(&after).ok()?.data()).then_some(after)
    })
}

/// Removes every command of teamkeep, the groups that contain nothing else, and the events and the `hooks` object that contain
/// nothing else and were created by teamkeep.
pub fn remove(document: &Document, blanks: Blanks) {
    if let Some(hooks) = &document.hooks {
        let gone: Vec<bool> = document.events.iter().map(|(_, groups)| clear_event(groups, blanks)).collect();
        if Container::of(hooks.clone()).remove_or_report(&gone, blanks) {
            let properties = document.settings.properties();
            let gone = properties.iter().map(|one| one.decoded_name().as_deref() == Some("hooks"));
            Container::of(document.settings.clone()).remove_from_settings(&gone.collect::<Vec<_>>(), blanks);
        }
    }
}

/// Removes teamkeep's commands from an event. Returns whether the whole event is to be removed.
fn clear_event(groups: &CstArray, blanks: Blanks) -> bool {
    let gone: Vec<bool> = groups.elements().iter().map(|group| clear_group(group, blanks)).collect();
    Container::of(groups.clone()).remove_or_report(&gone, blanks)
}

/// Removes teamkeep's commands from a group. Returns whether the whole group is to be removed.
fn clear_group(group: &CstNode, blanks: Blanks) -> bool {
    let Some(commands) = group.as_object().and_then(|group| group.array_value("hooks")) else { return false };
    let is_ours =
        |command: &CstNode| command.to_serde_value().is_some_and(|hook| hook_command::is_ours(&hook));
    let ours: Vec<bool> = commands.elements().iter().map(is_ours).collect();
    if !ours.contains(&false) {
        return !ours.is_empty();
    }
    Container::of(commands).remove(&ours, blanks);
    false
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartKind {
    Bracket,
    Item,
    Comma,
    Comment,
    Blank,
}

/// One part of an object or array, from its opening to its closing bracket.
struct Part {
    kind: PartKind,
    text: String,
}

impl Part {
    fn has_line_break(&self) -> bool {
        self.text.contains(['\n', '\r'])
    }
}

/// An object or array to edit.
pub(super) struct Container {
    node: CstNode,
    parts: Vec<Part>,
}

impl Container {
    pub(super) fn of(node: impl Into<CstNode>) -> Container {
        let node = node.into();
        let part = |child: CstNode| {
            let kind = match &child {
                child if child.is_comma() => PartKind::Comma,
                child if child.is_comment() => PartKind::Comment,
                child if child.is_trivia() => PartKind::Blank,
                child if child.is_token() => PartKind::Bracket,
                _ => PartKind::Item,
            };
            Part { kind, text: child.to_string() }
        };
        let parts = node.children().into_iter().map(part).collect();
        Container { node, parts }
    }

    /// The indexes of the parts of a kind.
    fn all(&self, kind: PartKind) -> impl DoubleEndedIterator<Item = usize> {
        let parts = self.parts.iter().enumerate();
        parts.filter(move |(_, part)| part.kind == kind).map(|(index, _)| index)
    }

    /// Puts the edited text into the tree, as a number, because the text of a number is never changed.
    fn write(self) {
        let text = CstInputValue::Number(self.parts.into_iter().map(|part| part.text).collect());
        match self.node {
            CstNode::Container(CstContainerNode::Object(object)) => object.replace_with(text),
            CstNode::Container(CstContainerNode::Array(array)) => array.replace_with(text),
            _ => None,
        };
    }

    /// Adds items after the last one and its comments, and keeps a trailing comma.
    pub(super) fn append(mut self, items: Vec<String>, layout: &Layout, indent: &str) {
        if items.is_empty() {
            return;
        }
        let between = format!("{}{indent}", layout.newline);
        let mut text = items.join(&format!(",{between}"));
        let last_item = self.all(PartKind::Item).next_back();
        let comment = self.all(PartKind::Comment).next_back();
        let comma = self.all(PartKind::Comma).next_back().filter(|comma| Some(*comma) > last_item);
        let is_bare = self.parts.len() == 2;
        let anchor = last_item.max(comment).max(comma);
        if anchor.is_some() {
            text.insert_str(0, &between);
        } else if is_bare && self.node.parent().is_some_and(|parent| parent.is_root()) {
            // The common `{}` is formatted as a person would.
            text = format!("{between}{text}{}{}", layout.newline, indent_of_line(&self.node));
        }
        if comma.is_some() {
            text.push(',');
        }
        self.parts.insert(anchor.unwrap_or(0) + 1, Part { kind: PartKind::Item, text });
        if let Some(last) = last_item.filter(|_| comma.is_none()) {
            self.parts.insert(last + 1, Part { kind: PartKind::Comma, text: ",".to_owned() });
        }
        self.write();
    }

    /// Removes these items, each with one comma.
    pub(super) fn remove(mut self, gone: &[bool], blanks: Blanks) {
        if !gone.contains(&true) {
            return;
        }
        let commas: Vec<usize> = self.all(PartKind::Comma).collect();
        let is_trailing = commas.len() == gone.len();
        let last_kept = gone.iter().rposition(|gone| !gone);
        let mut deleted = Vec::new();
        for (index, at) in self.all(PartKind::Item).enumerate().filter(|(index, _)| gone[*index]) {
            let is_blank = |at: &usize| blanks == Blanks::Remove && self.parts[*at].kind == PartKind::Blank;
            deleted.extend((0..at).rev().take_while(is_blank));
            deleted.push(at);
            let is_followed = is_trailing || last_kept.is_some_and(|kept| kept > index);
            let comma = if is_followed { Some(index) } else { index.checked_sub(1) };
            deleted.extend(comma.and_then(|comma| commas.get(comma)));
        }
        deleted.into_iter().for_each(|at| self.parts[at].text.clear());
        self.write();
    }

    /// Removes these items. If the container is then empty and was created by teamkeep, it is unchanged and to be removed
    /// itself: then this returns true.
    fn remove_or_report(self, gone: &[bool], blanks: Blanks) -> bool {
        let is_gone = !gone.is_empty() && !gone.contains(&false) && self.is_created();
        if !is_gone {
            self.remove(gone, blanks);
        }
        is_gone
    }

    /// Removes `hooks` or `env` from the settings, and restores `{}` if nothing is left.
    pub(super) fn remove_from_settings(mut self, gone: &[bool], blanks: Blanks) {
        let is_tidy = blanks == Blanks::Remove && self.has_no_comment() && self.starts_with_line_break();
        if is_tidy && !gone.contains(&false) {
            self.parts.retain(|part| part.kind == PartKind::Bracket);
            return self.write();
        }
        self.remove(gone, blanks);
    }

    /// Whether teamkeep created this container: in a container that existed, the first inserted item directly follows
    /// the bracket. A container with a comment stays.
    fn is_created(&self) -> bool {
        let first = self.all(PartKind::Item).next();
        let is_on_one_line = first.is_some_and(|first| !self.parts[first].has_line_break());
        self.has_no_comment() && (self.starts_with_line_break() || is_on_one_line)
    }

    pub(super) fn has_no_comment(&self) -> bool {
        self.all(PartKind::Comment).next().is_none()
    }

    fn starts_with_line_break(&self) -> bool {
        self.parts.iter().take_while(|part| part.kind != PartKind::Item).any(Part::has_line_break)
    }

    /// The indentation of an item, if it is the first on its line.
    fn own_line(&self, item: usize) -> Option<&str> {
        let part = |back: usize| self.parts.get(item.checked_sub(back)?).map(|part| part.text.as_str());
        let indent = part(1).filter(|before| before.bytes().all(|byte| byte == b' ' || byte == b'\t'));
        let newline = if indent.is_some() { part(2) } else { part(1) };
        newline.filter(|newline| newline.ends_with('\n')).map(|_| indent.unwrap_or_default())
    }
}

/// The formatting of a file, so that insertions match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    newline: &'static str,
    /// One step of indentation.
    unit: String,
}

impl Layout {
    /// Detects it in the file; two spaces by default.
    pub(super) fn of(document: &Document) -> Layout {
        let text = document.root.to_string();
        let crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
        let settings = Container::of(document.settings.clone());
        let outer = indent_of_line(&settings.node);
        let unit = settings
            .all(PartKind::Item)
            .filter_map(|item| settings.own_line(item)?.strip_prefix(outer.as_str()))
            .find(|unit| !unit.is_empty())
            .unwrap_or("  ");
        Layout { newline: if crlf { "\r\n" } else { "\n" }, unit: unit.to_owned() }
    }

    /// The indentation of a container's items.
    pub(super) fn item_indent(&self, container: &Container) -> String {
        let existing = container.all(PartKind::Item).rev().find_map(|item| container.own_line(item));
        existing.map_or_else(|| indent_of_line(&container.node) + &self.unit, str::to_owned)
    }

    /// Formats a value on several lines, all but the first indented by `base`.
    pub(super) fn render(&self, value: &Value, base: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let _ = value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter));
        String::from_utf8_lossy(&bytes).replace('\n', &format!("{}{base}", self.newline))
    }
}

/// The indentation of the line on which a node starts.
fn indent_of_line(node: &CstNode) -> String {
    let nodes = iter::once(node.clone()).chain(node.ancestors().map(CstNode::from));
    let mut before: Vec<String> = Vec::new();
    for sibling in nodes.flat_map(|node| node.previous_siblings().collect::<Vec<_>>()) {
        before.push(sibling.to_string());
        if before.last().is_some_and(|text| text.contains('\n')) {
            break;
        }
    }
    let text: String = before.into_iter().rev().collect();
    let line = text.rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        Layout::of(&Document::parse(text).unwrap())
    }

    #[test]
    fn layout_is_detected_in_the_file() {
        assert_eq!(layout("{\r\n\t\"a\": 1\r\n}"), Layout { newline: "\r\n", unit: "\t".to_owned() });
        assert_eq!(layout("{\n    \"a\": 1\n}").unit, "    ");
        assert_eq!(layout("  {\n     \"a\": 1\n  }").unit, "   ");
        for silent in ["{}", "{\"a\": 1}", "{\n\"a\": 1\n}"] {
            assert_eq!(layout(silent), Layout { newline: "\n", unit: "  ".to_owned() });
        }
    }

    #[test]
    fn container_has_only_its_own_commas_and_comments() {
        let text = "{\"a\": [1, /* in */ 2] /* x */ , // y\n \"b\": 2, }";
        let settings = Container::of(Document::parse(text).unwrap().settings);
        let comments: Vec<&str> =
            settings.all(PartKind::Comment).map(|at| settings.parts[at].text.as_str()).collect();
        assert_eq!(comments, ["/* x */", "// y"]);
        assert_eq!(settings.all(PartKind::Comma).count(), 2);
    }
}
