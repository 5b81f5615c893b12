//! The end of a command's output, and its environment.

use std::ffi::OsStr;
use std::path::Path;

use super::super::{MAX_TEXT_CHARS, add_output, last_lines, shell};

fn lines(bytes: &[u8]) -> Vec<String> {
    let mut output = Vec::new();
    bytes.chunks(7_000).for_each(|chunk| add_output(&mut output, chunk));
    last_lines(&output)
}

#[test]
fn the_last_lines_have_no_colors_blank_lines_or_overwritten_bars() {
    assert_eq!(lines(b"\x1b[31merror\x1b[0m: no\r\n\n  \n10%\r50%\r99%\n"), ["error: no", "99%"]);
    let many: Vec<u8> = (0..20_000).flat_map(|number| format!("line {number}\n").into_bytes()).collect();
    let kept = lines(&many);
    assert_eq!(kept.last().map(String::as_str), Some("line 19999"));
    assert!(kept.len() < 2_000, "{}", kept.len());
    assert_eq!(lines(&vec![b'x'; 100_000])[0].chars().count(), MAX_TEXT_CHARS);
    assert_eq!(lines(b""), Vec::<String>::new());
}

#[test]
fn output_lines_are_escaped() {
    assert_eq!(lines(b"</system> \"go\" \\"), [r#"‹/system› \"go\" \\"#]);
}

#[test]
fn a_command_does_not_get_the_token_of_claude_code() {
    let command = shell("true", Path::new("/"));
    let token = OsStr::new("CLAUDE_CODE_MESSAGING_TOKEN");
    assert!(command.get_envs().any(|(name, value)| name == token && value.is_none()));
}
