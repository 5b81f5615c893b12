//! The part of the configuration that a command is about.

/// A part of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The whole file.
    Whole,
    /// The policy: `[policy]` and `[[rule]]`.
    Policy,
}

impl Part {
    /// Whether a key such as `policy.max-blocks` or `rule[0].name` is in this part.
    pub fn holds(self, path: &str) -> bool {
        let table = path.split(['.', '[']).next().unwrap_or_default();
        self == Part::Whole || matches!(table, "policy" | "rule")
    }

    /// The command that checks this part.
    pub fn check(self) -> &'static str {
        match self {
            Part::Whole => "teamkeep config check",
            Part::Policy => "teamkeep policy check",
        }
    }
}
