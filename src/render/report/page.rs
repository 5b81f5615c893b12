//! The content of a report, independent of its format: headings, sentences and tables.

/// A part of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// The heading of a section.
    Heading(String),
    /// A sentence or a single line.
    Line(String),
    /// A table.
    Table(Table),
    /// Dependencies of tasks.
    Graph(Graph),
}

/// A graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// The nodes: id and description.
    pub nodes: Vec<(String, String)>,
    /// The edges from an earlier to a later node, by index.
    pub edges: Vec<(usize, usize)>,
}

/// A table. The last column can have text of any length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns' titles, and whether they are numbers.
    pub head: Vec<(&'static str, bool)>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns. A title that ends in `#` marks a column of numbers, and is shown without it.
    pub fn of(titles: &[&'static str]) -> Table {
        let column = |title: &&'static str| match title.strip_suffix('#') {
            Some(title) => (title, true),
            None => (*title, false),
        };
        Table { head: titles.iter().map(column).collect(), rows: Vec::new() }
    }

    /// The table without empty columns.
    pub fn pruned(&self) -> Table {
        let full = |column: &usize| {
            self.rows.iter().any(|row| row.get(*column).is_some_and(|cell| !cell.is_empty()))
        };
        let kept: Vec<usize> = (0..self.head.len()).filter(full).collect();
        let pick = |row: &Vec<String>| kept.iter().map(|column| row[*column].clone()).collect();
        Table {
            head: kept.iter().map(|column| self.head[*column]).collect(),
            rows: self.rows.iter().map(pick).collect(),
        }
    }

    /// Adds a row with one cell per column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}
