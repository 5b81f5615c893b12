//! Re-enacts a recorded run: puts the client's files in place step by step and runs the hook at each.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Map, Value};
use teamkeep_model::time;

use super::sandbox::{CommandResult, Sandbox, kebab};

/// Where the recorded user's home was.
const HOME: &str = "/home/dev";
/// How the client spells the user's home in the name of a project's directory.
const SLUG: &str = "-home-dev-";

/// A recorded run.
pub struct Trace {
    pub steps: Vec<Value>,
    pub truth: Value,
    /// When its first hook call was made.
    pub began: &'static str,
}

/// The client's files, by path below its directory.
pub type Files = BTreeMap<String, String>;

/// What lay on disk at a step, and when the step was.
pub struct Moment {
    pub at: String,
    pub files: Files,
}

impl Trace {
    pub fn read(name: &str, began: &'static str) -> Trace {
        let path = |suffix: &str| {
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/traces/{name}{suffix}"))
        };
        let text = std::fs::read_to_string(path(".jsonl")).unwrap();
        let steps = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let truth = serde_json::from_str(&std::fs::read_to_string(path(".truth.json")).unwrap()).unwrap();
        Trace { steps, truth, began }
    }

    /// When a step was.
    pub fn at(&self, step: &Value) -> String {
        let since = chrono::TimeDelta::milliseconds(step["at_ms"].as_i64().unwrap());
        (time::parse(self.began).unwrap() + since).to_string()
    }

    /// Plays it on this stage with up to `jobs` hooks at once, and gives what lay on disk at each step.
    pub fn play(&self, sandbox: &Sandbox, jobs: usize) -> Vec<Moment> {
        let mut files = Files::new();
        let mut moments = Vec::new();
        std::thread::scope(|scope| {
            let mut running = VecDeque::new();
            for step in &self.steps {
                // As in life, the files move on while hooks run; but never more than so many calls ahead of the slowest.
                while running.len() >= jobs || (!running.is_empty() && step.get("remove").is_some()) {
                    finish(running.pop_front());
                }
                place(sandbox, step, &mut files);
                moments.push(Moment { at: self.at(step), files: files.clone() });
                let (command, payload) =
                    (self.call(sandbox, step), local(sandbox, &step["payload"].to_string()));
                let event = step["payload"]["hook_event_name"].as_str().unwrap();
                running.push_back(scope.spawn(move || (event, run(command, &payload))));
            }
            running.into_iter().for_each(|call| finish(Some(call)));
        });
        moments
    }

    /// Plays it call by call, and gives each step's payload with what the hook answered.
    pub fn answers(&self, sandbox: &Sandbox) -> Vec<(Value, CommandResult)> {
        self.answers_and(sandbox, || ())
    }

    /// The same, and waits after each call for its work in the background: a transcript that grows after the end of its run is
    /// archived as it was then.
    #[cfg(target_os = "linux")]
    pub fn settled_answers(&self, sandbox: &Sandbox) -> Vec<(Value, CommandResult)> {
        let answers = self.answers_and(sandbox, || sandbox.settle());
        sandbox.finish();
        answers
    }

    fn answers_and(&self, sandbox: &Sandbox, after: impl Fn()) -> Vec<(Value, CommandResult)> {
        let mut files = Files::new();
        let answer = |step: &Value| {
            place(sandbox, step, &mut files);
            let result = run(self.call(sandbox, step), &local(sandbox, &step["payload"].to_string()));
            after();
            (step["payload"].clone(), CommandResult::from(result))
        };
        self.steps.iter().map(answer).collect()
    }

    fn call(&self, sandbox: &Sandbox, step: &Value) -> Command {
        let event = kebab(step["payload"]["hook_event_name"].as_str().unwrap());
        let mut command = sandbox.command(&["hook", &event]);
        command.env("TEAMKEEP_NOW", self.at(step)).env("CLAUDE_PROJECT_DIR", sandbox.home().join("parser"));
        command.envs(object(step, "env").map(|(name, value)| (name.as_str(), value.as_str().unwrap())));
        command
    }
}

fn finish(call: Option<std::thread::ScopedJoinHandle<'_, (&str, Output)>>) {
    let Some(call) = call else { return };
    let (event, output) = call.join().unwrap();
    // Two of the altered traces have these, and a hook says so.
    let odd = ["the clock went back to ", "unknown event "];
    let result = String::from_utf8_lossy(&output.stderr);
    let told =
        result.strip_prefix("teamkeep: ").is_some_and(|result| odd.iter().any(|odd| result.starts_with(odd)));
    assert!(output.status.success() && (result.is_empty() || told), "{event}: {output:?}");
    match event {
        "SessionStart" => {
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(answer["hookSpecificOutput"]["watchPaths"].as_array().unwrap().len(), 2);
        }
        _ => assert!(output.stdout.is_empty(), "{event}: {output:?}"),
    }
}

fn run(mut command: Command, payload: &str) -> Output {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Puts the client's files as they were at a step.
fn place(sandbox: &Sandbox, step: &Value, files: &mut Files) {
    for (name, text) in object(step, "write") {
        let (name, text) = (local(sandbox, name), local(sandbox, text.as_str().unwrap()));
        sandbox.write(&name, &text);
        files.insert(name, text);
    }
    for (name, text) in object(step, "append") {
        let path = sandbox.client(&local(sandbox, name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(local(sandbox, text.as_str().unwrap()).as_bytes()).unwrap();
    }
    for name in step.get("remove").and_then(Value::as_array).into_iter().flatten() {
        let name = name.as_str().unwrap();
        let path = sandbox.client(name);
        let _ = std::fs::remove_file(&path);
        files.remove(name);
        // Directories go with their last file.
        for parent in path.ancestors().skip(1) {
            let is_root = ["teams", "tasks", ".claude"].iter().any(|root| parent.ends_with(root));
            if is_root || std::fs::remove_dir(parent).is_err() {
                break;
            }
        }
    }
}

/// The same text in the stage's home. On Windows its path has slashes, because the text may be JSON, or JSON in JSON.
pub fn local(sandbox: &Sandbox, text: &str) -> String {
    let home = if cfg!(windows) { sandbox.home() } else { sandbox.home().canonicalize().unwrap() };
    let home = home.to_str().unwrap().replace(std::path::MAIN_SEPARATOR, "/");
    let slug: String =
        (home.clone() + "/").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    text.replace(HOME, &home).replace(SLUG, &slug)
}

fn object<'a>(step: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    step.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}
