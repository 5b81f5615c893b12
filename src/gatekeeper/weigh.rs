//! From findings to verdicts: the same at a hook and in a back-test.

use serde::Serialize;

use crate::payload::{Kind, Message, MessageKind};
use crate::policy::{Decision, Finding, Guard, Judged, Ledger, Verdict, settle};

/// What came of an event before the gates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// Every verdict, the one that decides first. Empty when nothing objected.
    pub verdicts: Vec<Verdict>,
}

impl Judgement {
    /// The verdict that decides.
    pub fn decisive(&self) -> Option<&Verdict> {
        self.verdicts.first()
    }

    /// Whether the event is held back.
    pub fn holds_back(&self) -> bool {
        self.decisive().is_some_and(|verdict| verdict.decision == Decision::Block)
    }
}

/// Counts each finding, and lets through what a human (`paused`) or the guard lets through. One block is enough: what
/// stands behind it is not told, and so not counted.
pub fn weigh(
    findings: &[Finding],
    state: &str,
    guard: &mut Guard,
    max_blocks: u32,
    mut paused: impl FnMut(&Finding) -> bool,
) -> Judgement {
    let mut verdicts: Vec<Verdict> = Vec::new();
    for finding in findings {
        let verdict = settle(finding, state, guard, max_blocks, paused(finding));
        let blocks = verdict.decision == Decision::Block;
        verdicts.push(verdict);
        if blocks {
            break;
        }
    }
    // Stable: the strictest first, then as the gates stand.
    verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.decision));
    Judgement { verdicts }
}

/// Remembers that somebody may stop: the approval of a request that was let through is no breach.
pub fn let_go(ledger: &mut Ledger, event: &Judged<'_>) {
    let sender = event.actor.name.as_deref();
    let names: Vec<String> = match asked_to_stop(event).as_deref() {
        Some("*") => ledger.members.keys().filter(|name| Some(name.as_str()) != sender).cloned().collect(),
        Some(to) => vec![ledger.named(to).to_owned()],
        None => Vec::new(),
    };
    for name in names {
        ledger.members.entry(name).or_default().let_go = true;
    }
}

/// Whom this event asks to stop.
fn asked_to_stop(event: &Judged<'_>) -> Option<String> {
    if event.kind != Kind::PreToolUse || event.payload.tool() != Some("SendMessage") {
        return None;
    }
    let message = Message::of(event.payload.tool_input(), event.payload.tool_response())?;
    (message.kind == MessageKind::ShutdownRequest).then_some(message.to).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::Actor;
    use crate::payload::Payload;
    use crate::policy::Deeds;

    /// Who may stop after the lead's request to `to` went out.
    fn free(to: &str) -> Vec<String> {
        let fields = json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage",
            "tool_input": {"to": to, "message": {"type": "shutdown_request", "reason": "done"}}});
        let payload = Payload::from_raw(&serde_json::value::to_raw_value(&fields).unwrap());
        let (actor, kind) = (Actor::lead(), payload.kind());
        let event = Judged { id: "e", at: "2026", kind, session: None, actor: &actor, payload: &payload };
        let mut ledger = Ledger::default();
        for name in ["alice", "bob", "team-lead"] {
            ledger.members.insert(name.to_owned(), Deeds::default());
        }
        ledger.handles.insert("abob-1".to_owned(), "bob".to_owned());
        let_go(&mut ledger, &event);
        let free = ledger.members.into_iter().filter(|(_, deeds)| deeds.let_go);
        free.map(|(name, _)| name).collect()
    }

    #[test]
    fn who_is_asked_may_stop_by_whatever_word() {
        for to in ["bob", "@bob", "bob@t1", " bob", "abob-1"] {
            assert_eq!(free(to), ["bob"], "{to}");
        }
        assert_eq!(free("*"), ["alice", "bob"]);
    }
}
