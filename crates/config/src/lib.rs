//! `teamkeep.toml`, from text to typed configuration. Without a file the defaults apply, and no parser runs.
//!
//! A file goes through [`source`] → [`check`] → `model`, whose values have one of the `kinds`; [`layers`] combines those of the
//! `organization`, the user and the `project`.

#![warn(unreachable_pub)]

/// A table of the file. Each key has its default.
macro_rules! section {
    ($(#[$about:meta])* pub struct $Section:ident {
        $($(#[$attribute:meta])* pub $key:ident: $Type:ty = $default:expr,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        pub struct $Section { $($(#[$attribute])* pub $key: $Type,)+ }

        impl Default for $Section {
            fn default() -> $Section {
                $Section { $($key: $default,)+ }
            }
        }
    };
}

/// The kinds of values that are written as strings: the type of the values, what is expected, the JSON Schema, and how a
/// value is read and written.
macro_rules! kinds {
    ($($(#[$about:meta])* $Kind:ident($Value:ty): $expected:literal, $schema:tt, $read:expr, $write:expr;)*) => {$(
        $(#[$about])*
        pub(crate) struct $Kind;

        impl crate::kinds::ValueKind for $Kind {
            type Value = $Value;
            const EXPECTED: &'static str = $expected;

            fn read(text: &str) -> Result<$Value, crate::kinds::Rejection> {
                $read(text)
            }

            fn write(value: &$Value) -> String {
                $write(value)
            }
        }

        described!($Kind, $schema);
    )*};
}

/// An enum whose values are words of the file.
macro_rules! words {
    ($(#[$about:meta])* pub enum $Enum:ident { $($(#[$attribute:meta])* $Variant:ident = $name:literal,)+ }) => {
        teamkeep_model::named_enum! {
            $(#[$about])*
            pub enum $Enum { $($(#[$attribute])* $Variant = $name,)+ }
        }

        described!($Enum, {"enum": $Enum::NAMES});
    };
}

/// Describes a kind of values in the JSON Schema.
macro_rules! described {
    ($Kind:ident, $schema:tt) => {
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $Kind {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Kind).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

pub mod check;
mod kinds;
pub mod layers;
mod model;
mod organization;
pub mod pattern;
mod policy;
pub mod project;
#[cfg(feature = "schema")]
pub mod schema;
mod settings;
mod ship;
pub mod source;

pub use kinds::{check_url, parse_duration, parse_size};
pub use layers::{Effective, Everywhere, Files, PROJECT_FILE, everywhere, last_on_error, misnamed_file};
pub(crate) use model::REDACTABLE;
pub use model::{
    Archive, ArchivedSessions, Config, ContextLoss, ContextPart, Hook, INCIDENT_KINDS, Incidents,
    LeastSeverity, Log, Notify, OnFailure, Pattern, Price, Privacy, RecordMode, Report, TeamContext,
};
pub use organization::{ORGANIZATION_FILE, Organization};
pub use pattern::{BoundedRegex, RegexTooCostly, required_literal};
pub use policy::*;
pub use project::{Project, TrustState};
pub use settings::{Layer, Origin, Setting, Settings};
pub use ship::{OtlpSignals, Ship, ShipPrivacy, StoreAddress, StoreScheme, is_loopback};
pub use source::{Code, Excerpt, Excerpts, Problem, ProblemSeverity, hash as file_hash};

/// The template: every key with its default and a comment.
pub const TEMPLATE: &str = include_str!("default.toml");

#[cfg(test)]
mod tests;
