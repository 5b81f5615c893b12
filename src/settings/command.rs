//! The program that a hook runs: which path it goes by, how it is spelled, how ours is told from others'.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use serde_json::{Map, Value};

use crate::env::Env;
use crate::error::{Error, Result};

/// The file name of our binary: what we know our own entries by.
const NAME: &str = "teamkeep";

/// How the hooks call this program: an absolute path, or the bare word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program(String);

impl Program {
    /// The program that the user named. A relative path becomes absolute: hooks run in any directory.
    ///
    /// # Errors
    /// When its file name is not `teamkeep`, as `uninstall` would not know it again.
    pub fn named(command: &str) -> Result<Program> {
        if !is_ours(command) {
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
            Some(text) if is_ours(text) => Ok(Program(text.to_owned())),
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

/// What a name stands for on the search path.
pub fn find(name: &str, env: &Env) -> Option<PathBuf> {
    std::env::split_paths(env.search.as_deref()?).map(|dir| dir.join(name)).find(|path| is_executable(path))
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

/// Whether a hook of a settings file, in either form, runs `teamkeep hook`.
pub fn runs_us(hook: &Value) -> bool {
    let words = called(hook);
    words.first().is_some_and(|word| is_ours(word)) && words.get(1).is_some_and(|word| word == "hook")
}

/// The words that a hook of a settings file, in either form, is called with: the program, then its arguments.
pub fn called(hook: &Value) -> Vec<String> {
    let Some(command) = hook.get("command").and_then(Value::as_str) else { return Vec::new() };
    match hook.get("args").and_then(Value::as_array) {
        Some(args) if !args.is_empty() => {
            // What is no text is kept as an empty word: it must not move the others.
            let args = args.iter().map(|arg| arg.as_str().unwrap_or_default().to_owned());
            std::iter::once(command.to_owned()).chain(args).collect()
        }
        _ => words(command),
    }
}

/// Whether the program of a hook of ours is there. Of a path that only a shell can tell it is taken to be.
pub fn can_run(hook: &Value, env: &Env) -> bool {
    let Some(command) = hook.get("command").and_then(Value::as_str) else { return false };
    let first = || words(command).into_iter().next().unwrap_or_default();
    let program = if hook.get("args").is_some() { command.to_owned() } else { first() };
    match program.as_str() {
        NAME => on_search_path(env).is_some(),
        path if path.starts_with('/') => is_executable(Path::new(path)),
        _ => true,
    }
}

fn is_ours(command: &str) -> bool {
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

/// The words of a shell's line, as far as quotes and backslashes go.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                word.extend(chars.by_ref().take_while(|c| *c != '\''));
            }
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    word.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ours_is_known_by_its_file_name_and_the_word_hook_in_both_forms() {
        for ours in [
            json!({"command": "teamkeep hook stop"}),
            json!({"command": "/old/place/teamkeep hook"}),
            json!({"command": "'/with space/teamkeep' hook stop"}),
            json!({"command": "\"/with space/teamkeep\"  hook stop --x"}),
            json!({"command": "/with\\ space/teamkeep hook stop"}),
            json!({"command": "/a b/teamkeep", "args": ["hook", "stop"]}),
        ] {
            assert!(runs_us(&ours), "{ours}");
        }
        for other in [
            json!({"command": "/bin/teamkeep"}),
            json!({"command": "/bin/teamkeep report"}),
            json!({"command": "/bin/teamkeeper hook stop"}),
            json!({"command": "echo teamkeep hook stop"}),
            json!({"command": "/bin/teamkeep", "args": ["report"]}),
            json!({"command": "/bin/other", "args": ["hook", "stop"]}),
            json!({"command": 7}),
            json!({"prompt": "teamkeep hook"}),
            json!("teamkeep hook"),
        ] {
            assert!(!runs_us(&other), "{other}");
        }
    }

    #[test]
    fn a_path_is_quoted_for_the_shell_only_where_it_must_be() {
        assert_eq!(quoted("/usr/local/bin/teamkeep"), "/usr/local/bin/teamkeep");
        for path in ["/a b/teamkeep", "/it's/teamkeep", "/$HOME/teamkeep", "/\"x\\/teamkeep", "/ü/teamkeep"]
        {
            assert_eq!(words(&format!("{} hook", quoted(path))), [path, "hook"]);
            let out = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", quoted(path))])
                .output()
                .unwrap();
            assert_eq!(out.stdout, path.as_bytes());
        }
    }

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
    fn a_program_that_could_not_be_told_again_is_refused() {
        assert!(Program::named("/bin/keep").is_err());
        assert!(Program::named("teamkeep hook").is_err());
        assert_eq!(Program::named("teamkeep").unwrap().as_str(), "teamkeep");
        assert!(Program::named("./teamkeep").unwrap().as_str().ends_with("/teamkeep"));
    }
}
