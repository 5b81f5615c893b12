//! The program that hooks call, and how a user calls the command line.

use std::ffi::OsStr;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use teamkeep_system::command::{
    HOOK_NAME, NAME, beside, called, candidates, command_line, file_name, find, is_executable,
    is_hook_program, posix_quoted, quoted,
};
use teamkeep_system::env::Env;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs;

/// The program that hooks run, by absolute path or by name. `uninstall` recognizes hooks by the file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProgram(String);

impl HookProgram {
    /// Found on the search path of its caller.
    pub fn bare() -> HookProgram {
        HookProgram(HOOK_NAME.to_owned())
    }

    /// The program that the user named. A relative path becomes absolute, because hooks run in any directory.
    ///
    /// # Errors
    /// Its file name is neither `teamkeep-hook` nor `teamkeep`, so `uninstall` would not recognize it.
    pub fn named(command: &str) -> Result<HookProgram> {
        if !is_named(command) {
            let what =
                format!("cannot install the command {command}: its file name is not {HOOK_NAME} or {NAME}");
            return Err(Error::usage(what)
                .hint("uninstall identifies hooks by that name; rename the binary, or create a link"));
        }
        if is_bare(command) {
            return Ok(HookProgram(command.to_owned()));
        }
        let path = std::path::absolute(command)
            .map_err(|error| Error::caused(format!("cannot resolve {command} to an absolute path"), error))?;
        HookProgram::at(&path)
    }

    /// The hook program beside the command line that runs, by the path that the user knows: on the search path, as called, or
    /// as the system reports it. Links are kept, because they survive an upgrade of their target. Without a hook program
    /// beside it, hooks run the command line.
    ///
    /// # Errors
    /// It has no path that can be written to a settings file.
    pub fn running(env: &Env) -> Result<HookProgram> {
        let running = command_line().map_err(|error| {
            Error::caused("cannot determine the path of the running program", error)
                .hint("set it: --command PATH")
        })?;
        let called = std::env::args_os().next().unwrap_or_default();
        let known = stable(&running, &called, env.search.as_deref());
        let hook = beside(&known, HOOK_NAME);
        HookProgram::at(if is_executable(&hook) { &hook } else { &known })
    }

    fn at(path: &Path) -> Result<HookProgram> {
        match path.to_str() {
            // A backslash would have to be escaped for JSON and for a shell. Windows accepts both separators.
            Some(text) if is_named(text) => Ok(HookProgram(text.replace(MAIN_SEPARATOR, "/"))),
            Some(text) => {
                Err(Error::new(format!("cannot install {text}: its file name is not {HOOK_NAME} or {NAME}"))
                    .hint("use a binary with that name: --command PATH"))
            }
            None => Err(Error::new(format!("cannot install {}: the path is not UTF-8", path.display()))),
        }
    }

    /// The program with what comes before the event, as a shell command.
    pub fn call(&self) -> String {
        let subcommand = if is_hook_program(&self.0) { "" } else { " hook" };
        format!("{}{subcommand}", posix_quoted(&self.0))
    }

