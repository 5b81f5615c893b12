//! Names that mean a secret, in any spelling: `db_password`, `clientSecret`, `X-Api-Key`. And whether a text that is assigned to one can
//! be a secret: not a reference, not a placeholder, not a word.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// Any value is a secret.
    Strong,
    /// A value is a secret if it looks random: a token can belong to a parser.
    Weak,
}

/// Parts of names. The rules check a name where one occurs.
pub(super) const TRIGGERS: &[&str] =
    &["pass", "pwd", "secret", "key", "token", "auth", "credential", "jwt", "psk", "pw", "cookie"];

// Endings of names, in lower case and without other characters than letters and digits.

#[rustfmt::skip]
const STRONG: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "passwort", "pwd", "secret", "authorization", "rootpw",
    "dbpw", "psk", "requirepass",
];

const WEAK: &[&str] = &["auth", "cookie", "credential", "credentials", "jwt", "pass", "pw"];

/// Words before `token` that make it strong. Any other token is weak.
#[rustfmt::skip]
const STRONG_TOKENS: &[&str] = &[
    "access", "auth", "refresh", "id", "session", "messaging", "bearer", "csrf", "api", "bot", "security",
    "deploy", "private",
];

/// Words before `key` that make it strong.
#[rustfmt::skip]
const STRONG_KEYS: &[&str] = &[
    "api", "access", "secret", "private", "account", "encryption", "signing", "master", "auth", "shared",
    "storage", "subscription", "admin", "app", "application", "service", "webhook",
];

/// Words before `key` that make it something else. Any other word makes it weak.
#[rustfmt::skip]
const OTHER_KEYS: &[&str] = &[
    "public", "publishable", "primary", "foreign", "cache", "sort", "partition", "idempotency", "hash",
    "host", "object", "row", "map", "lookup", "session", "hot", "dedup", "range", "routing", "group",
    "bucket",
];

/// Words after the ending. Digits at the end of a name do not matter.
#[rustfmt::skip]
const ENDS: &[&str] = &[
    "prod", "production", "dev", "staging", "stage", "test", "live", "old", "new", "backup", "primary",
    "secondary", "default", "value", "base", "plain",
];

/// The number of bytes at the end of a name that are compared.
const MAX_NAME: usize = 64;

pub(super) fn strength(name: &str) -> Option<Strength> {
    let mut buffer = [0; MAX_NAME];
    let mut start = MAX_NAME;
    let letters = name.bytes().rev().take(MAX_NAME).filter(u8::is_ascii_alphanumeric);
    for byte in letters.skip_while(u8::is_ascii_digit) {
        start -= 1;
        buffer[start] = byte.to_ascii_lowercase();
    }
    let lower = &buffer[start..];
    let without = ending(lower, ENDS).filter(|rest| rest.len() > 3);
    let lower = without.unwrap_or(lower);
    if let Some(rest) = lower.strip_suffix(b"token") {
        return Some(if ending(rest, STRONG_TOKENS).is_some() { Strength::Strong } else { Strength::Weak });
    }
    if let Some(rest) = lower.strip_suffix(b"key") {
        if ending(rest, STRONG_KEYS).is_some() {
            return Some(Strength::Strong);
        }
        let is_word = ["_KEY", "_key", "-key", "-Key", "Key"].iter().any(|end| name.ends_with(end));
        let is_weak = is_word && !rest.is_empty() && ending(rest, OTHER_KEYS).is_none();
        return is_weak.then_some(Strength::Weak);
    }
    if ending(lower, STRONG).is_some() || is_pass(name.as_bytes()) {
        return Some(Strength::Strong);
    }
    ending(lower, WEAK).map(|_| Strength::Weak)
}

/// The part of a name before the first of these words that it ends with.
fn ending<'a>(name: &'a [u8], words: &[&str]) -> Option<&'a [u8]> {
    let last = name.last()?;
    let mut words = words.iter().filter(|word| word.as_bytes().last() == Some(last));
    words.find_map(|word| name.strip_suffix(word.as_bytes()))
}

/// Whether `pass` is a word at the end of a name.
fn is_pass(name: &[u8]) -> bool {
    let word = name.last_chunk::<5>();
    word.is_some_and(|word| matches!(word[0], b'_' | b'.' | b'-') && word[1..].eq_ignore_ascii_case(b"pass"))
}

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
