//! A store to tamper with, and the tools for it.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use teamkeep_core::config;
use teamkeep_core::store::chain::ChainHash;
use teamkeep_core::store::log::{self, Log, Mark, Sealed};
use teamkeep_core::sys::{clock, fs};

use super::retention::{ROOMY, act, end};
use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

/// A session without a run.
pub const OTHER: &str = "00000009-0000-4000-8000-000000000001";
const DAY: i64 = 86_400_000;

pub struct Scene {
    pub sandbox: Sandbox,
}

impl Scene {
    /// A run that has not ended, with a log of several segments, and an older copy of the log.
    pub fn recorded() -> Scene {
        let scene = Scene { sandbox: Sandbox::new() };
        scene.sandbox.configure(ROOMY);
        scene.call("one");
        copy_dir(&scene.sandbox.keep("log"), &scene.sandbox.keep("../older"));
        act(&scene.sandbox, 1);
        scene.call("two");
        scene.call("three");
        assert!(scene.segments().len() > 3 && scene.last_segment().1 > 1);
        scene
    }

    /// A run that has ended and whose segments were removed, and a line that was written without the lock.
    pub fn retained() -> Scene {
        let scene = Scene { sandbox: Sandbox::new() };
        scene.sandbox.configure(ROOMY);
        act(&scene.sandbox, 1);
        scene.end_and_retain();
        scene.write_single();
        scene.retain();
        scene
    }

    /// Ends the run, and removes all segments but the current one.
    pub fn end_and_retain(&self) {
        end(&self.sandbox, &Lead::of(&self.sandbox, "00000001-0000-4000-8000-000000000001"));
        self.sandbox.set_clock(5 * DAY);
        self.call("later");
        self.call("later still");
        self.retain();
    }

    pub fn retain(&self) {
        self.sandbox.configure(&format!("{ROOMY}keep-size = \"1 B\"\n"));
        let result = self.sandbox.run(&["finish"]);
        assert_eq!(result.code, Some(0), "{}", self.sandbox.diagnostics());
        self.sandbox.configure(ROOMY);
    }

    /// The same store, for one change.
    pub fn copy(&self) -> Scene {
        let copy = Scene { sandbox: Sandbox::new() };
        copy.sandbox.configure(ROOMY);
        copy.sandbox.set_clock(self.sandbox.millis());
        copy_dir(&self.sandbox.keep(""), &copy.sandbox.keep(""));
        copy_dir(&self.sandbox.keep("../older"), &copy.sandbox.keep("../older"));
        copy_dir(&self.sandbox.home(), &copy.sandbox.home());
        copy
    }

    pub fn call(&self, prompt: &str) {
        Lead::of(&self.sandbox, OTHER).hook("UserPromptSubmit", json!({"prompt": prompt}));
    }

    pub fn head(&self) -> String {
        self.sandbox.told(&["verify", "--head"]).split_whitespace().next().unwrap().to_owned()
    }

    pub fn lock(&self) -> PathBuf {
        self.sandbox.keep("log/.lock")
    }

    pub fn changes(&self) -> PathBuf {
        log::changes_path(&self.sandbox.keep("log"))
    }

    pub fn segments(&self) -> Vec<PathBuf> {
        let dir = self.sandbox.keep("log");
        log::list(&dir).unwrap().iter().map(|segment| segment.path(&dir)).collect()
    }

    pub fn segment(&self, number: usize) -> PathBuf {
        self.segments().remove(number)
    }

    /// Its number and how many lines it has.
    pub fn last_segment(&self) -> (usize, usize) {
        let last = self.segments().len() - 1;
        (last, self.lines(last).len())
    }

    pub fn lines(&self, segment: usize) -> Vec<String> {
        lines_of(&self.segment(segment))
    }

    pub fn edit(&self, segment: usize, edit: impl FnOnce(&mut Vec<String>)) {
        let mut lines = self.lines(segment);
        let before = lines.clone();
        edit(&mut lines);
        assert_ne!(lines, before);
        write_lines(&self.segment(segment), &lines);
    }

    pub fn edit_line(&self, segment: usize, line: usize, edit: impl FnOnce(&str) -> String) {
        self.edit(segment, |lines| lines[line] = edit(&lines[line]));
    }

    pub fn journal(&self) -> PathBuf {
        self.run_dir().join("snapshots.jsonl")
    }

