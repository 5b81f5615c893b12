//! A document: headings, paragraphs, lists and tables, independent of the output format; and as Markdown for GitHub.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::line::{CYAN, DIM, Line, Span, bold, dim, plain, styled};
use super::values::thousands;
use teamkeep_model::unicode;

/// Minimum width of the last column of a table; with less, each row becomes a paragraph.
const MIN_LAST_COLUMN: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// The heading of a section; the first is the title.
    Heading(Span),
    Line(Line),
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

    /// Adds a sentence. It continues at the left.
    pub fn paragraph(&mut self, text: impl AsRef<str>) {
        self.line(Line::from([plain(text)]).hanging(0));
    }

    /// Adds a line that is never wrapped.
    pub fn code(&mut self, spans: impl Into<Line>) {
        self.blocks.push(Block::Code(spans.into()));
    }

    /// Adds the number of those that are left out, and what they are or how to show them: `  and 3 more tasks`.
    pub fn and_more(&mut self, hidden: usize, what: &str) {
        if hidden > 0 {
            self.line([dim(format!("  and {} more {what}", thousands(hidden)))]);
        }
    }

    pub fn blank(&mut self) {
        self.line([]);
    }

    /// Adds a list with this indent.
    pub fn list(&mut self, items: Vec<String>, indent: usize, style: Style) {
        self.blocks.push(Block::List(List { items, indent, style }));
    }

    /// Adds a table, unless it is empty.
    pub fn table(&mut self, table: Table) {
        self.blocks.extend((!table.rows.is_empty()).then_some(Block::Table(table)));
    }

    pub fn append(&mut self, other: Document) {
        self.blocks.extend(other.blocks);
    }

    /// Formats it for a terminal of this width; `None` for unlimited.
    pub fn to_terminal(&self, columns: Option<usize>) -> String {
        let blocks = self.blocks.iter().enumerate().map(|(place, block)| match block {
            Block::Heading(title) => {
                let line = Line::from([title.clone()]).wrapped(columns);
                if place > 0 { format!("\n{line}") } else { line }
            }
            Block::Line(line) => line.wrapped(columns),
            Block::Code(line) => line.wrapped(None),
            Block::List(list) => list.to_terminal(columns),
            Block::Table(table) => table.pruned().to_terminal(columns),
            Block::Graph(Graph { nodes, edges }) => {
                let edge = |(from, to): &(usize, usize)| format!("  {} → {}", nodes[*from].0, nodes[*to].0);
                edges.iter().map(|ends| Line::from([plain(edge(ends))]).wrapped(columns)).collect()
            }
        });
        blocks.collect()
    }
}

impl From<Table> for Document {
    fn from(table: Table) -> Document {
        let mut document = Document::default();
        document.table(table);
        document
    }
}

