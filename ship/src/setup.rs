//! The store, the configuration and the environment of this program, read once.

use crate::privacy::{IdentityKind, Pseudonyms, Texts};
use crate::store_settings::ProfileFiles;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::io;
use std::path::Path;
use teamkeep_config::ShipPrivacy;
use teamkeep_history::timeline::{RunCatalog, homes};
use teamkeep_redact::Redactor;
use teamkeep_store::archive::{Archive, RunRecord};
use teamkeep_store::log::Logs;
use teamkeep_store::shipping::{Shipping, ShippingState};
use teamkeep_system::env::Env;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs;
use teamkeep_system::fs::MAX_SECRET_BYTES;
use teamkeep_system::os;
use teamkeep_terminal::Context;

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
        homes(run).into_iter().chain(own).collect()
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
    Env::user().or_else(os::process::account)
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

// Who ships: the organization, the machine and the user, as their names are shipped.

#[derive(Debug, Clone)]
pub struct Identity {
    pub organization: String,
    pub host: String,
    /// The ID of the store.
    pub store: String,
    pub user: Option<String>,
    pub pseudonyms: Pseudonyms,
}

/// The longest name in a partition.
const MAX_CHARS: usize = 64;

impl Identity {
    pub fn new(
        organization: &str,
        host: &str,
        store: String,
        user: Option<&str>,
        pseudonyms: Pseudonyms,
    ) -> Identity {
        Identity {
            store,
            organization: partition(organization),
            host: partition(&pseudonyms.of(IdentityKind::Host, host)),
            user: user.map(|user| pseudonyms.of(IdentityKind::User, user)),
            pseudonyms,
        }
    }
}

/// A name that is the value of a partition: only ASCII letters, digits, `.`, `_` and `-`, and not of a form that query engines
/// take for a value of another type than text.
fn partition(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let plain: String = name.chars().take(MAX_CHARS).map(|c| if is_plain(c) { c } else { '-' }).collect();
    match plain.trim_matches('.') {
        "" => "unknown".to_owned(),
        _ if is_like_a_value(&plain) => format!("_{plain}"),
        _ => plain,
    }
}

/// Whether a name is like a number, a date, a Boolean or null. An engine that finds such a partition first fails at the others.
fn is_like_a_value(name: &str) -> bool {
    let is_word = ["true", "false", "null"].iter().any(|word| name.eq_ignore_ascii_case(word));
    is_word || !name.contains(|c: char| c.is_ascii_alphabetic()) || name.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_objects_have_no_characters_that_lead_elsewhere() {
        let identity = |organization, host, user| {
            Identity::new(organization, host, "0123456789abcdef".to_owned(), user, Pseudonyms::none())
        };
        let found = identity("../x y", "ho/st\n", Some("alice"));
        assert_eq!((found.organization.as_str(), found.host.as_str()), ("..-x-y", "ho-st-"));
        assert_eq!(identity("..", "", None).organization, "unknown");
    }

    #[test]
    fn names_that_are_like_values_of_other_types_are_marked_as_text() {
        for name in ["42", "10.1", "2026-01-01", "1e5", "inf", "NaN", "True", "null", "-"] {
            assert_eq!(partition(name), format!("_{name}"));
        }
        for name in ["m1", "10.1.example", "2026-laptop", "infra"] {
            assert_eq!(partition(name), name);
        }
    }

    #[test]
    fn pseudonyms_replace_host_and_user() {
        let key = Pseudonyms::keyed(b"0123456789abcdef").unwrap();
        let identity =
            Identity::new("acme", "laptop-of-alice", "0123456789abcdef".to_owned(), Some("alice"), key);
        assert!(identity.host.starts_with("host-") && !identity.host.contains("alice"));
        assert!(identity.user.unwrap().starts_with("user-"));
        assert_eq!(identity.organization, "acme");
    }
}
