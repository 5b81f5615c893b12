//! A model of a team under the policy: Claude Code and its users do anything in any order, and a hook judges each event. The
//! model uses the policy itself, not a copy of it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod actions;
mod callers;
mod calls;
mod documented;
mod hook;
mod key;
mod order;
mod properties;
#[path = "../../src/tests/scene.rs"]
#[allow(dead_code, reason = "the tests of the gates use the rest")]
mod scene;
mod scope;
mod search;
mod walks;
mod world;

use std::path::Path;
use std::time::Instant;

#[test]
fn every_property_holds_in_every_state_that_is_near() {
    let depth = number("TEAMKEEP_MODEL_DEPTH", 2);
    searched("small", &scope::SMALL, depth);
    searched("narrow", &scope::NARROW, depth + depth / 2);
}

#[test]
fn hook_calls_that_overlap_can_come_in_any_order() {
    searched("overlapping", &scope::OVERLAPPING, number("TEAMKEEP_MODEL_ORDER_DEPTH", 1));
}

fn searched(name: &str, scope: &scope::Scope, depth: usize) {
    let begin = Instant::now();
    let (states, steps) = search::search(scope, depth).unwrap_or_else(|why| panic!("{why}"));
    println!("{name}: {states} states, {steps} steps to depth {depth} in {:?}", begin.elapsed());
}

#[test]
fn every_property_holds_on_random_walks() {
    let (seed, steps) = (number("TEAMKEEP_MODEL_SEED", 1), number("TEAMKEEP_MODEL_STEPS", 10_000));
    let begin = Instant::now();
    let done = walks::walks(&scope::WIDE, seed as u64, steps, 200).unwrap_or_else(|why| panic!("{why}"));
    println!("{done} steps in {:?}", begin.elapsed());
}

/// `scripts/faults.py` puts them in: a fault that no longer fits the code is not searched for.
#[test]
fn each_fault_has_one_place_in_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let faults: Vec<serde_json::Value> = serde_json::from_str(include_str!("faults.json")).unwrap();
    for fault in &faults {
        let file = std::fs::read_to_string(root.join(fault["file"].as_str().unwrap())).unwrap();
        assert_eq!(file.matches(fault["text"].as_str().unwrap()).count(), 1, "{fault}");
    }
}

/// A number from the environment.
#[allow(clippy::disallowed_methods, reason = "no program of teamkeep reads it")]
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}
