//! One file a gate.
