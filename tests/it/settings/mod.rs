//! `install`, `uninstall`, `install.sh` and the plugin.

pub mod custom_hooks;
mod enable_teams;
pub mod install;
pub mod install_client;
pub mod install_odd_files;
pub mod install_sh;
pub mod install_sh_pages;
pub mod install_sh_release;
pub mod install_sh_sandbox;
pub mod install_sh_tools;
pub mod left_out;
pub mod managed;
pub mod managed_pauses;
pub mod plugin;
pub mod plugin_twice;
pub mod redirected;
pub mod skills;
pub mod text_properties;
pub mod uninstall;
