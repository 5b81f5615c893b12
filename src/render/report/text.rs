//! A report in the terminal. A table that is wider than the terminal becomes one paragraph per row.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::page::{Block, Table};
use crate::render::format::wrap_list;
use crate::render::styled_line::StyledLine;
use crate::ui;

/// Minimum width of the last column; with less, a table becomes paragraphs.
const LEAST: usize = 16;

/// Formats the report for this width; `None` for unlimited.
pub fn text(blocks: &[Block], columns: Option<usize>) -> String {
    let mut out = Vec::new();
    for (place, block) in blocks.iter().enumerate() {
        match block {
            Block::Heading(title) => {
                if place > 0 {
                    out.push(b'\n');
                }
                line(Style::new().bold(), title, columns, &mut out);
            }
            Block::Line(words) => {
                for words in broken(words, columns) {
                    line(Style::new(), &words, columns, &mut out);
                }
            }
            Block::Graph(graph) => {
                for (from, to) in &graph.edges {
                    let [from, to] = [from, to].map(|place| graph.nodes[*place].0.as_str());
                    line(Style::new(), &format!("  {from} → {to}"), columns, &mut out);
                }
            }
            Block::Table(table) => self::table(&table.pruned(), columns, &mut out),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Text wrapped and escaped for the terminal.
fn broken(words: &str, columns: Option<usize>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in ui::escape(words).split(' ') {
        match lines.last_mut() {
            Some(line) if columns.is_none_or(|columns| line.width() + 1 + word.width() <= columns) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn line(style: Style, words: &str, columns: Option<usize>, out: &mut Vec<u8>) {
    let mut cells = StyledLine::default();
    cells.add(style, words, 0);
    let _ = cells.write(out, columns);
}

fn table(table: &Table, columns: Option<usize>, out: &mut Vec<u8>) {
    let Some(last) = table.head.len().checked_sub(1) else { return };
    let widest = |column: usize| {
        let cells = table.rows.iter().map(|row| ui::escape(&row[column]).width());
        cells.chain([table.head[column].0.width()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..=last).map(widest).collect();
    let fixed: usize = 2 + widths[..last].iter().map(|width| width + 1).sum::<usize>();
    if columns.is_some_and(|columns| fixed + widths[last].min(LEAST) > columns) {
        return paragraphs(table, columns, out);
    }
    let room = columns.map(|columns| columns - fixed);
    let head: Vec<String> = table.head.iter().map(|(title, _)| (*title).to_owned()).collect();
    let rows = table.rows.iter().map(|row| (Style::new(), row));
    for (style, row) in [(Style::new().dimmed(), &head)].into_iter().chain(rows) {
        for (place, words) in broken(&row[last], room).iter().enumerate() {
            let mut cells = StyledLine::default();
            cells.add(style, " ", 1);
            for (column, width) in widths.iter().enumerate() {
                // Only the last column is wrapped.
                let cell = if column == last { words } else { &row[column] };
                match (place == 0 || column == last, table.head[column].1, column == last) {
                    (false, _, _) => cells.add(style, " ", *width),
                    (true, true, _) => cells.add_right(style, cell, *width),
                    (true, false, true) => cells.add(style, cell, 0),
                    (true, false, false) => cells.add(style, cell, *width),
                }
            }
            let _ = cells.write(out, columns);
        }
    }
}

/// One paragraph per row: the first cell, and below it the others with their titles.
fn paragraphs(table: &Table, columns: Option<usize>, out: &mut Vec<u8>) {
    for row in &table.rows {
        line(AnsiColor::Cyan.on_default(), &format!("  {}", row[0]), columns, out);
        let rest = table.head.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty());
        let rest: Vec<String> =
            rest.map(|((title, _), cell)| format!("{title} {cell}").trim().to_owned()).collect();
        for words in wrap_list(&rest, 0, columns.map(|columns| columns.saturating_sub(4))) {
            for words in broken(&words, columns.map(|columns| columns.saturating_sub(4))) {
                line(Style::new(), &format!("    {words}"), columns, out);
            }
        }
    }
}
