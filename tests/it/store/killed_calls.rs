//! A process is killed before a system call that changes a file: a hook call, the background process, an import, a prune. A
//! reader then finds the state before or after, and the next process completes or removes the rest.
//!
//! The kills of a run are chosen by `TEAMKEEP_SEED`; with `TEAMKEEP_ALL_KILLS`, each call is killed (`just proof`). Without
//! `strace`, the tests do nothing, unless `TEAMKEEP_NEED_STRACE` is set.

#![allow(clippy::print_stderr)]

use std::collections::BTreeMap;
use std::env;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::{Value, json};

use super::bundle_sandbox::{TEAM, ended, export, import, outputs};
use super::prune::{self, prune, teams, three};
use super::retention::act;
use super::tamper_scene::copy_dir;
use crate::support::sandbox::{Sandbox, below};

/// The system calls that change files.
const CHANGES: &str = "write,pwrite64,writev,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,ftruncate,link,\
                       linkat,fsync,fdatasync,fchmod,utimensat,copy_file_range,sendfile";
/// The kills of one run, of each process.
const KILLS: usize = 8;

/// A store, and how it was before a process changed it.
struct Scene {
    sandbox: Sandbox,
    saved: PathBuf,
}

impl Scene {
    fn of(sandbox: Sandbox) -> Scene {
        let saved = sandbox.home().join("../saved");
        let scene = Scene { sandbox, saved };
        copy_dir(&scene.sandbox.keep(""), &scene.saved);
        scene
    }

    fn restore(&self) {
        std::fs::remove_dir_all(self.sandbox.keep("")).unwrap();
        copy_dir(&self.saved, &self.sandbox.keep(""));
    }

    /// Runs the binary under `strace`, with these words for it.
    fn trace(&self, args: &[&str], payload: &str, words: &[&str]) -> ExitStatus {
        let input = self.sandbox.home().join("../payload");
        std::fs::write(&input, payload).unwrap();
        let program = self.sandbox.command(args);
        let mut command = Command::new("strace");
        self.sandbox.dress(&mut command);
        command.args(["-f", "-qq", "-e", &format!("trace={CHANGES}")]).args(words);
        command.arg("-o").arg(self.sandbox.home().join("../trace")).arg(program.get_program());
        command.args(program.get_args()).stdin(std::fs::File::open(input).unwrap());
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap()
    }

    /// Kills the process before each of the chosen calls, each time in the store as it was, and checks what is there then.
    fn kill(&self, args: &[&str], payload: &str, check: impl Fn(&Sandbox)) {
        if !has_strace() {
            return;
        }
        assert_eq!(self.trace(args, payload, &[]).code(), Some(0));
        let trace = std::fs::read_to_string(self.sandbox.home().join("../trace")).unwrap();
        let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
        for line in trace.lines().filter(|line| !line.contains("+++") && !line.contains("---")) {
            let call = line.split_whitespace().nth(1).and_then(|call| call.split('(').next()).unwrap();
            *calls.entry(call).or_default() += 1;
        }
        let all = calls.iter().flat_map(|(call, count)| (1..=*count).map(move |number| (*call, number)));
        let chosen = chosen(all.collect());
        assert!(!chosen.is_empty(), "{trace}");
        let mut killed = 0;
        for (call, number) in &chosen {
            self.restore();
            let status =
                self.trace(args, payload, &["-e", &format!("inject={call}:signal=KILL:when={number}")]);
            // A process in the background is ahead or behind by a call.
            assert!(status.signal() == Some(9) || status.code() == Some(0), "{call} {number}: {status}");
            killed += usize::from(status.signal().is_some());
            eprintln!("{status} before {call} {number}");
            check(&self.sandbox);
        }
        assert!(killed * 2 > chosen.len(), "{killed} of {chosen:?}");
    }
}

/// Some of the kills, by the seed; with `TEAMKEEP_ALL_KILLS` all.
fn chosen(mut all: Vec<(&str, usize)>) -> Vec<(&str, usize)> {
    if env::var_os("TEAMKEEP_ALL_KILLS").is_some() {
        return all;
    }
    let mut random: u64 = env::var("TEAMKEEP_SEED").map_or(1, |seed| seed.parse().unwrap());
    eprintln!("TEAMKEEP_SEED={random}");
    while all.len() > KILLS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all.swap_remove((random >> 33) as usize % all.len());
    }
    all
}

fn has_strace() -> bool {
    let found = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok();
    assert!(found || env::var_os("TEAMKEEP_NEED_STRACE").is_none(), "strace is missing");
    found
}

