//! Reasons that a model reads: short, and never the mouthpiece of a task's subject.

/// Builds a reason of at most 600 characters.
#[derive(Debug, Default)]
pub struct Reason(String);
