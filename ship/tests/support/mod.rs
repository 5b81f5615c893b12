//! A store with recorded runs, the shipper on it, and the rows that arrived.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::read::GzDecoder;
use serde_json::Value;
use teamkeep::verify::LogHead;
use teamkeep_config::Config;
use teamkeep_history::report::Report;
use teamkeep_history::timeline::{RunCatalog, merge};
use teamkeep_store::archive::Archive;
use teamkeep_store::log::{EventLog, Logs};
use teamkeep_system::paths::Paths;

/// The recorded runs of Claude Code, by name.
pub const TRACES: [&str; 7] = [
    "v177-inprocess",
    "v328-gc",
    "v328-headless",
    "v328-inprocess",
    "v328-notasks",
    "v328-panes",
    "v47-inprocess",
];

/// A home directory with a store and a configuration.
pub struct Machine {
    pub dir: PathBuf,
    _scratch: Option<tempfile::TempDir>,
}

impl Machine {
    pub fn new() -> Machine {
        let scratch = tempfile::tempdir().unwrap();
        let machine = Machine { dir: scratch.path().to_owned(), _scratch: Some(scratch) };
        std::fs::create_dir_all(machine.home()).unwrap();
        machine
    }

    /// A machine in a directory that somebody else removes.
    pub fn in_dir(dir: &Path) -> Machine {
        let machine = Machine { dir: dir.to_owned(), _scratch: None };
        std::fs::create_dir_all(machine.home()).unwrap();
        machine
    }

    pub fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    pub fn store(&self) -> PathBuf {
        self.dir.join("store")
    }

    /// The directory that serves as an object store.
    pub fn lake(&self) -> PathBuf {
        self.dir.join("lake")
    }

    /// The directory with a file of rows, if it is configured.
    pub fn directory(&self) -> PathBuf {
        self.dir.join("rows")
    }

    /// Records a run into the store.
    pub fn record(&self, trace: &str) {
        self.record_with(trace, |text| text);
    }

