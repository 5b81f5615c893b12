//! The use of time: working, silent, waiting and idle, and the time saved by parallelism.

use super::incidents::Incident;
use super::input::{ReportInput, Spans};
use super::messages::{MessageRow, MessageStats, bare};
use super::tasks::TaskHistory;
use super::turns::Turn;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use teamkeep_model::payload::EventKind as Event;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::Natural;
use teamkeep_policy::asks;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    pub agents: Vec<TimePerAgent>,
    /// Sum of all agents' working time in milliseconds; `None` without a recorded turn.
    pub worked_ms: Option<i64>,
    /// Time in which at least one agent worked, in milliseconds.
    pub busy_ms: Option<i64>,
    /// Time saved by parallelism, in milliseconds: the first minus the second.
    pub saved_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimePerAgent {
    pub agent: String,
    pub turns: usize,
    /// Number of turns without a known start. They are not part of the working time.
    pub unseen_turns: usize,
    /// Time in turns without the silences of a stalled agent, in milliseconds; `None` without a recorded turn.
    pub working_ms: Option<i64>,
    /// Time in turns in which the agent was stalled, in milliseconds.
    #[serde(default)]
    pub silent_ms: Option<i64>,
    /// Time outside turns in which the agent depends on another one, in milliseconds: a teammate that asked a question
    /// and has no answer yet, or whose unfinished tasks all depend on unfinished tasks; the lead while another agent
    /// works.
    pub waiting_ms: Option<i64>,
    /// All other time outside turns, in milliseconds, with or without an unfinished task.
    pub idle_ms: Option<i64>,
}

pub(super) fn work(
    case: &ReportInput<'_>,
    turns: &[Turn],
    tasks: &[TaskHistory],
    mail: &MessageStats,
    incidents: &[Incident],
) -> Work {
    let end = case.end.millis();
    let mut names: Vec<&str> = vec![case.lead];
    for name in case.teammates().chain(turns.iter().map(|turn| turn.agent.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let in_turns: Vec<Spans> = names.iter().map(|name| at_work(turns, name, end)).collect();
    let silent = |name: &str| {
        let silences = incidents.iter().flat_map(|incident| &incident.silences);
        Spans::of(silences.filter(|(agent, _)| agent == name).map(|(_, span)| *span))
    };
    let working = names.iter().zip(&in_turns).map(|(name, own)| own.difference(&silent(name)));
    let working: Vec<Spans> = working.collect();
    let efforts = names.iter().zip(&in_turns).zip(&working).map(|((name, own), working)| {
        let taken = turns.iter().filter(|turn| turn.agent == *name);
        let unseen = taken.clone().filter(|turn| turn.from.is_none()).count();
        let count = taken.count();
        let out = case.presence(name, end).difference(own);
        let waits = if *name == case.lead {
            Spans::union(
                names.iter().zip(&in_turns).filter(|(other, _)| *other != name).map(|(_, spans)| spans),
            )
        } else {
            Spans::union([
                &waits_for_answer(mail, name, end),
                &waits_for_task(tasks, name, end),
                &waits_for_approval(case, name, end),
            ])
        };
        let known = |ms: i64| (count > unseen).then_some(ms);
        TimePerAgent {
            agent: (*name).to_owned(),
            turns: count,
            unseen_turns: unseen,
            working_ms: known(working.total()),
            silent_ms: known(own.total() - working.total()),
            waiting_ms: known(out.intersection(&waits).total()),
            idle_ms: known(out.difference(&waits).total()),
        }
    });
    let agents: Vec<TimePerAgent> = efforts.collect();
    let worked = working.iter().map(Spans::total).sum::<i64>();
    let busy = Spans::union(&working).total();
    let known = |ms: i64| (!turns.is_empty()).then_some(ms);
    Work { agents, worked_ms: known(worked), busy_ms: known(busy), saved_ms: known(worked - busy) }
}

fn at_work(turns: &[Turn], name: &str, end: i64) -> Spans {
    let own = turns.iter().filter(|turn| turn.agent == name);
    Spans::of(own.filter_map(|turn| Some((turn.from?.millis(), turn.to.map_or(end, Timestamp::millis)))))
}

/// A question that an agent asked. `to` is when it was answered, or the end.
pub(super) struct Question<'a> {
    pub asked: &'a MessageRow,
    pub from: i64,
    pub to: i64,
}

/// The agent's questions: from a message that asks one until its recipient sends a message to the agent. Any agent
/// answers a question to everyone.
pub(super) fn open_questions<'a>(mail: &'a MessageStats, name: &str, end: i64) -> Vec<Question<'a>> {
    let plain: Vec<&MessageRow> =
        mail.messages.iter().filter(|one| !one.automatic && one.refused.is_none()).collect();
    let is_question = |one: &MessageRow| one.from == name && one.kind == "message" && asks(&one.text);
    let questions = plain.iter().enumerate().filter(|(_, one)| is_question(one));
    let questions = questions.map(|(place, asked)| {
        let is_answer = |one: &&&MessageRow| {
            (asked.to == "*" || one.from == bare(&asked.to))
                && one.from != name
                && (one.to == "*" || bare(&one.to) == name)
        };
        let answer = plain.iter().skip(place).find(is_answer);
        Question { asked, from: asked.at.millis(), to: answer.map_or(end, |answer| answer.at.millis()) }
    });
    questions.collect()
}

