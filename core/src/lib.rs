//! Hook calls, and the store and formats that commands share with them. Claude Code waits for everything that this crate
//! loads, so its dependencies are few.
//!
//! ```text
//! stdin ──▶ payload ──▶ capture ──▶ attribute ──▶ append ──▶ judge ──▶ exit code, stdout, stderr
//!           client      store::     attribution   store::    enforcement,    client::response
//!                       archive                   log        policy
//! ```
//!
//! `hook/call.rs` has these steps. The event is in the log before a policy can fail.
//!
//! - [`client`]: what Claude Code writes and reads: payloads, responses, team files, settings. `client::compat` has what only
//!   some of its versions need.
//! - [`attribution`]: who acted, in which team and run.
//! - [`store`]: the data directory: event log with its hash chain, archive of contents and snapshots, retention, and the state
//!   of shipping.
//! - [`config`]: `teamkeep.toml` and its layers.
//! - [`spending`]: the price of the model's messages.
//! - [`policy`]: the state of a team and the gates, without any access to files. [`enforcement`] reads what they need, runs
//!   completion checks and counts blocks.
//! - [`model`]: ids, events, tasks, tools. [`sys`]: files, processes, clock, environment.

/// Defines an enum without data. Each variant has a stable name, which is also its name in JSON.
#[macro_export]
macro_rules! named_enum {
    ($(#[$about:meta])* pub enum $Enum:ident { $($(#[$attribute:meta])* $Variant:ident = $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $Enum { $($(#[$attribute])* #[serde(rename = $name)] $Variant,)+ }

        impl $Enum {
            /// All of them, in this order.
            pub const ALL: [$Enum; $Enum::NAMES.len()] = [$($Enum::$Variant),+];

            pub const NAMES: &[&str] = &[$($name),+];

            pub const fn name(self) -> &'static str {
                match self { $($Enum::$Variant => $name,)+ }
            }

            /// The one with this name.
            pub fn named(name: &str) -> Option<$Enum> {
                $Enum::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}

pub mod attribution;
pub mod client;
pub mod config;
pub mod enforcement;
pub mod error;
pub mod hook;
pub mod model;
pub mod policy;
pub mod spending;
pub mod store;
pub mod sys;
