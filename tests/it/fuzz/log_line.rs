//! The lines that a store consists of: events, seals of the chain, snapshots, names of segments, descriptions of runs.

use teamkeep_store::archive::{RunRecord, Snapshot};
use teamkeep_store::log::{Sealed, SegmentName, parse_record};

pub fn run(data: &[u8]) {
    if let Ok(Some(recorded)) = parse_record(data) {
        assert!(recorded.v > 0);
    }
    let _ = Sealed::read(data);
    if let Ok(snapshot) = Snapshot::parse(data) {
        let line = snapshot.line();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "one line");
        let again = Snapshot::parse(&line[..line.len() - 1]).unwrap();
        assert_eq!(again.line(), line, "a snapshot that is written is read as it was");
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = SegmentName::parse(text);
    }
    let _ = serde_json::from_slice::<RunRecord>(data);
}
