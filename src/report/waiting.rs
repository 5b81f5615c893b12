//! When a teammate waits for another agent.

use super::input::millis;
use super::intervals::Spans;
use super::messages::{MessageRow, MessageStats, bare};
use super::tasks::TaskHistory;
use crate::policy::asks;

/// The spans in which the teammate has no answer to a question: from a message that asks one until its recipient sends
/// a message to the teammate. Any agent answers a question to everyone.
pub fn answers(mail: &MessageStats, name: &str, end: i64) -> Spans {
    let plain: Vec<&MessageRow> =
        mail.messages.iter().filter(|one| !one.automatic && one.refused.is_none()).collect();
    let is_question = |one: &MessageRow| one.from == name && one.kind == "message" && asks(&one.text);
    let questions = plain.iter().enumerate().filter(|(_, one)| is_question(one));
    Spans::of(questions.map(|(place, question)| {
        let is_answer = |one: &&&MessageRow| {
            (question.to == "*" || one.from == bare(&question.to))
                && one.from != name
                && (one.to == "*" || bare(&one.to) == name)
        };
        let answer = plain.iter().skip(place).find(is_answer);
        (millis(&question.at), answer.map_or(end, |answer| millis(&answer.at)))
    }))
}

/// The spans in which the teammate owns unfinished tasks, and each of them depends on an unfinished task.
pub fn tasks(tasks: &[TaskHistory], name: &str, end: i64) -> Spans {
    let unfinished = |id: &String| tasks.iter().find(|task| task.id == *id).map(|task| task.unfinished(end));
    let owned: Vec<(&TaskHistory, Spans)> =
        tasks.iter().map(|task| (task, task.owned_by(name, end))).collect();
    let ready: Vec<Spans> = (owned.iter())
        .map(|(task, owned)| {
            let blockers: Vec<Spans> = task.blocked_by.iter().filter_map(unfinished).collect();
            owned.without(&Spans::any(&blockers))
        })
        .collect();
    Spans::any(owned.iter().map(|(_, owned)| owned)).without(&Spans::any(&ready))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Change;

    fn at(second: usize) -> String {
        format!("1970-01-01T00:00:{second:02}.000Z")
    }

    fn message(second: usize, from: &str, to: &str, text: &str) -> MessageRow {
        MessageRow {
            at: at(second),
            from: from.to_owned(),
            to: to.to_owned(),
            kind: "message".to_owned(),
            chars: text.len(),
            summary: None,
            text: text.to_owned(),
            automatic: false,
            delivered: None,
            refused: None,
        }
    }

    fn mail(messages: Vec<MessageRow>) -> MessageStats {
        MessageStats { messages, by_sender: Vec::new(), by_pair: Vec::new() }
    }

    fn task(id: &str, blocked_by: &[&str], owner: &str, changes: &[(usize, &str)]) -> TaskHistory {
        let change = |(second, to): &(usize, &str)| Change {
            at: at(*second),
            by: owner.to_owned(),
            kind: "task-changed".to_owned(),
            from: None,
            to: Some((*to).into()),
            owner_from: None,
            owner: Some(owner.to_owned()),
            subject: None,
        };
        TaskHistory {
            id: id.to_owned(),
            subject: None,
            description: None,
            status: crate::model::TaskStatus::unknown(),
            owner: None,
            removed_at: None,
            blocked_by: blocked_by.iter().map(|id| (*id).to_owned()).collect(),
            changes: changes.iter().map(change).collect(),
        }
    }

    #[test]
    fn a_question_is_open_until_its_recipient_writes_back() {
        let asked = message(1, "bob", "alice@team", "which format?");
        let answered = vec![
            asked.clone(),
            message(2, "carol", "bob", "hello"),
            message(3, "alice", "carol", "hello"),
            message(5, "alice", "bob", "JSON"),
        ];
        assert_eq!(answers(&mail(answered), "bob", 60_000), Spans::of([(1_000, 5_000)]));
        assert_eq!(answers(&mail(vec![asked]), "bob", 60_000), Spans::of([(1_000, 60_000)]));
        let to_all = vec![message(1, "bob", "*", "who knows?"), message(4, "carol", "bob", "me")];
        assert_eq!(answers(&mail(to_all), "bob", 60_000), Spans::of([(1_000, 4_000)]));
        let report = vec![message(1, "bob", "alice", "done, see https://x.test/?q=1")];
        assert_eq!(answers(&mail(report), "bob", 60_000), Spans::default());
    }

    #[test]
    fn an_owner_waits_only_while_all_its_tasks_depend_on_unfinished_ones() {
        let draft = task("1", &[], "alice", &[(0, "pending"), (2, "in_progress"), (10, "completed")]);
        let review = task("2", &["1"], "bob", &[(1, "pending"), (30, "completed")]);
        let other = task("3", &["99"], "bob", &[(4, "in_progress"), (6, "completed")]);
        let both = [draft.clone(), review.clone()];
        assert_eq!(tasks(&both, "bob", 60_000), Spans::of([(1_000, 10_000)]));
        assert_eq!(tasks(&both, "alice", 60_000), Spans::default());
        let all = [draft, review, other];
        assert_eq!(tasks(&all, "bob", 60_000), Spans::of([(1_000, 4_000), (6_000, 10_000)]));
    }
}
