//! The part of a session's life before its run that the timeline of the run has.

use super::LoadedEvent;
use crate::event::{ActorKind, Recorded};
use crate::model::Tool;
use crate::payload::{Kind, Payload};

/// Selects events: of those from before the run only the starts of sessions, the prompt that led to the run, and the
/// launches of subagents. First note all of them.
#[derive(Debug)]
pub(super) struct EarlierLife<'a> {
    started_at: &'a str,
    /// The time and the id of the last prompt before the run.
    prompt: Option<(String, String)>,
}

/// The parts of an event that decide.
pub(super) struct EventKey<'a> {
    at: &'a str,
    id: &'a str,
    in_run: bool,
    kind: Kind,
    actor: ActorKind,
}

impl<'a> EarlierLife<'a> {
    /// The time before a run that started at `started_at`, RFC 3339.
    pub fn new(started_at: &'a str) -> EarlierLife<'a> {
        EarlierLife { started_at, prompt: None }
    }

    /// Notes an event. Of two prompts of the same time, the one that is noted later counts.
    pub fn note(&mut self, event: &EventKey<'_>) {
        let is_prompt = event.kind == Kind::UserPromptSubmit && event.actor == ActorKind::Lead;
        if is_prompt && self.has(event) && self.prompt.as_ref().is_none_or(|(at, _)| at.as_str() <= event.at)
        {
            self.prompt = Some((event.at.to_owned(), event.id.to_owned()));
        }
    }

    /// Whether the timeline has this event. `tool` reads its tool.
    pub fn selects(&self, event: &EventKey<'_>, tool: impl FnOnce() -> Option<Tool>) -> bool {
        !self.has(event)
            || event.kind == Kind::SessionStart
            || self.prompt.as_ref().is_some_and(|(_, id)| id == event.id)
            || (event.kind == Kind::PostToolUse && tool() == Some(Tool::Agent))
    }

    fn has(&self, event: &EventKey<'_>) -> bool {
        !event.in_run && event.at < self.started_at
    }

    /// Removes the other events.
    pub fn retain(mut self, events: &mut Vec<LoadedEvent>) {
        events.iter().for_each(|event| self.note(&EventKey::of(event)));
        events.retain(|event| self.selects(&EventKey::of(event), || event.payload.tool()));
    }
}

impl<'a> EventKey<'a> {
    fn of(event: &'a LoadedEvent) -> EventKey<'a> {
        let LoadedEvent { at, id, in_run, kind, actor, .. } = event;
        EventKey { at, id, in_run: *in_run, kind: *kind, actor: actor.kind }
    }

    /// The parts of a log line.
    pub fn of_line(recorded: &'a Recorded) -> EventKey<'a> {
        EventKey {
            at: &recorded.at,
            id: &recorded.id,
            in_run: recorded.run.is_some(),
            kind: Kind::named(&recorded.event),
            actor: recorded.actor.kind,
        }
    }
}

/// The tool of a log line.
pub(super) fn tool_of(recorded: &Recorded) -> Option<Tool> {
    Payload::fields_of(&recorded.payload).tool()
}
