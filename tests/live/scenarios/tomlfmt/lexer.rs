//! Splits a TOML file into tokens. A comment is a token too, so that it can be printed again.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Table,
    Key,
    Value,
    Equals,
    Comma,
    Comment,
    Newline,
}

/// A piece of the file, as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: Kind,
    pub text: String,
}

pub fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    for line in text.lines() {
        line_tokens(line.trim(), &mut found);
        found.push(Token { kind: Kind::Newline, text: String::new() });
    }
    found
}

fn line_tokens(line: &str, found: &mut Vec<Token>) {
    let mut push = |kind, text: &str| found.push(Token { kind, text: text.trim().to_owned() });
    let (code, comment) = match line.find('#') {
        Some(at) => line.split_at(at),
        None => (line, ""),
    };
    match code.split_once('=') {
        _ if code.starts_with('[') => push(Kind::Table, code),
        Some((key, value)) => {
            push(Kind::Key, key);
            push(Kind::Equals, "=");
            push(Kind::Value, value);
        }
        None if !code.is_empty() => push(Kind::Value, code),
        None => {}
    }
    if !comment.is_empty() {
        push(Kind::Comment, comment);
    }
}
