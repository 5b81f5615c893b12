//! The input of all checks, collected once.

use crate::clock::Time;
use crate::config::{Effective, Files, Problem, layers as policy};
use crate::env::Env;
use crate::paths::Paths;
use crate::settings::client::{ClientVersion, VersionProbe};
use crate::settings::command::{shell_invocation, typed_to_install};
use crate::settings::layer::{InstalledHook, Kind, SettingsLayer, layers, plugins};
use crate::settings::version::Version;

/// The input of the checks.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The environment.
    pub env: &'a Env,
    /// The paths in use.
    pub paths: &'a Paths,
    /// The current time.
    pub now: Time,
    /// The answer of `claude --version`.
    pub asked: VersionProbe,
    /// The settings files, highest precedence first.
    pub layers: Vec<SettingsLayer>,
    /// Enabled teamkeep plugins.
    pub plugins: Vec<String>,
    /// The policy in force.
    pub policy: Effective,
    /// The problem with the name of the configuration file.
    pub misnamed: Option<Problem>,
    /// The command by which the user calls this program.
    pub call: String,
    /// The command by which the user runs `install`, which needs a program named `teamkeep`.
    pub installer: String,
}

impl<'a> Facts<'a> {
    /// Collects them, without changing anything.
    pub fn gather(
        (env, paths): (&'a Env, &'a Paths),
        (files, misnamed): (&Files, Option<Problem>),
        now: Time,
        asked: VersionProbe,
    ) -> Facts<'a> {
        let layers = layers(env, paths);
        let plugins = plugins(&layers);
        let policy = policy::load(files);
        let (call, installer) = (shell_invocation(env), typed_to_install(env));
        Facts { env, paths, now, asked, layers, plugins, policy, misnamed, call, installer }
    }

    /// Claude Code's version, if known.
    pub fn version(&self) -> Option<Version> {
        match self.asked.answer {
            ClientVersion::Known(version) => Some(version),
            ClientVersion::Unknown(_) => None,
        }
    }

    /// All of teamkeep's hooks that Claude Code finds.
    pub fn ours(&self) -> Vec<InstalledHook<'_>> {
        self.layers.iter().flat_map(SettingsLayer::ours).collect()
    }

    /// The settings file of a kind.
    pub fn layer(&self, kind: Kind) -> Option<&SettingsLayer> {
        self.layers.iter().find(|layer| layer.kind == kind)
    }

    /// The command that installs into the file with most of teamkeep's hooks, else into the user's.
    pub fn install(&self) -> String {
        let most = self.layers.iter().filter(|layer| layer.kind != Kind::Managed);
        let most = most.filter(|layer| !layer.ours().is_empty()).max_by_key(|layer| layer.ours().len());
        most.and_then(|layer| layer.install(&self.installer))
            .unwrap_or_else(|| format!("{} install", self.installer))
    }
}

#[cfg(test)]
pub mod tests {
    use std::path::PathBuf;

    use serde_json::Value;

    use super::*;
    use crate::settings::layer::State;

    /// The facts for this version of Claude Code with these settings, highest precedence first.
    pub fn facts(version: Version, settings: &[(Kind, Value)]) -> Facts<'static> {
        let env: &'static Env = Box::leak(Box::default());
        let paths: &'static Paths = Box::leak(Box::new(Paths::find(env)));
        let path = |kind: Kind| PathBuf::from(format!("/{kind:?}.json"));
        let layer = |(kind, value): &(Kind, Value)| SettingsLayer {
            kind: *kind,
            path: path(*kind),
            state: State::Read(value.clone()),
        };
        let layers: Vec<SettingsLayer> = settings.iter().map(layer).collect();
        let asked = VersionProbe { at: Some("claude".into()), answer: ClientVersion::Known(version) };
        let (plugins, policy) = (plugins(&layers), Effective::default());
        let now = crate::clock::parse("2026-02-03T04:05:06Z").unwrap();
        let (call, installer) = ("teamkeep".to_owned(), "teamkeep".to_owned());
        Facts { env, paths, now, asked, layers, plugins, policy, misnamed: None, call, installer }
    }
}
