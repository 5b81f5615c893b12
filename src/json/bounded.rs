//! The values of a document, limited in depth and number.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Maximum depth of nested containers; deeper values become null. `serde_json` fails at 128.
const MAX_DEPTH: usize = 100;

/// Number of levels on which objects keep all their keys, regardless of the limit.
const FULL_DEPTH: usize = 3;

#[derive(Clone, Copy)]
pub(super) struct BoundedJson<'a> {
    /// Number of values that this part may still keep.
    pub left: &'a Cell<usize>,
    /// Number of values that each part may keep.
    pub most: usize,
    pub depth: usize,
    /// Set when something was left out.
    pub cut: &'a Cell<bool>,
}

impl BoundedJson<'_> {
    fn inner(self) -> Self {
        BoundedJson { depth: self.depth + 1, ..self }
    }
}

impl<'de> DeserializeSeed<'de> for BoundedJson<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        match self.left.get().checked_sub(1).filter(|_| self.depth < MAX_DEPTH) {
            Some(left) => {
                self.left.set(left);
                from.deserialize_any(self)
            }
            None => {
                // Skipping does not recurse, so it needs no depth limit.
                self.cut.set(true);
                IgnoredAny::deserialize(from).map(|_| Value::Null)
            }
        }
    }
}

impl<'de> Visitor<'de> for BoundedJson<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while self.left.get() > 0 {
            match from.next_element_seed(self.inner())? {
                Some(value) => values.push(value),
                None => return Ok(Value::Array(values)),
            }
        }
        while from.next_element::<IgnoredAny>()?.is_some() {
            self.cut.set(true);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = from.next_key::<Cow<'_, str>>()? {
            let key = key.into_owned();
            let own = Cell::new(self.most);
            let left = if self.depth < FULL_DEPTH { &own } else { self.left };
            let room = left.get() > 0;
            let value = from.next_value_seed(BoundedJson { left, ..self.inner() })?;
            if room {
                values.insert(key, value);
            }
        }
        Ok(Value::Object(values))
    }
}

/// The string values of these keys on the first level of an object, even if the object is truncated after them.
pub fn scan_top_level(bytes: &[u8], keys: &[&str]) -> Map<String, Value> {
    let found = RefCell::default();
    // The result does not matter: values found before an error are kept.
    let _ =
        TopLevelFields { keys, found: &found }.deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    found.into_inner()
}

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
