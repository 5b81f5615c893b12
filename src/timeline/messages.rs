//! Messages: the same one is seen by the sender's hooks, in the recipient's inbox, and in transcripts of both.

use serde_json::Value;

use super::entry::{Entry, Kind, Source};
use super::material::Material;
use super::voices::{Use, lead};
use super::when::When;
use crate::payload::{Message, MessageKind};
use crate::team::Notice;

/// A message while its sources are put together.
struct Draft {
    entry: Entry,
    /// The client's id, from 2.1.328 on.
    id: Option<String>,
    /// The inboxes and transcripts that it was already found in: each of them holds one message once.
    found: Vec<(Source, String)>,
    /// Whether the sender is known.
    signed: bool,
}

/// One copy of a message, at its recipient.
struct Copy<'a> {
    recipient: &'a str,
    from: &'a str,
    summary: Option<&'a str>,
    text: &'a str,
    id: Option<&'a str>,
    /// When it was sent, by our clock as far as it can be told.
    at: String,
    source: Source,
}

impl Copy<'_> {
    /// Whether it is a piece of a message that quotes the client's tags: before 2.1.328 such a text reads, in the
    /// recipient's transcript, as messages of whomever it names.
    fn is_quoted(&self, drafts: &mut [Draft]) -> bool {
        let piece = self.text.trim().trim_end_matches("</teammate-message>").trim();
        let whole = drafts.iter_mut().find(|draft| {
            let text = draft.entry.text.as_deref().unwrap_or_default();
            self.source == Source::Transcript
                && text.contains("teammate-message")
                && text.contains(piece)
                && draft.is_for(self.recipient)
        });
        whole.map(|draft| draft.entry.seen_in(Source::Transcript)).is_some()
    }
}

/// Tells each message once.
pub fn messages(material: &Material, when: &When) -> Vec<Entry> {
    let mut drafts = sent(material, when);
    let history = &material.history;
    let mut copies: Vec<Copy<'_>> = Vec::new();
    for copy in &history.copies {
        let entry = &copy.entry;
        let told = entry.timestamp.as_deref().and_then(|time| when.ours(time));
        copies.push(Copy {
            recipient: &copy.inbox,
            from: entry.from.as_deref().unwrap_or("unknown"),
            summary: entry.summary.as_deref(),
            text: &entry.text,
            id: entry.message_id.as_deref(),
            at: told.filter(|at| *at <= copy.seen_at).unwrap_or_else(|| copy.seen_at.clone()),
            source: Source::Inbox,
        });
    }
    for heard in &material.voices.delivered {
        copies.push(Copy {
            recipient: &heard.recipient,
            from: &heard.message.from,
            summary: heard.message.summary.as_deref(),
            text: &heard.message.text,
            id: None,
            at: heard.at.as_deref().and_then(|time| when.ours(time)).unwrap_or_else(|| when.end()),
            source: Source::Transcript,
        });
    }
    for copy in &copies {
        if is_prompt(material, copy) {
            continue;
        }
        // Who sends the text of a notice as a message has said it, and nothing more.
        let notice = Notice::read(copy.text).filter(|notice| speaks_for_itself(notice, copy.from));
        let said = drafts.iter().position(|draft| draft.says(copy));
        let noticed = || drafts.iter().position(|draft| draft.is_told_by(copy, notice.as_ref()));
        if let Some(place) = said.or_else(noticed) {
            drafts[place].take(copy);
        } else if !copy.is_quoted(&mut drafts) {
            drafts.push(Draft::of_copy(copy, notice));
        }
    }
    drafts.into_iter().map(Draft::finish).collect()
}