    /// Records a changed run into the store.
    pub fn record_with(&self, trace: &str, change: impl FnOnce(String) -> String) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../tests/fixtures/traces")
            .join(format!("{trace}.jsonl"));
        let text = change(std::fs::read_to_string(path).unwrap());
        std::fs::create_dir_all(self.store()).unwrap();
        teamkeep::demo::replay_into(&text, Some(self.store())).unwrap();
    }

    /// Sets the table `[ship]`; `{lake}` in it is the directory's address.
    pub fn configure(&self, ship: &str) {
        let lake = format!("file://{}", self.lake().display());
        std::fs::write(self.config(), format!("[ship]\n{}\n", ship.replace("{lake}", &lake))).unwrap();
    }

    /// The usual configuration: the directory, and names that do not depend on this machine.
    pub fn configure_lake(&self, more: &str) {
        self.configure(&format!("store = \"{{lake}}\"\norganization = \"acme\"\nhost = \"m1\"\n{more}"));
    }

    pub fn config(&self) -> PathBuf {
        self.dir.join("teamkeep.toml")
    }

    pub fn shipper(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_teamkeep-ship"));
        command.args(args).env_clear();
        command.env("HOME", self.home()).env("USER", "dev").env("TZ", "UTC");
        command.env("TEAMKEEP_HOME", self.store()).env("TEAMKEEP_CONFIG", self.config());
        command
    }

    pub fn ship(&self, args: &[&str]) -> Output {
        self.shipper(args).output().unwrap()
    }

    /// Ships everything, and fails the test unless that succeeds.
    pub fn ship_all(&self) -> String {
        let output = self.ship(&["--once"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{text}");
        text
    }

    /// Ships, which fails; returns the errors.
    pub fn ship_in_vain(&self) -> String {
        let output = self.ship(&["--once"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{text}");
        text
    }

    /// The rows that `--dry-run --json` prints, each as its line.
    pub fn dry_run(&self) -> String {
        let output = self.ship(&["--dry-run", "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn status(&self) -> String {
        String::from_utf8(self.ship(&["status"]).stdout).unwrap()
    }

    /// The file with the state of shipping.
    pub fn state(&self) -> PathBuf {
        self.store().join("shipping.json")
    }

    /// Changes what is noted of each destination.
    pub fn change_state(&self, change: impl Fn(&mut Value)) {
        let mut state: Value = serde_json::from_slice(&std::fs::read(self.state()).unwrap()).unwrap();
        state["destinations"].as_object_mut().unwrap().values_mut().for_each(change);
        std::fs::write(self.state(), state.to_string()).unwrap();
    }

    pub fn catalog(&self) -> RunCatalog {
        let archive = Archive::open(self.store(), &Config::default());
        RunCatalog::open(archive, self.logs())
    }

    pub fn logs(&self) -> Logs {
        Logs::of(&Paths { store: self.store(), config: self.config(), client: None, warning: None })
    }

    /// The log of the only run.
    pub fn log(&self) -> EventLog {
        self.logs().run(&self.catalog().runs[0].run).unwrap()
    }

    /// The reports of all runs, as `teamkeep report --format json` prints them.
    pub fn reports(&self) -> Vec<Report> {
        let catalog = self.catalog();
        let runs = catalog.runs.iter().filter(|run| !catalog.is_stray(run));
        let report = |run| {
            let opened = catalog.open_runs(&[run]).unwrap();
            let data = &opened.runs[0];
            Report::of(data, &merge(data), &Config::default(), data.run.ended_at.unwrap_or_default())
        };
        runs.map(report).collect()
    }

    /// The heads of all logs, as `teamkeep verify --head` prints them.
    pub fn heads(&self) -> BTreeSet<String> {
        self.logs().all().unwrap().iter().filter_map(LogHead::of).map(|head| head.to_string()).collect()
    }

    /// The lines of all logs.
    pub fn log_lines(&self) -> Vec<Value> {
        let texts = self
            .logs()
            .segments()
            .into_iter()
            .map(|segment| std::io::read_to_string(segment.bytes().unwrap()));
        texts.flat_map(|text| parsed(&text.unwrap())).collect()
    }

    /// Changes the text of each segment of the only run, uncompressed.
    pub fn change_log(&self, change: impl Fn(String) -> String) {
        for segment in self.log().segments().unwrap() {
            let text = change(std::io::read_to_string(segment.bytes().unwrap()).unwrap());
            std::fs::remove_file(segment.path()).unwrap();
            std::fs::write(self.log().dir().join(segment.name.to_string()), text).unwrap();
        }
    }

    /// Makes each event of a tool the call in a span of Claude Code's own telemetry.
    pub fn change_logs_with_spans(&self) {
        let mut spans = 0_u64;
        for segment in self.logs().segments() {
            let text = std::io::read_to_string(segment.bytes().unwrap()).unwrap();
            let mut lines = text.split_inclusive('\n').map(|line| {
                spans += 1;
                let parent = format!("00-{:032x}-{:016x}-01", 7, spans / 2 + 1);
                line.replacen("\"payload\":", &format!("\"traceparent\":\"{parent}\",\"payload\":"), 1)
            });
            let text: String = lines.by_ref().collect();
            let dir = segment.path().parent().unwrap().to_owned();
            std::fs::remove_file(segment.path()).unwrap();
            std::fs::write(dir.join(segment.name.to_string()), text).unwrap();
        }
    }

    /// The names of all objects, in the order of their shipments.
    pub fn objects(&self) -> BTreeSet<String> {
        let lake = self.lake();
        // A shipper that was killed can leave an incomplete file `NAME#1`, which no query reads.
        let names = files(&lake).into_iter().filter(|path| path.extension().is_some_and(|end| end == "gz"));
        names.map(|path| path.strip_prefix(&lake).unwrap().display().to_string()).collect()
    }

    /// The text of an object.
    pub fn object(&self, name: &str) -> String {
        let mut text = String::new();
        let file = std::fs::File::open(self.lake().join(name)).unwrap();
        GzDecoder::new(file).read_to_string(&mut text).unwrap();
        text
    }

    /// All rows of a table in the object store, also those that were sent again.
    pub fn all_rows(&self, table: &str) -> Vec<Value> {
        let rows = self.objects().iter().flat_map(|name| parsed(&self.object(name))).collect::<Vec<_>>();
        rows.into_iter().filter(|row| row["table"] == table).collect()
    }

    /// The rows of a table in the object store that count.
    pub fn rows(&self, table: &str) -> Vec<Value> {
        let rows = self.objects().iter().flat_map(|name| parsed(&self.object(name))).collect();
        counting(rows).into_iter().filter(|row| row["table"] == table).collect()
    }

    /// All rows in the directory, those of full files first.
    pub fn directory_rows(&self) -> Vec<Value> {
        let mut paths = files(&self.directory());
        paths.sort_by_key(|path| (path.ends_with("teamkeep-rows.jsonl"), path.clone()));
        paths.iter().flat_map(|path| parsed(&std::fs::read_to_string(path).unwrap())).collect()
    }
}

/// The rows in lines of JSON.
pub fn parsed(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The rows that count. Of the rows of a run, those of the shipment whose row in `runs` has the highest revision, of several the last
/// one; of equal events, the first.
pub fn counting(rows: Vec<Value>) -> Vec<Value> {
    let key = |row: &Value, id: &str| format!("{} {} {}", row["org"], row["store"], row[id]);
    let version =
        |row: &Value| (row["revision"].as_i64().unwrap(), row["shipped_at"].as_str().unwrap().to_owned());
    let mut last: BTreeMap<String, (i64, String)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row["table"] == "runs") {
        let known = last.entry(key(row, "run")).or_insert_with(|| version(row));
        *known = version(row).max(known.clone());
    }
    let mut events = BTreeSet::new();
    let counts = |row: &Value| match row["table"].as_str().unwrap() {
        "events" => events.insert(key(row, "id")),
        "hosts" => true,
        _ => last.get(&key(row, "run")) == Some(&version(row)),
    };
    let mut counts = counts;
    rows.into_iter().filter(|row| counts(row)).collect()
}

/// All files below a directory, sorted.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}
