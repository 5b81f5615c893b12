//! Splits a shell command line into simple commands, as far as that is certain. `shlex` splits their words.
//!
//! Expansions (`$x`, `$(…)`, backticks) are not evaluated: a word with one has [`UNKNOWN`] in its place. At the first part
//! that cannot be understood, the rest of the line is left out.

use std::str::Chars;

/// Represents the result of an expansion in a word.
pub const UNKNOWN: char = '\0';
/// Starts the target of a redirection, which is not an argument.
const REDIRECTED: char = '\u{1}';
/// Maximum length of a command line in bytes.
const MAX_BYTES: usize = 256 << 10;
/// Maximum depth of expansions in each other.
const MAX_DEPTH: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A simple command with its assignments, without redirections.
    Command(Vec<String>),
    /// The start of a subshell.
    Open,
    /// The end of a subshell.
    Close,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    pub parts: Vec<Part>,
    /// Whether these are all parts of the line.
    pub is_complete: bool,
}

/// The line cannot be understood from here on.
#[derive(Debug)]
struct NotUnderstood;

type Scanned = Result<(), NotUnderstood>;

impl Line {
    pub fn parse(line: &str) -> Line {
        if line.len() > MAX_BYTES || line.contains([UNKNOWN, REDIRECTED]) {
            return Line::default();
        }
        let (command, parts, documents) = (String::new(), Vec::new(), Vec::new());
        let mut scanner = Scanner { rest: line.chars(), command, parts, depth: 0, documents };
        let scanned = scanner.line();
        Line { is_complete: scanned.is_ok() && scanner.depth == 0, parts: scanner.parts }
    }
}

/// Whether a command follows the word.
pub fn is_keyword(word: &str) -> bool {
    matches!(word, "!" | "{" | "do" | "elif" | "else" | "if" | "then" | "time" | "until" | "while")
}

struct Scanner<'a> {
    rest: Chars<'a>,
    /// The present command, without redirections and with unknown expansions, still quoted.
    command: String,
    parts: Vec<Part>,
    /// Number of open subshells.
    depth: usize,
    /// The ends of here-documents that begin after the line, and whether tabs before them are ignored.
    documents: Vec<(String, bool)>,
}