/// What the senders' hooks and transcripts saw.
fn sent(material: &Material, when: &When) -> Vec<Draft> {
    let uses = &material.voices.uses;
    let mut drafts = Vec::new();
    let mut hooked = Vec::new();
    for call in material.tool_calls("SendMessage") {
        let Some(first) = call.first() else { continue };
        let told = call.after.unwrap_or(first);
        let Some(message) = Message::of(told.payload.tool_input(), told.payload.tool_response()) else {
            continue;
        };
        let used = call.id.and_then(|id| uses.get(id));
        hooked.extend(call.id);
        let from = call.who().map(str::to_owned).or_else(|| used.map(|used| used.by.clone()));
        let mut draft = Draft::of_call(first.at.clone(), from, message, Source::Hook);
        draft.id = told.payload.tool_response().get("msg_id").and_then(Value::as_str).map(str::to_owned);
        draft.entry.unconfirmed = call.after.is_none();
        if let Some(used) = used {
            draft.entry.seen_in(Source::Transcript);
            draft.entry.unconfirmed &= used.result.is_none();
        }
        let response = told.payload.tool_response();
        let failed = response.get("success").and_then(Value::as_bool) == Some(false);
        let answer = || response.get("message").and_then(Value::as_str).unwrap_or_default();
        let refusal = if call.after.is_none() { used.and_then(Use::failure) } else { failed.then(answer) };
        draft.refuse(refusal);
        drafts.push(draft);
    }
    for (id, used) in uses {
        if used.tool != "SendMessage" || hooked.contains(&id.as_str()) {
            continue;
        }
        if let Some(message) = Message::of(&used.input, &Value::Null) {
            let at = used.at.as_deref().and_then(|time| when.ours(time)).unwrap_or_else(|| when.end());
            let mut draft = Draft::of_call(at, Some(used.by.clone()), message, Source::Transcript);
            draft.entry.unconfirmed = used.result.is_none();
            draft.refuse(used.failure());
            drafts.push(draft);
        }
    }
    let lead = lead(&material.run);
    for draft in &mut drafts {
        // 2.1.47 answers a request without saying whom: it is the one who asked.
        draft.entry.to.get_or_insert_with(|| lead.to_owned());
    }
    drafts.sort_by(|a, b| a.entry.at.cmp(&b.entry.at));
    drafts
}

impl Draft {
    fn of_call(at: String, from: Option<String>, message: Message, source: Source) -> Draft {
        let kind = match &message.kind {
            MessageKind::Plain | MessageKind::Other(_) => Kind::Message,
            MessageKind::ShutdownRequest => Kind::ShutdownRequested,
            MessageKind::ShutdownResponse { approve: true } => Kind::ShutdownApproved,
            MessageKind::ShutdownResponse { approve: false } => Kind::ShutdownRejected,
        };
        let asked = message.asked().map(str::to_owned);
        let answers = matches!(message.kind, MessageKind::ShutdownResponse { .. });
        let from = from.or(asked.filter(|_| answers));
        let signed = from.is_some();
        let mut entry = Entry::new(at, kind, from.unwrap_or_else(|| "unknown".to_owned()), source);
        entry.to = message.to;
        entry.summary = message.summary;
        entry.text = Some(message.text);
        entry.request = message.request;
        entry.message = Some(match message.kind {
            MessageKind::Plain if entry.to.as_deref() == Some("*") => "broadcast".to_owned(),
            MessageKind::Plain => "message".to_owned(),
            MessageKind::ShutdownRequest => "shutdown_request".to_owned(),
            MessageKind::ShutdownResponse { .. } => "shutdown_response".to_owned(),
            MessageKind::Other(word) => word,
        });
        Draft { entry, id: None, found: Vec::new(), signed }
    }

