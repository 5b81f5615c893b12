//! A scratch home with a client's directory and a store, and the binary run in it as the client would.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use teamkeep_history::timeline::RunCatalog;
use teamkeep_model::time;
use teamkeep_store::archive::Archive;
use teamkeep_store::log::{EventLog, Logs, Segment};
use teamkeep_system::env::Env;
use teamkeep_system::os;
use teamkeep_system::paths::Paths;
use tempfile::TempDir;

use super::programs::pass_system_variables;
use super::scratch::scratch;

/// When the first call of a stage is made.
pub const START: &str = "2026-02-03T04:05:06.000Z";

/// How a content is damaged.
#[derive(Debug, Clone, Copy)]
pub enum ContentDamage {
    Changed,
    Lost,
}

pub struct Sandbox {
    dir: TempDir,
    /// Milliseconds since [`START`] at the next call: each call takes a second.
    now: AtomicI64,
    /// Whether hook calls are those of `teamkeep hook`.
    by_command_line: AtomicBool,
}

/// What a command said.
#[derive(Debug)]
pub struct CommandResult {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for CommandResult {
    fn from(output: Output) -> CommandResult {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        CommandResult { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// No gate is asked: what a recorder does is not to depend on what a policy says.
const RECORDING: &str = r#"
[policy]
premature-shutdown = { mode = "off", without-tasks = "off" }
protect-lead = { mode = "off" }
idle-with-work = { mode = "off" }
unfinished-dependencies = { mode = "off" }
"#;

impl Sandbox {
    /// A stage on which nothing is judged.
    pub fn new() -> Sandbox {
        let sandbox = Sandbox::judging();
        sandbox.configure("");
        sandbox
    }

    /// A stage on which the default policy judges.
    pub fn judging() -> Sandbox {
        let sandbox =
            Sandbox { dir: scratch(), now: AtomicI64::new(0), by_command_line: AtomicBool::new(false) };
        for dir in ["home/parser", "home/.claude"] {
            std::fs::create_dir_all(sandbox.dir.path().join(dir)).unwrap();
        }
        sandbox
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A path below the client's directory.
    pub fn client(&self, path: &str) -> PathBuf {
        self.home().join(".claude").join(native(path))
    }

    /// A path below our store.
    pub fn keep(&self, path: &str) -> PathBuf {
        self.dir.path().join("keep").join(native(path))
    }

    /// From here on, hooks run `teamkeep hook`, as before there was a hook program.
    pub fn hook_by_command_line(&self) {
        self.by_command_line.store(true, Ordering::Relaxed);
    }

    /// The binary in a cleared environment; for a hook call, the hook program.
    pub fn command(&self, args: &[&str]) -> Command {
        let is_hook_call =
            |words: &[&str]| words.iter().all(|word| *word == "--plugin" || !word.starts_with('-'));
        let (program, args) = match args {
            ["hook", words @ ..] if !self.by_command_line.load(Ordering::Relaxed) && is_hook_call(words) => {
                (env!("CARGO_BIN_EXE_teamkeep-hook"), words)
            }
            args => (env!("CARGO_BIN_EXE_teamkeep"), args),
        };
        let mut command = Command::new(program);
        self.dress(&mut command);
        command.args(args);
        command
    }

    /// Gives a command the stage's directory and environment.
    pub fn dress(&self, command: &mut Command) {
        command.env_clear().current_dir(self.home().join("parser"));
        pass_system_variables(command);
        command
            .env(os::HOME_VARIABLE, self.home())
            .env("TEAMKEEP_HOME", self.keep(""))
            .env("PATH", os::SEARCH_PATH)
            .env("TZ", "UTC");
        let config = self.dir.path().join("teamkeep.toml");
        command.envs(config.exists().then_some(("TEAMKEEP_CONFIG", config)));
        command.env("TEAMKEEP_NOW", self.time(self.now.load(Ordering::Relaxed)));
    }

    fn time(&self, millis: i64) -> String {
        (time::parse(START).unwrap() + chrono::TimeDelta::milliseconds(millis)).to_string()
    }

    /// When the last call was made.
    pub fn last(&self) -> String {
        self.time(self.millis() - 1_000)
    }

    /// The clock of the next call, in milliseconds since [`START`].
    pub fn millis(&self) -> i64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Sets the clock of the next call.
    pub fn set_clock(&self, millis: i64) {
        self.now.store(millis, Ordering::Relaxed);
    }

    /// Lets the model take its time for the next message, so that a block counts again.
    pub fn think(&self) {
        self.set_clock(self.millis() + 2_000);
    }

    /// Sets something beside the policy, which asks no gate.
    pub fn configure(&self, text: &str) {
        std::fs::write(self.dir.path().join("teamkeep.toml"), format!("{text}{RECORDING}")).unwrap();
    }

    /// Sets the configuration to exactly this.
    pub fn write_config(&self, text: &str) {
        std::fs::write(self.dir.path().join("teamkeep.toml"), text).unwrap();
    }

    /// From here on the default policy judges.
    pub fn unconfigure(&self) {
        std::fs::remove_file(self.dir.path().join("teamkeep.toml")).unwrap();
    }

    /// Runs the binary and takes down what it says.
    pub fn run(&self, args: &[&str]) -> CommandResult {
        self.command(args).stdin(Stdio::null()).output().unwrap().into()
    }

    /// One hook call with this on stdin.
    pub fn feed(&self, event: &str, stdin: &[u8], env: &[(&str, &str)]) -> CommandResult {
        let mut command = self.command(&["hook", event]);
        command.envs(env.iter().copied());
        self.now.fetch_add(1_000, Ordering::Relaxed);
        feed(&mut command, stdin)
    }

    /// One hook call as the client makes it. It must succeed without a word but for SessionStart's answer, and but for
    /// what it notes.
    pub fn hook(&self, payload: Value, env: &[(&str, &str)]) {
        let event = kebab(payload["hook_event_name"].as_str().unwrap());
        let result = self.feed(&event, payload.to_string().as_bytes(), env);
        assert_eq!(result.out.is_empty(), event != "session-start", "{}", result.out);
        if result.err.is_empty() {
            assert_eq!(result.code, Some(0), "{payload}");
            return;
        }
        let line = result.err.strip_prefix("teamkeep: ").and_then(|line| line.strip_suffix('\n')).unwrap();
        let first = line.split("; ").next().unwrap();
        let warned =
            || self.log().iter().any(|event| event["warning"].as_str().is_some_and(|it| it.contains(first)));
        assert!(self.diagnostics().contains(first) || warned(), "told and nowhere noted: {result:?}");
        assert!(matches!(result.code, Some(0 | 1)) && !line.contains('\n'), "{result:?}");
    }

    /// Puts one of the client's files in place, as the client does: whole.
    pub fn write(&self, path: &str, text: impl ToString) {
        let path = self.client(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.to_string()).unwrap();
    }

    pub fn remove_dir(&self, path: &str) {
        std::fs::remove_dir_all(self.client(path)).unwrap();
    }

    pub fn archive(&self) -> Archive {
        Archive::new(self.keep(""), 32 << 20, Duration::from_secs(60))
    }

    pub fn logs(&self) -> Logs {
        let env = Env { store: Some(self.keep("")), ..Env::default() };
        Logs::of(&Paths::find(&env))
    }

    /// The log of the only run.
    pub fn run_log(&self) -> EventLog {
        self.logs().run(&self.library().runs[0].run).unwrap()
    }

    /// The paths of all segments.
    pub fn segments(&self) -> Vec<PathBuf> {
        self.logs().segments().iter().map(Segment::path).collect()
    }

    /// Makes the files of the logs of sessions so much older: retention goes by the time of a file.
    pub fn age_session_logs(&self, days: u64) {
        for log in self.logs().of_sessions().unwrap() {
            for segment in log.segments().unwrap() {
                let file = std::fs::File::options().write(true).open(segment.path()).unwrap();
                file.set_modified(SystemTime::now() - Duration::from_secs(days * 86_400)).unwrap();
            }
        }
    }

    pub fn library(&self) -> RunCatalog {
        RunCatalog::open(self.archive(), self.logs())
    }

    /// What a reading command prints, which must be without complaint. The note about a clock that was set back is none.
    pub fn printed(&self, args: &[&str]) -> String {
        let result = self.run(args);
        let is_note = |line: &&str| line.starts_with("warning: the clock was set back to ");
        let complaints: Vec<&str> = result.err.lines().filter(|line| !is_note(line)).collect();
        assert_eq!((result.code, complaints), (Some(0), vec![]), "{args:?}");
        result.out
    }

    pub fn replay(&self, run: &str) -> Vec<Value> {
        lines(&self.printed(&["log", run, "--json"]))
    }

    pub fn show(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.printed(&[&["show", "--json"], args].concat())).unwrap()
    }

    pub fn teams(&self) -> Vec<Value> {
        // `list` begins with the newest.
        let runs: Vec<Value> = serde_json::from_str(&self.printed(&["teams", "--all", "--json"])).unwrap();
        runs.into_iter().rev().collect()
    }

    /// Damages one of a run's contents: a byte of it is changed, or its hash in the list.
    pub fn damage_content(&self, hash: &str, damage: ContentDamage) {
        let hash = &hash[..16];
        let list = below(&self.keep("runs")).into_iter().find(|path| {
            path.ends_with("contents.jsonl") && std::fs::read_to_string(path).unwrap().contains(hash)
        });
        let (list, text) = (list.as_ref().unwrap(), std::fs::read_to_string(list.as_ref().unwrap()).unwrap());
        match damage {
            ContentDamage::Lost => std::fs::write(list, text.replace(hash, &"0".repeat(16))).unwrap(),
            ContentDamage::Changed => {
                let line = text.lines().rfind(|line| line.contains(hash)).unwrap();
                let entry: Value = serde_json::from_str(line).unwrap();
                let data = list.with_file_name("contents.data");
                let mut bytes = std::fs::read(&data).unwrap();
                bytes[usize::try_from(entry[1].as_u64().unwrap()).unwrap()] ^= 1;
                std::fs::write(data, bytes).unwrap();
            }
        }
    }

    /// The hash of the last content of a file of the only run.
    pub fn last_content(&self, path: &str) -> String {
        let run = self.library().runs[0].run.clone();
        self.archive().journal(&run).last()[path].object.clone().unwrap()
    }

    /// The recorded events.
    pub fn log(&self) -> Vec<Value> {
        let result = self.run(&["log", "--raw", "--json"]);
        assert_eq!(result.code, Some(0), "{}", result.err);
        lines(&result.out)
    }

    /// The lines of the diagnostics, without those that only note a slow call: on a busy machine any call may be slow.
    pub fn diagnostics(&self) -> String {
        let files = std::fs::read_dir(self.keep("diagnostics")).into_iter().flatten().flatten();
        let text: String = files.map(|file| std::fs::read_to_string(file.path()).unwrap()).collect();
        let is_only_slow = |line: &str| line.contains("] slow hook call: ");
        text.split_inclusive('\n').filter(|line| !is_only_slow(line)).collect()
    }

    /// Waits until the detached process has archived the transcripts of every run that ended, and is gone.
    pub fn finish(&self) {
        self.wait(|| self.is_unfinished() || self.runs("finish"));
    }

    /// Waits until no process archives transcripts. A run that ended with a TeamDelete is unfinished until its session ends.
    #[cfg(target_os = "linux")]
    pub fn settle(&self) {
        // In this order: a process that starts gets its arguments meanwhile.
        self.wait(|| is_starting() || self.runs("finish"));
    }

    pub fn wait(&self, is_busy: impl Fn() -> bool) {
        let start = Instant::now();
        while is_busy() {
            assert!(start.elapsed() < Duration::from_secs(60), "{}", self.diagnostics());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether a process of the binary with these first arguments runs here.
    pub fn runs(&self, args: &str) -> bool {
        process(self.dir.path(), args).is_some()
    }

    /// Kills a process of the binary with these first arguments; returns whether one ran here.
    pub fn kill(&self, args: &str) -> bool {
        let Some(process) = process(self.dir.path(), args) else { return false };
        os::process::kill(process.file_name().unwrap().to_str().unwrap().parse().unwrap());
        true
    }

    /// Removes the directory when this process ends and its end of the pipe with it: a static is never dropped.
    pub fn remove_at_exit(&self) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' HUP INT TERM; cat >/dev/null; rm -rf \"$0\""]).arg(self.dir.path());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Whether the detached process still has something to archive.
    pub fn is_unfinished(&self) -> bool {
        self.archive().has_unfinished()
    }
}

impl Drop for Sandbox {
    /// The store must not go while a detached process still writes to it.
    fn drop(&mut self) {
        let start = Instant::now();
        let is_busy = || self.is_unfinished() && self.runs("finish");
        while is_busy() && start.elapsed() < Duration::from_secs(15) && !std::thread::panicking() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The process of the binary with these first arguments that runs in this directory. Where there is no `/proc`, nobody can
/// say.
fn process(dir: &Path, args: &str) -> Option<PathBuf> {
    // wine shows the one of Linux.
    if cfg!(windows) {
        return None;
    }
    let of = |process: &Path, name: &str| std::fs::read(process.join(name)).unwrap_or_default();
    let has = |bytes: &[u8], word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    let lines = ["teamkeep", "teamkeep-hook"].map(|program| format!("{program} {args} ").replace(' ', "\0"));
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_called = |called: &[u8]| lines.iter().any(|line| has(called, line.as_bytes()));
    let mut running = processes.filter(|process| is_called(&of(process, "cmdline")));
    running.find(|process| has(&of(process, "environ"), dir.as_os_str().as_encoded_bytes()))
}

/// Whether a process, here or elsewhere, has begun to run a program of teamkeep, and its arguments and variables cannot be read yet.
/// Its parent may have ended already.
#[cfg(target_os = "linux")]
fn is_starting() -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut without_variables =
        processes.filter(|process| std::fs::read(process.join("environ")).is_ok_and(|all| all.is_empty()));
    without_variables.any(|process| {
        let program = std::fs::read_link(process.join("exe"));
        program.is_ok_and(|program| program.ends_with("teamkeep") || program.ends_with("teamkeep-hook"))
    })
}

/// A relative path with the separators of this system, which messages show.
pub fn native(path: &str) -> PathBuf {
    path.split('/').collect()
}

/// Replaces a directory by a name, and spells the paths in it as on Unix.
pub fn unix_paths(text: &str, dir: &Path, name: &str) -> String {
    let dir = dir.to_str().unwrap();
    // Commands for a POSIX shell have slashes on Windows, too.
    let text = text.replace(&dir.replace(std::path::MAIN_SEPARATOR, "/"), dir);
    let mut parts = text.split(dir);
    let mut all = parts.next().unwrap().to_owned();
    for part in parts {
        let is_quoted = cfg!(windows) && all.ends_with('\'');
        let ends = |c: char| if is_quoted { c == '\'' } else { " \n\"'`,;".contains(c) };
        let (path, mut rest) = part.split_at(part.find(ends).unwrap_or(part.len()));
        let mut path = path.to_owned();
        if cfg!(windows) {
            path = path.replace('\\', "/").replace(".exe", "").replace(".cmd", "");
        }
        // It is only quoted because of its backslashes.
        if is_quoted && !path.contains(' ') {
            all.pop();
            rest = rest.strip_prefix('\'').unwrap_or(rest);
        }
        all.extend([name, &path, rest]);
    }
    all
}

/// Runs a command with this on stdin.
pub fn feed(command: &mut Command, stdin: &[u8]) -> CommandResult {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // A process that ended early has had enough.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap().into()
}

/// `SubagentStop` as `subagent-stop`.
pub fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.push(c.to_ascii_lowercase());
    }
    kebab
}

/// JSON, one value a line: read as the program reads it, for a record may hold a number that no float holds.
pub fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| teamkeep_model::json::parse_lossy(line.as_bytes()).unwrap()).collect()
}

/// Every file and directory below a path.
pub fn below(path: &Path) -> Vec<PathBuf> {
    let (mut all, mut dirs) = (Vec::new(), vec![path.to_path_buf()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                dirs.push(entry.path());
            }
            all.push(entry.path());
        }
    }
    all
}

/// A text without how much is on record: paths are in it, and where the tests run is anybody's.
pub fn sizeless(text: &str) -> String {
    let lines = text.lines().map(|line| match line.rsplit_once(" events, ") {
        Some((before, size)) if size.ends_with(" KB") => format!("{before} events, # KB"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}
