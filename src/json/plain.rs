//! The values of a document, no deeper and no more of them than anybody looks at.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How deep values are opened. A strict reader gives up at 128; what lies deeper than this is null instead.
const DEEPEST: usize = 100;

/// How many levels of objects keep all their keys, however much stands before them.
const WHOLE: usize = 3;

/// Builds a plain value, as long as some are left to be kept.
#[derive(Clone, Copy)]
pub(super) struct Plain<'a> {
    /// What this part may still keep.
    pub left: &'a Cell<usize>,
    /// What each part may keep.
    pub most: usize,
    /// How many containers are around it.
    pub depth: usize,
    /// Set once something is left out.
    pub cut: &'a Cell<bool>,
}

impl Plain<'_> {
    /// One level further in.
    fn inner(self) -> Self {
        Plain { depth: self.depth + 1, ..self }
    }
}

impl<'de> DeserializeSeed<'de> for Plain<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        match self.left.get().checked_sub(1).filter(|_| self.depth < DEEPEST) {
            Some(left) => {
                self.left.set(left);
                from.deserialize_any(self)
            }
            None => {
                // Skipping needs no stack, so it knows no limit.
                self.cut.set(true);
                IgnoredAny::deserialize(from).map(|_| Value::Null)
            }
        }
    }
}

impl<'de> Visitor<'de> for Plain<'_> {
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
            let left = if self.depth < WHOLE { &own } else { self.left };
            let room = left.get() > 0;
            let value = from.next_value_seed(Plain { left, ..self.inner() })?;
            if room {
                values.insert(key, value);
            }
        }
        Ok(Value::Object(values))
    }
}
