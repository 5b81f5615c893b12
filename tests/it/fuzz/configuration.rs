//! `teamkeep.toml`, durations, sizes and patterns: an error has a place, and a valid configuration stays valid.

use std::path::Path;

use teamkeep_config::{Config, parse_duration, parse_size, pattern};

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(error) = Config::parse(text, Path::new("teamkeep.toml")) {
        assert!(error.to_string().contains("teamkeep.toml:"), "no place: {error}");
    }
    let _ = (parse_duration(text), parse_size(text));
    if let Some((glob, name)) = text.split_once('\n') {
        let _ = pattern::matches(glob, name);
    }
    let _ = pattern::BoundedRegex::of(text);
}
