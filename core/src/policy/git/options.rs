//! The options and words of a git subcommand.

/// The arguments of a subcommand.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// Letters of short options.
    short: Vec<char>,
    /// Names of long options, without their values.
    long: Vec<&'a str>,
    /// Arguments that are not options.
    pub words: Vec<&'a str>,
    /// The arguments after `--`, if it is there.
    pub after: Option<Vec<&'a str>>,
}

impl<'a> Options<'a> {
    /// Reads arguments. These short and long options take the next argument, unless their value is in the same one. Short
    /// options after `=` take a value only in the same one: `-uno`.
    pub fn of(arguments: &'a [String], short_values: &str, long_values: &[&str]) -> Options<'a> {
        let mut options = Options::default();
        let (short_values, same) = short_values.split_once('=').unwrap_or((short_values, ""));
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            if argument == "--" {
                options.after = Some(rest.collect());
                break;
            }
            if let Some(long) = argument.strip_prefix("--") {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                options.long.push(name);
                if value.is_none() && long_values.contains(&name) {
                    rest.next();
                }
            } else if let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                for (at, letter) in letters.char_indices() {
                    options.short.push(letter);
                    if short_values.contains(letter) {
                        if at + letter.len_utf8() == letters.len() {
                            rest.next();
                        }
                        break;
                    }
                    if same.contains(letter) {
                        break;
                    }
                }
            } else {
                options.words.push(argument);
            }
        }
        options
    }

    pub fn has(&self, letter: char, name: &str) -> bool {
        self.has_short(letter) || self.has_long(name)
    }

    pub fn has_short(&self, letter: char) -> bool {
        self.short.contains(&letter)
    }

    /// Whether a long option is there. git also takes the start of a name; a few letters could be any.
    pub fn has_long(&self, name: &str) -> bool {
        self.long.iter().any(|long| *long == name || (long.len() > 3 && name.starts_with(long)))
    }

    /// All arguments that are not options, before and after `--`.
    pub fn all_words(&self) -> Vec<&'a str> {
        self.words.iter().chain(self.after.iter().flatten()).copied().collect()
    }
}
