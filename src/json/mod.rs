//! Tolerant JSON reading: one odd value must not hide the rest of a document.
//!
//! When a JavaScript program cuts a text in the middle of an emoji, it writes half a surrogate pair (`\ud83d`), and a
//! number may be larger than any float. Both are legal to write, but a strict parser rejects the whole document. Here
//! half a pair becomes U+FFFD and such a number becomes null. Keys with a special meaning for `serde_json` are read as
//! plain keys.

mod bounded;
mod parse;

pub use bounded::scan_top_level;
pub use parse::{Opened, parse_lossy, parse_prefix, read, serde_name};

#[cfg(test)]
mod tests;
