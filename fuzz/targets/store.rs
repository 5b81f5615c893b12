#![no_main]

#[path = "../../tests/it/fuzz/runs.rs"]
mod runs;
#[path = "../../tests/it/fuzz/store.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
