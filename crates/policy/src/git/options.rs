//! The options and words of a git subcommand.

use super::is_known;

/// The arguments of a subcommand.
#[derive(Debug, Default)]
pub(super) struct Options<'a> {
    /// Letters of short options.
    short: Vec<char>,
    /// Names of long options, without their values.
    long: Vec<&'a str>,
    /// The values of options, with the name of each.
    pub values: Vec<(&'a str, &'a str)>,
    /// Arguments that are not options.
    pub words: Vec<&'a str>,
    /// The arguments after `--`, if it is there.
    pub after: Option<Vec<&'a str>>,
    /// Whether an argument is left out because it has an expansion.
    pub is_partial: bool,
}

impl<'a> Options<'a> {
    /// Reads arguments. These short and long options take the next argument, unless their value is in the same one. Short
    /// options after `=` take a value only in the same one: `-uno`.
    pub(super) fn of(arguments: &'a [String], short_values: &str, long_values: &[&str]) -> Options<'a> {
        let mut options = Options::default();
        let (short_values, same) = short_values.split_once('=').unwrap_or((short_values, ""));
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            if argument == "--" {
                let (known, unknown): (Vec<_>, Vec<_>) = rest.partition(|word| is_known(word));
                options.is_partial |= !unknown.is_empty();
                options.after = Some(known);
                break;
            }
            if let Some(long) = argument.strip_prefix("--") {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                options.long.push(name);
                let takes_next = value.is_none() && long_values.contains(&name);
                let value = if takes_next { rest.next() } else { value };
                options.values.extend(value.map(|value| (name, value)));
            } else if let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                for (at, letter) in letters.char_indices() {
                    options.short.push(letter);
                    let (name, more) = letters[at..].split_at(letter.len_utf8());
                    if short_values.contains(letter) {
                        let value = if more.is_empty() { rest.next() } else { Some(more) };
                        options.values.extend(value.map(|value| (name, value)));
                        break;
                    }
                    if same.contains(letter) {
                        break;
                    }
                }
            } else if is_known(argument) {
                options.words.push(argument);
            } else {
                options.is_partial = true;
            }
        }
        options
    }

    pub(super) fn has(&self, letter: char, name: &str) -> bool {
        self.has_short(letter) || self.has_long(name)
    }

    pub(crate) fn has_short(&self, letter: char) -> bool {
        self.short.contains(&letter)
    }

    /// Whether a long option is there. git also takes the start of a name; a few letters could be any.
    pub(crate) fn has_long(&self, name: &str) -> bool {
        self.long.iter().any(|long| *long == name || (long.len() > 3 && name.starts_with(long)))
    }

    /// The value of an option.
    pub(super) fn value(&self, letter: &str, name: &str) -> Option<&'a str> {
        let named = |(key, _): &&(&str, &str)| *key == letter || *key == name;
        self.values.iter().find(named).map(|(_, value)| *value)
    }

    /// All arguments that are not options, before and after `--`.
    pub(crate) fn all_words(&self) -> Vec<&'a str> {
        self.words.iter().chain(self.after.iter().flatten()).copied().collect()
    }
}
