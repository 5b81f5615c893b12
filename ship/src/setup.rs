//! The store, the configuration and the environment of this program, read once.

use std::io;
use std::path::Path;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use teamkeep::bundle;
use teamkeep::context::Context;
use teamkeep_config::ShipPrivacy;
use teamkeep_history::timeline::RunCatalog;
use teamkeep_redact::Redactor;
use teamkeep_store::archive::{Archive, RunRecord};
use teamkeep_store::log::Logs;
use teamkeep_store::shipping::{Shipping, ShippingState};
use teamkeep_system::env::Env;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs;

use crate::identity::Identity;
use crate::privacy::{Pseudonyms, Texts};
use crate::profile::ProfileFiles;

/// Maximum size of a file with a secret.
const MAX_SECRET_BYTES: u64 = 64 << 10;

#[derive(Debug)]
pub struct Setup {
    pub context: Context,
}

impl Setup {
    /// Fails if the configuration has errors: data must not leave the machine by other rules than the user's.
    pub fn new(context: Context) -> Result<Setup> {
        if !context.config.ship.is_configured() {
            return Err(Error::new("nothing is configured to be shipped").hint(
                "set `store`, `directory` or `otlp` in the table [ship] of the configuration: teamkeep config path",
            ));
        }
        let below_home = |glob: &String| glob.starts_with('~');
        if context.env.home.is_none() && context.config.ship.exclude_projects.iter().any(below_home) {
            return Err(Error::new("cannot find the projects in `ship.exclude-projects`: HOME is not set"));
        }
        Ok(Setup { context })
    }

    pub fn logs(&self) -> Logs {
        Logs::of(&self.context.paths)
    }

    pub fn catalog(&self) -> RunCatalog {
        let archive = Archive::open(self.context.paths.store.clone(), &self.context.config);
        RunCatalog::open(archive, self.logs())
    }

    pub fn identity(&self, state: &ShippingState) -> Result<Identity> {
        let ship = &self.context.config.ship;
        let pseudonyms = match ship.pseudonym_key_path(self.context.env.home.as_deref()) {
            None => Pseudonyms::none(),
            Some(path) => {
                let read = secret_file(&path).and_then(|secret| Pseudonyms::keyed(&secret));
                read.map_err(|error| error.within("cannot use `ship.pseudonym-key-file`"))?
            }
        };
        let store = Shipping::of(&self.context.paths).store_id()?;
        Ok(Identity::new(&ship.organization, &state.host(ship), store, user().as_deref(), pseudonyms))
    }

    /// The treatment of texts in data about these home directories.
    pub fn texts(&self, homes: &[String]) -> Result<Texts> {
        Ok(match self.context.config.ship.privacy {
            ShipPrivacy::Full => Texts::Kept,
            ShipPrivacy::Redacted => {
                Texts::Redacted(Box::new(Redactor::new(&self.context.config.privacy, homes)?))
            }
            ShipPrivacy::Metadata => Texts::Dropped,
        })
    }

    /// The same for data of all runs.
    pub fn texts_of_all(&self) -> Result<Texts> {
        let is_redacted = self.context.config.ship.privacy == ShipPrivacy::Redacted;
        self.texts(&if is_redacted { self.homes() } else { Vec::new() })
    }

    /// The home directories of this user and of the users in a run.
    pub fn homes_of(&self, run: &RunRecord) -> Vec<String> {
        let own = self.context.env.home.iter().map(|home| home.display().to_string());
        bundle::homes(run).into_iter().chain(own).collect()
    }

    /// The home directories of the users in all runs.
    fn homes(&self) -> Vec<String> {
        let mut homes: Vec<String> = self.catalog().runs.iter().flat_map(|run| self.homes_of(run)).collect();
        homes.extend(self.context.env.home.iter().map(|home| home.display().to_string()));
        homes.sort();
        homes.dedup();
        homes
    }
}

/// The name of the user: that in the environment, else that of the account.
fn user() -> Option<String> {
    let account = || nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten();
    Env::user().or_else(|| account().map(|account| account.name))
}

/// Where the profiles of object stores are.
pub fn profiles(context: &Context) -> ProfileFiles {
    let (profile, [credentials, config]) = context.env.aws_profiles();
    let home = context.env.home.as_deref();
    let headers = context.config.ship.store_headers_path(home);
    ProfileFiles { credentials, config, profile, headers }
}

/// Reads a file with lines `Name: value`, which only its owner can access. Empty lines and lines that begin with `#` are ignored. The
/// values are never shown.
pub fn headers_file(path: &Path, key: &str) -> Result<HeaderMap> {
    let failed = |error: Error| error.within(format!("cannot use `{key}`"));
    let text = String::from_utf8(secret_file(path).map_err(failed)?);
    let text = text.map_err(|_| failed(Error::new("it is not UTF-8")))?;
    let mut headers = HeaderMap::new();
    let lines = text.lines().map(str::trim).enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let (name, mut value) = header(line).ok_or_else(|| {
            failed(Error::usage(format!("invalid header in line {}; expected Name: value", index + 1)))
        })?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

fn header(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(':')?;
    let value = Some(value.trim()).filter(|value| !value.is_empty())?;
    Some((name.trim().parse().ok()?, value.parse().ok()?))
}

/// Reads a file with a secret, which only its owner can access.
pub fn secret_file(path: &Path) -> Result<Vec<u8>> {
    fs::read_private(path, MAX_SECRET_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Error::from(error).hint(format!("chmod 600 {}", path.display())),
        _ => error.into(),
    })
}