fn ids(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.log().iter().map(|event| event["id"].clone()).collect()
}

/// The files that a killed process may leave: its own, which are not read and are removed when they are old.
fn is_left(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".tmp"))
}

#[test]
fn a_hook_call_is_recorded_or_not_and_the_next_one_has_all_files() {
    let sandbox = Sandbox::new();
    let lead = act(&sandbox, 1);
    let before = ids(&sandbox);
    lead.task("1", "pending", Some("bob"));
    let payload = lead.payload("UserPromptSubmit", json!({"prompt": "go on"})).to_string();
    let next = lead.payload("Stop", json!({})).to_string();
    let scene = Scene::of(sandbox);
    scene.kill(&["hook", "user-prompt-submit"], &payload, |sandbox| {
        sandbox.printed(&["verify"]);
        let after = ids(sandbox);
        assert_eq!(after[..before.len()], before);
        assert!(after.len() <= before.len() + 1);
        let result = sandbox.feed("stop", next.as_bytes(), &[]);
        assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
        assert_eq!(ids(sandbox).len(), after.len() + 1);
        sandbox.printed(&["verify"]);
        let shown = sandbox.show(&["latest"]);
        assert!(shown.to_string().contains("\"bob\""), "the changed task is recorded: {shown}");
    });
}

#[test]
fn the_background_process_loses_nothing_and_the_next_one_completes_it() {
    let sandbox = Sandbox::new();
    let lead = act(&sandbox, 1);
    lead.says("user", json!("go on"));
    lead.erase();
    // Its own process would do the work at once.
    sandbox.configure("");
    let end = lead.payload("SessionEnd", json!({"reason": "other"})).to_string();
    assert_eq!(sandbox.feed("session-end", end.as_bytes(), &[]).code, Some(0));
    sandbox.finish();
    // As it was before that process.
    let run = sandbox.library().runs[0].run.clone();
    let dir = sandbox.archive().run_dir(&run).unwrap();
    let mut record: Value = serde_json::from_slice(&std::fs::read(dir.join("run.json")).unwrap()).unwrap();
    record.as_object_mut().unwrap().remove("finished");
    std::fs::write(dir.join("run.json"), record.to_string()).unwrap();
    std::fs::remove_dir_all(dir.join("transcripts")).unwrap();
    std::fs::remove_file(dir.join("transcripts.json")).unwrap();
    std::fs::write(sandbox.keep("marks").join(format!("unfinished-{run}")), "").unwrap();
    let before = ids(&sandbox);
    let scene = Scene::of(sandbox);
    scene.kill(&["finish"], "", |sandbox| {
        sandbox.printed(&["verify"]);
        assert_eq!(ids(sandbox), before);
        assert_eq!(sandbox.run(&["finish"]).code, Some(0));
        assert!(!sandbox.is_unfinished());
        assert_eq!(ids(sandbox), before);
        sandbox.printed(&["verify"]);
        let kept = below(&dir.join("transcripts"));
        assert_eq!(kept.iter().filter(|path| !is_left(path)).count(), 1, "{kept:?}");
    });
}

#[test]
fn an_import_is_complete_or_not_there() {
    let one = ended("go");
    let path = export(&one, TEAM, "run.tar.gz", &[]);
    let scene = Scene::of(Sandbox::new());
    scene.kill(&["import", path.to_str().unwrap()], "", |sandbox| {
        let is_there = !sandbox.teams().is_empty();
        // The first call creates the store: before it, `verify` warns that there is none.
        if sandbox.keep("").exists() {
            sandbox.printed(&["verify"]);
        }
        assert_eq!(import(sandbox, &path).code, Some(i32::from(is_there)));
        assert_eq!(outputs(sandbox), outputs(&one));
        assert!(!sandbox.keep("tmp/import").exists());
    });
}

#[test]
fn a_prune_leaves_whole_runs_and_the_next_one_completes_it() {
    let scene = Scene::of(three());
    let kept = scene.sandbox.replay(&prune::team(3));
    scene.kill(&["prune", "--keep", "1", "--yes"], "", |sandbox| {
        sandbox.printed(&["verify"]);
        for team in teams(sandbox) {
            assert!(!sandbox.replay(&team).is_empty());
        }
        prune(sandbox, &["--keep", "1", "--yes"]);
        assert_eq!((teams(sandbox), sandbox.replay(&prune::team(3))), (vec![prune::team(3)], kept.clone()));
        assert!(!sandbox.keep("tmp/pruned").exists());
        sandbox.printed(&["verify"]);
    });
}
