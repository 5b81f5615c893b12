use serde::{Deserialize, Serialize};

/// A process, as recorded to recognize later whether it still runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: u32,
    /// Its namespace: `host#pid:[4026531836]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// When it started, in ticks since boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
}
