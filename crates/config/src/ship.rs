//! `[ship]`: where recorded data is sent.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::kinds::{
    FilePath, ListOf, Rejection, Size, Span, ValueKind as _, below_home, check_url, checked, duration, glob,
    quoted,
};
use super::pattern;
use teamkeep_model::paths;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_system::fs;
use teamkeep_system::os::files::comparable;

/// Maximum length of an organization's or a host's name.
const MAX_NAME_CHARS: usize = 64;
/// The shortest [`Ship::interval`]: hook calls start the shipper.
const MIN_INTERVAL: Duration = Duration::from_secs(60);

kinds! {
    Store(Option<StoreAddress>): "a string", {"type": "string"},
        |text| StoreAddress::parse(text).map_err(Rejection::from),
        |store: &Option<StoreAddress>| store.as_ref().map(ToString::to_string).unwrap_or_default();
    OtlpAddress(String): "a string", {"type": "string"}, |text| checked(text, check_otlp), String::clone;
    OrganizationName(String): "a string", {"type": "string"}, |text| checked(text, check_organization), String::clone;
    HostName(String): "a string", {"type": "string"}, |text| checked(text, check_host), String::clone;
    Since(Option<Timestamp>): "a string", {"type": "string"},
        |text| parse_since(text).map_err(Rejection::from),
        |since: &Option<Timestamp>| since.as_ref().map(ToString::to_string).unwrap_or_default();
    ProjectGlob(String): "a glob in quotes", {"title": "glob", "type": "string", "minLength": 1},
        |text| glob(text).and_then(|glob| checked(&glob, check_project_glob)), String::clone;
    Interval(Duration): "a duration such as \"90d\"",
        {"title": "duration", "type": "string", "pattern": "^\\s*([0-9.]+(ms|s|m|h|d))+([0-9.]+)?\\s*$"},
        |text| match duration(text)? {
            short if short < MIN_INTERVAL => Err("expected at least \"1m\"".to_owned().into()),
            interval => Ok(interval),
        },
        Span::write;
}

section! {
    pub struct Ship {
        /// The object store for rows.
        #[serde(with = "Store")]
        pub store: Option<StoreAddress> = None,
        /// For `https://` only.
        #[serde(with = "FilePath")]
        pub store_headers_file: String = String::new(),
        /// A directory for a file with rows, which another program reads; see [`Ship::directory_path`].
        #[serde(with = "FilePath")]
        pub directory: String = String::new(),
        /// The base address of an OTLP/HTTP receiver; [`Ship::otlp_base`] has no slash at its end.
        #[serde(with = "OtlpAddress")]
        pub otlp: String = String::new(),
        pub otlp_signals: OtlpSignals = OtlpSignals::Logs,
        #[serde(with = "FilePath")]
        pub otlp_headers_file: String = String::new(),
        #[serde(with = "OrganizationName")]
        pub organization: String = "default".to_owned(),
        /// The name of the machine; the system's name if it is empty.
        #[serde(with = "HostName")]
        pub host: String = String::new(),
        pub privacy: ShipPrivacy = ShipPrivacy::Metadata,
        #[serde(with = "FilePath")]
        pub pseudonym_key_file: String = String::new(),
        #[serde(with = "Since")]
        pub since: Option<Timestamp> = None,
        /// See [`Ship::excludes`].
        #[serde(with = "ListOf::<ProjectGlob>")]
        pub exclude_projects: Vec<String> = Vec::new(),
        #[serde(with = "Interval")]
        pub interval: Duration = Duration::from_secs(3_600),
        /// In bytes.
        #[serde(with = "Size")]
        pub keep_unshipped: u64 = 1 << 30,
    }
}

words! {
    pub enum OtlpSignals {
        Logs = "logs",
        Traces = "traces",
        Both = "both",
    }
}

impl OtlpSignals {
    pub fn has_logs(self) -> bool {
        self != OtlpSignals::Traces
    }

    pub fn has_traces(self) -> bool {
        self != OtlpSignals::Logs
    }
}

