//! Prints tokens: one space around `=`, one blank line before a table.

use crate::lexer::{Kind, Token};
use crate::options::Options;

pub fn format(tokens: &[Token], options: &Options) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for token in tokens {
        match token.kind {
            Kind::Newline => {
                out.push_str(line.trim_end());
                out.push('\n');
                line.clear();
            }
            Kind::Table => {
                if !out.is_empty() {
                    out.push('\n');
                }
                line.push_str(&token.text);
            }
            Kind::Equals => line.push_str(" = "),
            Kind::Comma => line.push_str(", "),
            Kind::Comment => {}
            Kind::Key | Kind::Value => line.push_str(&token.text),
        }
    }
    out + line.trim_end()
}