    /// The arguments of a hook for an event, which is named as on a command line.
    pub fn args(&self, event: &str) -> Vec<String> {
        hook_args(&self.0, event)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is found on the search path of its caller.
    pub fn is_bare(&self) -> bool {
        is_bare(&self.0)
    }

    /// Whether hooks that call `named` run the same program, or the command line beside it, as they did before.
    pub fn replaces(&self, named: &str) -> bool {
        self.0 == named || (!is_bare(named) && beside(Path::new(named), HOOK_NAME) == Path::new(&self.0))
    }

    /// Why hooks that call it cannot run, if so.
    pub fn unrunnable_reason(&self, env: &Env) -> Option<String> {
        let (runs, problem) = match self.is_bare() {
            true => (find(&self.0, env).is_some(), "not in PATH"),
            false => (is_executable(Path::new(&self.0)), "not executable"),
        };
        (!runs).then(|| format!("{} is {problem}; hooks fail until it is", self.0))
    }
}

/// How a user calls the running program from a shell: by name if the search path leads to it, else by path.
pub fn shell_invocation(env: &Env) -> String {
    own_path(env).map_or_else(|| NAME.to_owned(), |path| called(&path))
}

/// How a user calls the running program to install it: as [`shell_invocation`] if hooks with that name are recognized,
/// else by a link with that name, with the command that creates it.
pub fn typed_to_install(env: &Env) -> String {
    let own = own_path(env).filter(|path| file_name(&path.to_string_lossy()) != NAME);
    let Some(path) = own else { return shell_invocation(env) };
    let link = beside(&path, NAME);
    if is_executable(&link) {
        return called(&link);
    }
    let [program, link] = [&path, &link].map(|path| quoted(&path.to_string_lossy()));
    format!("ln -s {program} {link} && {link}")
}

/// The path of the command line, unless the search path leads to it.
pub fn own_path(env: &Env) -> Option<PathBuf> {
    let running = command_line().ok()?;
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

/// Whether two paths lead to the same file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// The path of the running program that stays valid for longest.
fn stable(running: &Path, called: &OsStr, search: Option<&OsStr>) -> PathBuf {
    let on_path =
        search.and_then(|search| candidates(NAME, search).find(|candidate| is_same(candidate, running)));
    let as_called = || {
        let path = std::path::absolute(called).ok()?;
        (Path::new(called).components().count() > 1 && is_same(&path, running)).then_some(path)
    };
    on_path.or_else(as_called).unwrap_or_else(|| running.to_path_buf())
}

/// Whether this is a path of a program that hooks run, or its bare name.
pub fn is_named(command: &str) -> bool {
    matches!(file_name(command), NAME | HOOK_NAME)
}

/// The arguments with which a hook calls this program for an event: the command line needs its subcommand.
pub fn hook_args(program: &str, event: &str) -> Vec<String> {
    let subcommand = if is_hook_program(program) { None } else { Some("hook") };
    subcommand.into_iter().chain([event]).map(str::to_owned).collect()
}

/// Whether it is found on the search path of its caller.
pub fn is_bare(command: &str) -> bool {
    is_named(command) && !command.contains(['/', '\\'])
}

/// A word quoted as by [`quoted`] that no command reads as an option.
pub fn shell_operand(word: &str) -> String {
    let ends_options = if word.starts_with('-') { "-- " } else { "" };
    format!("{ends_options}{}", quoted(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
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

    #[cfg_attr(windows, ignore = "expects the quotes of a POSIX shell")]
    #[test]
    fn operand_that_looks_like_an_option_is_escaped() {
        assert_eq!((shell_operand("-rf").as_str(), shell_operand("it's").as_str()), ("-- -rf", "'it'\\''s'"));
    }

    #[test]
    fn hook_program_takes_the_event_as_its_first_argument() {
        let args = |command: &str| HookProgram::named(command).unwrap().args("stop").join(" ");
        assert_eq!((args("/bin/teamkeep-hook"), args("teamkeep-hook")), ("stop".into(), "stop".into()));
        assert_eq!((args("/bin/teamkeep"), args("teamkeep")), ("hook stop".into(), "hook stop".into()));
    }

    #[cfg_attr(windows, ignore = "uses Unix paths")]
    #[test]
    fn hook_program_replaces_the_command_line_beside_it() {
        let program = HookProgram::named("/bin/teamkeep-hook").unwrap();
        assert!(program.replaces("/bin/teamkeep-hook") && program.replaces("/bin/teamkeep"));
        assert!(!program.replaces("/opt/teamkeep") && !program.replaces("teamkeep"));
    }

    #[test]
    fn program_with_another_name_is_rejected() {
        assert!(HookProgram::named("/bin/keep").is_err());
        assert!(HookProgram::named("teamkeep hook").is_err());
        assert!(HookProgram::named("/bin/teamkeep-hooks").is_err());
        assert_eq!(HookProgram::named("teamkeep").unwrap().as_str(), "teamkeep");
        assert_eq!(HookProgram::named("teamkeep-hook").unwrap(), HookProgram::bare());
        assert!(HookProgram::named("./teamkeep").unwrap().as_str().ends_with("/teamkeep"));
    }
}
