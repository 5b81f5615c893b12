//! How much of the world a search has. What is hashed must be finite and small, so exhaustive searches leave things out.

use crate::calls::{Shape, Spelling};

#[derive(Debug, Clone)]
pub struct Scope {
    pub teammates: usize,
    pub tasks: usize,
    pub requests: &'static [(Shape, Spelling)],
    pub stops: &'static [Spelling],
    pub overrides: bool,
    pub losses: bool,
    pub subagents: bool,
    pub lists: bool,
    pub marks: bool,
    /// Whether tool calls can overlap with other hook calls.
    pub overlaps: bool,
    pub repeats: bool,
    /// Whether the order of hook calls that run at the same time is checked after each action. It takes most of the time.
    pub orders: bool,
    /// Broadcasts, files, and the rare shapes.
    pub wide: bool,
}

/// Everything that changes what premature-shutdown and the loop guard do, in the usual spelling.
pub const SMALL: Scope = Scope {
    teammates: 2,
    tasks: 2,
    requests: &[(Shape::New, Spelling::Plain), (Shape::Json, Spelling::Plain)],
    stops: &[Spelling::Plain],
    overrides: true,
    losses: true,
    subagents: true,
    lists: false,
    marks: true,
    overlaps: false,
    repeats: false,
    orders: false,
    wide: false,
};

/// Few kinds of actions, so that a search gets deeper.
pub const NARROW: Scope = Scope {
    teammates: 1,
    requests: &[(Shape::New, Spelling::Plain)],
    losses: false,
    subagents: false,
    marks: false,
    ..SMALL
};

/// Few calls, which overlap with those of other agents.
pub const OVERLAPPING: Scope = Scope {
    requests: &[(Shape::New, Spelling::Plain)],
    overrides: false,
    losses: false,
    subagents: false,
    marks: false,
    overlaps: true,
    orders: true,
    ..SMALL
};

/// Everything.
pub const WIDE: Scope = Scope {
    teammates: 3,
    tasks: 3,
    requests: &[
        (Shape::New, Spelling::Plain),
        (Shape::Old, Spelling::Upper),
        (Shape::Both, Spelling::Invisible),
        (Shape::Json, Spelling::Plain),
        (Shape::New, Spelling::FullWidth),
        (Shape::Old, Spelling::At),
        (Shape::Both, Spelling::WithTeam),
    ],
    stops: &[Spelling::Plain, Spelling::Upper, Spelling::FullWidth, Spelling::Invisible, Spelling::WithTeam],
    lists: true,
    overlaps: true,
    repeats: true,
    wide: true,
    ..SMALL
};
