//! The agent ids in a session's hook calls, and the members they belong to.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum number of ids for each member. Before 2.1.178 each turn has a new id, and an old id is not used again once
/// the next turn has begun; concurrent calls may arrive late.
const MOST_OF_ONE: usize = 4;

/// Maximum number of ids in total.
const MAX_ENTRIES: usize = 4_096;

/// Maximum length of an id or name, in bytes.
const MAX_CHARS: usize = 256;

/// Members' names by agent id, the oldest ids first. In JSON it is an object in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agents(Vec<(String, String)>);

impl Agents {
    /// The member with this id.
    pub fn get(&self, id: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, name)| name.as_str())
    }

    /// Records the member of an id. A known id keeps its position; new ids of a member replace its oldest ones.
    pub fn note(&mut self, id: &str, name: &str) {
        if id.len() > MAX_CHARS || name.len() > MAX_CHARS {
            return;
        }
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| known == id) {
            name.clone_into(known);
            return;
        }
        self.0.push((id.to_owned(), name.to_owned()));
        let mut own = self.0.iter().filter(|(_, known)| known == name).count();
        self.0.retain(|(_, known)| {
            let drops = own > MOST_OF_ONE && known == name;
            own -= usize::from(drops);
            !drops
        });
        let over = self.0.len().saturating_sub(MAX_ENTRIES);
        self.0.drain(..over);
    }

    /// Ids and names, in the order of recording.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(id, name)| (id.as_str(), name.as_str()))
    }
}

impl Serialize for Agents {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(Some(self.0.len()))?;
        for (id, name) in self.iter() {
            map.serialize_entry(id, name)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Agents {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Agents, D::Error> {
        from.deserialize_map(InOrder)
    }
}

/// A visitor that keeps the order of the entries.
struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Agents;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object of names by agent id")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Agents, A::Error> {
        let mut agents = Vec::new();
        while let Some(entry) = map.next_entry()? {
            agents.push(entry);
        }
        Ok(Agents(agents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_for_each_turn_leaves_the_last_ids_of_each_member() {
        let mut agents = Agents::default();
        agents.note("acarol-1", "carol");
        for turn in 0..10_000 {
            agents
                .note(&format!("a{:x}", turn * 7_919 % 10_007), if turn % 2 == 0 { "alice" } else { "bob" });
        }
        assert_eq!(agents.iter().count(), 2 * MOST_OF_ONE + 1);
        assert_eq!(agents.get("acarol-1"), Some("carol"));
        for turn in 10_000 - 2 * MOST_OF_ONE..10_000 {
            assert!(agents.get(&format!("a{:x}", turn * 7_919 % 10_007)).is_some(), "{turn}");
        }
        let long = "x".repeat(MAX_CHARS + 1);
        agents.note(&long, "alice");
        agents.note("a1", &long);
        assert_eq!(agents.iter().count(), 2 * MOST_OF_ONE + 1, "no payload makes it large");
    }

    #[test]
    fn what_an_earlier_version_wrote_is_read_and_the_order_is_kept() {
        let mut agents: Agents = serde_json::from_str(r#"{"a9":"alice","a1":"alice","b2":"bob"}"#).unwrap();
        for id in ["a5", "a0", "a4"] {
            agents.note(id, "alice");
        }
        let text = serde_json::to_string(&agents).unwrap();
        assert_eq!(text, r#"{"a1":"alice","b2":"bob","a5":"alice","a0":"alice","a4":"alice"}"#);
        assert_eq!(serde_json::from_str::<Agents>(&text).unwrap(), agents);
    }
}
