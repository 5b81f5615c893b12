//! The hooks that are installed, and the command that makes them cover the policy in force.

use std::path::Path;

use crate::env::Env;
use crate::error::Result;
use crate::paths::Paths;
use crate::settings::command::{NAME, Program, is_executable, quoted, typed_to_install};
use crate::settings::coverage::Coverage;
use crate::settings::layer::{Kind, Layer, Ours, layers};
use crate::settings::record::Records;

/// The hooks of a session.
#[derive(Debug)]
pub struct Installed {
    /// What they cover.
    pub coverage: Coverage,
    /// The command that makes them cover the policy in force.
    pub command: String,
}

impl Installed {
    /// Looks at the settings files of a session. Where these have no hook, others count that `install` was told to
    /// write. `runs` says that some hook certainly runs: where no file is known to have it, a plugin does.
    ///
    /// # Errors
    /// When the embedded table of hooks is not what it should be, which a test rules out.
    pub fn find(env: &Env, paths: &Paths, runs: bool) -> Result<Installed> {
        let layers = layers(env, paths);
        let (mut coverage, mut command) = (Coverage::of(&layers)?, again(env, &layers));
        if !coverage.is_empty() {
            return Ok(Installed { coverage, command });
        }
        let elsewhere = Records::at(paths.installs()).files();
        let elsewhere = elsewhere.iter().map(|file| Layer::read(Kind::User, file));
        let elsewhere: Vec<Layer> = elsewhere.filter(|layer| !layer.ours().is_empty()).collect();
        elsewhere.iter().for_each(|layer| coverage.add(layer));
        if let Some(layer) = elsewhere.last() {
            let (call, path) = (typed_to_install(env), quoted(&layer.path.to_string_lossy()));
            command = format!("{call} install --settings {path}{}", program(env, layer));
        } else if runs {
            coverage = coverage.with_builtin()?;
        }
        Ok(Installed { coverage, command })
    }
}

/// The command that installs again into the file that has most of the hooks, as it was installed there; into the user's
/// where none has any.
pub fn again(env: &Env, layers: &[Layer]) -> String {
    let call = typed_to_install(env);
    let most = layers.iter().filter(|layer| layer.kind != Kind::Managed && !layer.ours().is_empty());
    let most = most.max_by_key(|layer| layer.ours().len());
    let again = most.and_then(|layer| Some(format!("{}{}", layer.install(&call)?, program(env, layer))));
    again.unwrap_or_else(|| match layers.iter().find(|layer| !layer.ours().is_empty()) {
        // Another copy beside it would run as well.
        Some(managed) => format!("ask whoever manages {} to widen the matchers", managed.path.display()),
        None => format!("{call} install"),
    })
}

/// The option that keeps the program of a file's hooks, where another one than this was named.
fn program(env: &Env, layer: &Layer) -> String {
    let named =
        layer.ours().into_iter().find(Ours::is_written).and_then(|ours| ours.words().into_iter().next());
    let running = |named: &str| Program::running(env).is_ok_and(|running| running.as_str() == named);
    let named = named.filter(|named| *named == NAME || is_executable(Path::new(named)));
    named
        .filter(|named| !running(named))
        .map_or(String::new(), |named| format!(" --command {}", quoted(&named)))
}
