//! Notes: facts that a step reports although it succeeded.

/// A fact that a step reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How serious it is.
    pub severity: Severity,
    /// Its kind.
    pub code: NoteCode,
    /// The text for people.
    pub text: String,
}

/// How serious a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// A harmless effect of concurrent processes, for the diagnostics only.
    Contention,
    /// An oddity of the payload, which the log has with the event.
    Payload,
    /// An oddity or a failure that loses nothing.
    Problem,
    /// Data on disk could not be archived.
    Loss,
}

/// The kind of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteCode {
    /// The store failed.
    Store,
    /// Files could not be stored although the store works.
    Files {
        /// Number of files.
        count: usize,
        /// The limit that excluded them, if it was a limit.
        limit: Option<Limit>,
    },
    /// A team may have been overlooked.
    Overlooked {
        /// The limit that excluded it, if it was a limit.
        limit: Option<Limit>,
    },
    /// Any other note.
    Other,
}

/// A limit of one capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The time limit of one call; the next call continues.
    Time,
    /// `archive.largest-file`.
    LargestFile,
    /// `archive.longest-look`.
    LongestLook,
}

impl Note {
    /// A note of no special kind.
    pub fn new(severity: Severity, text: impl Into<String>) -> Note {
        Note { severity, code: NoteCode::Other, text: text.into() }
    }

    /// A note about a problem that loses nothing.
    pub fn problem(text: impl Into<String>) -> Note {
        Note::new(Severity::Problem, text)
    }

    /// A failure of the store.
    pub fn store_failure(text: impl Into<String>) -> Note {
        Note { code: NoteCode::Store, ..Note::new(Severity::Loss, text) }
    }

    /// Files that could not be stored although the store works.
    pub fn unstored(count: usize, limit: Option<Limit>, text: impl Into<String>) -> Note {
        Note { code: NoteCode::Files { count, limit }, ..Note::new(Severity::Loss, text) }
    }

    /// A team that may have been overlooked.
    pub fn overlooked(limit: Option<Limit>, text: impl Into<String>) -> Note {
        Note { code: NoteCode::Overlooked { limit }, ..Note::problem(text) }
    }

    /// Whether it is a failure of the store.
    pub fn is_store_failure(&self) -> bool {
        self.code == NoteCode::Store
    }

    /// Whether it is about a team that may have been overlooked.
    pub fn is_overlooked(&self) -> bool {
        matches!(self.code, NoteCode::Overlooked { .. })
    }

    /// Number of files that could not be stored.
    pub fn files(&self) -> usize {
        match self.code {
            NoteCode::Files { count, .. } => count,
            _ => 0,
        }
    }

    /// The limit behind it, if it is one.
    pub fn limit(&self) -> Option<Limit> {
        match self.code {
            NoteCode::Files { limit, .. } | NoteCode::Overlooked { limit } => limit,
            _ => None,
        }
    }
}

impl Limit {
    /// The key under `[archive]` that raises it, if there is one.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Limit::Time => None,
            Limit::LargestFile => Some("largest-file"),
            Limit::LongestLook => Some("longest-look"),
        }
    }
}
