//! Checks the program that the hooks run.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use teamkeep_settings::layer::SettingsScope;
use teamkeep_settings::program::{hook_args, is_bare, is_named, is_same, on_search_path, own_path};
use teamkeep_store::log::Logs;
use teamkeep_system::command::{HOOK_NAME, NAME, beside, command_line, file_of, find, is_executable, quoted};
use teamkeep_system::env::{Env, absolute_dirs};
use teamkeep_system::fs::{MAX_SETTINGS_BYTES, read_regular};
use teamkeep_system::os;
use teamkeep_system::paths::Paths;
use teamkeep_system::process::{MAX_OUTPUT_BYTES, Outcome, Run};

use super::{CheckInput, Diagnosis, InstalledHook, bad, ok, unknown, warn};

/// The program that the hooks run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedProgram {
    /// As the settings name it, or the plugin that runs it.
    word: String,
    /// Its path, if it can be found without a shell.
    path: Option<PathBuf>,
    /// Whether it may be run here. A program named in a repository's file is not run.
    is_trusted: bool,
}

/// The program that the hooks run. If files name different ones, it is the one in the user's or managed settings: the other
/// checks of the hooks report the difference.
fn named(input: &CheckInput<'_>) -> Option<NamedProgram> {
    let by_owner =
        |ours: &InstalledHook<'_>| matches!(ours.layer.kind, SettingsScope::User | SettingsScope::Managed);
    let all = input.ours();
    // Of equal ones, the first.
    let first = all.iter().rev().max_by_key(|ours| (by_owner(ours), ours.entry.is_written()));
    // Beside hooks in the settings, the plugin's hooks are not needed.
    let Some(ours) = first else { return named_by_plugin(input) };
    let word = ours.entry.words().into_iter().next()?;
    let path = resolve(ours, &word, input.env);
    let is_own =
        || own_programs(input.env).iter().any(|own| path.as_ref().is_some_and(|path| is_same(own, path)));
    let is_trusted = by_owner(ours) || is_own();
    Some(NamedProgram { word, path, is_trusted })
}

/// The programs of this installation: those that run here, and those on the search path.
fn own_programs(env: &Env) -> Vec<PathBuf> {
    let running = command_line().ok().into_iter().flat_map(|path| [beside(&path, HOOK_NAME), path]);
    running.chain(on_search_path(env)).chain(find(HOOK_NAME, env)).collect()
}

/// The path for a word: on the search path, absolute, or relative to the home directory as a shell expands it.
fn resolve(ours: &InstalledHook<'_>, word: &str, env: &Env) -> Option<PathBuf> {
    if is_bare(word) {
        return find(word, env);
    }
    if Path::new(word).is_absolute() {
        return Some(PathBuf::from(word));
    }
    let by_shell = ours.entry.hook().get("args").and_then(Value::as_array).is_none_or(Vec::is_empty);
    let home = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|home| word.strip_prefix(home));
    home.filter(|_| by_shell).and_then(|rest| Some(env.home.as_ref()?.join(rest)))
}

/// Checks that the program exists.
pub fn check(input: &CheckInput<'_>) -> Diagnosis {
    let Some(NamedProgram { word, path, .. }) = named(input) else { return unknown("no hooks to check") };
    let problem = match path {
        None if is_by_plugin(input) => {
            let what = format!(
                "{word} finds no teamkeep program and records nothing (searched: its bin directory, PATH, ~/.local/bin)"
            );
            return bad(what).with_fix(build_command(input));
        }
        Some(path) if is_by_plugin(input) => return ok(format!("{word} runs {}", path.display())),
        None if is_bare(&word) => bad(format!("hooks fail: they run `{word}`, which is not in PATH")),
        None => unknown(format!("cannot resolve {word} without a shell")),
        Some(path) if !path.exists() => bad(format!("hooks fail: {} does not exist", path.display())),
        Some(path) if !is_executable(&path) => {
            bad(format!("hooks fail: {} is not executable", path.display()))
        }
        Some(path) => return ok(format!("the hooks run {}", path.display())),
    };
    problem.with_fix(input.install())
}

