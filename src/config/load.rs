//! From the file to the configuration. Whatever is wrong with the file, there is always a configuration.

use std::io;
use std::path::Path;

use super::Config;
use crate::error::Error;
use crate::fs;
use crate::near::nearest;

/// The file with every key at its default, each with a comment.
pub const TEMPLATE: &str = include_str!("default.toml");

/// No configuration that a person writes is larger.
const LARGEST: u64 = 1 << 20;

impl Config {
    /// Reads the file; a missing one means the defaults and costs one failed open. A file that cannot be
    /// read or makes no sense means the defaults, too, and the error says where it goes wrong.
    pub fn load(path: &Path) -> (Config, Option<Error>) {
        let bytes = match fs::read_linked(path, LARGEST) {
            Ok((bytes, _)) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (Config::default(), None),
            Err(error) => return (Config::default(), Some(unreadable(error))),
        };
        let parsed = match std::str::from_utf8(&bytes) {
            Ok(text) => Config::parse(text, path),
            Err(error) => Err(unreadable(format!("{} is no UTF-8: {error}", path.display()))),
        };
        match parsed {
            Ok(config) => (config, None),
            Err(error) => (Config::default(), Some(error)),
        }
    }

    /// Reads the text of a file; `path` is for the error alone.
    ///
    /// # Errors
    /// When it is no TOML, a key is unknown, or a value makes no sense: `path:line:column`, the key, why.
    pub fn parse(text: &str, path: &Path) -> Result<Config, Error> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        toml::from_str(text).map_err(|error| explain(error, text, path))
    }
}

fn unreadable(cause: impl std::fmt::Display) -> Error {
    Error::caused("cannot read the configuration", cause)
}

fn explain(mut error: toml::de::Error, text: &str, path: &Path) -> Error {
    let (line, column) = position(text, error.span().map_or(0, |span| span.start));
    let message = error.message().to_owned();
    // Without the text the error shows the path of the key instead of the line: "…\nin `log.keep`".
    error.set_input(None);
    let shown = error.to_string();
    let key = shown.lines().last().and_then(|last| last.strip_prefix("in ")).map(str::to_owned);
    let place = format!("{}:{line}:{column}", path.display());
    let mut explained = match unknown(&message) {
        Some((key, known)) => {
            let error = Error::caused(place, format!("unknown key `{key}`"));
            match nearest(key, &known) {
                Some(close) => error.hint(format!("did you mean `{close}`?")),
                None => error.hint(format!("the keys here are {}", known.join(", "))),
            }
        }
        None => Error::caused(place, key.map_or(message.clone(), |key| format!("{key}: {message}"))),
    };
    explained.what.insert_str(0, "cannot use the configuration ");
    explained
}

/// Line and column, both from 1; the column counts characters.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The unknown key and the known ones, from serde's words: "unknown field `a`, expected one of `b`, `c`".
fn unknown(message: &str) -> Option<(&str, Vec<&str>)> {
    let mut quoted = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2);
    Some((quoted.next()?, quoted.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn error_of(text: &str) -> Error {
        Config::parse(text, Path::new("teamkeep.toml")).unwrap_err()
    }

    #[test]
    fn the_template_is_the_default() {
        assert_eq!(Config::parse(TEMPLATE, Path::new("default.toml")).unwrap(), Config::default());
        assert_eq!(Config::parse("", Path::new("empty")).unwrap(), Config::default());
    }

    #[test]
    fn every_key_of_the_template_has_a_comment() {
        let lines: Vec<&str> = TEMPLATE.lines().collect();
        let keys = lines.windows(2).filter(|pair| pair[1].contains(" = "));
        assert!(keys.clone().all(|pair| pair[0].starts_with("# ")));
        assert_eq!(keys.count(), 11);
    }

    #[test]
    fn an_error_names_the_place_the_key_and_what_was_meant() {
        let error = error_of("[log]\n# more\n  keep_size = \"1 GiB\"\n");
        assert_eq!(
            error.to_string(),
            "cannot use the configuration teamkeep.toml:3:3: unknown key `keep_size`"
        );
        assert_eq!(error.hints, ["did you mean `keep-size`?"]);
        let error = error_of("[policy]\n");
        assert_eq!(error.hints, ["the keys here are log, archive, hook"]);
        let error = error_of("[log]\nkeep = \"90\"\n");
        assert_eq!(
            error.to_string(),
            "cannot use the configuration teamkeep.toml:2:8: `log.keep`: \"90\" is no duration; write it as \"90d\" or \"1m30s\""
        );
        let error = error_of("[archive]\non-failure = \"explode\"\n");
        assert_eq!(
            error.to_string(),
            "cannot use the configuration teamkeep.toml:2:14: `archive.on-failure`: unknown variant `explode`, expected `block` or `warn`"
        );
        assert!(error_of("[log]\nkeep = \n").to_string().contains("teamkeep.toml:2:"));
    }

    #[test]
    fn whatever_stands_at_the_path_there_is_a_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("teamkeep.toml");
        assert!(Config::load(&path).1.is_none(), "a missing file is fine");
        std::fs::write(&path, "\u{feff}[hook]\nwatch = false\n").unwrap();
        assert!(!Config::load(&path).0.hook.watch);
        let link = dir.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(!Config::load(&link).0.hook.watch, "a linked file is followed");

        let bad = |name: &str| {
            let (config, error) = Config::load(&dir.path().join(name));
            assert_eq!(config, Config::default(), "{name}");
            error.unwrap().to_string()
        };
        symlink(dir.path().join("loop"), dir.path().join("loop")).unwrap();
        std::fs::create_dir(dir.path().join("dir")).unwrap();
        std::fs::write(dir.path().join("huge"), " ".repeat((1 << 20) + 1)).unwrap();
        std::fs::write(dir.path().join("bytes"), b"\xff").unwrap();
        assert!(bad("loop").starts_with("cannot read the configuration: cannot open "));
        assert!(bad("dir").ends_with("dir is no regular file"));
        assert!(bad("huge").ends_with("huge is larger than 1048576 bytes"));
        assert!(bad("bytes").contains("is no UTF-8"));
    }
}
