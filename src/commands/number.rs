//! Numbers on the command line, with an error that names the expected values.

use std::fmt::Display;
use std::str::FromStr;

/// Parses a number of at least `least`.
pub fn at_least<T: FromStr + PartialOrd + Display>(text: &str, least: T) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number >= least);
    number.ok_or_else(|| format!("expected a number of {least} or more"))
}

/// How many entries to show: 0 would look as if there were none.
pub fn count(text: &str) -> Result<usize, String> {
    at_least(text, 1)
}

/// How many results to show, at most 1000.
pub fn limit(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000).contains(number));
    number.ok_or_else(|| "expected a number from 1 to 1000".to_owned())
}

/// How many to keep: 0 is a number, too.
pub fn kept(text: &str) -> Result<usize, String> {
    at_least(text, 0)
}

/// A size below which nothing useful fits.
pub fn brief_size(text: &str) -> Result<u32, String> {
    at_least(text, 500)
}

/// A size with a unit.
pub fn size(text: &str) -> Result<u64, String> {
    teamkeep_config::parse_size(text)
        .ok_or_else(|| "invalid size; expected a value such as \"4 GiB\" or \"512 MiB\"".to_owned())
}
