//! Names that mean a secret, in any spelling: `db_password`, `clientSecret`, `X-Api-Key`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// Any value is a secret.
    Strong,
    /// A value is a secret if it looks random: a token can belong to a parser.
    Weak,
}

/// Parts of names. The rules check a name where one occurs.
pub(super) const TRIGGERS: &[&str] = &[
    "pass",
    "pwd",
    "secret",
    "key",
    "token",
    "auth",
    "credential",
    "jwt",
    "psk",
    "pw",
    "sessid",
    "sessionid",
];

/// Endings of names, in lower case and without other characters than letters.
const STRONG: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "pwd",
    "secret",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "accountkey",
    "encryptionkey",
    "signingkey",
    "masterkey",
    "authkey",
    "sharedkey",
    "storagekey",
    "subscriptionkey",
    "adminkey",
    "appkey",
    "applicationkey",
    "servicekey",
    "webhookkey",
    "secretkeybase",
    "accesstoken",
    "authtoken",
    "refreshtoken",
    "idtoken",
    "sessiontoken",
    "messagingtoken",
    "bearertoken",
    "csrftoken",
    "apitoken",
    "bottoken",
    "oauthtoken",
    "securitytoken",
    "deploytoken",
    "privatetoken",
    "authorization",
    "rootpw",
    "dbpw",
    "psk",
    "requirepass",
];

const WEAK: &[&str] =
    &["token", "auth", "credential", "credentials", "jwt", "pass", "pw", "sessid", "sessionid"];

/// Words after the ending.
const ENDS: &[&str] = &[
    "prod",
    "production",
    "dev",
    "staging",
    "stage",
    "test",
    "live",
    "old",
    "new",
    "backup",
    "primary",
    "secondary",
    "default",
    "value",
    "base64",
    "plain",
];

/// Words before `key` that make it something else. Any other word makes it weak.
const OTHER_KEYS: &[&str] = &[
    "public",
    "publishable",
    "primary",
    "foreign",
    "cache",
    "sort",
    "partition",
    "idempotency",
    "hash",
    "host",
    "object",
    "row",
    "map",
    "lookup",
    "session",
    "hot",
    "dedup",
    "range",
    "routing",
    "group",
    "bucket",
];

const MAX_NAME: usize = 64;

pub(super) fn strength(name: &str) -> Option<Strength> {
    if name.len() > MAX_NAME {
        return strength(name.get(name.ceil_char_boundary(name.len() - MAX_NAME)..)?);
    }
    let lower: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let lower = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let lower =
        ENDS.iter().find_map(|end| lower.strip_suffix(end)).filter(|rest| rest.len() > 3).unwrap_or(lower);
    let is_pass = ["_pass", ".pass", "-pass"].iter().any(|end| name.to_ascii_lowercase().ends_with(end));
    if is_pass || STRONG.iter().any(|end| lower.ends_with(end)) {
        return Some(Strength::Strong);
    }
    let is_key = ["_KEY", "_key", "-key", "-Key", "Key"].iter().any(|end| name.ends_with(end));
    let is_key = is_key
        && lower
            .strip_suffix("key")
            .is_some_and(|rest| !rest.is_empty() && !OTHER_KEYS.iter().any(|other| rest.ends_with(other)));
    (is_key || WEAK.iter().any(|end| lower.ends_with(end))).then_some(Strength::Weak)
}
