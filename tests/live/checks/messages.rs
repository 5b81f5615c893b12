//! Every message is on record once, as it was sent, and no other is.

use super::super::record::{Record, text};
use super::super::sent::{Message, Sent};
use super::differ;

const KINDS: [&str; 5] =
    ["message", "message-refused", "shutdown-requested", "shutdown-approved", "shutdown-rejected"];

pub fn differences(sent: &Sent, record: &Record) -> Vec<String> {
    let told = record.of(&KINDS).filter(|entry| entry["automatic"] != true).map(|entry| Message {
        from: text(entry, "actor"),
        to: text(entry, "to"),
        kind: text(entry, "kind"),
        word: text(entry, "message"),
        summary: text(entry, "summary"),
        text: text(entry, "text"),
    });
    let mut found = differ("replay, messages", sent.messages.clone(), told);

    // The report has one kind for all answers, and says of each whether it was refused.
    let plain = |message: Message| {
        let refused = message.kind == "message-refused";
        (message.from, message.to, message.word, message.summary, message.text, refused)
    };
    let mail = record.report["mail"]["messages"].as_array().into_iter().flatten();
    let told = mail.filter(|message| message["automatic"] == false).map(|message| {
        let part = |key| text(message, key);
        (
            part("from"),
            part("to"),
            part("kind"),
            part("summary"),
            part("text"),
            message["refused"].is_string(),
        )
    });
    found.extend(differ("report, messages", sent.messages.iter().cloned().map(plain), told));

    let arrived = sent.messages.iter().filter(|message| message.kind != "message-refused").count();
    found.extend(super::same("teams, messages", Some(arrived as u64), record.run["messages"].as_u64()));
    found.extend(super::same(
        "report, count of messages",
        Some(arrived as u64),
        record.report["overview"]["count"]["messages"].as_u64(),
    ));
    found
}
