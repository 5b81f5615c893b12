//! Shipping to a directory that serves as an object store: complete, once, and without texts unless they are configured.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout
)]

mod delivery;
mod errors;
mod excluded;
mod hosts;
#[path = "../support/http.rs"]
mod http;
mod previews;
mod privacy;
#[path = "../support/receiver.rs"]
mod receiver;
mod repeats;
#[path = "../support/sent.rs"]
mod sent;
mod sizes;
#[path = "../support/mod.rs"]
mod support;
mod turns;

use std::collections::BTreeSet;

use serde_json::Value;

fn texts(rows: &[Value], key: &str) -> BTreeSet<String> {
    rows.iter().map(|row| row[key].as_str().unwrap_or_default().to_owned()).collect()
}

/// A row without the time of its shipment.
fn without_time(mut row: Value) -> Value {
    row.as_object_mut().unwrap().shift_remove("shipped_at").unwrap();
    row
}
