//! A manifest: the changes between two captures of a team's files.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::clock;
use crate::event::Id;

/// One line of a run's journal. It has only the changes; the state is the sum of all lines before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[derive(Default)]
pub struct Snapshot {
    /// Format version: 2; 1 in an export and in lines of earlier versions.
    pub v: u8,
    /// The time of the hook call, RFC 3339; never before the previous line.
    pub at: String,
    /// The id of the hook call's event.
    pub event: String,
    /// New and changed files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Change>,
    /// Deleted files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Whether the team's directory exists, if that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_dir: Option<bool>,
}

/// A file's new state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// The path below Claude Code's directory: `teams/<team>/inboxes/alice.json`.
    pub path: String,
    /// The content's hash, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "hash")]
    pub object: Option<String>,
    /// Size in bytes.
    pub size: u64,
    /// Whether it was incomplete JSON even when it was read again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub torn: bool,
    /// Why the content was not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

impl Snapshot {
    /// Parses a line of a journal: an object, or an array of the same fields in the same order.
    ///
    /// # Errors
    /// When it is neither.
    pub fn parse(line: &[u8]) -> serde_json::Result<Snapshot> {
        let mut snapshot: Snapshot = serde_json::from_slice(line)?;
        if snapshot.at.is_empty()
            && let Some(event) = Id::known(&snapshot.event)
        {
            snapshot.at = event.time().map(clock::stamp).unwrap_or_default();
        }
        Ok(snapshot)
    }

    /// The line of a journal, including the line break: an array of its fields, as short as possible.
    pub fn line(&self) -> Vec<u8> {
        let event_time = Id::known(&self.event).and_then(|id| id.time()).map(clock::stamp);
        let at = if event_time.as_ref() == Some(&self.at) { "" } else { &self.at };
        let fields = vec![
            self.v.into(),
            at.into(),
            self.event.as_str().into(),
            self.changed.iter().map(Change::fields).collect(),
            self.gone.as_slice().into(),
            self.team_dir.into(),
        ];
        let mut line = short(fields).to_string().into_bytes();
        line.push(b'\n');
        line
    }

    /// A problem in the manifest.
    pub fn flaw(&self) -> Option<String> {
        if self.v == 0 {
            return Some("it has no version".to_owned());
        }
        if clock::parse(&self.at).is_none() {
            return Some(format!("invalid time {:?}", self.at));
        }
        let paths = self.changed.iter().map(|change| &change.path).chain(&self.gone);
        let mut bad = paths.filter(|path| !is_inside(path));
        bad.next().map(|path| format!("{path:?} is not a path below Claude Code's directory"))
    }
}

impl Change {
    fn fields(&self) -> Value {
        let mut fields =
            vec![self.path.as_str().into(), self.object.as_deref().map(short_hash).into(), self.size.into()];
        if self.torn || self.skipped.is_some() {
            fields.extend([self.torn.into(), self.skipped.as_deref().into()]);
        }
        short(fields)
    }
}

/// An array without the empty values at its end.
fn short(mut fields: Vec<Value>) -> Value {
    let is_empty = |field: &Value| field.is_null() || field.as_array().is_some_and(Vec::is_empty);
    while fields.pop_if(|field| is_empty(field)).is_some() {}
    Value::Array(fields)
}

/// A hash in 43 characters of base64.
fn short_hash(hash: &str) -> String {
    let bytes = blake3::Hash::from_hex(hash).map(|hash| URL_SAFE_NO_PAD.encode(hash.as_bytes()));
    bytes.unwrap_or_else(|_| hash.to_owned())
}

/// Reads a hash in base64 or in hexadecimal digits.
fn hash<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    Ok(text.map(|text| match URL_SAFE_NO_PAD.decode(&text).ok().and_then(|bytes| bytes.try_into().ok()) {
        Some(bytes) => blake3::Hash::from_bytes(bytes).to_hex().to_string(),
        None => text,
    }))
}

/// Whether a path stays below the directory to which it is relative.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        let at = clock::parse("2026-02-03T04:05:06.789Z").unwrap();
        let path = "teams/crew/inboxes/alice.json".to_owned();
        let object = Some(blake3::hash(b"[]").to_hex().to_string());
        let changed = vec![Change { path, object, size: 2, torn: false, skipped: None }];
        let event = Id::new(at).to_string();
        Snapshot { v: 2, at: clock::stamp(at), event, changed, gone: Vec::new(), team_dir: None }
    }

    #[test]
    fn a_line_comes_back_whatever_it_leaves_out() {
        let one = snapshot();
        let text = String::from_utf8(one.line()).unwrap();
        assert!(text.starts_with("[2,\"\",\"") && text.ends_with(",2]]]\n"), "{text}");
        assert!(text.len() < 130, "{text}");
        let skipped = Change { path: "a".into(), skipped: Some("a link".into()), ..Change::default() };
        let torn = Change { torn: true, ..one.changed[0].clone() };
        let later = "2026-02-03T04:05:06.790Z".to_owned();
        for other in [
            one.clone(),
            Snapshot { at: later, ..one.clone() },
            Snapshot { team_dir: Some(false), ..one.clone() },
            Snapshot { event: "x".into(), gone: vec!["b".into()], ..one.clone() },
            Snapshot { changed: vec![torn, skipped, one.changed[0].clone()], ..one.clone() },
        ] {
            assert_eq!(Snapshot::parse(&other.line()).unwrap(), other);
            assert_eq!(Snapshot::parse(&serde_json::to_vec(&other).unwrap()).unwrap(), other);
        }
    }

    #[test]
    fn a_line_without_a_time_is_flawed_unless_its_event_has_one() {
        let text = String::from_utf8(snapshot().line()).unwrap();
        assert_eq!(Snapshot::parse(text.as_bytes()).unwrap().flaw(), None);
        let other = Snapshot::parse(br#"[2,"","x"]"#).unwrap();
        assert_eq!(other.flaw().as_deref(), Some("invalid time \"\""));
    }
}
