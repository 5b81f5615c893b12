//! Checks that notifications can be sent, if they are configured.

use super::{Diagnosis, Facts, bad, ok};
use crate::notify::Destination;

pub fn check(facts: &Facts<'_>) -> Diagnosis {
    let destinations = Destination::all(&facts.policy.config.notify, facts.env.home.as_deref());
    for destination in &destinations {
        if let Err(error) = destination.check(facts.env) {
            let fix = error.hints.first().cloned();
            let fix = fix.unwrap_or_else(|| format!("{} config show", facts.call));
            return bad(format!("notifications to {}: {error}", destination.name())).with_fix(fix);
        }
    }
    let names: Vec<String> = destinations.iter().map(Destination::name).collect();
    ok(match names.is_empty() {
        true => "notifications are off".to_owned(),
        false => format!("notifications are sent to {}", names.join(" and ")),
    })
}
