//! JSON from outside, read so that one oddity does not hide the rest.
//!
//! A JavaScript client that cuts a text in the middle of an emoji writes half a surrogate pair (`\ud83d`), and a number
//! may be larger than any float: both are legal to write, and would make a strict reader refuse the whole document.
//! Here half a pair becomes U+FFFD and such a number null. Keys are keys, whatever a library means by them.

mod early;
mod plain;
mod read;
mod repair;
mod word;

pub use early::early;
pub use read::{Opened, beginning, lenient, read};
pub use word::word;

#[cfg(test)]
mod tests;
