//! The texts that leave the machine, and the names in shipped data.

use std::borrow::Cow;
use std::collections::BTreeSet;

use teamkeep_history::report::Report;
use teamkeep_model::TaskStatus;
use teamkeep_redact::Redactor;
use teamkeep_system::error::{Error, Result};

/// The treatment of texts: prompts, messages, subjects, reasons, inputs and results of tools.
#[derive(Debug)]
pub enum Texts {
    /// They are left out.
    Dropped,
    /// Secrets and personal data in them are replaced.
    Redacted(Box<Redactor>),
    Kept,
}

impl Texts {
    /// A text as it is shipped; `None` if texts are dropped.
    pub fn text<'a>(&self, text: &'a str) -> Option<Cow<'a, str>> {
        match self {
            Texts::Dropped => None,
            Texts::Redacted(redactor) => Some(redactor.text(text)),
            Texts::Kept => Some(Cow::Borrowed(text)),
        }
    }

    /// A payload as it is shipped. It is JSON before and after.
    pub fn payload<'a>(&self, json: &'a str) -> Option<Cow<'a, str>> {
        match self {
            Texts::Dropped => None,
            Texts::Redacted(redactor) => Some(redactor.json(json)),
            Texts::Kept => Some(Cow::Borrowed(json)),
        }
    }

    pub fn report(&self, report: Report) -> Result<Report> {
        match self {
            Texts::Dropped => Ok(without_texts(report)),
            Texts::Redacted(redactor) => report.redacted(redactor).map_err(|error| {
                Error::caused("cannot redact a run", error).hint(
                    "a [[privacy.pattern]] in the configuration also matches required values, such as times",
                )
            }),
            Texts::Kept => Ok(report),
        }
    }
}

/// A status that Claude Code does not document can be any text.
fn without_text(status: &mut TaskStatus) {
    if let TaskStatus::Other(text) = status {
        *text = "other".into();
    }
}

/// Removes every text that an agent or a user wrote. Names, IDs, states, kinds, times and numbers are left. A model can write
/// a sentence where a name or an ID is expected, so only names of agents and IDs of tasks of the run are kept.
fn without_texts(mut report: Report) -> Report {
    let names = names_of(&report);
    let keep = |name: &mut String| {
        if !names.contains(name.split('@').next().unwrap_or_default()) {
            *name = UNKNOWN.to_owned();
        }
    };
    report.verdict.title.clear();
    report.verdict.sentence.clear();
    report.overview.ended_reason = None;
    report.overview.worktrees.clear();
    for message in &mut report.mail.messages {
        message.text.clear();
        message.summary = None;
        message.answer = None;
        message.refused = message.refused.take().map(|_| String::new());
        keep(&mut message.from);
        keep(&mut message.to);
        if !is_word(&message.kind) {
            message.kind = UNKNOWN.to_owned();
        }
    }
    let tasks: BTreeSet<String> = report.tasks.iter().map(|task| task.id.clone()).collect();
    let is_id = |text: &str| tasks.contains(text) || text.bytes().all(|byte| byte.is_ascii_digit());
    for task in &mut report.tasks {
        task.blocked_by.iter_mut().filter(|id| !is_id(id)).for_each(|id| *id = UNKNOWN.to_owned());
        (task.subject, task.description) = (None, None);
        task.owner.iter_mut().for_each(keep);
        without_text(&mut task.status);
        for change in &mut task.changes {
            change.subject = None;
            change.from.iter_mut().chain(&mut change.to).for_each(without_text);
            keep(&mut change.by);
            change.owner.iter_mut().chain(&mut change.owner_from).for_each(keep);
        }
    }
    for incident in &mut report.incidents {
        incident.summary.clear();
        incident.chain.clear();
        incident.remedy = None;
        incident.agents.iter_mut().for_each(keep);
    }
    report.observations.iter_mut().for_each(|observation| observation.what.clear());
    report.files.clear();
    report.blocks.iter_mut().for_each(|block| keep(&mut block.agent));
    report
}

/// The name in place of one that no agent has.
const UNKNOWN: &str = "unknown";

