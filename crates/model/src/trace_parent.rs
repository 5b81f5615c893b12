//! The W3C trace context of a hook call: `00-<32 digits>-<16 digits>-<2 digits>`, in lower-case hexadecimal.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

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
pub(crate) fn lenient<'de, D: Deserializer<'de>>(from: D) -> Result<Option<TraceParent>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(value.as_str().and_then(TraceParent::parse))
}

#[cfg(test)]
mod tests {
    use super::*;

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
