//! A transcript: lines of JSON, of which most are none of teamkeep's business.

use teamkeep_history::transcript::{FileChanges, delivered, records};
use teamkeep_model::team::MessageUsage;
use teamkeep_store::archive::TranscriptNote;

pub fn run(data: &[u8]) {
    let _ = records(data);
    let _ = TranscriptNote::parse(data);
    for line in data.split(|byte| *byte == b'\n') {
        let _ = MessageUsage::parse(line);
        if let Ok(value) = serde_json::from_slice(line) {
            let _ = FileChanges::read(&value);
        }
        if let Ok(text) = std::str::from_utf8(line) {
            let _ = delivered(text);
        }
    }
}
