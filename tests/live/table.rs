//! The table of what was seen, in tests/live/results.md: a block between two marks that this command alone writes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::version::Version;

/// The line before the block.
const BEGIN: &str = "<!-- live: written by `just live --update-docs` -->";
/// The line after it.
const END: &str = "<!-- live: end -->";

/// The columns behind the client's version and the run's name.
const COLUMNS: [&str; 5] =
    ["recorded as sent", "agent ids of a teammate", "ended by", "left behind", "also checked"];

/// What was seen, in the order of the page: newest client first, runs as they are listed there.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Table {
    /// By version and run: the cells of [`COLUMNS`].
    pub runs: Vec<(Version, String, [String; COLUMNS.len()])>,
    /// By version: the hook events that were recorded.
    pub events: BTreeMap<Version, Vec<String>>,
}

impl Table {
    /// Reads the block of a page.
    pub fn read(page: &str) -> Result<Self, String> {
        let (_, block, _) = split(page)?;
        let mut table = Self::default();
        for line in block.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| version ")) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let (first, rest) = cells.split_first().ok_or("a row without cells")?;
            let version = Version::parse(first).ok_or(format!("no version: {line}"))?;
            match rest {
                [events] => {
                    let events = events.split(", ").map(str::to_owned).collect();
                    if table.events.insert(version, events).is_some() {
                        return Err(format!("twice: {line}"));
                    }
                }
                [run, cells @ ..] => {
                    let cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
                    let cells = cells.try_into().map_err(|_| format!("another number of cells: {line}"))?;
                    if table.put(version, run, cells) {
                        return Err(format!("twice: {line}"));
                    }
                }
                [] => return Err(format!("one cell: {line}")),
            }
        }
        Ok(table)
    }

    /// Puts a run into its place; tells whether there was one for it before.
    pub fn put(&mut self, version: Version, run: &str, cells: [String; COLUMNS.len()]) -> bool {
        match self.runs.iter_mut().find(|row| row.0 == version && row.1 == run) {
            Some(row) => {
                row.2 = cells;
                true
            }
            None => {
                // Behind the runs of this client and of newer ones.
                let place = self.runs.iter().take_while(|row| row.0 >= version).count();
                self.runs.insert(place, (version, run.to_owned(), cells));
                false
            }
        }
    }

    /// Takes a run out: what was seen once is not so any more.
    pub fn forget(&mut self, version: Version, run: &str) {
        self.runs.retain(|row| row.0 != version || row.1 != run);
    }

    /// Puts the runs of each client in order.
    pub fn sort(&mut self, place: impl Fn(&str) -> Option<usize>) {
        self.runs.sort_by_key(|row| (Reverse(row.0), place(&row.1)));
    }

    /// The page with this table in its block.
    pub fn written_into(&self, page: &str) -> Result<String, String> {
        let (before, _, after) = split(page)?;
        Ok(format!("{before}{BEGIN}\n{}{END}{after}", self.text()))
    }

    fn text(&self) -> String {
        let mut lines = vec![
            format!("| version | run | {} |", COLUMNS.join(" | ")),
            format!("|{}", "---|".repeat(COLUMNS.len() + 2)),
        ];
        lines.extend(
            self.runs
                .iter()
                .map(|(version, run, cells)| format!("| {version} | {run} | {} |", cells.join(" | "))),
        );
        lines.extend([
            String::new(),
            "| version | recorded hook events |".to_owned(),
            "|---|---|".to_owned(),
        ]);
        let events = self.events.iter().rev();
        lines.extend(events.map(|(version, events)| format!("| {version} | {} |", events.join(", "))));
        lines.join("\n") + "\n"
    }
}

/// What stands before, in and after the block.
fn split(page: &str) -> Result<(&str, &str, &str), String> {
    let (before, rest) = page.split_once(BEGIN).ok_or(format!("there is no {BEGIN}"))?;
    let (block, after) = rest.split_once(END).ok_or(format!("there is no {END}"))?;
    Ok((before, block, after))
}
