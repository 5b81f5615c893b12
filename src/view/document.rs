//! A document: headings, paragraphs, lists and tables, independent of the output format.

use std::io::{self, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::line::{CYAN, DIM, Line, Span, bold, dim, plain, styled};

/// Minimum width of the last column of a table; with less, each row becomes a paragraph.
const MIN_LAST_COLUMN: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// The heading of a section; the first is the title.
    Heading(Span),
    Line(Line),
    /// A line with a remark, which gets its own line if it does not fit.
    Remarked(Line, String),
    /// Text that can be pasted: it is never wrapped.
    Code(Line),
    /// A list in one line, with commas; it is wrapped between its items.
    List(List),
    Table(Table),
    /// Dependencies of tasks.
    Graph(Graph),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct List {
    pub items: Vec<String>,
    indent: usize,
    style: Style,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// The nodes: id and description.
    pub nodes: Vec<(String, String)>,
    /// The edges from an earlier to a later node, by index.
    pub edges: Vec<(usize, usize)>,
}

/// Blocks, one below the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    pub blocks: Vec<Block>,
}

impl Document {
    pub fn heading(&mut self, text: impl AsRef<str>) {
        self.blocks.push(Block::Heading(bold(text)));
    }

    pub fn section(&mut self, title: &str, body: Document) {
        if !body.blocks.is_empty() {
            self.heading(title);
            self.blocks.extend(body.blocks);
        }
    }

    /// Adds a line. It continues below its last column.
    pub fn line(&mut self, spans: impl Into<Line>) {
        self.blocks.push(Block::Line(spans.into()));
    }

    /// Adds a line with a dimmed remark, which gets its own line if it does not fit.
    pub fn remarked(&mut self, spans: impl Into<Line>, remark: Option<String>) {
        match remark {
            Some(remark) => self.blocks.push(Block::Remarked(spans.into(), remark)),
            None => self.line(spans),
        }
    }

    /// Adds a sentence. It continues at the left.
    pub fn paragraph(&mut self, text: impl AsRef<str>) {
        self.line(Line::from([plain(text)]).hanging(0));
    }

    /// Adds a line that is never wrapped.
    pub fn code(&mut self, spans: impl Into<Line>) {
        self.blocks.push(Block::Code(spans.into()));
    }

    pub fn blank(&mut self) {
        self.line([]);
    }

    /// Adds a list with this indent.
    pub fn list(&mut self, items: Vec<String>, indent: usize, style: Style) {
        self.blocks.push(Block::List(List { items, indent, style }));
    }

    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    pub fn graph(&mut self, graph: Graph) {
        self.blocks.push(Block::Graph(graph));
    }

    pub fn append(&mut self, other: Document) {
        self.blocks.extend(other.blocks);
    }

    /// Formats it for a terminal of this width; `None` for unlimited.
    pub fn to_terminal(&self, columns: Option<usize>) -> String {
        let mut out = Vec::new();
        // Writing to memory does not fail.
        let _ = self.write(&mut out, columns);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn write(&self, out: &mut Vec<u8>, columns: Option<usize>) -> io::Result<()> {
        for (place, block) in self.blocks.iter().enumerate() {
            match block {
                Block::Heading(title) => {
                    out.write_all(if place > 0 { b"\n" } else { b"" })?;
                    Line::from([title.clone()]).write(out, columns)?;
                }
                Block::Line(line) => line.clone().write(out, columns)?,
                Block::Remarked(line, remark) => {
                    let mut line = line.clone();
                    if columns.is_none_or(|columns| line.width() + remark.width() <= columns) {
                        line.push(dim(remark));
                        line.write(out, columns)?;
                    } else {
                        line.write(out, columns)?;
                        Line::from([dim(format!("      {remark}"))]).write(out, columns)?;
                    }
                }
                Block::Code(line) => line.clone().write(out, None)?,
                Block::List(list) => list.write(out, columns)?,
                Block::Graph(Graph { nodes, edges }) => {
                    for (from, to) in edges {
                        let line = [plain(format!("  {} → {}", nodes[*from].0, nodes[*to].0))];
                        Line::from(line).write(out, columns)?;
                    }
                }
                Block::Table(table) => table.pruned().write(out, columns)?,
            }
        }
        Ok(())
    }
}

impl From<Table> for Document {
    fn from(table: Table) -> Document {
        Document { blocks: vec![Block::Table(table)] }
    }
}

impl List {
    fn write(&self, out: &mut Vec<u8>, columns: Option<usize>) -> io::Result<()> {
        let mut lines: Vec<String> = Vec::new();
        for (place, item) in self.items.iter().enumerate() {
            let comma = if place + 1 < self.items.len() { "," } else { "" };
            let fits = |line: &String| {
                columns.is_none_or(|columns| line.width() + 1 + item.width() + comma.len() <= columns)
            };
            match lines.last_mut().filter(|line| fits(line)) {
                Some(line) => *line += &format!(" {item}{comma}"),
                None => lines.push(format!("{:indent$}{item}{comma}", "", indent = self.indent)),
            }
        }
        lines.iter().try_for_each(|line| Line::from([styled(self.style, line)]).write(out, columns))
    }
}

/// A table. The last column can have text of any length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    pub columns: Vec<Column>,
    /// The rows, each with one cell per column.
    pub rows: Vec<Vec<Span>>,
    pub indent: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub title: Span,
    /// Whether it has numbers, which are aligned to the right.
    pub is_number: bool,
}