/// Whether only a plugin's hooks run.
pub fn is_by_plugin(input: &CheckInput<'_>) -> bool {
    input.ours().is_empty() && !input.plugins.is_empty()
}

/// Checks that the program is on the search path.
pub fn search_path(input: &CheckInput<'_>) -> Diagnosis {
    if let Some(path) = on_search_path(input.env) {
        return ok(format!("`teamkeep` is {}", path.display()));
    }
    let diagnosis = warn("`teamkeep` is not in PATH");
    let Some(own) = own_path(input.env) else { return diagnosis };
    let Some(dir) = own.parent().map(|dir| quoted(&dir.to_string_lossy())) else { return diagnosis };
    diagnosis.with_fix(os::shell::add_to_search_path(&dir))
}

/// The program that the enabled plugin runs. It is searched as `bin/teamkeep-plugin` does: beside that script, on the search
/// path, and where `install.sh` puts it, in each place the hook program before the command line.
fn named_by_plugin(input: &CheckInput<'_>) -> Option<NamedProgram> {
    let plugin = input.plugins.first()?;
    let local = input.env.home.as_ref().map(|home| home.join(".local/bin"));
    let searched: Vec<PathBuf> =
        input.env.search.as_deref().map(absolute_dirs).into_iter().flatten().collect();
    let own = plugin_dirs(input, plugin).into_iter().map(|dir| dir.join("bin"));
    let dirs: Vec<PathBuf> = own.chain(searched).chain(local.clone()).collect();
    let path = dirs
        .iter()
        .flat_map(|dir| [HOOK_NAME, NAME].map(|name| dir.join(file_of(name))))
        .find(|path| is_executable(path));
    // A plugin may be read from a repository that the user only looks at.
    let local = local.into_iter().flat_map(|dir| [HOOK_NAME, NAME].map(|name| dir.join(file_of(name))));
    let known: Vec<PathBuf> = local.chain(own_programs(input.env)).collect();
    let cache = input.paths.client.as_ref().map(|client| client.join("plugins/cache"));
    let is_trusted = path.as_ref().is_some_and(|path| {
        cache.is_some_and(|cache| path.starts_with(cache)) || known.iter().any(|known| is_same(known, path))
    });
    Some(NamedProgram { word: format!("the plugin {plugin}"), path, is_trusted })
}

/// The command that builds the program and puts it where the plugin finds it.
pub fn build_command(input: &CheckInput<'_>) -> String {
    let dirs = input.plugins.first().map(|plugin| plugin_dirs(input, plugin)).unwrap_or_default();
    let script = dirs.iter().map(|dir| dir.join("install.sh")).find(|script| script.is_file());
    match script {
        Some(script) => format!("{} --no-hooks", quoted(&script.to_string_lossy())),
        None => "./install.sh --no-hooks  # in a clone of the plugin's repository".to_owned(),
    }
}

/// The directories from which Claude Code may read a plugin (`name@marketplace`): its copy, or the marketplace.
fn plugin_dirs(input: &CheckInput<'_>, plugin: &str) -> Vec<PathBuf> {
    let Some(client) = &input.paths.client else { return Vec::new() };
    let read = |name: &str| -> Value {
        let read = read_regular(&client.join("plugins").join(name), MAX_SETTINGS_BYTES);
        serde_json::from_slice(&read.map(|(bytes, _)| bytes).unwrap_or_default()).unwrap_or_default()
    };
    let path = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let installed = read("installed_plugins.json");
    let copies = installed.pointer("/plugins").and_then(|plugins| plugins.get(plugin));
    let copies = copies.and_then(Value::as_array).into_iter().flatten();
    let mut dirs: Vec<PathBuf> = copies.filter_map(|copy| path(copy, "installPath")).collect();
    let marketplace = plugin.split_once('@').map_or("", |(_, marketplace)| marketplace);
    let location = read("known_marketplaces.json")
        .get(marketplace)
        .and_then(|marketplace| path(marketplace, "installLocation"));
    dirs.extend(location.into_iter().flat_map(|location| [location.join("plugin"), location]));
    dirs
}