impl List {
    fn to_terminal(&self, columns: Option<usize>) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (place, item) in self.items.iter().enumerate() {
            let comma = if place + 1 < self.items.len() { "," } else { "" };
            let width = 1 + item.width() + comma.len();
            let fits = |line: &&mut String| columns.is_none_or(|columns| line.width() + width <= columns);
            match lines.last_mut().filter(fits) {
                Some(line) => *line += &format!(" {item}{comma}"),
                None => lines.push(format!("{:indent$}{item}{comma}", "", indent = self.indent)),
            }
        }
        lines.iter().map(|line| Line::from([styled(self.style, line)]).wrapped(columns)).collect()
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
    pub fn of<R>(titles: &[&str], rows: impl IntoIterator<Item = R>) -> Table
    where
        R: IntoIterator<Item: AsRef<str>>,
    {
        let column = |title: &&str| Column {
            title: styled(DIM, title.trim_end_matches('#')),
            is_number: title.ends_with('#'),
        };
        let rows = rows.into_iter().map(|row| row.into_iter().map(plain).collect());
        Table { columns: titles.iter().map(column).collect(), rows: rows.collect(), indent: 2 }
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

    /// The width of the indent and of all columns but the last.
    fn fixed_width(&self) -> usize {
        self.indent + self.widths().iter().rev().skip(1).map(|width| width + 1).sum::<usize>()
    }

    /// The title and the rows as aligned lines. Only the last column is wrapped.
    pub fn lines(&self) -> Vec<Line> {
        let (widths, fixed) = (self.widths(), self.fixed_width());
        let titles: Vec<Span> = self.columns.iter().map(|column| column.title.clone()).collect();
        let line = |row: &Vec<Span>| {
            let indent = (self.indent > 0).then(|| plain("").width(self.indent - 1));
            let cells = row.iter().cloned().enumerate().map(|(place, cell)| {
                match (self.columns[place].is_number, place + 1 == widths.len()) {
                    (true, _) => cell.right(widths[place]),
                    (false, true) => cell,
                    (false, false) => cell.width(widths[place]),
                }
            });
            Line::from(indent.into_iter().chain(cells)).hanging(fixed)
        };
        [&titles].into_iter().chain(&self.rows).map(line).collect()
    }

    fn to_terminal(&self, columns: Option<usize>) -> String {
        let min_width =
            self.fixed_width() + self.widths().last().map_or(0, |last| *last.min(&MIN_LAST_COLUMN));
        match columns.is_some_and(|columns| min_width > columns) {
            true => self.rows.iter().map(|row| self.paragraph(row, columns)).collect(),
            false => self.lines().iter().map(|line| line.wrapped(columns)).collect(),
        }
    }

    /// A row in a narrow terminal: the first cell, and below it the others with their titles.
    fn paragraph(&self, row: &[Span], columns: Option<usize>) -> String {
        let mut cells = self.columns.iter().zip(row.iter().map(Span::text));
        let name = cells.next().map_or("", |(_, name)| name);
        let items = cells.filter(|(_, cell)| !cell.is_empty());
        let items = items.map(|(column, cell)| format!("{} {cell}", column.title.text()).trim().to_owned());
        let list = List { items: items.collect(), indent: self.indent + 2, style: Style::new() };
        let name = Line::from([styled(CYAN, format!("{:indent$}{name}", "", indent = self.indent))]);
        name.wrapped(columns) + &list.to_terminal(columns)
    }
}

impl Document {
    /// The document as Markdown for GitHub.
    pub fn to_markdown(&self) -> String {
        let blocks = self.blocks.iter().enumerate().map(|(place, block)| match block {
            Block::Heading(title) => {
                format!("{} {}", if place == 0 { "#" } else { "##" }, escape(title.text()))
            }
            Block::Line(line) => escape(&line.text()),
            Block::Code(line) => format!("    {}", line.text()),
            Block::List(list) => escape(&list.items.join(", ")),
            Block::Table(table) => self::table(&table.pruned()),
            Block::Graph(graph) => self::graph(graph),
        });
        format!("{}\n", blocks.collect::<Vec<_>>().join("\n\n").trim_end())
    }
}

fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let escaped = |row: &Vec<Span>| line(row.iter().map(|cell| escape(cell.text())).collect());
    let titles = table.columns.iter().map(|column| escape(column.title.text())).collect();
    let rule = table.columns.iter().map(|column| if column.is_number { "---:" } else { "---" }.to_owned());
    let head = [line(titles), line(rule.collect())];
    head.into_iter().chain(table.rows.iter().map(escaped)).collect::<Vec<_>>().join("\n")
}

/// A Mermaid graph. Node names are generated; other text is quoted.
fn graph(graph: &Graph) -> String {
    let nodes =
        graph.nodes.iter().enumerate().map(|(place, (name, about))| {
            format!("    n{place}[\"{}\"]\n", label(&format!("{name}: {about}")))
        });
    let edges = graph.edges.iter().map(|(from, to)| format!("    n{from} --> n{to}\n"));
    format!("```mermaid\ngraph LR\n{}```", nodes.chain(edges).collect::<String>())
}

/// Text that is safe in Mermaid and in its page: everything but letters, digits and these characters is a character
/// reference.
pub(super) fn references(text: &str, harmless: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || harmless.contains(c);
    let reference = |c: char| if is_safe(c) { c.to_string() } else { format!("#{};", u32::from(c)) };
    text.chars().map(reference).collect()
}

fn label(text: &str) -> String {
    references(&unicode::escape(text), " .,:-")
}

/// Text with everything escaped that is special in Markdown or HTML.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in unicode::escape(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' | '@' => safe.extend(['\\', c]),
            c => safe.push(c),
        }
    }
    // A web address in a message must not become a link.
    safe.replace("://", "&#58;//").replace("www.", "www&#46;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_itself() {
        assert_eq!(label("a\"] --> x[\"`"), "a#34;#93; --#62; x#91;#34;#96;");
    }

    #[test]
    fn text_is_escaped_for_markdown_and_html() {
        assert_eq!(
            escape("a|b <img> *x* [y](z) `c`\n@all"),
            r"a\|b &lt;img&gt; \*x\* \[y\](z) \`c\`\\n\@all"
        );
        assert_eq!(escape("http://evil"), "http&#58;//evil");
    }
}
