//! How much of a run leaves the machine.

/// The level of privacy, most private first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Privacy {
    /// No text that a person or a model wrote.
    #[default]
    Metadata,
    /// Texts with secrets and personal data replaced.
    Redacted,
    /// Texts as they were recorded.
    Full,
}

impl Privacy {
    /// Whether texts are sent at all.
    pub fn has_texts(self) -> bool {
        self != Privacy::Metadata
    }
}
