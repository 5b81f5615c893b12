//! Tolerant JSON reading: one odd value must not hide the rest of a document.
//!
//! When a JavaScript program cuts a text in the middle of an emoji, it writes half a surrogate pair (`\ud83d`), and a
//! number may be larger than any float. Both are legal to write, but a strict parser rejects the whole document. Here
//! half a pair becomes U+FFFD and such a number becomes null. Keys with a special meaning for `serde_json` are read as
//! plain keys.

mod bounded;
mod parse;
mod repair;
mod serde_name;
mod top_level;

pub use parse::{Opened, parse_lossy, parse_prefix, read};
pub use serde_name::serde_name;
pub use top_level::scan_top_level;

#[cfg(test)]
mod tests;
