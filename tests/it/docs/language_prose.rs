//! Prose in the project's files: comments and string literals of code, paragraphs of pages, lines of scripts.

use regex::Regex;

/// A run of text that is read as one: a paragraph, a comment of several lines, or a string literal.
#[derive(Default)]
pub struct Block {
    pub text: String,
    /// Offsets in `text` where a new line of the file starts, each with its line number from 1.
    starts: Vec<(usize, usize)>,
}

impl Block {
    pub fn line_at(&self, offset: usize) -> usize {
        self.starts.iter().rev().find(|(start, _)| *start <= offset).map_or(0, |(_, line)| *line)
    }

    fn push(&mut self, line: usize, text: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.starts.push((self.text.len(), line));
        self.text.push_str(text);
    }
}

/// The blocks of a file. The name's extension decides how it is read; `None` when the file has no prose.
pub fn blocks(path: &str, text: &str) -> Option<Vec<Block>> {
    let extension = path.rsplit(['/', '.']).next().unwrap_or_default();
    Some(match extension {
        "rs" => rust(path, text),
        "js" | "css" => paragraphs(script(text)),
        "md" => paragraphs(markdown(text)),
        "1" => paragraphs(roff(text)),
        "json" | "jsonl" | "lock" => return None,
        _ => paragraphs(text.lines().map(|line| line.trim_matches([' ', '#']).to_owned())),
    })
}

/// Joins lines up to an empty one, a list item, a table row or a heading.
fn paragraphs(lines: impl Iterator<Item = String>) -> Vec<Block> {
    let mut blocks = vec![Block::default()];
    for (line, text) in (1..).zip(lines) {
        let text = text.trim();
        let is_new = text.is_empty() || ["- ", "* ", "#", "|", "<"].iter().any(|mark| text.starts_with(mark));
        if is_new {
            blocks.push(Block::default());
        }
        if let Some(block) = blocks.last_mut().filter(|_| !text.is_empty()) {
            block.push(line, text);
        }
    }
    blocks
}

/// Lines of a page, without those of recorded or machine-readable examples.
fn markdown(text: &str) -> impl Iterator<Item = String> {
    let mut fence: Option<bool> = None;
    text.lines().map(move |line| match (line.trim_start().strip_prefix("```"), fence) {
        (Some(language), None) => {
            fence = Some(["json", "jsonl", "js"].contains(&language.trim()));
            String::new()
        }
        (Some(_), Some(_)) => {
            fence = None;
            String::new()
        }
        (None, Some(true)) => String::new(),
        _ => line.to_owned(),
    })
}

fn roff(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(|line| if line.starts_with('.') { String::new() } else { line.replace("\\-", "-") })
}

/// Comments and string literals of a script or a style sheet, line by line.
fn script(text: &str) -> impl Iterator<Item = String> {
    let prose =
        Regex::new(r#"(?:^|[ \t])//.*|/\*.*|^[ \t]*\*.*|"(?:[^"\\]|\\.)* (?:[^"\\]|\\.)*"|`[^`]* [^`]*`"#)
            .unwrap();
    text.lines().map(move |line| {
        let found: Vec<&str> =
            prose.find_iter(line).map(|found| found.as_str().trim_matches(['`', ' '])).collect();
        found.join("; ")
    })
}

/// Comments and string literals of a source file. A literal without a space is a key or a value of a format, one that
/// starts as an object is an example of a format, and those of test modules are inputs: none of them is prose.
fn rust(path: &str, text: &str) -> Vec<Block> {
    let module = Regex::new(r"#\[cfg\(test\)\][ \n]+(?:pub )?mod [a-z_]+ \{").unwrap();
    let is_test = path.starts_with("tests/") || path.ends_with("tests.rs") || path.contains("/tests/");
    let tests_from = if is_test { 0 } else { module.find(text).map_or(text.len(), |found| found.start()) };
    let token = Regex::new(concat!(
        r#"(?s)(?P<comment>//[^\n]*)|b?'(?:[^'\\\n]|\\[^\n]{1,9}?)'"#,
        r##"|b?r#"(?P<raw>.*?)"#|b?r"(?P<bare>[^"]*)"|b?"(?P<string>(?:[^"\\]|\\.)*)""##
    ))
    .unwrap();
    let placeholder = Regex::new(r"\{[a-z_]+(?::[^}]*)?\}").unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut last_comment = None;
    let (mut line, mut counted) = (1, 0);
    for found in token.captures_iter(text) {
        let start = found.get(0).unwrap().start();
        line += text[counted..start].matches('\n').count();
        counted = start;
        if let Some(comment) = found.name("comment") {
            let words = comment.as_str().trim_start_matches(['/', '!']).trim();
            let is_new = last_comment != Some(line - 1) || words.starts_with("- ") || words.starts_with("| ");
            last_comment = Some(line).filter(|_| !words.is_empty());
            if is_new {
                blocks.push(Block::default());
            }
            blocks.last_mut().unwrap().push(line, words);
            continue;
        }
        last_comment = None;
        let literal = ["raw", "bare", "string"].into_iter().find_map(|name| found.name(name));
        let Some(literal) = literal.map(|literal| literal.as_str()).filter(|_| start < tests_from) else {
            continue;
        };
        if !literal.contains(' ') || literal.starts_with(['{', '[']) && literal.contains("\\\":") {
            continue;
        }
        let mut block = Block::default();
        for (below, words) in literal.split('\n').enumerate() {
            block.push(line + below, words.trim_end_matches('\\').trim());
        }
        // A placeholder is no word, and an escaped line break ends a sentence.
        let blank = |found: &regex::Captures| "_".repeat(found[0].len());
        block.text = placeholder.replace_all(&block.text, blank).replace("\\n", " \n");
        blocks.push(block);
    }
    blocks
}
