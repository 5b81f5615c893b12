#![no_main]

#[path = "../../tests/it/fuzz/runs.rs"]
mod runs;
#[path = "../../tests/it/fuzz/bundle.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