/// The names of the run's agents, and the other names that teamkeep gives.
fn names_of(report: &Report) -> BTreeSet<String> {
    let members = report.overview.members.iter().map(|member| &member.name);
    let agents = report.agents.iter().map(|agent| &agent.name);
    let names = members.chain(agents).cloned();
    names.chain(["*", "client", "user", UNKNOWN].map(str::to_owned)).collect()
}

/// Whether a text is a short word, as the kinds of messages are.
fn is_word(text: &str) -> bool {
    text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Replaces identities (host, user, project) by keyed hashes, if there is a key.
#[derive(Clone, Default)]
pub struct Pseudonyms(Option<[u8; blake3::KEY_LEN]>);

/// The key is a secret.
impl std::fmt::Debug for Pseudonyms {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(if self.0.is_some() { "Pseudonyms(keyed)" } else { "Pseudonyms(none)" })
    }
}

/// The minimum length of a key: shorter ones can be guessed.
pub const MIN_KEY_BYTES: usize = 16;
const PSEUDONYM_CHARS: usize = 16;

impl Pseudonyms {
    pub fn none() -> Pseudonyms {
        Pseudonyms(None)
    }

    pub fn is_keyed(&self) -> bool {
        self.0.is_some()
    }

    /// Uses the content of a key file, without the white space around it.
    pub fn keyed(secret: &[u8]) -> Result<Pseudonyms> {
        let secret = secret.trim_ascii();
        if secret.len() < MIN_KEY_BYTES {
            return Err(Error::new(format!("the key has fewer than {MIN_KEY_BYTES} bytes"))
                .hint("create one: head -c 32 /dev/urandom | base64"));
        }
        Ok(Pseudonyms(Some(blake3::derive_key("teamkeep 2026 pseudonyms of shipped identities", secret))))
    }

    /// The name as it is shipped. `kind` keeps equal names of different kinds apart.
    pub fn of(&self, kind: IdentityKind, name: &str) -> String {
        let Some(key) = &self.0 else { return name.to_owned() };
        let mut hasher = blake3::Hasher::new_keyed(key);
        hasher.update(kind.prefix().as_bytes()).update(&[0]).update(name.as_bytes());
        format!("{}-{}", kind.prefix(), &hasher.finalize().to_hex()[..PSEUDONYM_CHARS])
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityKind {
    Host,
    User,
    Project,
}

impl IdentityKind {
    fn prefix(self) -> &'static str {
        match self {
            IdentityKind::Host => "host",
            IdentityKind::User => "user",
            IdentityKind::Project => "project",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pseudonyms_depend_on_the_key_and_the_kind() {
        let [one, other] =
            [b"0123456789abcdef", b"0123456789abcdeF"].map(|key| Pseudonyms::keyed(key).unwrap());
        let host = one.of(IdentityKind::Host, "alice");
        assert_eq!(host, one.of(IdentityKind::Host, "alice"));
        assert!(host.starts_with("host-") && !host.contains("alice"));
        assert_ne!(host[5..], one.of(IdentityKind::User, "alice")[5..]);
        assert_ne!(host, other.of(IdentityKind::Host, "alice"));
        assert_eq!(Pseudonyms::none().of(IdentityKind::Host, "alice"), "alice");
        assert_eq!(Pseudonyms::keyed(b"0123456789abcdef\n").unwrap().of(IdentityKind::Host, "alice"), host);
    }

    #[test]
    fn an_undocumented_status_is_a_text() {
        let kept = |mut status: TaskStatus| {
            without_text(&mut status);
            status
        };
        assert_eq!(kept(TaskStatus::Completed), TaskStatus::Completed);
        assert_eq!(kept(TaskStatus::Other("ask bob first".into())), TaskStatus::Other("other".into()));
    }

    #[test]
    fn a_short_key_is_rejected_and_a_key_is_never_printed() {
        assert!(Pseudonyms::keyed(b"   short   ").is_err());
        assert_eq!(format!("{:?}", Pseudonyms::keyed(b"0123456789abcdef").unwrap()), "Pseudonyms(keyed)");
    }
}
