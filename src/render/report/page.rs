//! A report before it is spelled for a terminal or as Markdown: headings, sentences and tables.

/// Part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// The heading of a section.
    Heading(String),
    /// A sentence or a line of its own.
    Line(String),
    /// A table.
    Table(Table),
    /// What has to be done before what.
    Graph(Graph),
}

/// A graph of named things.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// The things: what they are called, and what they are about.
    pub nodes: Vec<(String, String)>,
    /// The first comes before the second, by their places.
    pub edges: Vec<(usize, usize)>,
}

/// Rows under a head. The last column is text of any length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns' titles, and whether what is in them is a number.
    pub head: Vec<(&'static str, bool)>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of these columns. A title that ends in `#` is of numbers, and shown without it.
    pub fn of(titles: &[&'static str]) -> Table {
        let column = |title: &&'static str| match title.strip_suffix('#') {
            Some(title) => (title, true),
            None => (*title, false),
        };
        Table { head: titles.iter().map(column).collect(), rows: Vec::new() }
    }

    /// The table without the columns in which nothing stands.
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

    /// Adds a row, which has a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}