/// Claude Code waits ten seconds for a hook, which needs some milliseconds.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The version of this program.
const OWN: &str = env!("CARGO_PKG_VERSION");

/// Tests the program, if it may be run.
pub fn test_call(input: &CheckInput<'_>) -> Diagnosis {
    let found = named(input).and_then(|one| Some((one.path.filter(|path| path.is_file())?, one.is_trusted)));
    let Some((path, is_trusted)) = found else { return unknown("no program to test") };
    let (shown, by_plugin) = (path.display(), is_by_plugin(input));
    if !is_trusted {
        let why = match by_plugin {
            true => "is outside Claude Code's copy of the plugin",
            false => "is named only in this project's settings",
        };
        return unknown(format!("not tested: {shown} {why}"));
    }
    match attempt(input, &path) {
        Ok(took) => ok(format!("{shown} recorded and answered a test hook call in {} ms", took.as_millis())),
        Err(why) => bad(format!("{shown} {why}")).with_fix(match by_plugin {
            true => build_command(input),
            false => format!("reinstall teamkeep, then: {}", input.install()),
        }),
    }
}

/// A command with only the search path in its environment.
fn command(input: &CheckInput<'_>, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(input.env.search.as_deref().map(|search| ("PATH", search)));
    command
}

/// One call with a temporary store: its duration, or the problem.
fn attempt(input: &CheckInput<'_>, program: &Path) -> Result<Duration, String> {
    let cannot = |error: io::Error| format!("could not be tested: {error}");
    let scratch = tempfile::tempdir().map_err(cannot)?;
    let store = scratch.path().join("record");
    let mut command = command(input, program);
    command.args(hook_args(&program.to_string_lossy(), "user-prompt-submit")).current_dir(scratch.path());
    command.env("TEAMKEEP_HOME", &store);
    for name in ["HOME", "CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR"] {
        command.env(name, scratch.path());
    }
    let stdin = payload(scratch.path()).map_err(cannot)?;
    let run = Run { stdin, until_closed: true, ..Run::new(command, TIMEOUT) };
    let start = Instant::now();
    let (outcome, output) =
        run.collect(MAX_OUTPUT_BYTES).map_err(|error| format!("cannot be run: {error}"))?;
    let took = start.elapsed();
    check_response(outcome, &output)?;
    let env = Env { store: Some(store.clone()), ..Env::default() };
    let segments = Logs::of(&Paths::find(&env)).segments();
    match segments.iter().any(|segment| segment.size > 0) {
        true => Ok(took),
        false => Err("answered a test hook call, but recorded nothing".to_owned()),
    }
}

/// A stdin with a payload that blocks nothing and names no team. It fits into a pipe, so that writing it does not wait for
/// a reader.
fn payload(dir: &Path) -> io::Result<Stdio> {
    let payload = json!({
        "session_id": "00000000-0000-4000-8000-000000000000",
        "transcript_path": dir.join("projects/none/none.jsonl"),
        "cwd": dir,
        "hook_event_name": "UserPromptSubmit",
        "prompt": "teamkeep doctor",
    });
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(payload.to_string().as_bytes())?;
    Ok(Stdio::from(reader))
}

fn check_response(outcome: Outcome, output: &[u8]) -> Result<(), String> {
    match outcome {
        Outcome::TimedOut => Err(format!("did not respond within {} seconds", TIMEOUT.as_secs())),
        Outcome::Ended(status) if !status.success() => {
            let code = status.code().map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            Err(format!("ended a test hook call with {code}"))
        }
        Outcome::Ended(_)
            if output.trim_ascii().is_empty()
                || serde_json::from_slice::<Value>(output).is_ok_and(|value| value.is_object()) =>
        {
            Ok(())
        }
        Outcome::Ended(_) | Outcome::Stopped => Err("printed output that is not a JSON object".to_owned()),
    }
}