    /// Marks a message that never went out. It has no copies.
    fn refuse(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            self.entry.kind = Kind::MessageRefused;
            self.entry.unconfirmed = false;
            self.entry.refusal = Some(why.to_owned());
        }
    }

    /// A message that only its copy tells of: the client's own, or one whose hook nobody saw.
    fn of_copy(copy: &Copy<'_>, notice: Option<Notice>) -> Draft {
        let word = notice.as_ref().map_or_else(|| "message".to_owned(), |notice| notice.kind.clone());
        let kind = kind_of(&word).unwrap_or(Kind::Message);
        let mut entry = Entry::new(copy.at.clone(), kind, copy.from, copy.source);
        entry.to = Some(copy.recipient.to_owned());
        entry.summary = copy.summary.map(str::to_owned);
        entry.text = Some(copy.text.to_owned());
        if let Some(notice) = notice {
            entry.automatic = word != "shutdown_request" && !word.starts_with("plan_approval");
            entry.task = notice.task;
            if kind != Kind::Message {
                entry.text = Some(notice.text.unwrap_or_default());
                entry.summary = None;
            }
            entry.request = notice.request;
        }
        entry.message = Some(word);
        let found = vec![(copy.source, copy.recipient.to_owned())];
        Draft { entry, id: copy.id.map(str::to_owned), found, signed: true }
    }

    /// Whether nothing speaks against this copy being one of this message, whatever it says.
    fn may_have(&self, copy: &Copy<'_>) -> bool {
        let known =
            |(source, recipient): &(Source, String)| *source == copy.source && recipient == copy.recipient;
        self.entry.kind != Kind::MessageRefused && !self.found.iter().any(known)
    }

    /// Whether this copy has the message's id; else its sender, recipient and text.
    fn says(&self, copy: &Copy<'_>) -> bool {
        let same = match (self.id.as_deref(), copy.id) {
            (Some(id), Some(other)) => id == other,
            _ => {
                self.is_from(copy.from) && self.entry.text.as_deref().map(str::trim) == Some(copy.text.trim())
            }
        };
        same && self.is_for(copy.recipient) && self.may_have(copy)
    }

    /// Whether this copy is the client's notice of this request to stop, or of this answer.
    fn is_told_by(&self, copy: &Copy<'_>, notice: Option<&Notice>) -> bool {
        let Some(notice) = notice else { return false };
        let same = match (&self.entry.request, &notice.request) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => self.is_for(copy.recipient) && self.is_from(copy.from) && self.entry.text == notice.text,
        };
        let ids_differ = self.id.is_some() && copy.id.is_some();
        same && !ids_differ && kind_of(&notice.kind) == Some(self.entry.kind) && self.may_have(copy)
    }

    /// A teammate's name may be written with its team: `bob@parser-team`.
    fn is_for(&self, recipient: &str) -> bool {
        self.entry
            .to
            .as_deref()
            .is_some_and(|to| to == "*" || to == recipient || to.split('@').next() == Some(recipient))
    }

    fn is_from(&self, sender: &str) -> bool {
        !self.signed || self.entry.actor == sender
    }

    fn take(&mut self, copy: &Copy<'_>) {
        self.found.push((copy.source, copy.recipient.to_owned()));
        self.entry.seen_in(copy.source);
        self.entry.unconfirmed = false;
        if !self.signed {
            copy.from.clone_into(&mut self.entry.actor);
            self.signed = true;
        }
        if self.entry.summary.is_none() && self.entry.kind == Kind::Message {
            self.entry.summary = copy.summary.map(str::to_owned);
        }
    }

    fn finish(mut self) -> Entry {
        // The client signs what it says by itself so.
        if self.entry.automatic && self.entry.actor == "system" {
            "client".clone_into(&mut self.entry.actor);
        }
        self.entry
    }
}

/// The kind that a shutdown's notice tells of.
fn kind_of(word: &str) -> Option<Kind> {
    match word {
        "shutdown_request" => Some(Kind::ShutdownRequested),
        "shutdown_approved" => Some(Kind::ShutdownApproved),
        "shutdown_rejected" => Some(Kind::ShutdownRejected),
        _ => None,
    }
}

/// Whether a notice is about its own sender: nobody else's is the client's. Answers carry the name of who was asked.
fn speaks_for_itself(notice: &Notice, sender: &str) -> bool {
    let is_sender = |name: &str| sender == "system" || name.split('@').next() == Some(sender);
    let answers = matches!(notice.kind.as_str(), "shutdown_approved" | "shutdown_rejected");
    let asked = notice.request.as_deref().and_then(|id| id.rsplit_once('@')).map(|(_, name)| name);
    notice.from.as_deref().is_none_or(is_sender) && asked.filter(|_| answers).is_none_or(is_sender)
}

/// What a teammate was told when it was spawned comes to it as a message; it is told with its joining.
fn is_prompt(material: &Material, copy: &Copy<'_>) -> bool {
    let rosters = material.history.rosters.iter().flat_map(|(_, roster)| &roster.members);
    let mut prompts =
        rosters.filter(|member| member.name == copy.recipient).filter_map(|member| member.prompt.as_deref());
    prompts.any(|prompt| prompt.trim() == copy.text.trim())
        || super::material::spawns(&material.events).any(|(event, spawn)| {
            let prompt = event.payload.tool_input().get("prompt").and_then(Value::as_str);
            spawn.name == copy.recipient && prompt.is_some_and(|prompt| prompt.trim() == copy.text.trim())
        })
}
