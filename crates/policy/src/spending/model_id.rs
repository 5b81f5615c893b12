//! The ids of models, as Anthropic's API, other platforms and gateways write them.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Suffix {
    Fast,
    Other,
}

/// The suffix after a model's name in its id: `-20251101`, `@20251101`, `[1m]`, `-v1:0`. `None` if the id has another name.
pub(crate) fn suffix_after(id: &str, name: &str) -> Option<Suffix> {
    let (_, own) = id.rsplit_once("claude-")?;
    // Gateways write `claude-opus-4.6`.
    let own = own.replace('.', "-");
    let rest = own.strip_prefix(name)?;
    if !rest.is_empty() && !rest.starts_with(['-', '@', '[', ':']) {
        return None;
    }
    let mut parts = rest.split(['-', '@', '[', ']', ':']);
    let is_known = |part: &str| {
        let version = part.strip_prefix('v').unwrap_or(part);
        let is_number = version.bytes().all(|digit| digit.is_ascii_digit());
        let digits = if version.len() < part.len() { 1..=2 } else { DATE_DIGITS..=DATE_DIGITS };
        is_number && digits.contains(&version.len()) || KNOWN_SUFFIXES.contains(&part)
    };
    let known = parts.clone().all(is_known);
    let fast = parts.any(|part| part == "fast");
    known.then_some(if fast { Suffix::Fast } else { Suffix::Other })
}

/// The digits of a date in a model's id. Fewer are a version.
const DATE_DIGITS: usize = 8;

/// `0` is the number of the first version, as in `claude-opus-4-0` and `-v1:0`.
const KNOWN_SUFFIXES: [&str; 7] = ["", "0", "1m", "default", "fast", "latest", "thinking"];
