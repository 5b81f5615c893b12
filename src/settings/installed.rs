//! The hooks that are installed, and the command that makes them cover the policy in force.

use std::path::Path;

use crate::env::Env;
use crate::error::Result;
use crate::paths::Paths;
use crate::settings::client_events::knows;
use crate::settings::command::{HookProgram, NAME, is_executable, quoted, typed_to_install};
use crate::settings::coverage::{Coverage, Unasked};
use crate::settings::install_record::Records;
use crate::settings::layer::{InstalledHook, Kind, SettingsLayer, layers};
use crate::settings::version::Version;

/// The hooks of a session.
#[derive(Debug)]
pub struct Installed {
    /// Their coverage.
    pub coverage: Coverage,
    /// The command that makes them cover the policy in force.
    pub command: String,
    /// Whether the command finds the settings file from the project's directory.
    pub is_in_project: bool,
    /// The version of Claude Code that they were written for, if it is known.
    client: Option<Version>,
}

impl Installed {
    /// Reads the settings files of a session. If these have no hook, files that `install` wrote elsewhere count.
    /// `runs` is true if some hook certainly runs: if no known file has it, it is the plugin's.
    ///
    /// # Errors
    /// The embedded table of hooks is invalid, which a test rules out.
    pub fn find(env: &Env, paths: &Paths, runs: bool) -> Result<Installed> {
        let layers = layers(env, paths);
        let (mut coverage, mut command) = (Coverage::of(&layers)?, again(env, &layers));
        let records = Records::at(paths.installs());
        let client =
            |layer: &SettingsLayer| records.find(&layer.path.canonicalize().ok()?)?.client?.parse().ok();
        if !coverage.is_empty() {
            let most = most(&layers);
            let is_in_project = most.is_some_and(|layer| matches!(layer.kind, Kind::Project | Kind::Local));
            return Ok(Installed { coverage, command, is_in_project, client: most.and_then(client) });
        }
        let elsewhere = records.files();
        let elsewhere = elsewhere.iter().map(|file| SettingsLayer::read(Kind::User, file));
        let elsewhere: Vec<SettingsLayer> = elsewhere.filter(|layer| !layer.ours().is_empty()).collect();
        elsewhere.iter().for_each(|layer| coverage.add(layer));
        if let Some(layer) = elsewhere.last() {
            let (call, path) = (typed_to_install(env), quoted(&layer.path.to_string_lossy()));
            command = format!("{call} install --settings {path}{}", program(env, layer));
        } else if runs {
            coverage = coverage.with_builtin()?;
        }
        let client = elsewhere.last().and_then(client);
        Ok(Installed { coverage, command, is_in_project: false, client })
    }

    /// The command that fixes this; if Claude Code does not have the event, with the note that it must be upgraded first.
    pub fn remedy(&self, unasked: &Unasked) -> String {
        remedy(&self.command, self.client, unasked)
    }
}

/// The command that fixes this; if Claude Code does not have the event, with the note that it must be upgraded first.
pub fn remedy(command: &str, client: Option<Version>, unasked: &Unasked) -> String {
    let lacking = client.and_then(|version| {
        let events = unasked.gaps.iter().map(|gap| gap.event.name());
        Some((version, events.into_iter().find(|event| knows(version, event) == Some(false))?))
    });
    match lacking {
        Some((version, event)) => {
            format!("{command}  # upgrade Claude Code first: {version} does not have {event}")
        }
        None => command.to_owned(),
    }
}

/// The file with the most hooks, of those that teamkeep may change.
fn most(layers: &[SettingsLayer]) -> Option<&SettingsLayer> {
    let own = layers.iter().filter(|layer| layer.kind != Kind::Managed && !layer.ours().is_empty());
    own.max_by_key(|layer| layer.ours().len())
}

/// The command that repeats the installation into the file with the most hooks, or into the user's file if there are none.
pub fn again(env: &Env, layers: &[SettingsLayer]) -> String {
    let call = typed_to_install(env);
    let again =
        most(layers).and_then(|layer| Some(format!("{}{}", layer.install(&call)?, program(env, layer))));
    again.unwrap_or_else(|| match layers.iter().find(|layer| !layer.ours().is_empty()) {
        // A second installation would run as well.
        Some(managed) => format!("ask the administrator of {} to widen the matchers", managed.path.display()),
        None => format!("{call} install"),
    })
}

/// The option that keeps the program of a file's hooks, if it is not the running one.
fn program(env: &Env, layer: &SettingsLayer) -> String {
    let named = layer
        .ours()
        .into_iter()
        .find(InstalledHook::is_written)
        .and_then(|ours| ours.words().into_iter().next());
    let running = |named: &str| HookProgram::running(env).is_ok_and(|running| running.as_str() == named);
    let named = named.filter(|named| *named == NAME || is_executable(Path::new(named)));
    named
        .filter(|named| !running(named))
        .map_or(String::new(), |named| format!(" --command {}", quoted(&named)))
}
