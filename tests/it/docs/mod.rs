//! The command line, its help and the documentation.

#[cfg(unix)]
pub mod architecture;
#[cfg(unix)]
pub mod command_line;
#[cfg(unix)]
pub mod commands_reference;
pub mod completion;
#[cfg(unix)]
pub mod demo;
#[cfg(unix)]
pub mod error_messages;
#[cfg(unix)]
mod examples;
#[cfg(unix)]
pub mod help;
#[cfg(unix)]
pub mod links;
#[cfg(unix)]
pub mod live;
#[cfg(unix)]
pub mod man;
#[cfg(unix)]
pub mod name_suggestions;
#[cfg(unix)]
pub mod outputs;
#[cfg(unix)]
pub mod package;
#[cfg(target_os = "linux")]
#[cfg(unix)]
mod packaging;
#[cfg(unix)]
pub mod pages;
#[cfg(unix)]
pub mod pictures;
#[cfg(unix)]
pub mod reference;
#[cfg(target_os = "linux")]
#[cfg(unix)]
mod system_packages;