words! {
    /// Which texts leave the machine, most permissive first.
    pub enum ShipPrivacy {
        Full = "full",
        Redacted = "redacted",
        Metadata = "metadata",
    }
}

impl Ship {
    /// Whether anything is to be sent.
    pub fn is_configured(&self) -> bool {
        self.store.is_some() || !self.directory.is_empty() || !self.otlp.is_empty()
    }

    /// The directory for a file with rows; `None` without one.
    pub fn directory_path(&self, home: Option<&Path>) -> Option<PathBuf> {
        below_home(&self.directory, home)
    }

    /// The address to which `/v1/logs` and `/v1/traces` are appended; `None` without a receiver.
    pub fn otlp_base(&self) -> Option<&str> {
        Some(self.otlp.trim_end_matches('/')).filter(|base| !base.is_empty())
    }

    /// The file with the headers for a store with an address `https://…`; `None` without one.
    pub fn store_headers_path(&self, home: Option<&Path>) -> Option<PathBuf> {
        below_home(&self.store_headers_file, home)
    }

    /// The file with the receiver's headers; `None` without one.
    pub fn otlp_headers_path(&self, home: Option<&Path>) -> Option<PathBuf> {
        below_home(&self.otlp_headers_file, home)
    }

    /// The file with the key of pseudonyms; `None` without one.
    pub fn pseudonym_key_path(&self, home: Option<&Path>) -> Option<PathBuf> {
        below_home(&self.pseudonym_key_file, home)
    }

    /// The configured name of the machine, else the system's, which is `system`; safe in the name of an object.
    pub fn host_name(&self, system: &str) -> String {
        if self.host.is_empty() { safe_name(system) } else { self.host.clone() }
    }
}

/// Turns the characters that are not safe in a name into `-`.
fn safe_name(text: &str) -> String {
    let safe = |c: char| if is_name_char(c) { c } else { '-' };
    let name: String = text.chars().take(MAX_NAME_CHARS).map(safe).collect();
    if name.chars().all(|c| matches!(c, '.' | '-')) { "unknown".to_owned() } else { name }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreScheme {
    S3,
    File,
    Https,
    /// Only at a loopback address.
    Http,
}

impl StoreScheme {
    const ALL: [StoreScheme; 4] = [StoreScheme::S3, StoreScheme::File, StoreScheme::Https, StoreScheme::Http];

    pub fn prefix(self) -> &'static str {
        match self {
            StoreScheme::S3 => "s3://",
            StoreScheme::File => "file://",
            StoreScheme::Https => "https://",
            StoreScheme::Http => "http://",
        }
    }
}

/// The address of an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreAddress {
    pub scheme: StoreScheme,
    /// The bucket, or the host with its port; empty for `file`.
    pub bucket: String,
    /// The prefix of objects without slashes at its ends; for `file` the absolute path of the directory.
    pub prefix: String,
}

impl std::fmt::Display for StoreAddress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slash = if self.bucket.is_empty() || self.prefix.is_empty() { "" } else { "/" };
        write!(out, "{}{}{slash}{}", self.scheme.prefix(), self.bucket, self.prefix)
    }
}

impl StoreAddress {
    /// Parses an address; `None` for an empty text.
    pub fn parse(text: &str) -> Result<Option<StoreAddress>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let known = StoreScheme::ALL.into_iter();
        let (scheme, rest) = known
            .filter_map(|scheme| Some((scheme, text.strip_prefix(scheme.prefix())?)))
            .next()
            .ok_or("invalid address; expected s3://BUCKET/PREFIX, https://HOST/PREFIX or file:///DIR")?;
        if scheme == StoreScheme::File {
            return directory(rest).map(Some);
        }
        if rest.contains(['@', '?', '#']) {
            return Err(CREDENTIALS.to_owned());
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        match scheme {
            StoreScheme::Https | StoreScheme::Http => check_authority(scheme, bucket)?,
            _ => check_bucket(bucket)?,
        }
        let prefix = prefix.trim_end_matches('/');
        let is_plain = |part: &str| {
            !part.is_empty() && !is_dots(part) && part.chars().all(|c| is_name_char(c) || c == '=')
        };
        if !prefix.is_empty() && !prefix.split('/').all(is_plain) {
            return Err(
                "invalid prefix; expected names of letters, digits, `.`, `_`, `-` and `=` between slashes"
                    .to_owned(),
            );
        }
        Ok(Some(StoreAddress { scheme, bucket: bucket.to_owned(), prefix: prefix.to_owned() }))
    }
}

