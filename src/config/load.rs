//! Loads the user's file only, for commands that evaluate no gate. There is always a configuration, even with errors.

use std::path::Path;

use super::Config;
use super::check::check;
use super::layers::{self, Files};
use super::problem::Problem;
use super::settings::{Layer, build, setting};
use super::source::Source;
use crate::error::Error;

/// The template: every key with its default and a comment.
pub const TEMPLATE: &str = include_str!("default.toml");

impl Config {
    /// Reads the file; a missing one means the defaults and costs one failed open. An unreadable or invalid file also
    /// means the defaults, with an error that has the position.
    pub fn load(path: &Path) -> (Config, Option<Error>) {
        let files = Files { user: path.to_path_buf(), ..Files::default() };
        let effective = layers::load(&files);
        (effective.config, first(&effective.problems))
    }

    /// Parses a file; `path` is used only in the error.
    ///
    /// # Errors
    /// The text is not valid TOML, a key is unknown, or a value is invalid: `path:line:column`, the key, the reason.
    pub fn parse(text: &str, path: &Path) -> Result<Config, Error> {
        let source = Source::new(path, text);
        let checked = check(&source);
        if let Some(error) = first(&checked.problems) {
            return Err(error);
        }
        let entries = checked.entries.iter();
        build(&entries.map(|entry| (entry.path.clone(), setting(entry, &source, Layer::User))).collect())
            .map_err(|why| Error::caused(format!("cannot use the configuration {}", path.display()), why))
    }
}

/// The first of the problems that is an error.
pub(super) fn first(problems: &[Problem]) -> Option<Error> {
    let mut errors = problems.iter().filter(|problem| problem.is_error());
    let first = errors.next()?;
    let what = match first.at {
        Some(_) => format!("cannot use the configuration {}", first.place()),
        None => "cannot read the configuration".to_owned(),
    };
    let mut error = Error::caused(what, first.message.clone());
    error.hints.extend(first.hint.clone());
    match errors.count() {
        0 => Some(error),
        more => Some(error.hint(format!("to list {more} more: teamkeep config check"))),
    }
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
    fn error_names_position_key_and_suggestion() {
        let error = error_of("[log]\n# more\n  keep_size = \"1 GiB\"\n");
        assert_eq!(
            error.to_string(),
            "cannot use the configuration teamkeep.toml:3:3: unknown key `keep_size`"
        );
        assert_eq!(error.hints, ["did you mean `keep-size`?"]);
        let error = error_of("[polity]\n");
        assert_eq!(error.hints, ["did you mean `policy`?"]);
        let error = error_of("[log]\nkeep = \"90\"\n");
        assert_eq!(
            error.to_string(),
            "cannot use the configuration teamkeep.toml:2:8: `log.keep`: invalid duration \"90\"; expected a value such as \"90d\" or \"1m30s\""
        );
        let error = error_of("[archive]\non-failure = \"explode\"\n");
        assert_eq!(
            error.to_string(),
            "cannot use the configuration teamkeep.toml:2:14: `archive.on-failure`: invalid value \"explode\"; expected one of \"warn\", \"block\""
        );
        assert!(error_of("[log]\nkeep = \n").to_string().contains("teamkeep.toml:2:"));
    }

    #[test]
    fn any_file_at_the_path_yields_a_configuration() {
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
        assert!(bad("loop").starts_with("cannot read the configuration: "));
        assert!(bad("dir").ends_with("dir is not a regular file"));
        assert!(bad("huge").ends_with("huge is larger than 1048576 bytes"));
        assert!(bad("bytes").contains("is not valid UTF-8"));
    }
}
