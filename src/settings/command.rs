//! The program that a hook runs: which path it goes by, how it is spelled, how ours is told from others'.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use serde_json::{Map, Value};

use crate::env::Env;
use crate::error::{Error, Result};

/// The file name of our binary: what we know our own entries by.
pub const NAME: &str = "teamkeep";

/// How the hooks call this program: an absolute path, or the bare word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program(String);

impl Program {
    /// The program that the user named. A relative path becomes absolute: hooks run in any directory.
    ///
    /// # Errors
    /// When its file name is not `teamkeep`, as `uninstall` would not know it again.
    pub fn named(command: &str) -> Result<Program> {
        if !is_named(command) {
            return Err(Error::usage(format!(
                "cannot install the command {command}: its file name is not {NAME}"
            ))
            .hint(
                "uninstall knows the hooks again by that name; give the binary that name, or make a link",
            ));
        }
        if command == NAME {
            return Ok(Program(command.to_owned()));
        }
        let path = std::path::absolute(command)
            .map_err(|error| Error::caused(format!("cannot make {command} absolute"), error))?;
        Program::at(&path)
    }

    /// The program that is running, by the name that the user has for it: on the search path, else as it
    /// was called, else as the system knows it. Links are kept: they outlive an upgrade of what they point to.
    ///
    /// # Errors
    /// When there is no path to it that could stand in a settings file.
    pub fn running(env: &Env) -> Result<Program> {
        let running = std::env::current_exe()
            .map_err(|error| Error::caused("cannot tell the path of the running program", error))
            .map_err(|error| error.hint("name it: --command PATH"))?;
        let called = std::env::args_os().next().unwrap_or_default();
        Program::at(&stable(&running, &called, env.search.as_deref()))
    }

    fn at(path: &Path) -> Result<Program> {
        match path.to_str() {
            Some(text) if is_named(text) => Ok(Program(text.to_owned())),
            Some(text) => Err(Error::new(format!("cannot install {text}: its file name is not {NAME}"))
                .hint("name the binary by that name: --command PATH")),
            None => Err(Error::new(format!("cannot install {}: the path is not UTF-8", path.display()))),
        }
    }

    /// The path, or the bare word.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is found on the search path of whoever runs it.
    pub fn is_bare(&self) -> bool {
        self.0 == NAME
    }

    /// Why hooks that call it cannot run, if so.
    pub fn obstacle(&self, env: &Env) -> Option<String> {
        if self.is_bare() {
            let missing = on_search_path(env).is_none();
            missing.then(|| format!("there is no {NAME} on the search path; the hooks fail until there is"))
        } else {
            let missing = !is_executable(Path::new(&self.0));
            missing.then(|| format!("{} cannot be run; the hooks fail until it can", self.0))
        }
    }

    /// Puts this program in place of the bare word; without `with_args` as one line for a shell.
    pub fn put_into(&self, hook: &mut Map<String, Value>, with_args: bool) {
        let mut command = if with_args { self.0.clone() } else { quoted(&self.0) };
        if !with_args && let Some(Value::Array(args)) = hook.shift_remove("args") {
            for arg in args.iter().filter_map(Value::as_str) {
                command.push(' ');
                command.push_str(&quoted(arg));
            }
        }
        hook.insert("command".to_owned(), Value::String(command));
    }
}

/// How a person calls the running program from a shell: by its word where the search path leads to it, else by
/// its path.
pub fn typed(env: &Env) -> String {
    match own_path(env) {
        Some(path) => quoted(&path.to_string_lossy()),
        None => NAME.to_owned(),
    }
}

/// How a person calls the running program to have it installed: as [`typed`] says, where that is a name that we know
/// our hooks by; else by a link of that name, which is made first where there is none.
pub fn typed_to_install(env: &Env) -> String {
    let own = own_path(env).filter(|path| path.file_name() != Some(OsStr::new(NAME)));
    let Some(path) = own else { return typed(env) };
    let word = |path: &Path| quoted(&path.to_string_lossy());
    let link = path.with_file_name(NAME);
    if is_executable(&link) {
        return word(&link);
    }
    format!("ln -s {} {} && {}", word(&path), word(&link), word(&link))
}

/// The running program's path by the name that the user has for it, unless the search path leads to it.
pub fn own_path(env: &Env) -> Option<PathBuf> {
    let running = std::env::current_exe().ok()?;
    if on_search_path(env).is_some_and(|found| is_same(&found, &running)) {
        return None;
    }
    let called = std::env::args_os().next().unwrap_or_default();
    Some(stable(&running, &called, env.search.as_deref()))
}

