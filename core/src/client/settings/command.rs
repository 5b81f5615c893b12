//! The program that a hook runs: its path and its spelling.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use crate::error::{Error, Result};
use crate::sys::env::{Env, absolute_dirs};

/// The file name of teamkeep's binary, by which its hooks are recognized.
pub const NAME: &str = "teamkeep";

/// How hooks call this program: by absolute path or by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProgram(String);

impl HookProgram {
    /// Found on the search path of its caller.
    pub fn bare() -> HookProgram {
        HookProgram(NAME.to_owned())
    }

    /// The program that the user named. A relative path becomes absolute, because hooks run in any directory.
    ///
    /// # Errors
    /// Its file name is not `teamkeep`, so `uninstall` would not recognize it.
    pub fn named(command: &str) -> Result<HookProgram> {
        if !is_named(command) {
            let what = format!("cannot install the command {command}: its file name is not {NAME}");
            return Err(Error::usage(what)
                .hint("uninstall identifies hooks by that name; rename the binary, or create a link"));
        }
        if command == NAME {
            return Ok(HookProgram::bare());
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
        let running = std::env::current_exe().map_err(|error| {
            Error::caused("cannot determine the path of the running program", error)
                .hint("set it: --command PATH")
        })?;
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

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is found on the search path of its caller.
    pub fn is_bare(&self) -> bool {
        self.0 == NAME
    }

    /// Why hooks that call it cannot run, if so.
    pub fn unrunnable_reason(&self, env: &Env) -> Option<String> {
        let (runs, problem) = match self.is_bare() {
            true => (on_search_path(env).is_some(), "not in PATH"),
            false => (is_executable(Path::new(&self.0)), "not executable"),
        };
        (!runs).then(|| format!("{} is {problem}; hooks fail until it is", self.0))
    }
}

/// How a user calls the running program from a shell: by name if the search path leads to it, else by path.
pub fn shell_invocation(env: &Env) -> String {
    own_path(env).map_or_else(|| NAME.to_owned(), |path| quoted(&path.to_string_lossy()))
}

/// How a user calls the running program to install it: as [`shell_invocation`] if hooks with that name are recognized,
/// else by a link with that name, with the command that creates it.
pub fn typed_to_install(env: &Env) -> String {
    let own = own_path(env).filter(|path| path.file_name() != Some(OsStr::new(NAME)));
    let Some(path) = own else { return shell_invocation(env) };
    let link = path.with_file_name(NAME);
    let [program, called] = [&path, &link].map(|path| quoted(&path.to_string_lossy()));
    if is_executable(&link) { called } else { format!("ln -s {program} {called} && {called}") }
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

/// teamkeep on the search path.
pub fn on_search_path(env: &Env) -> Option<PathBuf> {
    find(NAME, env)
}

/// A program in one of the [`absolute_dirs`] of the search path.
pub fn find(name: &str, env: &Env) -> Option<PathBuf> {
    candidates(name, env.search.as_deref()?).find(|path| is_executable(path))
}

fn candidates(name: &str, search: &OsStr) -> impl Iterator<Item = PathBuf> {
    absolute_dirs(search).map(move |dir| dir.join(name))
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

/// Whether two paths lead to the same file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// The path of the running program that stays valid for longest.
fn stable(running: &Path, called: &OsStr, search: Option<&OsStr>) -> PathBuf {
    let on_path =
        search.and_then(|search| candidates(NAME, search).find(|candidate| is_same(candidate, running)));
    let as_called = || {
        let path = std::path::absolute(called).ok()?;
        (called.as_encoded_bytes().contains(&b'/') && is_same(&path, running)).then_some(path)
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
    fn link_on_the_search_path_is_preferred_to_its_target() {
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
    fn bare_name_is_not_trusted_if_a_relative_directory_is_searched_first() {
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
    fn operand_that_looks_like_an_option_is_escaped() {
        assert_eq!((shell_operand("-rf").as_str(), shell_operand("it's").as_str()), ("-- -rf", "'it'\\''s'"));
    }

    #[test]
    fn program_with_another_name_is_rejected() {
        assert!(HookProgram::named("/bin/keep").is_err());
        assert!(HookProgram::named("teamkeep hook").is_err());
        assert_eq!(HookProgram::named("teamkeep").unwrap().as_str(), "teamkeep");
        assert!(HookProgram::named("./teamkeep").unwrap().as_str().ends_with("/teamkeep"));
    }
}
