//! The scope of an override, its record in the log, and the file with all overrides.

use serde_json::{Value, value::RawValue};

use crate::clock;
use crate::config::Gate;
use crate::context::Context;
use crate::enforcement::{OverrideFile, Pause};
use crate::error::{Error, Result};
use crate::event::{Actor, Event, Id, OVERRIDE, SafeName};
use crate::log::Log;
use crate::suggest::unknown;

/// A gate and a team; `None` for all.
#[derive(Debug, Clone, clap::Args)]
pub struct Scope {
    /// Only this gate, by its name in the configuration; `rule` for all rules
    #[arg(long)]
    pub gate: Option<String>,
    /// Only in this team
    #[arg(long, value_parser = name)]
    pub team: Option<String>,
}

impl Scope {
    /// Checks the name of the gate.
    ///
    /// # Errors
    /// There is no such gate.
    pub fn check(&self) -> Result<()> {
        let wrong = self.gate.as_deref().filter(|gate| Gate::named(gate).is_none());
        wrong.map_or(Ok(()), |gate| Err(unknown("gate", gate, &Gate::ALL.map(Gate::name)).of_usage()))
    }

    /// Whether a pause is only for this gate and this team.
    pub fn contains(&self, pause: &Pause) -> bool {
        let within = |scope: &Option<String>, of: &Option<String>| scope.is_none() || scope == of;
        within(&self.gate, &pause.gate) && within(&self.team, &pause.team)
    }

    /// Whether a pause applies to this gate and this team.
    pub fn overlaps(&self, pause: &Pause) -> bool {
        let meet =
            |one: &Option<String>, other: &Option<String>| one.is_none() || other.is_none() || one == other;
        meet(&self.gate, &pause.gate) && meet(&self.team, &pause.team)
    }
}

/// `premature-shutdown in team "t1"`, `every gate`.
pub fn shown(gate: Option<&str>, team: Option<&str>) -> String {
    let gate = gate.unwrap_or("every gate");
    team.map_or_else(|| gate.to_owned(), |team| format!("{gate} in team {team:?}"))
}

/// `every gate until 2026-02-03 04:05:06 UTC`.
pub fn pause_text(pause: &Pause) -> String {
    format!(
        "{} until {}",
        shown(pause.gate.as_deref(), pause.team.as_deref()),
        clock::moment_of(&pause.until)
    )
}

/// A valid name of a team or a teammate.
pub fn name(text: &str) -> std::result::Result<String, String> {
    SafeName::new(text)
        .map(|name| name.to_string())
        .ok_or_else(|| "no team or teammate has this name".to_owned())
}

/// The file with pauses and allowances. A damaged one causes a warning.
///
/// # Errors
/// When the store is not safe.
pub fn file(context: &Context) -> Result<OverrideFile> {
    context.paths.secure()?;
    let file = OverrideFile::new(&context.paths.policy(), context.config.log.lock_patience);
    if let Err(error) = file.try_read() {
        context.ui.warn(format!("pauses and allowances ignored: {error}"));
    }
    Ok(file)
}

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
    if !appended.notes.is_empty() {
        let notes: Vec<String> = appended.notes.into_iter().map(|note| note.text).collect();
        context.ui.warn(notes.join("; "));
    }
    Ok(())
}
