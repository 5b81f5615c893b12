//! Splits a shell command line into simple commands, as far as that is certain. `shlex` splits their words.
//!
//! A word with an expansion (`$x`, `$(…)`, backticks) has [`UNKNOWN`] in its place; commands in it are parts of the line. At
//! the first part that cannot be understood, the rest of the line is left out.

use std::str::Chars;

/// Represents the result of an expansion in a word.
pub(super) const UNKNOWN: char = '\0';
/// Starts the target of a redirection, which is not an argument.
const REDIRECTED: char = '\u{1}';
/// Maximum length of a command line in bytes.
const MAX_BYTES: usize = 256 << 10;
/// Maximum depth of subshells and expansions in each other.
const MAX_DEPTH: usize = 16;
/// Maximum number of here-documents.
const MAX_DOCUMENTS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// A simple command with its assignments, without redirections.
    Command(Vec<String>),
    /// The start of a subshell, which has its own directory.
    Open,
    /// The end of a subshell.
    Close,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellLine {
    pub parts: Vec<Part>,
    /// Whether these are all parts of the line.
    pub is_complete: bool,
}

/// `None` if the line cannot be understood from here on.
type Scanned = Option<()>;

impl ShellLine {
    pub(super) fn parse(line: &str) -> ShellLine {
        if line.len() > MAX_BYTES || line.contains([UNKNOWN, REDIRECTED]) {
            return ShellLine::default();
        }
        let line = without_documents(line);
        let mut scanner = Scanner { rest: line.chars(), parts: Vec::new(), depth: 0 };
        let is_complete = scanner.list(None).is_some();
        ShellLine { parts: scanner.parts, is_complete }
    }
}

/// Whether a command follows the word.
pub(super) fn is_keyword(word: &str) -> bool {
    matches!(word, "!" | "{" | "coproc" | "do" | "elif" | "else" | "if" | "then" | "until" | "while")
}

struct Scanner<'a> {
    rest: Chars<'a>,
    parts: Vec<Part>,
    /// Number of lists in each other.
    depth: usize,
}

