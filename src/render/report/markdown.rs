//! A report as Markdown for GitHub.

use std::fmt::Write;

use super::page::{Block, Graph, Table};
use crate::ui;

/// Formats the report.
pub fn markdown(blocks: &[Block]) -> String {
    let mut out = String::new();
    for (place, block) in blocks.iter().enumerate() {
        let _ = match block {
            Block::Heading(title) if place == 0 => writeln!(out, "# {}\n", escape(title)),
            Block::Heading(title) => writeln!(out, "## {}\n", escape(title)),
            Block::Line(words) => writeln!(out, "{}\n", escape(words)),
            Block::Graph(graph) => {
                self::graph(graph, &mut out);
                Ok(())
            }
            Block::Table(rows) => {
                table(&rows.pruned(), &mut out);
                Ok(())
            }
        };
    }
    let end = out.trim_end().len();
    out.truncate(end);
    out.push('\n');
    out
}

fn table(table: &Table, out: &mut String) {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let titles = table.head.iter().map(|(title, _)| escape(title)).collect();
    let rule = table.head.iter().map(|(_, number)| if *number { "---:" } else { "---" }.to_owned()).collect();
    let _ = writeln!(out, "{}\n{}", line(titles), line(rule));
    for row in &table.rows {
        let _ = writeln!(out, "{}", line(row.iter().map(|cell| escape(cell)).collect()));
    }
    out.push('\n');
}

/// A Mermaid graph. Node names are generated; other text is quoted.
fn graph(graph: &Graph, out: &mut String) {
    let _ = writeln!(out, "```mermaid\ngraph LR");
    for (place, (name, about)) in graph.nodes.iter().enumerate() {
        let _ = writeln!(out, "    n{place}[\"{}\"]", label(&format!("{name}: {about}")));
    }
    for (from, to) in &graph.edges {
        let _ = writeln!(out, "    n{from} --> n{to}");
    }
    let _ = writeln!(out, "```\n");
}

/// Text in a Mermaid label: letters, digits and spaces are unchanged, everything else is a character reference.
fn label(text: &str) -> String {
    let mut safe = String::new();
    for c in ui::escape(text).chars() {
        match c {
            c if c.is_alphanumeric() || matches!(c, ' ' | '.' | ',' | ':' | '-') => safe.push(c),
            c => {
                let _ = write!(safe, "#{};", c as u32);
            }
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
    fn text_from_outside_is_text() {
        assert_eq!(
            escape("a|b <img> *x* [y](z) `c`\n@all"),
            r"a\|b &lt;img&gt; \*x\* \[y\](z) \`c\`\\n\@all"
        );
        assert_eq!(escape("http://evil"), "http&#58;//evil");
    }
}
