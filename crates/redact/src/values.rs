//! Whether a text that is assigned to a name can be a secret: not a reference, not a placeholder, not a word.

/// Words that replace a value, are its type, or name an algorithm.
#[rustfmt::skip]
const NOT_VALUES: &[&str] = &[
    "string", "str", "text", "number", "int", "integer", "bool", "boolean", "object", "null", "nil", "none",
    "undefined", "true", "false", "required", "optional", "any", "default", "enabled", "disabled", "yes",
    "no", "basic", "bearer", "oauth", "oauth2", "sha1", "sha256", "sha512", "md5", "base64", "utf8", "hidden",
    "todo", "env", "file", "prompt",
];

/// Beginnings of references, templates and placeholders.
const REFERENCES: &[&str] =
    &["$", "<", "{", "%", "!", "@", "env(", "ENC[", "[", "process.env", "os.", "secrets.", "...", "&"];

const PLACEHOLDERS: &[&str] =
    &["xxxx", "****", "....", "your-", "your_", "yourapi", "replace", "placeholder", "redacted:"];

/// Words whose presence in a value of words only shows that the value is a name too.
const NAMES: &[&str] = &["pass", "pwd", "secret", "token", "key", "credential", "auth", "jwt"];

pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    lower.bytes().all(|byte| matches!(byte, b'*' | b'x' | b'.' | b'-' | b'_' | b'#' | b'?' | b' '))
        || lower.ends_with("...")
        || lower.ends_with('…')
        || NOT_VALUES.contains(&lower.as_str())
        || PLACEHOLDERS.iter().any(|word| lower.contains(word))
}

/// A variable, a template or an expression in place of a value.
pub(super) fn is_reference(value: &str) -> bool {
    let begins = REFERENCES.iter().any(|start| value.starts_with(start)) && !is_mixed(value);
    begins || ["${", "{{", "<%", "$(", "`"].iter().any(|mark| value.contains(mark)) || is_format(value)
}

/// Text with a variable in braces.
fn is_format(value: &str) -> bool {
    let inside = value.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    inside.is_some_and(|(name, _)| {
        name.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.'))
    })
}

/// A path of identifiers or a name, as in program text.
pub(super) fn is_code(value: &str) -> bool {
    let path = value.split(['.', ':']).filter(|part| !part.is_empty());
    let is_name = |part: &str| {
        !part.starts_with(|c: char| c.is_ascii_digit())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'?' | b'!' | b'-' | b'>'))
            && (part.len() < 20 || is_wordy(part))
    };
    let is_path = value.contains(['.', ':']) && path.clone().all(is_name);
    is_path
        || (value.contains('/') && is_wordy(value))
        || ["/", "./", "~/", "../"].iter().any(|dir| value.starts_with(dir))
}

/// A name of a secret, such as `new_password1`.
pub(super) fn is_name(value: &str, may_have_digits: bool) -> bool {
    let lower = value.to_ascii_lowercase();
    let name = if may_have_digits { lower.trim_end_matches(|c: char| c.is_ascii_digit()) } else { &lower };
    NAMES.iter().any(|word| name.contains(word)) && is_wordy(name)
}

/// Whether all parts of a text are words or numbers.
pub(super) fn is_wordy(value: &str) -> bool {
    parts(value).all(is_word)
}

fn parts(value: &str) -> impl Iterator<Item = &str> {
    value.split(|c: char| !c.is_ascii_alphanumeric() && c != '+')
}

fn is_word(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let humps = part
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    part.len() <= 4 || digits == part.len() || (digits == 0 && humps.count() <= part.len() / 6)
}

/// Whether a text of at least this length looks like random characters.
pub(super) fn is_random(value: &str, least: usize) -> bool {
    let random: usize = parts(value).filter(|part| !is_word(part)).map(str::len).sum();
    value.len() >= least && random >= least.min(12) && 3 * random >= value.len() && has_variety(value)
}

/// Random characters seldom repeat.
fn has_variety(value: &str) -> bool {
    let mut seen = [false; 256];
    value.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    seen.iter().filter(|seen| **seen).count() >= 8
}

/// Whether a text has a digit or a character that neither words nor program text have.
pub(super) fn is_mixed(value: &str) -> bool {
    value.bytes().any(|byte| {
        byte.is_ascii_digit() || matches!(byte, b'!' | b'#' | b'$' | b'%' | b'^' | b'*' | b'+' | b'@')
    })
}
