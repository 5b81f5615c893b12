//! Names that mean a secret, in any spelling: `db_password`, `clientSecret`, `X-Api-Key`.

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