const CREDENTIALS: &str = "the address has a user, a password or a query; credentials come only from the environment, \
                           from the profile files of the service or from `store-headers-file`";

fn check_bucket(bucket: &str) -> Result<(), String> {
    if bucket.is_empty() {
        return Err("the address names no bucket".to_owned());
    }
    if !bucket.chars().all(is_name_char) || is_dots(bucket) {
        return Err("invalid bucket; expected letters, digits, `.`, `_` and `-`".to_owned());
    }
    Ok(())
}

/// Checks a host with an optional port. Without TLS, it must be this machine.
fn check_authority(scheme: StoreScheme, authority: &str) -> Result<(), String> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (authority, "443"),
    };
    let is_ip6 = host.starts_with('[') && host.ends_with(']') && ip(host).is_some();
    let is_name = !host.is_empty() && !is_dots(host) && host.chars().all(is_name_char);
    if !(is_ip6 || is_name) || port.parse::<u16>().is_err() {
        return Err("invalid host; expected HOST or HOST:PORT".to_owned());
    }
    if scheme == StoreScheme::Http && !is_loopback(host) {
        return Err("the address does not use TLS; expected https://, or a loopback address".to_owned());
    }
    Ok(())
}

/// The IP address of a host, which has brackets if it is one of version 6.
fn ip(host: &str) -> Option<IpAddr> {
    host.trim_matches(['[', ']']).parse().ok()
}

/// Whether a host is this machine.
pub fn is_loopback(host: &str) -> bool {
    host == "localhost" || ip(host).is_some_and(|ip| ip.is_loopback())
}

fn directory(text: &str) -> Result<StoreAddress, String> {
    let is_safe = |c: char| !c.is_control() && !matches!(c, '%' | '?' | '#' | '\\');
    if !text.starts_with('/') {
        return Err("the address names another host; expected file:///DIR".to_owned());
    }
    let dir = text.trim_end_matches('/');
    if dir.is_empty() || dir[1..].split('/').any(|part| part.is_empty() || is_dots(part)) {
        return Err(
            "invalid directory; expected an absolute path without `.`, `..` and empty names".to_owned()
        );
    }
    if !dir.chars().all(is_safe) {
        return Err(
            "invalid directory; `%`, `?`, `#`, `\\` and control characters are not supported".to_owned()
        );
    }
    Ok(StoreAddress { scheme: StoreScheme::File, bucket: String::new(), prefix: dir.to_owned() })
}

fn is_dots(name: &str) -> bool {
    name == "." || name == ".."
}

/// Parses a day in UTC, or a time with its zone; `None` if it is empty.
pub(super) fn parse_since(text: &str) -> Result<Option<Timestamp>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let time = time::parse(text).or_else(|| time::parse(&format!("{text}T00:00:00Z")));
    time.map(Some).ok_or_else(|| {
        "invalid time; expected a date such as \"2026-11-01\" (in UTC), or a time with its zone such as \"2026-11-01T08:00:00Z\"".to_owned()
    })
}

/// Checks the base address of a receiver.
pub(super) fn check_otlp(url: &str) -> Result<(), String> {
    check_url(url)?;
    let host = url.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    if host.contains('@') || url.contains(['?', '#']) {
        return Err("the address has a user, a password or a query; set the headers in `otlp-headers-file`"
            .to_owned());
    }
    let path = url.trim_end_matches('/');
    match ["/v1/traces", "/v1/logs"].into_iter().find(|suffix| path.ends_with(suffix)) {
        Some(suffix) => Err(format!("invalid address; expected the base address, without {suffix}")),
        None => Ok(()),
    }
}

