#![no_main]

#[path = "../../tests/it/fuzz/payload.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
