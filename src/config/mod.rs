//! `teamkeep.toml`, from text to typed configuration. Without a file the defaults apply, and no parser runs.
//!
//! A file goes through [`source`] → [`check`] → [`settings`]; [`layers`] combines the project's with the user's.

mod bounded_regex;
pub mod cache;
pub mod check;
mod excerpt;
mod gate;
pub mod keys;
pub mod layers;
mod literal_prefix;
mod load;
mod misnamed_file;
mod model;
mod parse_value;
pub mod pattern;
mod policy;
pub mod problem;
mod project;
mod project_overrides;
mod rules;
pub mod schema;
pub mod settings;
pub mod source;
pub mod trust;
mod units;

pub use bounded_regex::{BoundedRegex, RegexTooCostly};
pub use excerpt::{Excerpt, Excerpts};
pub use gate::Gate;
pub use layers::{Effective, Everywhere, Files, PROJECT_FILE, Project, TrustState, everywhere};
pub use literal_prefix::required_literal;
pub use load::TEMPLATE;
pub use misnamed_file::misnamed_file;
pub use model::{Archive, Config, Hook, Log, OnFailure, Pattern, Price, Privacy, RecordMode, Report};
pub use policy::*;
pub use problem::{Code, Problem, Severity};
pub use settings::{Layer, Origin, Setting, Settings};
pub use units::{parse_duration, parse_size};

#[cfg(test)]
mod tests;