impl Scanner<'_> {
    /// Commands until a character, or to the end of the line. The present command is still quoted, without redirections.
    fn list(&mut self, end: Option<char>) -> Scanned {
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let mut command = String::new();
        loop {
            let Some(c) = self.rest.next() else {
                if end.is_some() {
                    return None;
                }
                break;
            };
            match c {
                c if Some(c) == end => break,
                '\\' => self.escape(&mut command),
                '\'' => self.single_quoted(&mut command)?,
                '"' => self.double_quoted(&mut command)?,
                '$' if self.take_if(|c| c == '\'').is_some() => {
                    self.text_to('\'')?;
                    command.push(UNKNOWN);
                }
                '$' | '`' => self.expansion(c, &mut command)?,
                '#' if command.chars().next_back().is_none_or(char::is_whitespace) => self.comment(),
                '&' if self.peek() == Some('>') => self.redirection('>', &mut command)?,
                '\n' | ';' | '&' | '|' => self.end_command(&mut command)?,
                '(' if command.split_whitespace().all(is_keyword) => {
                    command.clear();
                    self.subshell()?;
                }
                // The start of a function, whose body counts as run.
                '(' if self.take_if(|c| c == ')').is_some() => command.clear(),
                // The start of an array or of a pattern.
                '(' => return None,
                // The end of a pattern of `case`.
                ')' => command.clear(),
                '<' | '>' => self.redirection(c, &mut command)?,
                c => command.push(c),
            }
        }
        self.depth -= 1;
        self.end_command(&mut command)
    }

    fn subshell(&mut self) -> Scanned {
        self.parts.push(Part::Open);
        self.list(Some(')'))?;
        self.parts.push(Part::Close);
        Some(())
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn take_if(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        let next = self.peek().filter(|c| wanted(*c))?;
        self.rest.next();
        Some(next)
    }

    fn end_command(&mut self, command: &mut String) -> Scanned {
        let words = shlex::split(&std::mem::take(command))?;
        let words: Vec<String> = words.into_iter().filter(|word| !word.starts_with(REDIRECTED)).collect();
        if !words.is_empty() {
            self.parts.push(Part::Command(words));
        }
        Some(())
    }

    /// A backslash before the end of a line continues the line.
    fn escape(&mut self, command: &mut String) {
        if let Some(c) = self.rest.next().filter(|c| *c != '\n') {
            command.extend(['\\', c]);
        }
    }

    fn comment(&mut self) {
        while self.take_if(|c| c != '\n').is_some() {}
    }

    fn single_quoted(&mut self, command: &mut String) -> Scanned {
        command.push('\'');
        loop {
            let c = self.rest.next()?;
            command.push(c);
            if c == '\'' {
                return Some(());
            }
        }
    }

    fn double_quoted(&mut self, command: &mut String) -> Scanned {
        command.push('"');
        loop {
            match self.rest.next()? {
                '"' => break,
                '\\' => self.escape(command),
                c @ ('$' | '`') => self.expansion(c, command)?,
                c => command.push(c),
            }
        }
        command.push('"');
        Some(())
    }

    /// An expansion after its first character.
    fn expansion(&mut self, first: char, command: &mut String) -> Scanned {
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if first == '`' {
            let inner = ShellLine::parse(&self.text_to('`')?);
            self.parts.push(Part::Open);
            self.parts.extend(inner.parts);
            self.parts.push(Part::Close);
            if !inner.is_complete {
                return None;
            }
        } else if self.rest.as_str().starts_with("((") {
            let (_, rest) = self.rest.as_str().split_once("))")?;
            self.rest = rest.chars();
        } else if self.take_if(|c| c == '(').is_some() {
            self.subshell()?;
        } else if self.take_if(|c| c == '{').is_some() {
            self.braces()?;
        } else if self.take_if(is_name).is_some() {
            while self.take_if(is_name).is_some() {}
        } else if self.take_if(|c| "@*#?-$!".contains(c)).is_none() {
            command.push_str("\\$");
            self.depth -= 1;
            return Some(());
        }
        self.depth -= 1;
        command.push(UNKNOWN);
        Some(())
    }

    /// The text up to a character that ends a quotation, without its escapes.
    fn text_to(&mut self, end: char) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.rest.next()? {
                '\\' => text.extend(self.rest.next()),
                c if c == end => return Some(text),
                c => text.push(c),
            }
        }
    }

    /// The rest of `${…}`.
    fn braces(&mut self) -> Scanned {
        let (mut skipped, mut level) = (String::new(), 1);
        while level > 0 {
            match self.rest.next()? {
                '\\' => self.escape(&mut skipped),
                '"' => self.double_quoted(&mut skipped)?,
                c @ ('$' | '`') => self.expansion(c, &mut skipped)?,
                '{' => level += 1,
                '}' => level -= 1,
                _ => {}
            }
        }
        Some(())
    }

    /// A redirection after its first character.
    fn redirection(&mut self, first: char, command: &mut String) -> Scanned {
        let digits = command.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        if command[..digits].chars().next_back().is_none_or(char::is_whitespace) {
            command.truncate(digits);
        }
        if self.take_if(|c| c == '(').is_some() {
            // The name of a pipe, which is an argument.
            command.push(UNKNOWN);
            return self.subshell();
        }
        let mut operator = String::from(first);
        while let Some(c) = self.take_if(|c| matches!(c, '<' | '>' | '&' | '|')) {
            operator.push(c);
        }
        while self.take_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        command.extend([' ', REDIRECTED]);
        Some(())
    }
}

/// The line without the texts of its here-documents. Each ends at a line with the word after its `<<`; without such a line it is
/// not one.
fn without_documents(text: &str) -> String {
    let (mut kept, mut rest, mut left_documents) = (String::new(), text, MAX_DOCUMENTS);
    while !rest.is_empty() {
        let (line, mut after) = rest.split_at(rest.find('\n').map_or(rest.len(), |end| end + 1));
        for word in line.split("<<").skip(1).take(left_documents) {
            left_documents -= 1;
            let word = word.trim_start_matches(['-', ' ', '\t']);
            let end = word.find(|c: char| c.is_whitespace() || ";&|()<>".contains(c)).unwrap_or(word.len());
            let word = word[..end].replace(['\'', '"', '\\'], "");
            let mut lines = after.split_inclusive('\n');
            if !word.is_empty() && lines.any(|line| line.trim() == word) {
                let left: usize = lines.map(str::len).sum();
                after = &after[after.len() - left..];
            }
        }
        kept.push_str(line);
        rest = after;
    }
    kept
}
