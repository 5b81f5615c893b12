//! `teamkeep.toml`, from text to typed configuration. Without a file the defaults apply, and no parser runs.
//!
//! A file goes through [`source`] → [`check`] → `model`; [`layers`] combines those of the organization, the user and the
//! project.

#![warn(unreachable_pub)]

/// A table of the file. Each key has its default.
macro_rules! section {
    ($(#[$about:meta])* pub struct $Section:ident {
        $($(#[$attribute:meta])* pub $key:ident: $Type:ty = $default:expr,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        pub struct $Section { $($(#[$attribute])* pub $key: $Type,)+ }

        impl Default for $Section {
            fn default() -> $Section {
                $Section { $($key: $default,)+ }
            }
        }
    };
}

mod budget;
pub mod check;
pub mod keys;
pub mod layers;
mod model;
pub mod notify;
mod organization;
mod parse_value;
pub mod pattern;
mod policy;
pub mod project;
mod settings;
mod ship;
pub mod source;

pub use budget::{Budget, Limit, LimitScope};
pub use keys::{INCIDENT_KINDS, schema};
pub use layers::{Effective, Everywhere, Files, PROJECT_FILE, everywhere, last_on_error, misnamed_file};
pub use model::{
    Archive, ArchivedSessions, Config, ContextLoss, ContextPart, Hook, Incidents, Log, OnFailure, Pattern,
    Price, Privacy, RecordMode, Report, TeamContext,
};
pub use notify::{LeastSeverity, Notify};
pub use organization::{ORGANIZATION_FILE, Organization};
pub use parse_value::{parse_duration, parse_size};
pub use pattern::{BoundedRegex, RegexTooCostly, required_literal};
pub use policy::*;
pub use project::{Project, TrustState};
pub use settings::{Layer, Origin, Setting, Settings};
pub use ship::{OtlpSignals, Ship, ShipPrivacy, StoreAddress, StoreScheme, is_loopback};
pub use source::{Code, Excerpt, Excerpts, Problem, Severity, hash as file_hash};

/// The template: every key with its default and a comment.
pub const TEMPLATE: &str = include_str!("default.toml");

#[cfg(test)]
mod tests;
