//! Ids that are derived from the run, so that data that is sent again has the same ids.

use std::collections::HashMap;

/// Separates these hashes from all others. Changing it changes every id.
const TRACE_CONTEXT: &str = "teamkeep-ship 2026-11-24 OTLP trace id";
const ITEM_CONTEXT: &str = "teamkeep-ship 2026-11-24 OTLP item id";

/// The kinds of items that have an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    Run,
    Agent,
    Turn,
    Task,
    Message,
    Verdict,
    Incident,
}

impl Item {
    fn word(self) -> &'static str {
        match self {
            Item::Run => "run",
            Item::Agent => "agent",
            Item::Turn => "turn",
            Item::Task => "task",
            Item::Message => "message",
            Item::Verdict => "verdict",
            Item::Incident => "incident",
        }
    }
}

/// The id of a span or of a log record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ItemId([u8; 8]);

impl ItemId {
    pub fn bytes(self) -> Vec<u8> {
        self.0.to_vec()
    }

    pub fn hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The ids of one run of an organization.
#[derive(Debug)]
pub struct RunIds {
    trace: [u8; 16],
}

impl RunIds {
    pub fn new(organization: &str, run: &str) -> RunIds {
        let mut trace = [0; 16];
        derive(TRACE_CONTEXT, &[organization.as_bytes(), run.as_bytes()], &mut trace);
        RunIds { trace }
    }

    pub fn trace(&self) -> Vec<u8> {
        self.trace.to_vec()
    }

    /// The id of an item that the key identifies within the run. The key has no text: a hash of a short text could be
    /// guessed.
    pub fn item(&self, item: Item, key: &[&str]) -> ItemId {
        self.nth(item, key, 0)
    }

    fn nth(&self, item: Item, key: &[&str], ordinal: u64) -> ItemId {
        let ordinal = ordinal.to_be_bytes();
        let mut parts: Vec<&[u8]> = vec![&self.trace, &ordinal, item.word().as_bytes()];
        parts.extend(key.iter().map(|part| part.as_bytes()));
        let mut id = [0; 8];
        derive(ITEM_CONTEXT, &parts, &mut id);
        ItemId(id)
    }
}

/// Fills `id` from the parts, each with its length before it.
fn derive(context: &str, parts: &[&[u8]], id: &mut [u8]) {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(&(part.len() as u64).to_be_bytes()).update(part);
    }
    hasher.finalize_xof().fill(id);
}

/// Gives items with the same key different ids, in their order.
#[derive(Debug)]
pub struct ItemIds<'a> {
    ids: &'a RunIds,
    item: Item,
    seen: HashMap<ItemId, u64>,
}

impl<'a> ItemIds<'a> {
    pub fn new(ids: &'a RunIds, item: Item) -> ItemIds<'a> {
        ItemIds { ids, item, seen: HashMap::new() }
    }

    pub fn next(&mut self, key: &[&str]) -> ItemId {
        let count = self.seen.entry(self.ids.item(self.item, key)).or_default();
        let id = self.ids.nth(self.item, key, *count);
        *count += 1;
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_never_change() {
        let ids = RunIds::new("acme", "parser-team-1");
        let hex: String = ids.trace().iter().map(|byte| format!("{byte:02x}")).collect();
        let items = [ids.item(Item::Run, &[]), ids.item(Item::Task, &["1"])].map(ItemId::hex);
        assert_eq!(
            (hex.as_str(), items),
            ("f8e5a2e8eb614c3e6993fa8cbca60188", ["b6d28146dbe5d76b", "791d527f35c38ad0"].map(str::to_owned))
        );
    }

    #[test]
    fn ids_differ_by_organization_run_item_key_and_ordinal() {
        let ids = RunIds::new("acme", "run");
        assert_ne!(ids.trace(), RunIds::new("acme2", "run").trace());
        assert_ne!(ids.trace(), RunIds::new("acm", "erun").trace());
        assert_ne!(ids.item(Item::Task, &["1"]), ids.item(Item::Agent, &["1"]));
        assert_ne!(ids.item(Item::Task, &["1", "2"]), ids.item(Item::Task, &["12"]));
        assert_ne!(ids.item(Item::Task, &["1"]), RunIds::new("acme", "run2").item(Item::Task, &["1"]));
        let mut messages = ItemIds::new(&ids, Item::Message);
        let (first, second) = (messages.next(&["a"]), messages.next(&["a"]));
        assert_ne!(first, second);
        assert_eq!(first, ids.item(Item::Message, &["a"]));
    }
}
