//! `install`, `uninstall`, `install.sh` and the plugin.

pub mod custom_hooks;
mod enable_teams;
pub mod install;
pub mod install_client;
pub mod install_odd_files;
#[cfg(unix)]
pub mod install_sh;
#[cfg(unix)]
pub mod install_sh_pages;
#[cfg(unix)]
pub mod install_sh_release;
#[cfg(unix)]
pub mod install_sh_sandbox;
#[cfg(unix)]
pub mod install_sh_tools;
#[cfg(unix)]
pub mod left_out;
#[cfg(unix)]
pub mod managed;
#[cfg(unix)]
pub mod managed_pauses;
#[cfg(unix)]
pub mod plugin;
#[cfg(unix)]
pub mod plugin_twice;
#[cfg(unix)]
pub mod redirected;
pub mod skills;
pub mod text_properties;
pub mod uninstall;
