//! One hook call as an event, with validated ids and its trace context.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Component, Path};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::time::Timestamp;

/// The event of a pause or an allowance. A command records it, not a hook.
pub const OVERRIDE: &str = "PolicyOverride";

pub const LEAD: &str = "team-lead";

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Actor {
    /// The teammate's name, `team-lead`, or a subagent's role; `None` when it is not known.
    pub name: Option<String>,
    pub id: Option<String>,
    pub kind: ActorKind,
}

named_enum! {
    /// The kind of an actor.
    #[derive(Default)]
    pub enum ActorKind {
        /// The session that leads the team, or a session without a team.
        Lead = "lead",
        /// A member of the team that is not its lead.
        Teammate = "teammate",
        /// A plain subagent: it has a role, no name.
        Subagent = "subagent",
        /// Claude Code's internal agent, such as one for prompt suggestions.
        Helper = "helper",
        #[default]
        #[serde(other)]
        Unknown = "unknown",
    }
}

impl Actor {
    pub fn unknown() -> Actor {
        Actor::default()
    }

    pub fn lead() -> Actor {
        Actor { name: Some(LEAD.to_owned()), id: None, kind: ActorKind::Lead }
    }

    pub fn teammate(name: &str, id: Option<&str>) -> Actor {
        Actor { name: Some(name.to_owned()), id: id.map(str::to_owned), kind: ActorKind::Teammate }
    }

    /// The name of a plain subagent whose name or role is a member's name: only the member has that name.
    pub fn subagent_name(name: &str) -> String {
        format!("{name} (subagent)")
    }

    /// The name to show. Claude Code's internal agents have none.
    pub fn shown(&self) -> &str {
        let unnamed = if self.kind == ActorKind::Helper { "helper" } else { "unknown" };
        self.name.as_deref().unwrap_or(unnamed)
    }
}

/// An agent, for comparisons. A name is a label that several agents can have: subagents of one role, and teammates that are
/// spawned twice. Before 2.1.178, a teammate has another id in each turn, so it has an id here only if its name is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentRef<'a> {
    pub name: &'a str,
    pub id: Option<&'a str>,
}

impl AgentRef<'_> {
    /// Whether both are one agent: by their ids if both have one, else by their names.
    pub fn is(self, other: AgentRef<'_>) -> bool {
        match (self.id, other.id) {
            (Some(id), Some(other)) => id == other,
            _ => self.name == other.name,
        }
    }
}

/// One hook call to be written. The order of the fields is the order in the line; `payload` is last. The log adds
/// `chain` after it.
#[derive(Debug, Serialize)]
pub struct Event<'a> {
    pub v: u8,
    /// The start of the call by teamkeep's clock; payloads have no time.
    pub at: Timestamp,
    pub id: &'a str,
    pub event: &'a str,
    pub session: Option<&'a str>,
    pub team: Option<&'a str>,
    pub actor: &'a Actor,
    pub run: Option<&'a str>,
    /// The task list in `CLAUDE_CODE_TASK_LIST_ID`, spelled like its directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_list: Option<&'a str>,
    /// The trace context in `TRACEPARENT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<&'a TraceParent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<&'a str>,
    /// Why the payload is not one JSON object; `payload` holds its text or base64 then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malformed: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'a RawValue>,
    /// The states of the journals that the call wrote, by run. The log's chain covers them with the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<&'a BTreeMap<String, String>>,
    /// Whether the plugin's hook recorded it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plugin: bool,
    /// The payload, verbatim except for line breaks between tokens.
    pub payload: &'a RawValue,
}

impl Event<'_> {
    pub fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = Vec::with_capacity(self.payload.get().len() + 320);
        serde_json::to_writer(&mut line, self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// A line of the log as read. Missing and unknown fields are allowed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Recorded {
    pub v: u8,
    pub at: Timestamp,
    pub id: String,
    pub event: String,
    pub session: Option<String>,
    pub team: Option<String>,
    pub actor: Actor,
    pub run: Option<String>,
    pub task_list: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub traceparent: Option<TraceParent>,
    pub warning: Option<String>,
    pub malformed: Option<String>,
    pub verdict: Option<Box<RawValue>>,
    pub payload: Box<RawValue>,
}

impl Recorded {
    pub fn flaw(&self) -> Option<String> {
        if Id::known(&self.id).is_none() {
            return Some(format!("invalid id {:?}", self.id));
        }
        (!self.at.is_valid()).then(|| "invalid time".to_owned())
    }
}

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// 26 characters of Crockford's base 32, lower case: 48 bits of milliseconds since 1970, then 80 random bits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(String);

