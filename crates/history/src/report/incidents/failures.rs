//! Agents whose turn failed at a usage limit or another error of the API, and why.

use super::scene::{Draft, Scene, task_names};
use super::stalls::{claim, wasted};
use super::{IncidentKind, Remedy, Severity};
use crate::timeline::{AgentSign, Entry, Kind, TurnEntry, TurnEvent};
use std::collections::HashMap;
use teamkeep_model::time::duration;
use teamkeep_model::words::count;
use teamkeep_policy::{Activity, Sign};

/// Turns of an agent that ended in one way, one after the other, and what the agent did next.
pub(super) struct Halt<'a> {
    pub agent: &'a str,
    ends: Vec<&'a Entry>,
    next: Option<&'a Entry>,
}

impl Halt<'_> {
    pub(super) fn from(&self) -> i64 {
        self.ends.first().map_or(0, |entry| entry.at.millis())
    }

    /// When the agent worked again or left; else the end of the run.
    pub(super) fn until(&self, scene: &Scene<'_>) -> i64 {
        self.next.map_or(scene.end, |entry| entry.at.millis())
    }

    fn cause(&self) -> FailureCause {
        self.ends.last().and_then(|entry| entry.turn()).map_or(FailureCause::Other, cause)
    }
}

/// The times after turns that failed, or that the user interrupted. Repeated failures are one halt: an agent that starts a turn
/// and fails again for the same cause has not worked in between. An interrupted agent may have.
pub(super) fn halts<'a>(scene: &Scene<'a>, event: TurnEvent) -> Vec<Halt<'a>> {
    let halted = if event == TurnEvent::Failed { Activity::Failed } else { Activity::Idles };
    let mut found: Vec<Halt<'a>> = Vec::new();
    let mut open: HashMap<&str, usize> = HashMap::new();
    for entry in scene.case.entries {
        if entry.kind() == Kind::TeamErased {
            let erased = open.drain().map(|(_, place)| place);
            erased.for_each(|place| found[place].next = found[place].next.or(Some(entry)));
            continue;
        }
        let name = entry.actor.as_str();
        let end = entry.turn().filter(|turn| turn.event == event && !turn.by_subagent);
        if let Some(turn) = end {
            let is_repeated = |halt: &Halt<'_>| match event {
                TurnEvent::Failed => halt.cause() == cause(turn),
                _ => halt.next.is_none(),
            };
            match open.get(name).copied() {
                Some(place) if is_repeated(&found[place]) => {
                    found[place].ends.push(entry);
                    found[place].next = None;
                }
                before => {
                    if let Some(place) = before {
                        found[place].next = found[place].next.or(Some(entry));
                    }
                    open.insert(name, found.len());
                    found.push(Halt { agent: name, ends: vec![entry], next: None });
                }
            }
            continue;
        }
        for AgentSign { agent, sign, .. } in entry.signs().filter(|sign| !sign.beside_another) {
            let Some(place) = open.get(agent.name).copied() else { continue };
            if Activity::after(Some(halted), sign) != Some(halted) {
                found[place].next = found[place].next.or(Some(entry));
            }
            // A turn that the agent ended is the proof that it works.
            if matches!(sign, Sign::EndsTurn | Sign::Leaves | Sign::EndsSession) {
                open.remove(agent.name);
            }
        }
    }
    found
}

fn cause(turn: &TurnEntry) -> FailureCause {
    FailureCause::of(turn.description.as_deref(), turn.text.as_deref().unwrap_or_default())
}

pub(super) fn failures(scene: &Scene<'_>, halts: &[Halt<'_>]) -> Vec<Draft> {
    halts.iter().filter_map(|halt| failure(scene, halt)).collect()
}

fn failure(scene: &Scene<'_>, halt: &Halt<'_>) -> Option<Draft> {
    let (name, first, last) = (halt.agent, halt.ends.first()?, halt.ends.last()?);
    let (from, to) = (halt.from(), halt.until(scene));
    let mut draft = Draft::new(IncidentKind::FailedAgent, Severity::Medium, (from, to));
    draft.agent(name);
    let tasks = scene.held(name, last.at.millis());
    claim(scene, &mut draft, name, &tasks);
    let why = last.turn().and_then(TurnEntry::why).unwrap_or_default();
    for end in [first, last] {
        let why = end.turn().and_then(TurnEntry::why).unwrap_or_default();
        draft.step(end, format!("the turn of {name} failed: {why}"));
    }
    let next = halt.next.and_then(|entry| entry.signs().find(|sign| sign.agent.name == name));
    let next = next.map(|next| next.sign);
    let works_again =
        next.is_some_and(|sign| !matches!(sign, Sign::Leaves | Sign::EndsSession | Sign::FailsTurn));
    if let Some(after) = halt.next.filter(|_| next.is_some()) {
        let what = match next {
            _ if after.stopped() == Some(name) => format!("was stopped by {}", after.actor),
            Some(Sign::FailsTurn) => "failed for another cause".to_owned(),
            _ if works_again => "worked again".to_owned(),
            _ => "left".to_owned(),
        };
        draft.step(after, format!("{name} {what}"));
    }
    let owned = match tasks.len() {
        0 => String::new(),
        _ => format!(" with {} in progress", task_names(&draft.tasks)),
    };
    let turns = match halt.ends.len() {
        1 => format!("the turn of {name}"),
        ends => format!("{} of {name} in a row", count(ends, "turn")),
    };
    draft.summary = format!("{turns} failed{owned}: {why}");
    if works_again {
        draft.consequence = format!("; it worked again after {}", duration(to - from));
    }
    if !works_again && scene.lasts(to) {
        draft.severity = Severity::High;
    }
    draft.remedy = match next {
        None if !scene.case.is_over() => {
            Some(Remedy::Advice(advice(halt.cause(), name, name == scene.case.lead)))
        }
        _ => None,
    };
    draft.spend(wasted(scene, name, &tasks));
    Some(draft)
}

/// The advice to a person so that the agent works again.
fn advice(cause: FailureCause, name: &str, is_lead: bool) -> String {
    let again = match is_lead {
        true => "send a prompt to try again".to_owned(),
        false => format!("send {name} a message to try again"),
    };
    match cause {
        FailureCause::Limit => format!("Wait until the limit resets or select another model, then {again}"),
        FailureCause::Server => format!("Wait until the API recovers, then {again}"),
        FailureCause::Model if is_lead => format!("Select an available model with /model, then {again}"),
        FailureCause::Model => format!("Start {name} again with an available model"),
        FailureCause::Billing => format!("Add credits, then {again}"),
        FailureCause::Login => format!("Log in with /login, then {again}"),
        FailureCause::Other => format!("Fix the cause, then {again}"),
    }
}

// Why a turn failed: the word of StopFailure, or the message that Claude Code shows.

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
