//! `teamkeep.toml`, from text to typed configuration. Without a file the defaults apply, and no parser runs.
//!
//! A file goes through [`source`] → [`check`] → [`settings`]; [`layers`] combines the project's with the user's.

pub mod check;
mod events;
mod everywhere;
mod excerpt;
pub mod keys;
pub mod layers;
mod limits;
mod load;
mod meant;
pub mod memo;
mod needle;
pub mod pattern;
mod policy;
pub mod problem;
mod program;
mod project;
mod rules;
pub mod schema;
pub mod settings;
pub mod source;
pub mod trust;
mod value;
mod written;

pub use everywhere::{Everywhere, everywhere};
pub use excerpt::{Excerpt, Excerpts};
pub use layers::{Effective, Files, PROJECT_FILE, Project, Standing};
pub use load::TEMPLATE;
pub use meant::{Archive, Config, Hook, Keeping, Log, OnFailure, Pattern, Price, Privacy, Report};
pub use needle::needle;
pub use policy::*;
pub use problem::{Code, Problem, Severity};
pub use program::{Program, Unfit};
pub use settings::{Layer, Origin, Setting, Settings};
pub use value::{parse_duration, parse_size};

#[cfg(test)]
mod tests;