impl Id {
    pub fn new(at: Timestamp) -> Id {
        // RandomState takes its keys from the system's randomness once a thread; the pid keeps forks apart.
        let random = |salt: u32| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u32(salt);
            hasher.write_u32(std::process::id());
            hasher.finish()
        };
        let millis = at.millis().clamp(0, (1 << 48) - 1) as u128;
        let bits = (millis << 80) | (u128::from(random(1)) << 16) | u128::from(random(2) & 0xffff);
        let text = (0..26).map(|place| {
            let five = (bits >> (125 - 5 * place)) as usize & 31;
            char::from(ALPHABET[five])
        });
        Id(text.collect())
    }

    pub fn known(text: &str) -> Option<Id> {
        let is_one = text.len() == 26 && text.bytes().all(|byte| ALPHABET.contains(&byte));
        is_one.then(|| Id(text.to_owned()))
    }

    pub fn time(&self) -> Option<Timestamp> {
        let digits = self.0.bytes().take(10);
        let mut millis = digits.map(|digit| ALPHABET.iter().position(|known| *known == digit));
        let millis = millis.try_fold(0, |sum: i64, digit| Some(sum << 5 | digit? as i64))?;
        Timestamp::from_millis(millis)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The longest name of a directory entry, in bytes. No name or id that is stored in a state is longer.
pub const MAX_NAME_BYTES: usize = 255;

/// Maximum number of entries in each map of a stored state. The oldest make room first.
pub const MAX_ENTRIES: usize = 512;

/// The longest name that is used with a suffix as the name of a file in the store, in bytes.
const MAX_STEM_BYTES: usize = 200;

/// A name that is safe as one component of a path: not empty, at most 255 bytes, no `/` or `\`, no control character, no
/// dot at the beginning, and on Windows no drive prefix (`c:name`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeName(String);

impl SafeName {
    pub fn new(name: &str) -> Option<SafeName> {
        let safe = !name.is_empty()
            && name.len() <= MAX_NAME_BYTES
            && !name.starts_with('.')
            && !name.chars().any(|c| c == '/' || c == '\\' || c.is_control())
            && Path::new(name).components().eq([Component::Normal(name.as_ref())]);
        safe.then(|| SafeName(name.to_owned()))
    }

    /// Takes the name when it is safe and leaves room for the suffixes of files in the store.
    pub fn stem(name: &str) -> Option<SafeName> {
        SafeName::new(name).filter(SafeName::is_stem)
    }

    pub fn is_stem(&self) -> bool {
        self.0.len() <= MAX_STEM_BYTES
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<Path> for SafeName {
    fn as_ref(&self) -> &Path {
        self.0.as_ref()
    }
}

impl fmt::Display for SafeName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

// The W3C trace context of a hook call: `00-<32 digits>-<16 digits>-<2 digits>`, in lower-case hexadecimal.

/// A valid `traceparent` of version 00.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct TraceParent(String);

/// The lengths of the trace ID, the parent ID and the flags.
const LENGTHS: [usize; 3] = [32, 16, 2];
/// The length of the whole.
const BYTES: usize = 55;

impl TraceParent {
    pub fn parse(text: &str) -> Option<TraceParent> {
        if text.len() != BYTES {
            return None;
        }
        let parts: Vec<&str> = text.strip_prefix("00-")?.split('-').collect();
        let is_hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_valid = parts.iter().map(|part| part.len()).eq(LENGTHS)
            && parts.iter().all(|part| is_hex(part))
            && parts[..2].iter().all(|id| id.bytes().any(|byte| byte != b'0'));
        is_valid.then(|| TraceParent(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn trace_id(&self) -> u128 {
        u128::from_str_radix(&self.0[3..35], 16).unwrap_or_default()
    }

    /// The ID of the span that called.
    pub fn parent_id(&self) -> u64 {
        u64::from_str_radix(&self.0[36..52], 16).unwrap_or_default()
    }

    pub fn flags(&self) -> u8 {
        u8::from_str_radix(&self.0[53..], 16).unwrap_or_default()
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Reads it leniently: an invalid one is none, so that it does not hide the rest of a line.
fn lenient<'de, D: Deserializer<'de>>(from: D) -> Result<Option<TraceParent>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(value.as_str().and_then(TraceParent::parse))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time;

    #[test]
    fn ids_sort_by_time_and_never_repeat() {
        let early = time::parse("2026-01-01T00:00:00Z").unwrap();
        let late = time::parse("2026-01-01T00:00:00.001Z").unwrap();
        let ids: std::collections::HashSet<Id> = (0..1000).map(|_| Id::new(early)).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.as_str().len() == 26 && *id < Id::new(late)));
        assert!(ids.iter().all(|id| id.time() == Some(early)));
    }

    #[test]
    fn names_that_lead_out_of_a_directory_are_rejected() {
        for bad in ["", ".", "..", "../../etc", "a/b", "a\0b", "a\nb", ".hidden", "a\\b"] {
            assert_eq!(SafeName::new(bad), None, "{bad:?}");
        }
        assert_eq!(SafeName::new("c:name").is_none(), cfg!(windows));
        assert_eq!(SafeName::new(&"x".repeat(256)), None);
        assert!(SafeName::new(&"x".repeat(255)).is_some_and(|name| !name.is_stem()));
        assert!(SafeName::stem(&"x".repeat(200)).is_some() && SafeName::stem(&"x".repeat(201)).is_none());
        for good in ["parser-team", "session-1353b3db", "Team über alles", "a..b"] {
            assert_eq!(SafeName::new(good).unwrap().as_str(), good);
        }
    }

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_valid_one_is_split_into_its_parts() {
        let parent = TraceParent::parse(VALID).unwrap();
        assert_eq!(parent.trace_id(), 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!((parent.parent_id(), parent.flags()), (0x00f0_67aa_0ba9_02b7, 1));
        assert_eq!(TraceParent::parse(&VALID.replace("-01", "-fe")).unwrap().flags(), 0xfe);
    }

    #[test]
    fn anything_else_is_rejected() {
        let long = "0".repeat(1 << 20);
        for bad in [
            "",
            "00",
            &long,
            &VALID.to_uppercase(),
            &VALID.replacen("00-", "01-", 1),
            &VALID.replace("-01", ""),
            &VALID.replace("-01", "-1"),
            &VALID.replace("-01", "-0g"),
            &format!("{VALID}-00"),
            &format!("{VALID}\n"),
            &format!(" {VALID}"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b-701",
            "00-4bf92f3577b34da6a3ce929d0e0e473ü-00f067aa0ba902b7-01",
            "00-\"},{\"x\":\"4bf92f3577b34da6a3ce929d-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{:.80}", bad);
        }
    }
}
