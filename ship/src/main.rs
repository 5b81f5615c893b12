//! The program `teamkeep-ship`.

fn main() {}