impl Table {
    /// A table with these columns. A title that ends in `#` marks a column of numbers, and is shown without it.
    pub fn of(titles: &[&str]) -> Table {
        let column = |title: &&str| Column {
            title: styled(DIM, title.trim_end_matches('#')),
            is_number: title.ends_with('#'),
        };
        Table { columns: titles.iter().map(column).collect(), rows: Vec::new(), indent: 2 }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        self.rows.push(cells.into_iter().map(plain).collect());
    }

    /// The table with only these columns.
    pub fn only(&self, is_kept: impl Fn(usize) -> bool) -> Table {
        let kept: Vec<usize> = (0..self.columns.len()).filter(|column| is_kept(*column)).collect();
        let pick = |row: &Vec<Span>| kept.iter().map(|column| row[*column].clone()).collect();
        Table {
            columns: kept.iter().map(|column| self.columns[*column].clone()).collect(),
            rows: self.rows.iter().map(pick).collect(),
            indent: self.indent,
        }
    }

    /// The table without empty columns.
    pub fn pruned(&self) -> Table {
        self.only(|column| self.rows.iter().any(|row| !row[column].text().is_empty()))
    }

    /// The width of each column.
    pub fn widths(&self) -> Vec<usize> {
        let widest = |place: usize| {
            let cells = self.rows.iter().map(|row| &row[place]).chain([&self.columns[place].title]);
            cells.map(|cell| cell.text().width()).max().unwrap_or(0)
        };
        (0..self.columns.len()).map(widest).collect()
    }

    /// The title and the rows as aligned lines. Only the last column is wrapped.
    pub fn lines(&self) -> Vec<Line> {
        let widths = self.widths();
        let last = widths.len().saturating_sub(1);
        let fixed = self.indent + widths.iter().take(last).map(|width| width + 1).sum::<usize>();
        let titles: Vec<Span> = self.columns.iter().map(|column| column.title.clone()).collect();
        let line = |row: &Vec<Span>| {
            let cells = row.iter().cloned().enumerate().map(|(place, cell)| {
                match (self.columns[place].is_number, place == last) {
                    (true, _) => cell.right(widths[place]),
                    (false, true) => cell,
                    (false, false) => cell.width(widths[place]),
                }
            });
            let indent = plain("").width(self.indent.saturating_sub(1));
            let indent = (self.indent > 0).then_some(indent);
            Line::from(indent.into_iter().chain(cells)).hanging(fixed)
        };
        [&titles].into_iter().chain(&self.rows).map(line).collect()
    }

    fn write(&self, out: &mut Vec<u8>, columns: Option<usize>) -> io::Result<()> {
        let widths = self.widths();
        let Some((last, others)) = widths.split_last() else { return Ok(()) };
        let fixed = self.indent + others.iter().map(|width| width + 1).sum::<usize>();
        match columns.is_some_and(|columns| fixed + last.min(&MIN_LAST_COLUMN) > columns) {
            true => self.rows.iter().try_for_each(|row| self.paragraph(row, out, columns)),
            false => self.lines().into_iter().try_for_each(|line| line.write(out, columns)),
        }
    }

    /// A row in a narrow terminal: the first cell, and below it the others with their titles.
    fn paragraph(&self, row: &[Span], out: &mut Vec<u8>, columns: Option<usize>) -> io::Result<()> {
        let cells: Vec<&str> = row.iter().map(Span::text).collect();
        let name = cells.first().unwrap_or(&"");
        Line::from([styled(CYAN, format!("  {name}"))]).write(out, columns)?;
        let rest = self.columns.iter().zip(&cells).skip(1).filter(|(_, cell)| !cell.is_empty());
        let items = rest.map(|(column, cell)| format!("{} {cell}", column.title.text()).trim().to_owned());
        List { items: items.collect(), indent: 4, style: Style::new() }.write(out, columns)
    }
}
