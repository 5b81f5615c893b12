//! The command line, its help and the documentation.

pub mod architecture;
pub mod command_line;
pub mod commands_reference;
pub mod completion;
pub mod demo;
pub mod error_messages;
mod examples;
pub mod help;
pub mod links;
pub mod live;
pub mod man;
pub mod name_suggestions;
pub mod outputs;
pub mod package;
#[cfg(target_os = "linux")]
mod packaging;
pub mod pages;
pub mod pictures;
pub mod reference;
#[cfg(target_os = "linux")]
mod system_packages;
