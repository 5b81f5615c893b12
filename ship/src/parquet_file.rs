//! A Parquet file in memory that grows row by row.

use std::sync::Arc;

use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use teamkeep_core::error::{Error, Result};

use crate::tables::{Builder, Table};

/// Number of rows that are built before they are encoded.
const BATCH_ROWS: usize = 8_192;
/// Encoded rows are kept in memory until a row group is complete.
const MAX_ROW_GROUP_BYTES: usize = 16 << 20;

/// The rows of one object. Memory is bounded by the size of the object and one row group.
pub struct ParquetFile {
    table: &'static str,
    builder: Builder,
    writer: ArrowWriter<Vec<u8>>,
    pub rows: usize,
}

impl ParquetFile {
    pub fn new<R>(table: &Table<R>) -> Result<ParquetFile> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("teamkeep {}", env!("CARGO_PKG_VERSION")))
            .build();
        let writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&table.schema()), Some(properties));
        let writer = writer.map_err(|error| failed(table.name, error))?;
        Ok(ParquetFile { table: table.name, builder: Builder::new(table), writer, rows: 0 })
    }

    /// Appends a row. `table` is the one that the file was made for.
    pub fn push<R>(&mut self, table: &Table<R>, row: &R) -> Result<()> {
        self.builder.push(table, row);
        self.rows += 1;
        if self.builder.rows >= BATCH_ROWS { self.encode() } else { Ok(()) }
    }

    fn encode(&mut self) -> Result<()> {
        let name = self.table;
        let batch = self.builder.take().map_err(|error| failed(name, error.into()))?;
        self.writer.write(&batch).map_err(|error| failed(name, error))?;
        if self.writer.in_progress_size() >= MAX_ROW_GROUP_BYTES {
            self.writer.flush().map_err(|error| failed(name, error))?;
        }
        Ok(())
    }

    /// The content of the file.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.encode()?;
        self.writer.into_inner().map_err(|error| failed(self.table, error))
    }
}

/// A file with these rows; `None` without rows.
pub fn encode<R>(table: &Table<R>, rows: impl IntoIterator<Item = R>) -> Result<Option<Vec<u8>>> {
    let mut file = ParquetFile::new(table)?;
    for row in rows {
        file.push(table, &row)?;
    }
    if file.rows == 0 { Ok(None) } else { file.finish().map(Some) }
}

/// A file with the columns of a table, and no rows.
pub fn empty<R>(table: &Table<R>) -> Result<Vec<u8>> {
    ParquetFile::new(table)?.finish()
}

fn failed(table: &str, error: parquet::errors::ParquetError) -> Error {
    Error::caused(format!("cannot encode the table {table}"), error)
}
