//! Who ships: the organization, the machine and the user, as their names are shipped.

use crate::privacy::{IdentityKind, Pseudonyms};

#[derive(Debug, Clone)]
pub struct Identity {
    pub organization: String,
    pub host: String,
    /// The ID of the store.
    pub store: String,
    pub user: Option<String>,
    pub pseudonyms: Pseudonyms,
}

/// The longest name in a partition.
const MAX_CHARS: usize = 64;

impl Identity {
    pub fn new(
        organization: &str,
        host: &str,
        store: String,
        user: Option<&str>,
        pseudonyms: Pseudonyms,
    ) -> Identity {
        Identity {
            store,
            organization: partition(organization),
            host: partition(&pseudonyms.of(IdentityKind::Host, host)),
            user: user.map(|user| pseudonyms.of(IdentityKind::User, user)),
            pseudonyms,
        }
    }
}

/// A name that is the value of a partition: only ASCII letters, digits, `.`, `_` and `-`, and not of a form that query engines
/// take for a value of another type than text.
fn partition(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let plain: String = name.chars().take(MAX_CHARS).map(|c| if is_plain(c) { c } else { '-' }).collect();
    match plain.trim_matches('.') {
        "" => "unknown".to_owned(),
        _ if is_like_a_value(&plain) => format!("_{plain}"),
        _ => plain,
    }
}

/// Whether a name is like a number, a date, a Boolean or null. An engine that finds such a partition first fails at the others.
fn is_like_a_value(name: &str) -> bool {
    let is_word = ["true", "false", "null"].iter().any(|word| name.eq_ignore_ascii_case(word));
    is_word || !name.contains(|c: char| c.is_ascii_alphabetic()) || name.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_objects_have_no_characters_that_lead_elsewhere() {
        let identity = |organization, host, user| {
            Identity::new(organization, host, "0123456789abcdef".to_owned(), user, Pseudonyms::none())
        };
        let found = identity("../x y", "ho/st\n", Some("alice"));
        assert_eq!((found.organization.as_str(), found.host.as_str()), ("..-x-y", "ho-st-"));
        assert_eq!(identity("..", "", None).organization, "unknown");
    }

    #[test]
    fn names_that_are_like_values_of_other_types_are_marked_as_text() {
        for name in ["42", "10.1", "2026-01-01", "1e5", "inf", "NaN", "True", "null", "-"] {
            assert_eq!(partition(name), format!("_{name}"));
        }
        for name in ["m1", "10.1.example", "2026-laptop", "infra"] {
            assert_eq!(partition(name), name);
        }
    }

    #[test]
    fn pseudonyms_replace_host_and_user() {
        let key = Pseudonyms::keyed(b"0123456789abcdef").unwrap();
        let identity =
            Identity::new("acme", "laptop-of-alice", "0123456789abcdef".to_owned(), Some("alice"), key);
        assert!(identity.host.starts_with("host-") && !identity.host.contains("alice"));
        assert!(identity.user.unwrap().starts_with("user-"));
        assert_eq!(identity.organization, "acme");
    }
}
