//! Tables with rows that recorded runs do not have.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use teamkeep_ship::parquet_file::encode;
use teamkeep_ship::tables::{EventRow, Place, Texts, events};

use crate::support::{self, Machine};

/// The content of a column of another object; `None` leaves it unchanged.
type Change = fn(&str, &dyn Array) -> Option<ArrayRef>;

/// A copy of an object with changed columns, and one that the program does not know.
fn changed(content: Vec<u8>, change: Change) -> Vec<u8> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(content)).unwrap();
    let mut fields: Vec<Arc<Field>> = reader.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new("unknown_column", DataType::Utf8, true)));
    let schema = Arc::new(Schema::new(fields));
    let mut writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), None).unwrap();
    for batch in reader.build().unwrap() {
        let batch = batch.unwrap();
        let names = schema.fields().iter().map(|field| field.name());
        let mut columns: Vec<ArrayRef> = names
            .zip(batch.columns())
            .map(|(name, column)| change(name, column.as_ref()).unwrap_or_else(|| Arc::clone(column)))
            .collect();
        columns.push(Arc::new(StringArray::from(vec!["text"; batch.num_rows()])));
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()).unwrap();
    }
    writer.into_inner().unwrap()
}

fn objects(machine: &Machine, table: &str) -> Vec<PathBuf> {
    let all = support::files(&machine.lake().join(table));
    let has_rows = |path: &PathBuf| !path.ends_with("no-rows.parquet");
    all.into_iter().filter(has_rows).collect()
}

/// Adds an earlier revision of every run, which must not count.
pub fn add_earlier_revisions(machine: &Machine) {
    let earlier: Change = |name, column| {
        let revisions = (name == "revision").then(|| column.as_primitive::<Int64Type>().values())?;
        Some(Arc::new(Int64Array::from_iter_values(revisions.iter().map(|revision| revision - 1))))
    };
    for table in ["runs", "agents", "tasks", "messages", "verdicts", "incidents", "usage", "tools"] {
        let paths = objects(machine, table);
        assert!(!paths.is_empty(), "{table}");
        for path in paths {
            let content = changed(std::fs::read(&path).unwrap(), earlier);
            std::fs::write(path.with_extension("earlier.parquet"), content).unwrap();
        }
    }
}

/// Adds stalls of two hours to a run, one for each of its incidents. Returns how many.
pub fn add_stalls(machine: &Machine) -> usize {
    add_copy(machine, "incidents", |name, column| match name {
        "kind" => Some(Arc::new(StringArray::from(vec!["stalled-agent"; column.len()]))),
        "seconds" => Some(Arc::new(Int64Array::from(vec![7_200; column.len()]))),
        _ => None,
    })
}

/// Adds messages to a run that were not delivered. Returns how many.
pub fn add_undelivered(machine: &Machine) -> usize {
    add_copy(machine, "messages", |name, column| match name {
        "delivered" | "automatic" => Some(Arc::new(BooleanArray::from(vec![false; column.len()]))),
        _ => None,
    })
}

fn add_copy(machine: &Machine, table: &str, change: Change) -> usize {
    let all = objects(machine, table);
    let path = all.iter().find(|path| !path.to_string_lossy().contains(".earlier.")).unwrap();
    let content = changed(std::fs::read(path).unwrap(), change);
    let count = support::rows_of(&content).len();
    std::fs::write(path.with_extension("copy.parquet"), content).unwrap();
    count
}

/// Adds heads: of a log of m2 the third has fewer lines, of one of m3 the second has another hash, and m4 has two logs.
pub fn add_heads(machine: &Machine) {
    for (host, year, log, lines, hash) in [
        ("m2", 2001, "r1", 10, "a"),
        ("m2", 2002, "r1", 20, "b"),
        ("m2", 2003, "r1", 15, "c"),
        ("m3", 2098, "r2", 10, "a"),
        ("m3", 2099, "r2", 10, "b"),
        ("m4", 2098, "r3", 30, "a"),
        ("m4", 2099, "session-s", 20, "b"),
    ] {
        let line = format!(r#"{{"v":1,"at":"{year}-02-03T04:05:06Z","id":"{log}-{lines}","event":"E"}}"#);
        let head = format!("{log}:{lines}:{hash}");
        let place = Place { segment: log, number: 1, head: Some(&head) };
        let row = EventRow::parse(line.as_bytes(), place, &Texts::Dropped).unwrap();
        let dir = machine.lake().join(format!("events/org=acme/date={year}-02-03/host={host}"));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(format!("{log}.parquet")), encode(&events(), [row]).unwrap().unwrap())
            .unwrap();
    }
}
