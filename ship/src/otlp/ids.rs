//! IDs that are hashes of the organization, the run and the item, so that data that is sent again has the same ones.

/// Separates these hashes from all others. Changing it changes every ID.
const TRACE_CONTEXT: &str = "teamkeep-ship 2026-11-24 OTLP trace id";
const ITEM_CONTEXT: &str = "teamkeep-ship 2026-11-24 OTLP item id";

/// The trace of a run.
pub fn trace(organization: &str, run: &str) -> Vec<u8> {
    derive::<16>(TRACE_CONTEXT, &[organization, run])
}

/// The span of an item that the key identifies within the run.
pub fn span(run: &str, table: &str, key: &[&str]) -> Vec<u8> {
    derive::<8>(ITEM_CONTEXT, &[&[run, table], key].concat())
}

/// A log record, by the row's text.
pub fn record(organization: &str, row: &str) -> String {
    derive::<8>(ITEM_CONTEXT, &[organization, row]).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hash of the parts, each with its length before it.
fn derive<const BYTES: usize>(context: &str, parts: &[&str]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(&(part.len() as u64).to_be_bytes()).update(part.as_bytes());
    }
    let mut id = [0; BYTES];
    hasher.finalize_xof().fill(&mut id);
    id.to_vec()
}
