//! Recorded runs of Claude Code, evaluated by the policy without a disk.

use std::collections::BTreeMap;

use serde_json::Value;

use super::scene::payload;
use crate::{Case, Finding, JudgedEvent, Judgement, Rules, TeamState, judge};
use teamkeep_config::Policy;
use teamkeep_model::event::{Actor, ActorKind};
use teamkeep_model::payload::{Message, Payload};
use teamkeep_model::team::{Task, TeamConfig, entries};
use teamkeep_model::time::Timestamp;

/// The findings at a step.
pub(super) struct Found {
    pub step: usize,
    pub findings: Vec<Finding>,
    /// The team before the event.
    pub team: TeamState,
}

/// Replays a run and returns each step with its findings. `look` is called before each event.
pub(super) fn play(name: &str, policy: &Policy, mut look: impl FnMut(&Case<'_>)) -> Vec<Found> {
    let path = format!("{}/../../tests/fixtures/traces/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let names_agents = !name.starts_with("v47");
    let delivers_answers = name.starts_with("v328");
    let mut team = TeamState { delivers_answers, ..TeamState::default() };
    let (mut panes, mut found) = (BTreeMap::new(), Vec::new());
    for (step, line) in text.lines().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        files(&line, &mut team, &mut panes);
        let payload = payload(&line["payload"]);
        let pane = line["env"]["TMUX_PANE"].as_str().and_then(|pane| panes.get(pane));
        let actor = speaker(&payload, &team, pane.map(String::as_str), names_agents);
        let since = line["at_ms"].as_u64().unwrap();
        let at = Timestamp::from_millis(since as i64).unwrap();
        let kind = payload.kind();
        let event = JudgedEvent { at, kind, actor: &actor, payload: &payload, access: None };
        let case = Case::new(event, &team);
        look(&case);
        found.push(Found { step, findings: judge(policy, &Rules::of(&[]), &case), team: team.clone() });
        team.apply(&event, &Judgement::default());
    }
    found
}

/// Applies changed files to the team.
fn files(line: &Value, team: &mut TeamState, panes: &mut BTreeMap<String, String>) {
    let written = line.get("write").and_then(Value::as_object).into_iter().flatten();
    for (path, text) in written {
        let (text, parts) = (text.as_str().unwrap().as_bytes(), path.split('/').collect::<Vec<_>>());
        match parts.as_slice() {
            ["teams", name, "config.json"] => {
                let config = TeamConfig::parse(text).unwrap();
                team.name = Some((*name).to_owned());
                let seats = config
                    .members
                    .iter()
                    .filter_map(|member| Some((member.pane.clone()?, member.name.clone())));
                panes.extend(seats.filter(|(pane, _)| pane.starts_with('%')));
                team.members = config.members.into_iter().map(|member| member.name).collect();
            }
            ["teams", _, "inboxes", file] => {
                let unread = entries(text)
                    .unwrap_or_default()
                    .iter()
                    .filter(|entry| entry.raw["read"] != true)
                    .count();
                team.mail.insert(file.trim_end_matches(".json").to_owned(), unread);
            }
            ["tasks", _, file] if file.ends_with(".json") => {
                if let Some(task) = Task::parse(file, text).filter(|task| !task.internal) {
                    team.tasks.insert(task.id.clone(), task);
                }
            }
            _ => {}
        }
    }
    for path in line.get("remove").and_then(Value::as_array).into_iter().flatten() {
        match path.as_str().unwrap().split('/').collect::<Vec<_>>().as_slice() {
            ["teams", _, "config.json"] => team.members.clear(),
            ["teams", _, "inboxes", file] => drop(team.mail.remove(file.trim_end_matches(".json"))),
            ["tasks", _, file] => drop(team.tasks.remove(file.trim_end_matches(".json"))),
            _ => {}
        }
    }
}

/// The actor, from the payload and the roster.
fn speaker(payload: &Payload, team: &TeamState, pane: Option<&str>, names_agents: bool) -> Actor {
    let named = |name: &str| if name == "team-lead" { Actor::lead() } else { Actor::teammate(name, None) };
    let role = payload.text("agent_type");
    if let Some(id) = payload.agent_id() {
        let kind = if role == Some("") { ActorKind::Helper } else { ActorKind::Subagent };
        let knows = |name: &str| {
            team.members.iter().any(|member| member == name) || team.ledger.members.contains_key(name)
        };
        return match role {
            Some(name) if knows(name) => Actor::teammate(name, Some(id)),
            _ => Actor { name: role.map(str::to_owned), id: Some(id.to_owned()), kind },
        };
    }
    let sent = (payload.tool() == Some(teamkeep_model::Tool::SendMessage))
        .then(|| Message::of(payload.tool_input(), payload.tool_response()));
    let routed = payload.tool_response().pointer("/routing/sender").and_then(Value::as_str);
    let answered = sent
        .flatten()
        .filter(|message| payload.tool_input()["type"] == "shutdown_response" && message.asked().is_some());
    let own = payload.tool().is_none() || names_agents;
    match (payload.text("teammate_name"), routed, answered, pane.filter(|_| role.is_some())) {
        (Some(name), ..) | (None, Some(name), ..) | (None, None, None, Some(name)) => named(name),
        (None, None, Some(message), _) => named(message.asked().unwrap()),
        _ if own && role.is_none() => Actor::lead(),
        _ => Actor::unknown(),
    }
}