    pub fn edit_journal(&self, edit: impl FnOnce(&mut Vec<String>)) {
        let mut lines = lines_of(&self.journal());
        let before = lines.clone();
        edit(&mut lines);
        assert_ne!(lines, before);
        write_lines(&self.journal(), &lines);
    }

    fn run_dir(&self) -> PathBuf {
        let run = self.sandbox.teams()[0]["run"].as_str().unwrap().to_owned();
        self.sandbox.keep(&format!("archive/runs/{run}"))
    }

    /// The hash of the content of a task.
    pub fn content(&self) -> String {
        let run = self.sandbox.teams()[0]["run"].as_str().unwrap().to_owned();
        let files = self.sandbox.archive().journal(&run).last();
        let task = files.iter().find(|(path, _)| path.starts_with("tasks/")).unwrap().1;
        task.object.clone().unwrap()
    }

    /// A copy of the run's events in a removed segment, with several lines.
    pub fn part(&self) -> PathBuf {
        let parts = log::parts_in(&self.run_dir()).into_values();
        parts.max_by_key(|part| gunzip(part).lines().count()).unwrap()
    }

    pub fn edit_part(&self, edit: impl FnOnce(&mut Vec<String>)) {
        let path = self.part();
        let text = gunzip(&path);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        edit(&mut lines);
        let changed = lines.join("\n") + "\n";
        assert_ne!(changed, text);
        gzip(&path, &changed);
    }

    /// Records a call while another process has the log's lock.
    pub fn write_single(&self) -> PathBuf {
        self.sandbox.configure("[log]\nlock-patience = \"10ms\"\n");
        let held = fs::lock(&self.lock(), std::time::Duration::from_secs(60)).unwrap();
        assert!(held.is_some());
        self.call("alone");
        drop(held);
        self.sandbox.configure(ROOMY);
        self.single()
    }

    pub fn single(&self) -> PathBuf {
        let is_single = |path: &PathBuf| path.to_str().unwrap().contains("-solo-");
        self.segments().into_iter().rfind(is_single).unwrap()
    }

    pub fn restore_older_log(&self) {
        let log = self.sandbox.keep("log");
        std::fs::remove_dir_all(&log).unwrap();
        copy_dir(&self.sandbox.keep("../older"), &log);
    }
}

/// Computes the hash of a changed line again.
pub fn resealed_line(line: &str) -> String {
    let Mark::Chained(link) = Sealed::read(line.as_bytes()).unwrap().mark else { panic!("{line}") };
    let (body, _) = line.rsplit_once(",\"chain\":\"").unwrap();
    let hash = ChainHash::of_line(link.number, link.after, body.as_bytes());
    format!("{body},\"chain\":\"{}:{}:{hash}\"}}", link.number, link.after)
}

/// Writes the whole log again after a change, as somebody who knows how can.
pub fn resealed(scene: &Scene, change: impl FnOnce(&mut Vec<String>)) {
    let segments = scene.segments();
    let mut lines: Vec<String> = segments.iter().flat_map(|segment| lines_of(segment)).collect();
    change(&mut lines);
    segments.iter().for_each(|segment| std::fs::remove_file(segment).unwrap());
    std::fs::remove_file(scene.lock()).unwrap();
    let log = Log::open(scene.sandbox.keep("log"), &config::Log::default());
    for line in lines {
        let event: serde_json::Value = serde_json::from_str(&line).unwrap();
        let (body, _) = line.rsplit_once(",\"chain\":\"").unwrap();
        let at = clock::parse(event["at"].as_str().unwrap()).unwrap();
        log.append(format!("{body}}}").as_bytes(), at).unwrap();
    }
}

pub fn lines_of(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

pub fn write_lines(path: &Path, lines: &[String]) {
    let text: String = lines.iter().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
    std::fs::write(path, text).unwrap();
}

pub fn gunzip(path: &Path) -> String {
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub fn gzip(path: &Path, text: &str) {
    let mut to =
        flate2::write::GzEncoder::new(std::fs::File::create(path).unwrap(), flate2::Compression::fast());
    to.write_all(text.as_bytes()).unwrap();
    to.finish().unwrap();
}

fn copy_dir(from: &Path, to: &Path) {
    if !from.exists() {
        return;
    }
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_dir(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}
