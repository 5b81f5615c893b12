//! A store with recorded runs, the shipper on it, and what arrived in a directory.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value, json};
use teamkeep::report::Report;
use teamkeep::timeline::{RunCatalog, merge};
use teamkeep::verify::LogHead;
use teamkeep_core::config::Config;
use teamkeep_core::store::archive::Archive;
use teamkeep_core::store::log::{EventLog, Logs};
use teamkeep_core::sys::paths::Paths;

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
        texts
            .flat_map(|text| {
                text.unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Changes the text of each segment of the only run, uncompressed.
    pub fn change_log(&self, change: impl Fn(String) -> String) {
        for segment in self.log().segments().unwrap() {
            let text = change(std::io::read_to_string(segment.bytes().unwrap()).unwrap());
            std::fs::remove_file(segment.path()).unwrap();
            std::fs::write(self.log().dir().join(segment.name.to_string()), text).unwrap();
        }
    }

    /// The rows of a table, with the partitions.
    pub fn rows(&self, table: &str) -> Vec<Value> {
        let mut rows = Vec::new();
        // A shipper that was killed can leave an incomplete file `NAME.parquet#1`, which no query reads.
        let is_object = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "parquet");
        for path in files(&self.lake().join(table)).into_iter().filter(is_object) {
            rows.extend(rows_of(&std::fs::read(&path).unwrap()));
        }
        rows
    }

    /// The names of all objects.
    pub fn objects(&self) -> BTreeSet<String> {
        let lake = self.lake();
        files(&lake).iter().map(|path| path.strip_prefix(&lake).unwrap().display().to_string()).collect()
    }
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

/// The rows of a Parquet file as JSON objects.
pub fn rows_of(content: &[u8]) -> Vec<Value> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::copy_from_slice(content)).unwrap();
    builder.build().unwrap().flat_map(|batch| rows_of_batch(&batch.unwrap())).collect()
}

fn rows_of_batch(batch: &RecordBatch) -> Vec<Value> {
    let schema = batch.schema();
    let row = |index: usize| {
        let cells = schema
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, column)| (field.name().clone(), cell(column.as_ref(), index)));
        Value::Object(cells.collect::<Map<_, _>>())
    };
    (0..batch.num_rows()).map(row).collect()
}

fn cell(column: &dyn Array, index: usize) -> Value {
    if column.is_null(index) {
        return Value::Null;
    }
    if let Some(texts) = column.as_string_opt::<i32>() {
        return json!(texts.value(index));
    }
    if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
        return json!(numbers.value(index));
    }
    if let Some(times) = column.as_primitive_opt::<TimestampMillisecondType>() {
        return json!(times.value(index));
    }
    if let Some(flags) = column.as_boolean_opt() {
        return json!(flags.value(index));
    }
    if let Some(numbers) = column.as_primitive_opt::<arrow_array::types::Float64Type>() {
        return json!(numbers.value(index));
    }
    let list = column.as_list::<i32>().value(index);
    (0..list.len()).map(|place| cell(list.as_ref(), place)).collect()
}
