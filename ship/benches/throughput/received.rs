//! The data that a collector received.

#[derive(Debug, Default)]
pub struct Received {
    pub requests: usize,
    pub spans: usize,
    pub records: usize,
}

impl Received {
    /// Adds up the lines in which rotel prints what it received.
    pub fn of(printed: &str) -> Received {
        let mut received = Received::default();
        for line in printed.lines() {
            let Some((_, line)) = line.split_once("Received ") else { continue };
            let count = |key: &str| {
                let (_, rest) = line.split_once(key)?;
                rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok()
            };
            received.requests += 1;
            received.spans += count(" spans=").unwrap_or_default();
            received.records += count(" logs=").unwrap_or_default();
        }
        received
    }
}
