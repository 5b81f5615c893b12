//! Reads values from the beginning of a truncated object.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

/// The string values of these keys on the first level of an object, even if the object is truncated after them.
pub fn scan_top_level(bytes: &[u8], keys: &[&str]) -> Map<String, Value> {
    let found = RefCell::default();
    // The result does not matter: values found before an error are kept.
    let _ =
        TopLevelFields { keys, found: &found }.deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    found.into_inner()
}

/// A visitor that collects the string values of these keys.
struct TopLevelFields<'a> {
    keys: &'a [&'a str],
    found: &'a RefCell<Map<String, Value>>,
}

impl<'de> DeserializeSeed<'de> for TopLevelFields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TopLevelFields<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        while let Some(key) = from.next_key::<Cow<'_, str>>()? {
            if self.keys.contains(&&*key) {
                let text = from.next_value::<String>()?;
                self.found.borrow_mut().insert(key.into_owned(), Value::String(text));
            } else {
                from.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
