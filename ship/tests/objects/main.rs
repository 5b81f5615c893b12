//! Shipping to a directory: complete, once, and without texts unless they are configured.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod delivery;
mod errors;
mod privacy;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeSet;

use serde_json::Value;

fn texts(rows: &[Value], key: &str) -> BTreeSet<String> {
    rows.iter().map(|row| row[key].as_str().unwrap_or_default().to_owned()).collect()
}
