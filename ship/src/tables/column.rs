//! Columns, each with a type, a description and the function that takes its value from a row; and a builder that turns rows
//! into record batches.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use serde_json::{Map, Value, json};
use teamkeep_core::sys::clock::Timestamp;

/// A table of rows `R`. Its name is the first part of the names of its objects.
#[derive(Debug, Clone)]
pub struct Table<R> {
    pub name: &'static str,
    /// The meaning of a row.
    pub row: &'static str,
    pub columns: Vec<Column<R>>,
}

#[derive(Debug, Clone)]
pub struct Column<R> {
    pub name: &'static str,
    pub about: &'static str,
    pub get: Get<R>,
}

/// How a column takes its value from a row. `None` is null.
#[derive(Debug, Clone)]
pub enum Get<R> {
    Text(fn(&R) -> Option<&str>),
    Integer(fn(&R) -> Option<i64>),
    Float(fn(&R) -> Option<f64>),
    Flag(fn(&R) -> Option<bool>),
    Time(fn(&R) -> Option<Timestamp>),
    Texts(fn(&R) -> &[String]),
}

/// A table as the documentation shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub name: &'static str,
    pub row: &'static str,
    /// Name, type and meaning of each column.
    pub columns: Vec<[&'static str; 3]>,
}

impl<R> Column<R> {
    pub fn text(name: &'static str, about: &'static str, get: fn(&R) -> Option<&str>) -> Column<R> {
        Column { name, about, get: Get::Text(get) }
    }

    pub fn integer(name: &'static str, about: &'static str, get: fn(&R) -> Option<i64>) -> Column<R> {
        Column { name, about, get: Get::Integer(get) }
    }

    pub fn float(name: &'static str, about: &'static str, get: fn(&R) -> Option<f64>) -> Column<R> {
        Column { name, about, get: Get::Float(get) }
    }

    pub fn flag(name: &'static str, about: &'static str, get: fn(&R) -> Option<bool>) -> Column<R> {
        Column { name, about, get: Get::Flag(get) }
    }

    pub fn time(name: &'static str, about: &'static str, get: fn(&R) -> Option<Timestamp>) -> Column<R> {
        Column { name, about, get: Get::Time(get) }
    }

    pub fn texts(name: &'static str, about: &'static str, get: fn(&R) -> &[String]) -> Column<R> {
        Column { name, about, get: Get::Texts(get) }
    }

    fn to_json(&self, row: &R) -> Value {
        match self.get {
            Get::Text(get) => json!(get(row)),
            Get::Integer(get) => json!(get(row)),
            Get::Float(get) => json!(get(row)),
            Get::Flag(get) => json!(get(row)),
            Get::Time(get) => json!(get(row).filter(|time| time.is_valid())),
            Get::Texts(get) => json!(get(row)),
        }
    }
}

impl<R> Get<R> {
    /// The type's name in the documentation.
    fn type_name(&self) -> &'static str {
        match self {
            Get::Text(_) => "string",
            Get::Integer(_) => "int64",
            Get::Float(_) => "double",
            Get::Flag(_) => "boolean",
            Get::Time(_) => "timestamp",
            Get::Texts(_) => "list of strings",
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Get::Text(_) => DataType::Utf8,
            Get::Integer(_) => DataType::Int64,
            Get::Float(_) => DataType::Float64,
            Get::Flag(_) => DataType::Boolean,
            Get::Time(_) => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            Get::Texts(_) => DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))),
        }
    }
}

impl<R> Table<R> {
    pub fn schema(&self) -> Arc<Schema> {
        let fields = self.columns.iter().map(|column| Field::new(column.name, column.get.data_type(), true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// A row as a JSON object with the columns as keys.
    pub fn to_json(&self, row: &R) -> Value {
        let cells = self.columns.iter().map(|column| (column.name.to_owned(), column.to_json(row)));
        Value::Object(cells.collect::<Map<_, _>>())
    }

    pub fn description(&self) -> Description {
        let columns = self.columns.iter().map(|column| [column.name, column.get.type_name(), column.about]);
        Description { name: self.name, row: self.row, columns: columns.collect() }
    }
}

/// A record batch that grows row by row.
#[derive(Debug)]
pub struct Builder {
    schema: Arc<Schema>,
    columns: Vec<Values>,
    pub rows: usize,
}

#[derive(Debug)]
enum Values {
    Text(StringBuilder),
    Integer(Int64Builder),
    Float(Float64Builder),
    Flag(BooleanBuilder),
    Time(TimestampMillisecondBuilder),
    Texts(ListBuilder<StringBuilder>),
}

impl Builder {
    pub fn new<R>(table: &Table<R>) -> Builder {
        let columns = table.columns.iter().map(|column| match column.get {
            Get::Text(_) => Values::Text(StringBuilder::new()),
            Get::Integer(_) => Values::Integer(Int64Builder::new()),
            Get::Float(_) => Values::Float(Float64Builder::new()),
            Get::Flag(_) => Values::Flag(BooleanBuilder::new()),
            Get::Time(_) => Values::Time(TimestampMillisecondBuilder::new().with_timezone("UTC")),
            Get::Texts(_) => Values::Texts(ListBuilder::new(StringBuilder::new())),
        });
        Builder { schema: table.schema(), columns: columns.collect(), rows: 0 }
    }

    /// Appends a row. `table` is the one that the builder was made for.
    pub fn push<R>(&mut self, table: &Table<R>, row: &R) {
        for (values, column) in self.columns.iter_mut().zip(&table.columns) {
            values.push(&column.get, row);
        }
        self.rows += 1;
    }

    /// Takes the rows. The builder is empty afterwards.
    pub fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        self.rows = 0;
        let arrays: Vec<ArrayRef> = self.columns.iter_mut().map(Values::take).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), arrays)
    }
}

impl Values {
    fn push<R>(&mut self, get: &Get<R>, row: &R) {
        match (self, get) {
            (Values::Text(values), Get::Text(get)) => values.append_option(get(row)),
            (Values::Integer(values), Get::Integer(get)) => values.append_option(get(row)),
            (Values::Float(values), Get::Float(get)) => values.append_option(get(row)),
            (Values::Flag(values), Get::Flag(get)) => values.append_option(get(row)),
            (Values::Time(values), Get::Time(get)) => {
                values.append_option(get(row).filter(|time| time.is_valid()).map(Timestamp::millis));
            }
            (Values::Texts(values), Get::Texts(get)) => {
                get(row).iter().for_each(|text| values.values().append_value(text));
                values.append(true);
            }
            // Of another table: `Builder::take` fails, because the columns differ in length.
            _ => {}
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Values::Text(values) => Arc::new(values.finish()),
            Values::Integer(values) => Arc::new(values.finish()),
            Values::Float(values) => Arc::new(values.finish()),
            Values::Flag(values) => Arc::new(values.finish()),
            Values::Time(values) => Arc::new(values.finish()),
            Values::Texts(values) => Arc::new(values.finish()),
        }
    }
}
