//! A document as Markdown for GitHub.

use super::document::{Block, Document, Graph, Table};
use super::line::Span;
use super::mermaid::references;
use teamkeep_model::unicode;

impl Document {
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