/// Checks that the hooks' program, the one on the search path and this one have the same version.
pub fn versions(input: &CheckInput<'_>) -> Diagnosis {
    let running = std::env::current_exe().unwrap_or_default();
    // By the path that the user knows.
    let running = on_search_path(input.env).filter(|found| is_same(found, &running)).unwrap_or(running);
    let hooks = named(input).filter(|one| one.is_trusted).and_then(|one| one.path).into_iter();
    let mut versions: Vec<(PathBuf, String)> = Vec::new();
    for path in hooks.chain(on_search_path(input.env)).filter(|path| path.is_file()) {
        if !is_same(&path, &running) && !versions.iter().any(|(known, _)| is_same(known, &path)) {
            let version = version_of(input, &path);
            versions.push((path, version));
        }
    }
    compare(&running, &versions, &input.install())
}

fn compare(running: &Path, others: &[(PathBuf, String)], install: &str) -> Diagnosis {
    if others.iter().all(|(_, version)| version == OWN) {
        return ok(format!("teamkeep {OWN} is the only installed version"));
    }
    let all = others.iter().map(|(path, version)| format!("{} is {version}", path.display()));
    let what = format!("{} is {OWN}, {}", running.display(), all.collect::<Vec<_>>().join(", "));
    warn(format!("two versions: {what}")).with_fix(format!("keep only the newest version, then: {install}"))
}

fn version_of(input: &CheckInput<'_>, path: &Path) -> String {
    let mut command = command(input, path);
    command.arg("--version").current_dir("/");
    let run = Run { until_closed: true, ..Run::new(command, TIMEOUT) };
    match run.collect(MAX_OUTPUT_BYTES) {
        Ok((Outcome::Ended(status), out)) if status.success() => {
            let out = String::from_utf8_lossy(&out);
            match out.split_whitespace().next().filter(|name| is_named(name)) {
                Some(_) => out.split_whitespace().nth(1).unwrap_or("of no version").to_owned(),
                None => "not teamkeep".to_owned(),
            }
        }
        Ok((Outcome::TimedOut, _)) => "not responding".to_owned(),
        _ => "failing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckVerdict;

    #[cfg(unix)]
    #[test]
    fn response_is_empty_or_one_object() {
        use std::os::unix::process::ExitStatusExt;
        let ended = |code: i32| Outcome::Ended(std::process::ExitStatus::from_raw(code));
        let check = |code: i32, out: &str| check_response(ended(code), out.as_bytes());
        assert!(check(0, "").is_ok() && check(0, " \n").is_ok());
        assert!(check(0, &json!({"continue": true}).to_string()).is_ok());
        for (code, out) in [(0, "hello"), (0, "[]"), (2 << 8, ""), (9, "")] {
            assert!(check(code, out).is_err(), "{code:?} {out}");
        }
        assert_eq!(check(9, "").unwrap_err(), "ended a test hook call with a signal");
        assert_eq!(check_response(Outcome::TimedOut, b"").unwrap_err(), "did not respond within 5 seconds");
    }

    #[test]
    fn different_versions_are_reported() {
        let compare = |others: &[(PathBuf, String)]| {
            super::compare(Path::new("/a/teamkeep"), others, "teamkeep install")
        };
        let other = |version: &str| [(PathBuf::from("/b/teamkeep"), version.to_owned())];
        assert_eq!(compare(&[]).verdict, CheckVerdict::Ok);
        assert_eq!(compare(&other(OWN)).verdict, CheckVerdict::Ok);
        let finding = compare(&other("0.0.9"));
        assert_eq!(finding.verdict, CheckVerdict::Warn);
        assert_eq!(finding.what, format!("two versions: /a/teamkeep is {OWN}, /b/teamkeep is 0.0.9"));
    }
}
