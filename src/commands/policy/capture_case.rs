//! Records an override in the log before it becomes active.

use serde_json::{Value, value::RawValue};

use crate::clock;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::event::{Actor, Event, Id, OVERRIDE};
use crate::log::Log;

/// Appends the event. The author is unknown: the actor is `user`, of unknown kind, and `terminal` is whether stdin is a
/// terminal.
///
/// # Errors
/// When it cannot be recorded. The override must not become active then.
pub fn record(context: &Context, team: Option<&str>, mut payload: Value) -> Result<()> {
    if let Some(payload) = payload.as_object_mut() {
        payload.insert("terminal".to_owned(), Value::Bool(context.ui.is_typed()));
    }
    let payload = RawValue::from_string(payload.to_string()).map_err(Error::from_json)?;
    let now = context.clock.now();
    let id = Id::new(now);
    let event = Event {
        v: 1,
        at: &clock::stamp(now),
        id: id.as_str(),
        event: OVERRIDE,
        session: None,
        team,
        actor: &Actor { name: Some("user".to_owned()), ..Actor::unknown() },
        run: None,
        task_list: None,
        warning: None,
        malformed: None,
        verdict: None,
        payload: &payload,
    };
    let line = event.line().map_err(Error::from_json)?;
    let log = Log::open(context.paths.log(), &context.config.log);
    let appended = log
        .append(&line, now)
        .map_err(|error| Error::caused("cannot record the override, so nothing was changed", error))?;
    if let Some(note) = appended.note.or(appended.usual) {
        context.ui.warn(note);
    }
    Ok(())
}
