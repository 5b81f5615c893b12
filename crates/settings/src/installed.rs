//! The installed hooks, compared with those that `install` would write.

use std::collections::BTreeSet;
use std::path::Path;

use crate::program::{HookProgram, is_bare, typed_to_install};
use teamkeep_system::command::{is_executable, quoted};
use teamkeep_system::env::Env;

use super::client::ClientVersion;
use super::layer::{
    SettingsLayer, managed_with_hooks, managed_with_switch, plugins, running, with_most_hooks,
};
use super::managed_files::ONLY_MANAGED;
use super::needs::{EVENTS, Needs};
use super::plan;

/// The files without all hooks that `install` would write, each with the difference. Further tools do not count: other projects
/// or an administrator can need them.
pub fn differing<'a>(
    layers: impl Iterator<Item = &'a SettingsLayer>,
    client: &ClientVersion,
    needs: &Needs,
) -> Vec<(&'a SettingsLayer, String)> {
    let differs = |layer: &'a SettingsLayer| {
        let installed = layer.written();
        let program = HookProgram::named(installed.first()?.words().first()?).ok()?;
        let wanted = plan::wanted(client, &program, &installed, &needs.beside(&installed));
        Some((layer, plan::difference(&installed, &wanted)?))
    };
    layers.filter_map(differs).collect()
}

/// The command that repeats the installation: in managed settings if these have hooks, because a second installation would
/// run as well, else in the file with the most hooks, else in the user's.
pub fn install_command(env: &Env, layers: &[SettingsLayer]) -> String {
    let call = typed_to_install(env);
    let again = |layer: &SettingsLayer| layer.command(&call, "install") + &program_option(env, layer);
    match (managed_with_hooks(layers), with_most_hooks(layers)) {
        (Some(managed), _) => format!("{}  # with --all-tools for users' rules", again(managed)),
        (None, Some(layer)) => again(layer),
        (None, None) => format!("{call} install"),
    }
}

/// The option that keeps the program of a file's hooks, if it is not the running one.
fn program_option(env: &Env, layer: &SettingsLayer) -> String {
    let program = layer.written().first().and_then(|entry| entry.words().into_iter().next());
    let is_running = |named: &str| HookProgram::running(env).is_ok_and(|running| running.replaces(named));
    program
        .filter(|named| (is_bare(named) || is_executable(Path::new(named))) && !is_running(named))
        .map_or(String::new(), |named| format!(" --command {}", quoted(&named)))
}

/// The events that call teamkeep in a session with these settings, also through an enabled plugin.
pub fn events(layers: &[SettingsLayer]) -> BTreeSet<String> {
    let ours = running(layers).flat_map(SettingsLayer::ours).map(|entry| entry.event);
    let has_plugin = !plugins(layers).is_empty() && managed_with_switch(layers, ONLY_MANAGED).is_none();
    let of_plugin = EVENTS.iter().filter(|_| has_plugin).map(|event| event.name().to_owned());
    ours.chain(of_plugin).collect()
}