/// Checks the name of an organization.
pub(super) fn check_organization(name: &str) -> Result<(), String> {
    if name.is_empty() { Err("the name is empty".to_owned()) } else { check_host(name) }
}

/// Checks the name of a host; an empty one is the system's.
pub(super) fn check_host(name: &str) -> Result<(), String> {
    if name.len() > MAX_NAME_CHARS || !name.chars().all(is_name_char) || is_dots(name) {
        return Err(format!(
            "invalid name; expected at most {MAX_NAME_CHARS} letters, digits, `.`, `_` and `-`"
        ));
    }
    Ok(())
}

// `ship.exclude-projects`: the projects of which nothing is sent.

impl Ship {
    /// Whether nothing of a project in this directory is sent: a glob of `exclude-projects` matches it, or a directory above
    /// it. Links are followed on both sides, because Claude Code names the real directory of a project.
    pub fn excludes(&self, project: &Path, home: Option<&Path>) -> bool {
        if self.exclude_projects.is_empty() {
            return false;
        }
        let real = fs::canonicalize(project).ok();
        let dirs: Vec<String> = std::iter::once(project)
            .chain(real.as_deref())
            .flat_map(Path::ancestors)
            .map(comparable)
            .collect();
        let globs = self.exclude_projects.iter().flat_map(|glob| spellings(glob, home));
        globs.into_iter().any(|glob| dirs.iter().any(|dir| pattern::matches(&glob, dir)))
    }
}

/// A glob with the home directory instead of `~`, and the same with links in its directories resolved.
fn spellings(glob: &str, home: Option<&Path>) -> Vec<String> {
    let glob = match (glob.strip_prefix('~'), home) {
        (Some(below), Some(home)) => format!("{}{below}", home.display()),
        _ => glob.to_owned(),
    };
    // Without a slash at the end.
    let path: PathBuf = Path::new(&glob).components().collect();
    let plain = path.ancestors().find(|dir| pattern::is_plain(&dir.to_string_lossy()));
    let linked = plain.and_then(|plain| {
        let rest = path.strip_prefix(plain).ok()?;
        let real = fs::canonicalize(plain).ok().filter(|real| real != plain)?;
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    });
    std::iter::once(path.clone()).chain(linked).map(|path| comparable(&path)).collect()
}