impl Scanner<'_> {
    fn line(&mut self) -> Scanned {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => self.escape(),
                '\'' => self.single_quoted()?,
                '"' => self.double_quoted(0)?,
                '$' if self.peek() == Some('\'') => self.ansi_quoted()?,
                '$' | '`' => self.expansion(c, 0)?,
                '#' if self.command.chars().next_back().is_none_or(char::is_whitespace) => self.comment(),
                '&' if self.peek() == Some('>') => self.redirection('>')?,
                '\n' => {
                    self.end_command()?;
                    self.skip_documents();
                }
                ';' | '&' | '|' => self.end_command()?,
                // After other words, it is the start of a function, of an array or of a pattern.
                '(' if !self.command.split_whitespace().all(is_keyword) => return Err(NotUnderstood),
                '(' => {
                    self.end_command()?;
                    self.depth += 1;
                    self.parts.push(Part::Open);
                }
                ')' => {
                    self.end_command()?;
                    self.depth = self.depth.checked_sub(1).ok_or(NotUnderstood)?;
                    self.parts.push(Part::Close);
                }
                '<' | '>' => self.redirection(c)?,
                c => self.command.push(c),
            }
        }
        self.end_command()
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn take_if(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        let next = self.peek().filter(|c| wanted(*c))?;
        self.rest.next();
        Some(next)
    }

    fn end_command(&mut self) -> Scanned {
        let words = shlex::split(&std::mem::take(&mut self.command)).ok_or(NotUnderstood)?;
        let words: Vec<String> = words.into_iter().filter(|word| !word.starts_with(REDIRECTED)).collect();
        // Its body is not run here.
        if words.first().is_some_and(|first| first == "function") {
            return Err(NotUnderstood);
        }
        if !words.is_empty() {
            self.parts.push(Part::Command(words));
        }
        Ok(())
    }

    /// A backslash before the end of a line continues the line.
    fn escape(&mut self) {
        if let Some(c) = self.rest.next().filter(|c| *c != '\n') {
            self.command.extend(['\\', c]);
        }
    }

    fn comment(&mut self) {
        while self.take_if(|c| c != '\n').is_some() {}
    }

    fn single_quoted(&mut self) -> Scanned {
        self.command.push('\'');
        loop {
            let c = self.rest.next().ok_or(NotUnderstood)?;
            self.command.push(c);
            if c == '\'' {
                return Ok(());
            }
        }
    }

    fn double_quoted(&mut self, depth: usize) -> Scanned {
        self.command.push('"');
        loop {
            match self.rest.next().ok_or(NotUnderstood)? {
                '"' => break,
                '\\' => self.escape(),
                c @ ('$' | '`') => self.expansion(c, depth)?,
                c => self.command.push(c),
            }
        }
        self.command.push('"');
        Ok(())
    }

    /// A quotation with escapes such as `$'\n'`, after the `$`.
    fn ansi_quoted(&mut self) -> Scanned {
        self.rest.next();
        self.skip_to('\'')?;
        self.command.push(UNKNOWN);
        Ok(())
    }

    /// An expansion after its first character.
    fn expansion(&mut self, first: char, depth: usize) -> Scanned {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match self.peek() {
            _ if first == '`' => self.skip_to('`')?,
            Some('(') => {
                self.rest.next();
                self.skip_nested(')', depth + 1)?;
            }
            Some('{') => {
                self.rest.next();
                self.skip_nested('}', depth + 1)?;
            }
            Some(c) if is_name(c) => while self.take_if(is_name).is_some() {},
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => {
                self.rest.next();
            }
            _ => {
                self.command.push_str("\\$");
                return Ok(());
            }
        }
        self.command.push(UNKNOWN);
        Ok(())
    }

    /// Skips to a character that ends a quotation with escapes.
    fn skip_to(&mut self, end: char) -> Scanned {
        loop {
            match self.rest.next().ok_or(NotUnderstood)? {
                '\\' => {
                    self.rest.next();
                }
                c if c == end => return Ok(()),
                _ => {}
            }
        }
    }

    /// Skips an expansion in brackets. It may contain quotations, here-documents and others like it.
    fn skip_nested(&mut self, end: char, depth: usize) -> Scanned {
        if depth > MAX_DEPTH {
            return Err(NotUnderstood);
        }
        let (command, documents) = (std::mem::take(&mut self.command), std::mem::take(&mut self.documents));
        let (open, mut level) = (if end == ')' { '(' } else { '{' }, 1);
        while level > 0 {
            match self.rest.next().ok_or(NotUnderstood)? {
                '\\' => {
                    self.rest.next();
                }
                '\'' if end == ')' => self.single_quoted()?,
                '"' => self.double_quoted(depth)?,
                '$' if end == ')' && self.peek() == Some('\'') => self.ansi_quoted()?,
                c @ ('$' | '`') => self.expansion(c, depth)?,
                '#' if end == ')' && self.command.ends_with(char::is_whitespace) => self.comment(),
                '<' if end == ')' && self.peek() == Some('<') => self.redirection('<')?,
                '\n' => {
                    self.command.push('\n');
                    self.skip_documents();
                }
                c => {
                    level = if c == open { level + 1 } else { level - usize::from(c == end) };
                    self.command.push(c);
                }
            }
        }
        (self.command, self.documents) = (command, documents);
        Ok(())
    }

    /// A redirection after its first character.
    fn redirection(&mut self, first: char) -> Scanned {
        let digits = self.command.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        if self.command[..digits].chars().next_back().is_none_or(char::is_whitespace) {
            self.command.truncate(digits);
        }
        if self.take_if(|c| c == '(').is_some() {
            // The name of a pipe, which is an argument.
            self.skip_nested(')', 1)?;
            self.command.push(UNKNOWN);
            return Ok(());
        }
        let mut operator = String::from(first);
        while let Some(c) = self.take_if(|c| matches!(c, '<' | '>' | '&' | '|')) {
            operator.push(c);
        }
        if operator == "<<" {
            return self.document();
        }
        while self.take_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        self.command.extend([' ', REDIRECTED]);
        Ok(())
    }

    /// The end of a here-document, as the line announces it.
    fn document(&mut self) -> Scanned {
        let strips_tabs = self.take_if(|c| c == '-').is_some();
        while self.take_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let mut end = String::new();
        while let Some(c) = self.take_if(|c| !c.is_whitespace() && !";&|()<>".contains(c)) {
            match c {
                '\'' | '"' | '\\' => {}
                '$' | '`' => return Err(NotUnderstood),
                c => end.push(c),
            }
        }
        self.documents.push((end, strips_tabs));
        self.command.push(' ');
        Ok(())
    }

    /// Skips the here-documents that begin here.
    fn skip_documents(&mut self) {
        for (end, strips_tabs) in std::mem::take(&mut self.documents) {
            while !self.rest.as_str().is_empty() {
                let text = self.rest.as_str();
                let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
                self.rest = rest.chars();
                let line = if strips_tabs { line.trim_start_matches('\t') } else { line };
                // In an expansion, the bracket can follow the end on the same line.
                if line == end {
                    break;
                }
            }
        }
    }
}
