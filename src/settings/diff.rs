//! A line-by-line difference of two texts.

use std::fmt::Write;

use similar::{ChangeTag, TextDiff};

use crate::ui::escape;

/// Lines shown around a change.
const CONTEXT_LINES: usize = 3;

/// The changes in the format of `diff -u`, without its two header lines.
pub fn unified(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut out = String::new();
    for hunk in diff.grouped_ops(CONTEXT_LINES) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        // An empty side names the line before it.
        let line = |range: &std::ops::Range<usize>| range.start + usize::from(!range.is_empty());
        let _ = writeln!(out, "@@ -{},{} +{},{} @@", line(&old), old.len(), line(&new), new.len());
        for change in hunk.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let text = change.value().trim_end_matches(['\r', '\n']);
            let safe: Vec<_> = text.split('\t').map(escape).collect();
            let _ = writeln!(out, "{sign}{}", safe.join("\t"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_and_its_surroundings_are_shown() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let after = "1\n2\n3\n4\n5 five\n6\n7\n8\n9\n10\n11\n12\n13\n";
        insta::assert_snapshot!(unified(before, after), @r"
        @@ -2,7 +2,7 @@
         2
         3
         4
        -5
        +5 five
         6
         7
         8
        @@ -10,3 +10,4 @@
         10
         11
         12
        +13
        ");
        assert_eq!(unified(before, before), "");
    }

    #[test]
    fn a_file_that_comes_or_goes_is_shown_whole() {
        assert_eq!(unified("", "{\n}\n"), "@@ -0,0 +1,2 @@\n+{\n+}\n");
        assert_eq!(unified("{\n\t}\n", ""), "@@ -1,2 +0,0 @@\n-{\n-\t}\n");
    }

    #[test]
    fn settings_cannot_drive_the_terminal() {
        assert_eq!(unified("", "\u{1b}[2J"), "@@ -0,0 +1,1 @@\n+\\u{1b}[2J\n");
    }
}
