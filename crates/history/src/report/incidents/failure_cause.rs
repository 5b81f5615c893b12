//! Why a turn failed: the word of StopFailure, or the message that Claude Code shows.

/// The cause of a failed turn, as far as the remedy differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureCause {
    /// A usage limit or a rate limit.
    Limit,
    /// The API is overloaded or has an error (500, 529).
    Server,
    /// The model does not exist, or the account cannot use it.
    Model,
    /// No credits are left, or there is a problem with the account.
    Billing,
    /// The login is missing or has expired.
    Login,
    Other,
}

impl FailureCause {
    /// `word` is the `error` of StopFailure. A notice in an inbox has only the message for people.
    pub(super) fn of(word: Option<&str>, message: &str) -> FailureCause {
        match word {
            Some("rate_limit") => FailureCause::Limit,
            Some("server_error" | "overloaded") => FailureCause::Server,
            Some("model_not_found") => FailureCause::Model,
            Some("billing_error") => FailureCause::Billing,
            Some("authentication_failed" | "oauth_org_not_allowed") => FailureCause::Login,
            _ => FailureCause::of_message(message),
        }
    }

    /// From the messages of 2.1.332. An unknown one only has a more general remedy.
    fn of_message(message: &str) -> FailureCause {
        let message: String = message.chars().take(MAX_MESSAGE_CHARS).collect::<String>().to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
        match () {
            () if has(&["credit"]) => FailureCause::Billing,
            () if has(&[
                "(429)",
                "error: 429",
                "limit · resets",
                "usage limit",
                "session limit",
                "rate limit",
            ]) =>
            {
                FailureCause::Limit
            }
            () if has(&["overloaded", "(529)", "error: 5"]) => FailureCause::Server,
            () if has(&["selected model"]) => FailureCause::Model,
            () if has(&["/login", "invalid api key"]) => FailureCause::Login,
            () => FailureCause::Other,
        }
    }
}

/// The cause is at the start of a message.
const MAX_MESSAGE_CHARS: usize = 200;

#[cfg(test)]
mod tests {
    use super::FailureCause::{self, Billing, Limit, Login, Model, Other, Server};

    #[test]
    fn the_word_of_the_hook_names_the_cause_else_the_message() {
        for (word, message, cause) in [
            (Some("rate_limit"), "API Error: 529 Overloaded", Limit),
            (Some("server_error"), "", Server),
            (Some("model_not_found"), "", Model),
            (Some("billing_error"), "", Billing),
            (Some("authentication_failed"), "", Login),
            (
                Some("unknown"),
                "API Error: Request rejected (429) · This request would exceed your limit",
                Limit,
            ),
            (None, "You've hit your session limit · resets 9:50am (UTC)", Limit),
            (None, "API Error: 529 Overloaded. This is a server-side issue", Server),
            (None, "There's an issue with the selected model (opus). It may not exist", Model),
            (None, "You're out of usage credits", Billing),
            (None, "Credit balance is too low", Billing),
            (None, "Invalid API key · Please run /login", Login),
            (None, "The connection was closed", Other),
            (Some("invalid_request"), "", Other),
        ] {
            assert_eq!(FailureCause::of(word, message), cause, "{word:?} {message}");
        }
    }
}
