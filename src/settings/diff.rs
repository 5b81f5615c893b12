//! A line-by-line difference of two texts.

use std::fmt::Write;

use crate::ui::escape;

/// Lines shown around a change.
const AROUND: usize = 3;
/// Above this many pairs of lines the middle is shown as replaced.
const MOST_PAIRS: usize = 4_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'t> {
    Same(&'t str),
    Gone(&'t str),
    New(&'t str),
}

/// The changes in the format of `diff -u`, without its two header lines.
pub fn unified(before: &str, after: &str) -> String {
    let lines = compare(&before.lines().collect::<Vec<_>>(), &after.lines().collect::<Vec<_>>());
    let shown: Vec<bool> = (0..lines.len())
        .map(|at| {
            let near = at.saturating_sub(AROUND)..(at + AROUND + 1).min(lines.len());
            lines[near].iter().any(|line| !matches!(line, Line::Same(_)))
        })
        .collect();
    let (mut out, mut old, mut new, mut at) = (String::new(), 1, 1, 0);
    while at < lines.len() {
        let end = (at..lines.len()).find(|next| shown[*next] != shown[at]).unwrap_or(lines.len());
        let hunk = &lines[at..end];
        let olds = hunk.iter().filter(|line| !matches!(line, Line::New(_))).count();
        let news = hunk.iter().filter(|line| !matches!(line, Line::Gone(_))).count();
        if shown[at] {
            let first = |line: usize, count: usize| if count == 0 { line - 1 } else { line };
            let _ = writeln!(out, "@@ -{},{olds} +{},{news} @@", first(old, olds), first(new, news));
            hunk.iter().for_each(|line| put(&mut out, *line));
        }
        (old, new, at) = (old + olds, new + news, end);
    }
    out
}

fn put(out: &mut String, line: Line) {
    let (sign, text) = match line {
        Line::Same(text) => (' ', text),
        Line::Gone(text) => ('-', text),
        Line::New(text) => ('+', text),
    };
    let safe: Vec<_> = text.split('\t').map(escape).collect();
    let _ = writeln!(out, "{sign}{}", safe.join("\t"));
}

/// All lines of both texts, by a longest common subsequence of what differs between their common start and end.
fn compare<'t>(before: &[&'t str], after: &[&'t str]) -> Vec<Line<'t>> {
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (old, new) = (&before[head..], &after[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, ending) = old.split_at(old.len() - tail);
    let new = &new[..new.len() - tail];
    let mut lines: Vec<Line> = before[..head].iter().map(|line| Line::Same(line)).collect();
    lines.extend(middle(old, new));
    lines.extend(ending.iter().map(|line| Line::Same(line)));
    lines
}

fn middle<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    let width = new.len() + 1;
    let known = old.len().saturating_mul(new.len()) <= MOST_PAIRS;
    // longest[i * width + j]: how much old[i..] and new[j..] have in common
    let mut longest = vec![0u32; if known { (old.len() + 1) * width } else { 0 }];
    if known {
        for i in (0..old.len()).rev() {
            for j in (0..new.len()).rev() {
                longest[i * width + j] = if old[i] == new[j] {
                    longest[(i + 1) * width + j + 1] + 1
                } else {
                    longest[(i + 1) * width + j].max(longest[i * width + j + 1])
                };
            }
        }
    }
    let (mut lines, mut i, mut j) = (Vec::new(), 0, 0);
    while known && i < old.len() && j < new.len() {
        if old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            lines.push(Line::Gone(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
    lines.extend(old[i..].iter().map(|line| Line::Gone(line)));
    lines.extend(new[j..].iter().map(|line| Line::New(line)));
    lines
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
