//! A document as Markdown for GitHub.

use std::fmt::Write;

use super::document::{Block, Document, Graph, Table};
use super::line::{Line, Span};
use crate::ui;

impl Document {
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        for (place, block) in self.blocks.iter().enumerate() {
            match block {
                Block::Heading(title) => {
                    out.push_str(if place == 0 { "# " } else { "## " });
                    out.push_str(&escape(title.text()));
                }
                Block::Remarked(line, remark) => out.push_str(&escape(&format!("{} {remark}", line.text()))),
                Block::Line(line) => out.push_str(&escape(&line.text())),
                Block::Code(line) => out.push_str(&format!("    {}", line.text())),
                Block::List(list) => out.push_str(&escape(&list.items.join(", "))),
                Block::Table(table) => self::table(&table.pruned(), &mut out),
                Block::Graph(graph) => self::graph(graph, &mut out),
            }
            out.push_str("\n\n");
        }
        format!("{}\n", out.trim_end())
    }
}

impl Line {
    fn text(&self) -> String {
        self.spans.iter().map(Span::text).collect::<String>().trim_end().to_owned()
    }
}

fn table(table: &Table, out: &mut String) {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let escaped = |row: &Vec<Span>| line(row.iter().map(|cell| escape(cell.text())).collect());
    let titles = table.columns.iter().map(|column| escape(column.title.text())).collect();
    let rule = table.columns.iter().map(|column| if column.is_number { "---:" } else { "---" }.to_owned());
    let rows = table.rows.iter().map(escaped);
    out.push_str(
        &[line(titles), line(rule.collect())].into_iter().chain(rows).collect::<Vec<_>>().join("\n"),
    );
}

/// A Mermaid graph. Node names are generated; other text is quoted.
fn graph(graph: &Graph, out: &mut String) {
    out.push_str("```mermaid\ngraph LR\n");
    for (place, (name, about)) in graph.nodes.iter().enumerate() {
        let _ = writeln!(out, "    n{place}[\"{}\"]", label(&format!("{name}: {about}")));
    }
    for (from, to) in &graph.edges {
        let _ = writeln!(out, "    n{from} --> n{to}");
    }
    out.push_str("```");
}

/// Text in a Mermaid label: letters, digits and spaces are unchanged, everything else is a character reference.
fn label(text: &str) -> String {
    let mut safe = String::new();
    for c in ui::escape(text).chars() {
        match c {
            c if c.is_alphanumeric() || matches!(c, ' ' | '.' | ',' | ':' | '-') => safe.push(c),
            c => safe.push_str(&format!("#{};", c as u32)),
        }
    }
    safe
}

/// Text with everything escaped that is special in Markdown or HTML.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in ui::escape(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' | '@' => {
                safe.push('\\');
                safe.push(c);
            }
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