/// Checks that a glob can match an absolute path, of any system: the file of an organization is for all of its machines.
pub(super) fn check_project_glob(glob: &str) -> Result<(), String> {
    let is_absolute = glob.starts_with(['/', '*']) || paths::is_of_windows(glob);
    match is_absolute || glob == "~" || glob.starts_with("~/") || glob.starts_with(r"~\") {
        true => Ok(()),
        false => Err(format!(
            "{} never matches; expected one that starts with /, ~/, * or a drive such as C:/",
            quoted(glob)
        )),
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod excluded_projects_tests {
    use super::super::tests::loaded;
    use super::*;

    #[test]
    fn a_user_adds_to_the_list_of_the_organization_and_removes_nothing_from_it() {
        let ours = "[ship]\nexclude-projects = [\"/srv/a\", \"/srv/b\"]\n";
        for fixed in ["", "fixed = [\"ship\"]", "fixed = [\"ship.exclude-projects\"]"] {
            let organization = format!("[organization]\n{fixed}\n{ours}");
            for (user, all) in [
                ("", vec!["/srv/a", "/srv/b"]),
                ("[\"~/private\"]", vec!["/srv/a", "/srv/b", "~/private"]),
                ("[\"/srv/b\", \"/srv/c\"]", vec!["/srv/a", "/srv/b", "/srv/c"]),
                ("[]", vec!["/srv/a", "/srv/b"]),
            ] {
                let key = if user.is_empty() { "" } else { "exclude-projects = " };
                let effective = loaded(&organization, &format!("[ship]\n{key}{user}\n"), "");
                assert!(effective.problems.is_empty(), "{fixed} {user}: {:?}", effective.problems);
                assert_eq!(effective.config.ship.exclude_projects, all, "{fixed} {user}");
            }
        }
        let only = loaded("", "[ship]\nexclude-projects = [\"~/private\"]\n", "");
        assert_eq!(only.config.ship.exclude_projects, ["~/private"]);
    }

    #[test]
    fn a_project_s_file_cannot_set_it_and_a_glob_that_never_matches_is_an_error() {
        let effective = loaded("", "[ship]\nexclude-projects = ['C:\\work', '\\\\server\\a', '/a']\n", "");
        assert!(effective.problems.is_empty(), "{:?}", effective.problems);
        let effective = loaded("", "", "[ship]\nexclude-projects = [\"/\"]\n");
        assert_eq!(effective.problems[0].code.name(), "not-in-project");
        for (glob, code) in [
            ("private", "bad-value"),
            ("./a", "bad-value"),
            ("C:work", "bad-value"),
            ("\\\\work", "bad-value"),
            ("", "bad-glob"),
            ("/a/**/b/***", "bad-glob"),
        ] {
            let effective = loaded("", &format!("[ship]\nexclude-projects = [\"{glob}\"]\n"), "");
            assert_eq!(effective.problems[0].code.name(), code, "{glob}");
        }
    }

    fn excludes(globs: &[&str], project: &str) -> bool {
        let exclude_projects = globs.iter().map(|glob| (*glob).to_owned()).collect();
        let ship = Ship { exclude_projects, ..Ship::default() };
        ship.excludes(Path::new(project), Some(Path::new("/home/u")))
    }

    #[test]
    fn a_glob_excludes_a_directory_and_all_below_it() {
        for (glob, project) in [
            ("~/private", "/home/u/private"),
            ("~/private/", "/home/u/private"),
            ("~/private", "/home/u/private/a/b"),
            ("~/private/*", "/home/u/private/a"),
            ("~/private/*", "/home/u/private/a/b"),
            ("~", "/home/u/a"),
            ("/srv/a", "/srv/a/worktrees/b"),
            ("/srv/client-*", "/srv/client-x/parser"),
            ("*/secret", "/srv/a/secret/b"),
            ("/", "/srv"),
            ("*", "/srv"),
        ] {
            assert!(excludes(&["/nowhere", glob], project), "{glob} {project}");
        }
        for (glob, project) in [
            ("~/private", "/home/u/private2"),
            ("~/private", "/home/u"),
            ("~/private", "/home/other/private"),
            ("~/private/*", "/home/u/private"),
            ("/srv/a", "/srv/ab"),
            ("*/secret", "/srv/secrets"),
            ("/srv/a", ""),
        ] {
            assert!(!excludes(&[glob], project), "{glob} {project}");
        }
        assert!(!excludes(&[], "/home/u/private"));
    }

    #[cfg(windows)]
    #[test]
    fn a_glob_can_name_a_drive() {
        for glob in ["C:/work/secret", r"C:\work\secret", "c:/work/*", "/c/Work/secret", "/mnt/c/work/s*"] {
            assert!(excludes(&[glob], r"C:\work\secret\a") && excludes(&[glob], r"c:\work\secret"), "{glob}");
            assert!(!excludes(&[glob], r"D:\work\secret\a"), "{glob}");
        }
        assert!(excludes(&["*/Secret"], r"C:\work\secret\a"));
        for glob in ["//server/share/secret", r"\\server\share\secret"] {
            assert!(excludes(&[glob], r"\\server\share\secret\a"), "{glob}");
            assert!(!excludes(&[glob], r"\\server\share\other"), "{glob}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_the_same_project() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("disk/private/a")).unwrap();
        std::os::unix::fs::symlink(home.join("disk/private"), home.join("private")).unwrap();
        let excludes = |glob: &str, project: &str| {
            let ship = Ship { exclude_projects: vec![glob.to_owned()], ..Ship::default() };
            ship.excludes(&home.join(project), Some(&home))
        };
        for glob in ["~/private", "~/private/*", "~/disk/private", "~/disk/*/a"] {
            for project in ["private/a", "disk/private/a"] {
                assert!(excludes(glob, project), "{glob} {project}");
            }
            assert!(!excludes(glob, "disk/other/b"), "{glob}");
        }
    }
}