fn waits_for_answer(mail: &MessageStats, name: &str, end: i64) -> Spans {
    Spans::of(open_questions(mail, name, end).iter().map(|question| (question.from, question.to)))
}

/// The agent's requests to approve a plan, each until it no longer waited for the answer, or until the end. Meanwhile the agent
/// can end its turn, or read a message.
pub(super) fn plan_waits(case: &ReportInput<'_>, name: &str, end: i64) -> Vec<(Timestamp, i64)> {
    let waits = case.team.member(name).into_iter().flat_map(|member| &member.plans);
    waits.map(|(asked, until)| (*asked, until.map_or(end, Timestamp::millis).min(end))).collect()
}

pub(super) fn waits_for_approval(case: &ReportInput<'_>, name: &str, end: i64) -> Spans {
    Spans::of(plan_waits(case, name, end).iter().map(|(asked, until)| (asked.millis(), *until)))
}

pub(super) fn waits_for_task(tasks: &[TaskHistory], name: &str, end: i64) -> Spans {
    let unfinished = |id: &String| tasks.iter().find(|task| task.id == *id).map(|task| task.unfinished(end));
    let owned = tasks.iter().map(|task| (task, task.owned_by(name, end)));
    let owned: Vec<(&TaskHistory, Spans)> = owned.filter(|(_, owned)| owned.total() > 0).collect();
    let ready: Vec<Spans> = (owned.iter())
        .map(|(task, owned)| {
            let blockers: Vec<Spans> = task.blocked_by.iter().filter_map(unfinished).collect();
            owned.difference(&Spans::union(&blockers))
        })
        .collect();
    Spans::union(owned.iter().map(|(_, owned)| owned)).difference(&Spans::union(&ready))
}

// The tool calls of each agent.

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    pub by_agent: Vec<ToolUser>,
    pub total: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUser {
    pub agent: String,
    pub tools: BTreeMap<String, usize>,
    /// Number of failed or denied calls; `None` without a transcript.
    pub failed: Option<usize>,
    /// Whether these are all calls, from a transcript; otherwise they are those with a hook call.
    pub complete: bool,
}

