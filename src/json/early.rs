//! One text out of an object that may break off.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

/// A text on the first level of an object, even if the object breaks off after it.
pub fn early(bytes: &[u8], key: &str) -> Option<String> {
    let found = RefCell::new(None);
    // However it ends: what was found before that counts.
    let _ = Early { key, found: &found }.deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    found.into_inner()
}

/// Looks for one text among an object's keys.
struct Early<'a> {
    key: &'a str,
    found: &'a RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for Early<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Early<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        while let Some(key) = from.next_key::<Cow<'_, str>>()? {
            if key == self.key {
                *self.found.borrow_mut() = Some(from.next_value::<String>()?);
            } else {
                from.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
