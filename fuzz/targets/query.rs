#![no_main]

#[path = "../../tests/it/fuzz/query.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
