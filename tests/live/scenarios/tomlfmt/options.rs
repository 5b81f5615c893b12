//! The options of `.tomlfmt.toml`.

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Longer arrays are wrapped.
    pub width: usize,
    /// Number of spaces before an item of a wrapped array.
    pub indent: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { width: 100, indent: 4 }
    }
}

impl Options {
    pub fn wraps(&self, line: &str) -> bool {
        line.chars().count() > self.width
    }
}
