//! Removes secrets and personal data from texts: keys, tokens, e-mail addresses, home directories, and the user's
//! patterns.
//!
//! The functions take and return text. Matches are counted by rule and never shown. Hook calls do not use this module,
//! so the rules may use a regular expression engine that compiles slowly and matches fast.

mod json;
mod redactor;
mod rules;
mod unescape;

pub use redactor::Redactor;
