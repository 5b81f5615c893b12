//! A store to tamper with, and the tools for it.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::json;
use teamkeep_model::time;
use teamkeep_store::chain::ChainHash;
use teamkeep_store::log::{Appending, EventLog, Mark, Sealed, SegmentName};
use teamkeep_system::fs;

use super::retention::{ROOMY, act, end};
use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

const LEAD: &str = "00000001-0000-4000-8000-000000000001";

pub struct Scene {
    pub sandbox: Sandbox,
}

impl Scene {
    /// A run that has not ended, whose log has several segments, and an older copy of its directory.
    pub fn recorded() -> Scene {
        let scene = Scene { sandbox: Sandbox::new() };
        scene.sandbox.configure(ROOMY);
        act(&scene.sandbox, 1);
        copy_dir(&scene.run_dir(), &scene.sandbox.keep("../older"));
        scene.call("two");
        scene.call("three");
        assert!(scene.segments().len() > 3 && scene.last_segment().1 > 1);
        scene
    }

    /// A run that has ended, with a line that was written without the lock.
    pub fn ended() -> Scene {
        let scene = Scene { sandbox: Sandbox::new() };
        // A segment of one block is not compressed.
        scene.sandbox.configure(&ROOMY.replace("4 KiB", "6 KiB"));
        act(&scene.sandbox, 1);
        scene.write_single();
        end(&scene.sandbox, &scene.lead());
        assert!(scene.packed().len() > 2);
        scene
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

    fn lead(&self) -> Lead<'_> {
        Lead::of(&self.sandbox, LEAD)
    }

    pub fn call(&self, prompt: &str) {
        self.lead().hook("UserPromptSubmit", json!({"prompt": prompt}));
    }

    pub fn log(&self) -> EventLog {
        self.sandbox.run_log()
    }

    /// The head of the run's log.
    pub fn head(&self) -> String {
        let heads = self.sandbox.printed(&["verify", "--head"]);
        let run = format!("{}:", self.log().owner);
        heads.lines().find(|line| line.starts_with(&run)).unwrap().to_owned()
    }

    pub fn lock(&self) -> PathBuf {
        self.run_dir().join("events.lock")
    }

    pub fn segments(&self) -> Vec<PathBuf> {
        let segments = self.log().segments().unwrap().into_iter();
        segments.filter(|one| !one.name.is_single()).map(|one| one.path()).collect()
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
        age(&self.journal());
    }

    pub fn run_dir(&self) -> PathBuf {
        let run = self.sandbox.teams()[0]["run"].as_str().unwrap().to_owned();
        self.sandbox.keep(&format!("runs/{run}"))
    }

    /// The hash of the content of a task.
    pub fn content(&self) -> String {
        let run = self.sandbox.teams()[0]["run"].as_str().unwrap().to_owned();
        let files = self.sandbox.archive().journal(&run).last();
        let task = files.iter().find(|(path, _)| path.starts_with("tasks/")).unwrap().1;
        task.object.clone().unwrap()
    }

    /// The compressed segments.
    pub fn packed(&self) -> Vec<PathBuf> {
        let is_packed = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "gz");
        self.segments().into_iter().filter(is_packed).collect()
    }

    pub fn edit_packed(&self, edit: impl FnOnce(&mut Vec<String>)) {
        let path = self.packed().remove(1);
        let text = gunzip(&path);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        edit(&mut lines);
        let changed = lines.join("\n") + "\n";
        assert_ne!(changed, text);
        gzip(&path, &changed);
    }

    /// Records a call while another process has the log's lock.
    pub fn write_single(&self) {
        self.sandbox.configure("[log]\nlock-patience = \"10ms\"\n");
        let held = fs::lock(&self.lock(), Duration::from_secs(60)).unwrap();
        assert!(held.is_some());
        self.call("alone");
        drop(held);
        self.sandbox.configure(ROOMY);
    }

    pub fn single(&self) -> PathBuf {
        let segments = self.log().segments().unwrap();
        segments.into_iter().rfind(|segment| segment.name.is_single()).unwrap().path()
    }

    pub fn restore_older_run(&self) {
        let dir = self.run_dir();
        std::fs::remove_dir_all(&dir).unwrap();
        copy_dir(&self.sandbox.keep("../older"), &dir);
    }
}

/// As if the last hook call was two minutes ago.
pub fn age(path: &Path) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(120)).unwrap();
}

/// Computes the hash of a changed line again.
pub fn resealed_line(line: &str) -> String {
    let Mark::Chained(link) = Sealed::read(line.as_bytes()).unwrap().mark else { panic!("{line}") };
    let (body, _) = line.rsplit_once(",\"chain\":\"").unwrap();
    let hash = ChainHash::of_line(link.number, link.after, body.as_bytes());
    format!("{body},\"chain\":\"{}:{}:{hash}\"}}", link.number, link.after)
}

/// Writes the whole log of the run again after a change, as somebody who knows how can.
pub fn resealed(scene: &Scene, change: impl FnOnce(&mut Vec<String>)) {
    let (log, segments) = (scene.log(), scene.segments());
    let mut lines: Vec<String> = segments.iter().flat_map(|segment| lines_of(segment)).collect();
    change(&mut lines);
    segments.iter().for_each(|segment| std::fs::remove_file(segment).unwrap());
    std::fs::remove_file(scene.lock()).unwrap();
    let how = Appending { segment_size: 4 << 10, patience: Duration::from_secs(60), durable: false };
    for line in lines {
        let event: serde_json::Value = serde_json::from_str(&line).unwrap();
        let (body, _) = line.rsplit_once(",\"chain\":\"").unwrap();
        let at = time::parse(event["at"].as_str().unwrap()).unwrap();
        log.append(format!("{body}}}").as_bytes(), at, how).unwrap();
    }
}

/// The name of a closed segment whose last line is this one.
pub fn closed_name(line: &str) -> String {
    let Mark::Chained(link) = Sealed::read(line.as_bytes()).unwrap().mark else { panic!("{line}") };
    SegmentName::Closed(link.point()).to_string()
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

/// Copies a directory, if there is one.
pub fn copy_dir(from: &Path, to: &Path) {
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