/// What the bare word stands for.
pub fn on_search_path(env: &Env) -> Option<PathBuf> {
    find(NAME, env)
}

/// What a name stands for on the search path. Empty and relative entries are passed over: they lead into the current
/// directory, and nothing is to be run only because it lies there.
pub fn find(name: &str, env: &Env) -> Option<PathBuf> {
    std::env::split_paths(env.search.as_deref()?)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|path| is_executable(path))
}

/// Where a program that a hook names certainly is, whoever runs it. A relative entry of the search path leads into the
/// session's directory, where anything may lie: what stands behind one is not certain.
pub fn certain(program: &str, env: &Env) -> Option<PathBuf> {
    if program != NAME {
        return Some(PathBuf::from(program)).filter(|path| path.is_absolute());
    }
    let found = on_search_path(env)?;
    let mut before =
        std::env::split_paths(env.search.as_deref()?).take_while(|dir| Some(&**dir) != found.parent());
    before.all(|dir| dir.is_absolute()).then_some(found)
}

/// Whether it is a file that this user may run.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

/// Whether two paths lead to one file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// A name for the running program that stays right for longest.
fn stable(running: &Path, called: &OsStr, search: Option<&OsStr>) -> PathBuf {
    let same = |path: &Path| is_same(path, running);
    let on_path = search.and_then(|search| {
        std::env::split_paths(search)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join(NAME))
            .find(|candidate| same(candidate))
    });
    let as_called = || {
        let path = std::path::absolute(called).ok()?;
        (called.as_encoded_bytes().contains(&b'/') && same(&path)).then_some(path)
    };
    on_path.or_else(as_called).unwrap_or_else(|| running.to_path_buf())
}

/// Whether this is a path of a program of our name, or the bare word.
pub fn is_named(command: &str) -> bool {
    command.rsplit('/').next() == Some(NAME)
}

/// A word as a POSIX shell takes it back; quoted only where it must be.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_-.+,:@%=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A word as [`quoted`] spells it, that no command takes for an option.
pub fn operand(word: &str) -> String {
    let ends_options = if word.starts_with('-') { "-- " } else { "" };
    format!("{ends_options}{}", quoted(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_on_the_search_path_is_preferred_to_what_it_points_to() {
        let dir = tempfile::tempdir().unwrap();
        let (cellar, bin, other) =
            (dir.path().join("v1/teamkeep"), dir.path().join("bin"), dir.path().join("other"));
        for dir in [cellar.parent().unwrap(), &bin, &other] {
            std::fs::create_dir(dir).unwrap();
        }
        std::fs::write(&cellar, "").unwrap();
        std::fs::write(other.join("teamkeep"), "another program").unwrap();
        std::os::unix::fs::symlink(&cellar, bin.join("teamkeep")).unwrap();
        let search = std::env::join_paths([&other, &bin]).unwrap();
        assert_eq!(stable(&cellar, OsStr::new("teamkeep"), Some(&search)), bin.join("teamkeep"));
        let called = bin.join("teamkeep");
        assert_eq!(stable(&cellar, called.as_os_str(), None), called);
        assert_eq!(stable(&cellar, OsStr::new("teamkeep"), Some(other.as_os_str())), cellar);
    }

    #[test]
    fn a_bare_word_is_nothing_certain_where_the_session_s_directory_is_searched_first() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/sh", dir.path().join("teamkeep")).unwrap();
        let found = |search: &str| {
            let search = search.replace("DIR", dir.path().to_str().unwrap());
            certain("teamkeep", &Env { search: Some(search.into()), ..Env::default() }).is_some()
        };
        assert!(found("/usr/bin:DIR") && found("DIR:.") && found("DIR::"));
        assert!(!found(".:DIR") && !found(":DIR") && !found("bin:DIR") && !found("/usr/bin"));
    }

    #[test]
    fn a_name_that_looks_like_an_option_is_none() {
        assert_eq!((operand("-rf").as_str(), operand("it's").as_str()), ("-- -rf", "'it'\\''s'"));
    }

    #[test]
    fn a_program_that_could_not_be_told_again_is_refused() {
        assert!(Program::named("/bin/keep").is_err());
        assert!(Program::named("teamkeep hook").is_err());
        assert_eq!(Program::named("teamkeep").unwrap().as_str(), "teamkeep");
        assert!(Program::named("./teamkeep").unwrap().as_str().ends_with("/teamkeep"));
    }
}
