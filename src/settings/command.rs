//! The program that a hook runs: its path and its spelling.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use serde_json::{Map, Value};

use crate::env::Env;
use crate::error::{Error, Result};

/// The file name of teamkeep's binary, by which its hooks are recognized.
pub const NAME: &str = "teamkeep";

/// How hooks call this program: by absolute path or by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProgram(String);

impl HookProgram {
    /// The program that the user named. A relative path becomes absolute, because hooks run in any directory.
    ///
    /// # Errors
    /// Its file name is not `teamkeep`, so `uninstall` would not recognize it.
    pub fn named(command: &str) -> Result<HookProgram> {
        if !is_named(command) {
            return Err(Error::usage(format!(
                "cannot install the command {command}: its file name is not {NAME}"
            ))
            .hint("uninstall identifies hooks by that name; rename the binary, or create a link"));
        }
        if command == NAME {
            return Ok(HookProgram(command.to_owned()));
        }
        let path = std::path::absolute(command)
            .map_err(|error| Error::caused(format!("cannot resolve {command} to an absolute path"), error))?;
        HookProgram::at(&path)
    }

    /// The running program by the path that the user knows: on the search path, as called, or as the system reports
    /// it. Links are kept, because they survive an upgrade of their target.
    ///
    /// # Errors
    /// It has no path that can be written to a settings file.
    pub fn running(env: &Env) -> Result<HookProgram> {
        let running = std::env::current_exe()
            .map_err(|error| Error::caused("cannot determine the path of the running program", error))
            .map_err(|error| error.hint("set it: --command PATH"))?;
        let called = std::env::args_os().next().unwrap_or_default();
        HookProgram::at(&stable(&running, &called, env.search.as_deref()))
    }

    fn at(path: &Path) -> Result<HookProgram> {
        match path.to_str() {
            Some(text) if is_named(text) => Ok(HookProgram(text.to_owned())),
            Some(text) => Err(Error::new(format!("cannot install {text}: its file name is not {NAME}"))
                .hint("use a binary with that name: --command PATH")),
            None => Err(Error::new(format!("cannot install {}: the path is not UTF-8", path.display()))),
        }
    }

    /// The path or the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is found on the search path of its caller.
    pub fn is_bare(&self) -> bool {
        self.0 == NAME
    }

    /// Why hooks that call it cannot run, if so.
    pub fn unrunnable_reason(&self, env: &Env) -> Option<String> {
        if self.is_bare() {
            let missing = on_search_path(env).is_none();
            missing.then(|| format!("{NAME} is not in PATH; hooks fail until it is"))
        } else {
            let missing = !is_executable(Path::new(&self.0));
            missing.then(|| format!("{} is not executable; hooks fail until it is", self.0))
        }
    }

    /// Sets this program in a hook; without `with_args` as one shell command line.
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

/// How a user calls the running program from a shell: by name if the search path leads to it, else by path.
pub fn shell_invocation(env: &Env) -> String {
    match own_path(env) {
        Some(path) => quoted(&path.to_string_lossy()),
        None => NAME.to_owned(),
    }
}

/// How a user calls the running program to install it: as [`typed`], if that name is recognized in hooks, else by a
/// link with that name, with the command that creates it.
pub fn typed_to_install(env: &Env) -> String {
    let own = own_path(env).filter(|path| path.file_name() != Some(OsStr::new(NAME)));
    let Some(path) = own else { return shell_invocation(env) };
    let word = |path: &Path| quoted(&path.to_string_lossy());
    let link = path.with_file_name(NAME);
    if is_executable(&link) {
        return word(&link);
    }
    format!("ln -s {} {} && {}", word(&path), word(&link), word(&link))
}

/// The path of the running program, unless the search path leads to it.
pub fn own_path(env: &Env) -> Option<PathBuf> {
    let running = std::env::current_exe().ok()?;
    if on_search_path(env).is_some_and(|found| is_same(&found, &running)) {
        return None;
    }
    let called = std::env::args_os().next().unwrap_or_default();
    Some(stable(&running, &called, env.search.as_deref()))
}

/// The program of that name on the search path.
pub fn on_search_path(env: &Env) -> Option<PathBuf> {
    find(NAME, env)
}

/// A program on the search path. Empty and relative entries are skipped: they lead to the current directory, and
/// nothing may be run only because it is there.
pub fn find(name: &str, env: &Env) -> Option<PathBuf> {
    std::env::split_paths(env.search.as_deref()?)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|path| is_executable(path))
}

/// The certain path of a hook's program, whoever runs it. A relative entry of the search path leads to the session's
/// directory, so what comes after it is not certain.
pub fn resolve_trusted(program: &str, env: &Env) -> Option<PathBuf> {
    if program != NAME {
        return Some(PathBuf::from(program)).filter(|path| path.is_absolute());
    }
    let found = on_search_path(env)?;
    let mut before =
        std::env::split_paths(env.search.as_deref()?).take_while(|dir| Some(&**dir) != found.parent());
    before.all(|dir| dir.is_absolute()).then_some(found)
}

/// Whether it is a file that this user can execute.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

/// Whether two paths are the same file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// The path of the running program that stays valid for longest.
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

/// Whether this is a path of a program named `teamkeep`, or the bare name.
pub fn is_named(command: &str) -> bool {
    command.rsplit('/').next() == Some(NAME)
}

/// A word quoted for a POSIX shell, only if needed.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_-.+,:@%=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A word quoted as by [`quoted`] that no command reads as an option.
pub fn shell_operand(word: &str) -> String {
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
            resolve_trusted("teamkeep", &Env { search: Some(search.into()), ..Env::default() }).is_some()
        };
        assert!(found("/usr/bin:DIR") && found("DIR:.") && found("DIR::"));
        assert!(!found(".:DIR") && !found(":DIR") && !found("bin:DIR") && !found("/usr/bin"));
    }

    #[test]
    fn a_name_that_looks_like_an_option_is_none() {
        assert_eq!((shell_operand("-rf").as_str(), shell_operand("it's").as_str()), ("-- -rf", "'it'\\''s'"));
    }

    #[test]
    fn a_program_that_could_not_be_told_again_is_refused() {
        assert!(HookProgram::named("/bin/keep").is_err());
        assert!(HookProgram::named("teamkeep hook").is_err());
        assert_eq!(HookProgram::named("teamkeep").unwrap().as_str(), "teamkeep");
        assert!(HookProgram::named("./teamkeep").unwrap().as_str().ends_with("/teamkeep"));
    }
}
