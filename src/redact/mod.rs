//! Taking out of texts what others are not to see: keys, tokens, addresses, the user's home, and what the user names.
//!
//! Pure: text in, text out. What was taken out is counted by the name of its rule, and never shown. No hook call comes
//! here, so the rules may use an engine that is slow to start and fast to run.

mod escapes;
mod json;
mod redactor;
mod rules;

pub use redactor::Redactor;
