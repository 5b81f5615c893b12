//! Which agent changed which lines of which file, when and for which task, and which commits it made, by the results of
//! its tool calls.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use teamkeep_model::team::is_uuid;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::RunRecord;

pub use attribution::{
    Attribution, FileChange, FileHistory, FoundBy, LineFinder, MadeCommit, PresentLine, TaskRef, ToolChange,
    file_histories,
};

mod attribution;

use attribution::LineOwners;

const VERSION: &str = "0.1";

/// One trace record of a run: the lines that its agents added and that no later change removed, with their numbers after
/// its last change. Its files are those below `root`. The same run has the same ID in each export.
pub fn agent_trace(run: &RunRecord, found: &Attribution, root: &Path, at: Timestamp) -> Value {
    let mut files: BTreeMap<&str, Vec<&ToolChange>> = BTreeMap::new();
    for change in &found.changes {
        if let Some(path) = change.path.strip_prefix(root).ok().and_then(Path::to_str) {
            files.entry(path).or_default().push(change);
        }
    }
    let files = files.into_iter().filter_map(|(path, changes)| {
        let conversations = conversations(run, &LineOwners::of(changes.into_iter()));
        (!conversations.is_empty()).then(|| json!({"path": path, "conversations": conversations}))
    });
    json!({
        "version": VERSION,
        "id": id(&run.run),
        "timestamp": at.to_string(),
        "tool": {"name": "teamkeep", "version": env!("CARGO_PKG_VERSION")},
        "files": files.collect::<Vec<_>>(),
        "metadata": {"dev.teamkeep": {"run": run.run, "team": run.team}},
    })
}

/// The blocks of lines of a file by the agent and the model.
fn conversations(run: &RunRecord, owners: &LineOwners<'_>) -> Vec<Value> {
    let mut found: BTreeMap<(&str, Option<&str>), Vec<Value>> = BTreeMap::new();
    for (change, start, end) in owners.blocks() {
        let contributor = (change.agent.as_str(), change.model.as_deref());
        found.entry(contributor).or_default().push(json!({"start_line": start, "end_line": end}));
    }
    let session = run.lead_session.as_deref().filter(|session| is_uuid(session));
    let conversation = |((_, model), ranges): ((&str, Option<&str>), Vec<Value>)| {
        let mut contributor = json!({"type": "ai"});
        if let Some(model) = model {
            contributor["model_id"] = json!(format!("anthropic/{model}"));
        }
        let mut conversation = json!({"contributor": contributor, "ranges": ranges});
        if let Some(session) = session {
            conversation["url"] = json!(format!("urn:uuid:{session}"));
        }
        conversation
    };
    found.into_iter().map(conversation).collect()
}

/// A UUID of version 8 (its content is free) from the run's ID.
fn id(run: &str) -> String {
    let hash = blake3::hash(run.as_bytes());
    let mut bytes: [u8; 16] = std::array::from_fn(|place| hash.as_bytes()[place]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
