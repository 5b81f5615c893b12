//! The trace context that Claude Code gives its hooks when its tracing is on.

use teamkeep_core::sys::clock::Timestamp;

/// A span of Claude Code, from the variable `TRACEPARENT` of a hook call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    pub flags: u8,
    /// When the hook was called.
    pub at: Timestamp,
    pub session: Option<String>,
    /// The name of the agent that acted.
    pub agent: Option<String>,
}

impl TraceParent {
    /// Parses a value of the W3C Trace Context: `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`. `None` if it is not
    /// valid. As the standard asks, later versions can have more fields behind these.
    pub fn parse(text: &str, at: Timestamp) -> Option<TraceParent> {
        let mut fields = text.trim().split('-');
        let [version] = hex(fields.next()?)?;
        let (trace_id, span_id) = (hex(fields.next()?)?, hex(fields.next()?)?);
        let [flags] = hex(fields.next()?)?;
        let is_complete = version != 0 || fields.next().is_none();
        let is_valid = version != 0xff && trace_id != [0; 16] && span_id != [0; 8] && is_complete;
        is_valid.then_some(TraceParent { trace_id, span_id, flags, at, session: None, agent: None })
    }

    /// The same, with who made the hook call.
    pub fn by(self, agent: Option<String>, session: Option<String>) -> TraceParent {
        TraceParent { agent, session, ..self }
    }
}

/// Bytes from lower-case hexadecimal digits.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn parsed(text: &str) -> Option<TraceParent> {
        TraceParent::parse(text, Timestamp::default())
    }

    #[test]
    fn a_trace_parent_is_parsed() {
        let parent = parsed(VALID).unwrap();
        assert_eq!((parent.trace_id[0], parent.trace_id[15], parent.flags), (0x0a, 0x9c, 1));
        assert_eq!(parent.span_id, [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31]);
        assert_eq!(parsed(&format!("01{}-more", &VALID[2..])), Some(parent));
    }

    #[test]
    fn an_invalid_trace_parent_is_ignored() {
        let zeros = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
        let upper = VALID.to_uppercase();
        let longer = format!("{VALID}-more");
        let invalid = format!("ff{}", &VALID[2..]);
        for text in ["", "00", zeros, &upper, &longer, &invalid, &VALID[..54], "00-é-é-01"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