pub(super) fn tools(case: &ReportInput<'_>) -> Tools {
    let transcripts = &case.data.transcripts;
    let mut users: BTreeMap<Natural<'_>, (BTreeMap<String, usize>, usize)> = BTreeMap::new();
    let mut total: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = |who, tool: &str, failed: bool| {
        let (tools, failures) = users.entry(Natural(who)).or_default();
        *tools.entry(tool.to_owned()).or_default() += 1;
        *failures += usize::from(failed);
        *total.entry(tool.to_owned()).or_default() += 1;
    };
    for used in transcripts.uses.values() {
        count(&used.transcript.by, &used.tool, used.failure().is_some());
    }
    let mut known: HashSet<&str> = transcripts.uses.keys().map(String::as_str).collect();
    for event in &case.data.events {
        let (Event::PreToolUse | Event::PostToolUse, Some(tool)) = (event.kind, event.tool_name()) else {
            continue;
        };
        // A call without an id is counted at its PreToolUse.
        let new = match event.tool_use_id() {
            Some(id) => known.insert(id),
            None => event.kind == Event::PreToolUse,
        };
        if new {
            count(event.shown(&case.data.run), tool, false);
        }
    }
    let mut by_agent: Vec<ToolUser> = users
        .into_iter()
        .map(|(Natural(agent), (tools, failed))| {
            let complete = case.has_transcript(agent);
            ToolUser { agent: agent.to_owned(), tools, failed: complete.then_some(failed), complete }
        })
        .collect();
    by_agent.sort_by_key(|user| std::cmp::Reverse(user.tools.values().sum::<usize>()));
    Tools { by_agent, total }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::TaskUpdate;

    fn at(second: usize) -> Timestamp {
        Timestamp::from_millis(second as i64 * 1_000).unwrap()
    }

    fn message(second: usize, from: &str, to: &str, text: &str) -> MessageRow {
        MessageRow {
            id: String::new(),
            at: at(second),
            from: from.to_owned(),
            to: to.to_owned(),
            kind: "message".to_owned(),
            chars: text.len(),
            summary: None,
            text: text.to_owned(),
            answer: None,
            automatic: false,
            delivered: None,
            read_at: None,
            refused: None,
            blocked: false,
        }
    }

    fn mail(messages: Vec<MessageRow>) -> MessageStats {
        MessageStats { messages, by_sender: Vec::new(), by_pair: Vec::new(), late_after_ms: 0 }
    }

    fn task(id: &str, blocked_by: &[&str], owner: &str, changes: &[(usize, &str)]) -> TaskHistory {
        let change = |(second, to): &(usize, &str)| TaskUpdate {
            at: at(*second),
            by: owner.to_owned(),
            kind: crate::timeline::Kind::TaskChanged,
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
            status: teamkeep_model::TaskStatus::unknown(),
            owner: None,
            removed_at: None,
            blocked_by: blocked_by.iter().map(|id| (*id).to_owned()).collect(),
            holds: Vec::new(),
            changes: changes.iter().map(change).collect(),
        }
    }

    #[test]
    fn question_is_open_until_its_recipient_replies() {
        let asked = message(1, "bob", "alice@team", "which format?");
        let answered = vec![
            asked.clone(),
            message(2, "carol", "bob", "hello"),
            message(3, "alice", "carol", "hello"),
            message(5, "alice", "bob", "JSON"),
        ];
        assert_eq!(waits_for_answer(&mail(answered), "bob", 60_000), Spans::of([(1_000, 5_000)]));
        assert_eq!(waits_for_answer(&mail(vec![asked]), "bob", 60_000), Spans::of([(1_000, 60_000)]));
        let to_all = vec![message(1, "bob", "*", "who knows?"), message(4, "carol", "bob", "me")];
        assert_eq!(waits_for_answer(&mail(to_all), "bob", 60_000), Spans::of([(1_000, 4_000)]));
        let report = vec![message(1, "bob", "alice", "done, see https://x.test/?q=1")];
        assert_eq!(waits_for_answer(&mail(report), "bob", 60_000), Spans::default());
    }

    #[test]
    fn owner_waits_only_while_all_its_tasks_depend_on_unfinished_ones() {
        let draft = task("1", &[], "alice", &[(0, "pending"), (2, "in_progress"), (10, "completed")]);
        let review = task("2", &["1"], "bob", &[(1, "pending"), (30, "completed")]);
        let other = task("3", &["99"], "bob", &[(4, "in_progress"), (6, "completed")]);
        let both = [draft.clone(), review.clone()];
        assert_eq!(waits_for_task(&both, "bob", 60_000), Spans::of([(1_000, 10_000)]));
        assert_eq!(waits_for_task(&both, "alice", 60_000), Spans::default());
        let all = [draft, review, other];
        assert_eq!(waits_for_task(&all, "bob", 60_000), Spans::of([(1_000, 4_000), (6_000, 10_000)]));
    }
}
