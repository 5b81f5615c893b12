//! Resolves the team and the actor of a hook call, strongest evidence first: one function per rule.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;

use serde_json::Value;

use super::{CallContext, head};
use teamkeep_model::compat::{has_named_ids, names_agents};
use teamkeep_model::event::{Actor, ActorKind, LEAD, SafeName};
use teamkeep_model::payload::{AgentId, EventKind, Message, MessageKind};
use teamkeep_model::{Tool, team};
use teamkeep_store::archive::{Archive, CaptureScope, Index, LastRun};
use teamkeep_system::fs::{self, EntryKind, Named, Stamp};
use teamkeep_system::{clock, process};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResolvedTeam {
    pub team: Option<SafeName>,
    pub name: Option<String>,
    /// Whether the session belongs to the team. False if only one of the team's files changed.
    pub member: bool,
}

#[derive(Debug, Default)]
pub struct CandidateTeams {
    /// The teams, starting with those that the evidence names.
    pub subjects: Vec<CaptureScope>,
    pub unseen: Vec<String>,
    /// The file system's clock before the search. A session without a team has none until a team changes after this time.
    pub since: Option<i64>,
}

const UNSAFE_NAME: &str = "not a team name that teamkeep can record";

/// The teams that a call may concern: those that the evidence names, new ones, and those that changed after their end. If the
/// session's team is unknown, or the session begins or ends, all running teams; if it is known to be in no team, those that
/// changed since then.
pub fn candidate_teams(call: &CallContext<'_>, archive: &Archive) -> CandidateTeams {
    let teams = call.client.join("teams");
    let named = [call.named_team(), call.made_team(), call.changed_team()];
    let remembered = call.state.team.as_deref().and_then(SafeName::new);
    // A task list does not prove a team: `-p` creates one, and `/clear` creates one beside the team's (2.1.328).
    let is_known = |team: &SafeName| {
        remembered.as_ref() == Some(team)
            || is_team(&teams.join(team))
            || archive.knows(&CaptureScope::Team(team.clone()))
    };
    let now = remembered.is_none().then(clock::file_time);
    let turns = matches!(call.kind, EventKind::SessionStart | EventKind::SessionEnd);
    let teamless = call.state.teamless.filter(|_| !turns && now.is_some() && !call.looks_like_split_pane());
    let at_large = (now.is_some() && teamless.is_none()) || turns;
    let mut candidates = CandidateTeams::default();
    let own = call.own_team().into_iter().filter(&is_known);
    let named = named.into_iter().flatten().filter(&is_known);
    candidates.subjects.extend(named.chain(remembered.clone()).chain(own).map(CaptureScope::Team));
    let (mut changed, mut listed) = (false, Vec::new());
    for (name, directory, is_special) in list_team_dirs(&teams, &mut candidates.unseen) {
        let subject = CaptureScope::Team(name);
        let last_run = archive.last_run(&subject);
        let is_new = last_run == LastRun::None;
        if is_new && !is_team(&teams.join(directory)) {
            continue;
        }
        changed |= is_new;
        let is_changed = || {
            let config = || teams.join(subject.name()).join("config.json").symlink_metadata().ok();
            match (teamless, last_run) {
                // A roster that cannot be read may have the session in it.
                (Some(since), _) => config().is_some_and(|config| {
                    !config.is_file() || Stamp::of(&config).changed > since - Stamp::GRANULARITY
                }),
                // A new team may have the name.
                (None, LastRun::Ended(at)) => config().is_some_and(|config| Stamp::of(&config).changed >= at),
                (None, _) => false,
            }
        };
        if is_special || is_new || is_changed() {
            changed |= !is_special;
            listed.push(subject);
        }
    }
    // After the listing: a team that was not new there because a concurrent call had just captured it is open here.
    let open = if at_large { archive.open_subjects() } else { Vec::new() };
    candidates.subjects.extend(open.into_iter().filter(|subject| subject.team().is_some()));
    candidates.subjects.extend(listed);
    let mut known = HashSet::new();
    candidates.subjects.retain(|subject| known.insert(subject.clone()));
    candidates.since = now.filter(|_| !candidates.subjects.is_empty() && (at_large || changed));
    candidates
}

/// Whether a directory below `teams/` has a configuration. Others hold inboxes of no team (`default`, before 2.1.178), or of a
/// team whose name is spelled differently. A link, a file or a special file is a team that the gates cannot see.
fn is_team(directory: &Path) -> bool {
    let has_config = || directory.join("config.json").symlink_metadata().is_ok();
    directory.symlink_metadata().is_ok_and(|found| !found.is_dir() || has_config())
}

/// The entries below `teams/` with a valid team name: team, entry, and whether it is a link or a special file.
fn list_team_dirs(teams: &Path, unseen: &mut Vec<String>) -> Vec<(SafeName, SafeName, bool)> {
    let mut names = Vec::new();
    let entries = match fs::names(teams) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return names;
        }
        Err(error) => {
            unseen.push(format!("cannot read the directory of teams: {error}"));
            return names;
        }
    };
    for Named { name: entry, kind } in entries {
        // A file counts only if the call names it.
        if kind == EntryKind::File {
            continue;
        }
        if let Some(name) = entry.to_str().and_then(SafeName::new) {
            // A directory that is being deleted still belongs to its team.
            let team = SafeName::new(team::erasing(name.as_str()).unwrap_or(name.as_str()));
            // Some file systems do not report the type.
            let is_special = !matches!(kind, EntryKind::Directory | EntryKind::Unknown);
            names.extend(team.map(|team| (team, name, is_special)));
        } else if kind == EntryKind::Directory {
            unseen.push(format!("{entry:?} is {UNSAFE_NAME}"));
        }
    }
    names.sort();
    names
}

pub fn team(call: &CallContext<'_>, known: &BTreeMap<SafeName, Index>) -> (ResolvedTeam, &'static str) {
    let member =
        |team: SafeName| ResolvedTeam { team: Some(team), name: call.state.name.clone(), member: true };
    let is_open = |team: &SafeName| known.get(team).is_some_and(|index| !index.ended || index.present);
    let remembered = call.state.team.as_deref().and_then(SafeName::new);
    if let Some(team) = call.made_team() {
        return (member(team), "the tool's response names it");
    }
    if let Some((team, name)) = call.member_without_role(known) {
        let why = "the tmux pane is a member's, and the transcript or the payload names it";
        return (ResolvedTeam { team: Some(team), name: Some(name), member: true }, why);
    }
    if let Some((team, index)) = call.named_team().and_then(|team| known.get_key_value(&team)) {
        // A session that leads a team does not belong to a teammate, even if the payload names one.
        let named = call.payload.text("teammate_name").filter(|name| !name.is_empty());
        let is_teammate = call.looks_like_split_pane() && !index.is_led_by(call.payload.session());
        let name = named.filter(|_| is_teammate).map(str::to_owned).or_else(|| call.state.name.clone());
        return (ResolvedTeam { name, ..member(team.clone()) }, "the payload's team_name");
    }
    if let Some(team) = remembered.clone().filter(is_open) {
        return (member(team), "an earlier call of the session");
    }
    let by_name = || call.own_team().filter(|team| known.contains_key(team));
    let found = newest(known, |index| index.is_led_by(call.payload.session()))
        .map(|team| (team, "its leadSessionId is the session"))
        .or_else(|| by_name().map(|team| (team, "its name is derived from the session id")))
        .or_else(|| led_by_process(call, known).map(|team| (team, "its lead's process runs the hook")));
    if let Some((team, why)) = found {
        return (member(team), why);
    }
    if call.looks_like_split_pane() {
        let in_pane = call.find_by_pane(known).map(|found| (found, "the tmux pane is a member's"));
        let found =
            in_pane.or_else(|| call.named_in_transcript().map(|found| (found, "the transcript names it")));
        if let Some(((team, name), why)) = found {
            return (ResolvedTeam { team: Some(team), name: Some(name), member: true }, why);
        }
    }
    if let Some(team) = remembered {
        return (member(team), "an earlier call of the session; the team has ended since");
    }
    let team = call.changed_team().filter(|team| known.contains_key(team));
    let why = if team.is_some() { "the changed file belongs to it" } else { "no evidence" };
    (ResolvedTeam { team, ..ResolvedTeam::default() }, why)
}

/// The team whose `leadProcess.pid` runs this hook: after `/clear` the session is new and the process is not. Start time and
/// namespace of the process must match, too, unless the payload states that the session was just cleared.
fn led_by_process(call: &CallContext<'_>, known: &BTreeMap<SafeName, Index>) -> Option<SafeName> {
    let pid = call.client_pid?;
    let cleared = call.kind == EventKind::SessionStart && call.payload.text("source") == Some("clear");
    newest(known, |index| {
        let (space, start) = (index.lead_space.as_deref(), index.lead_start.as_deref());
        index.lead_pid == Some(pid)
            && !index.ended
            && (cleared || !process::is_different_process(pid, space, start))
    })
}

fn newest(known: &BTreeMap<SafeName, Index>, wanted: impl Fn(&Index) -> bool) -> Option<SafeName> {
    let matching = known.iter().filter(|(_, index)| wanted(index));
    matching.max_by_key(|(_, index)| (!index.ended, index.created_at)).map(|(team, _)| team.clone())
}

/// The actor of a call, and the evidence for it. `name` is the session's own agent name in the team.
pub fn actor(call: &CallContext<'_>, team: Option<&Index>, name: Option<&str>) -> (Actor, &'static str) {
    // An unreadable payload proves nothing, even if the command line names an event.
    if call.payload.malformed.is_some() {
        return (Actor::unknown(), "the payload is unreadable");
    }
    if matches!(call.kind, EventKind::FileChanged) {
        return (Actor::unknown(), "a file change has no actor");
    }
    if let Some(id) = call.payload.agent_id() {
        return by_agent(call, team, id);
    }
    if let Some(actor) = by_payload_names(call, team) {
        return (actor, "the payload names the actor");
    }
    if let Some(name) = name {
        return (Actor::teammate(name, None), "the session belongs to this teammate");
    }
    // A failure of Claude Code's internal agent is not one of the session's own agent.
    if call.kind == EventKind::StopFailure && call.payload.text("agent_type") == Some("") {
        let helper = Actor { kind: ActorKind::Helper, ..Actor::unknown() };
        return (helper, "an agent without a type belongs to Claude Code");
    }
    match by_session(call, team) {
        Some(actor) => (actor, "the session has no other actor of this kind"),
        None => (Actor::unknown(), "the payload names no agent, and the session has several"),
    }
}

/// An agent id belongs to an internal helper, a teammate (known from an earlier call, or by its type), or a subagent.
fn by_agent(call: &CallContext<'_>, team: Option<&Index>, id: &str) -> (Actor, &'static str) {
    let role = call.payload.text("agent_type");
    // The lead has no agent id.
    let is_teammate = |name: &str| name != LEAD && team.is_some_and(|team| team.has_member(name));
    if let Some(name) = call.state.agents.get(id) {
        return (Actor::teammate(name, Some(id)), "an earlier call names the agent with this id");
    }
    let (agent, name, id) = (id, role.map(str::to_owned), Some(id.to_owned()));
    match role {
        Some("") => {
            let helper = Actor { name: None, id, kind: ActorKind::Helper };
            (helper, "an agent without a type belongs to Claude Code")
        }
        // In-process, the type is the teammate's name. In a pane it is the role of that teammate's subagent.
        Some(role) if is_teammate(role) && call.state.name.is_none() && !is_of_subagent(call, agent) => {
            (Actor::teammate(role, id.as_deref()), "the agent's type is a member's name")
        }
        _ => (Actor { name, id, kind: ActorKind::Subagent }, "the agent's type is not a member's name"),
    }
}

/// Whether an id is certainly a plain subagent's, whose role can be a member's name: it has no name, although those of
/// teammates have one. They do if the version is known to write it, or another teammate of the session has such an id.
fn is_of_subagent(call: &CallContext<'_>, id: &str) -> bool {
    let is_named = |id: &str| matches!(AgentId::parse(id), AgentId::Named(_));
    AgentId::parse(id) == AgentId::Plain
        && (call.state.agents.iter().any(|(id, _)| is_named(id))
            // From the transcript if no agent has acted yet; the state then keeps it.
            || version(call).is_some_and(|version| has_named_ids(&version)))
}

/// An actor that the payload names. Before 2.1.69 this is the only evidence that distinguishes teammates.
fn by_payload_names(call: &CallContext<'_>, team: Option<&Index>) -> Option<Actor> {
    let payload = call.payload;
    if let Some(name) = payload.text("teammate_name").filter(|name| !name.is_empty()) {
        return Some(named(name));
    }
    if payload.tool() != Some(Tool::SendMessage) {
        return None;
    }
    let sender = payload.tool_response().pointer("/routing/sender").and_then(Value::as_str);
    if let Some(sender) = sender.filter(|sender| !sender.is_empty()) {
        return Some(named(sender));
    }
    // Only the agent that was asked can respond: `shutdown-<ms>@<name>`.
    let message = Message::of(payload.tool_input(), payload.tool_response())?;
    let answers = matches!(message.kind, MessageKind::ShutdownResponse { .. });
    // The model may use any spelling of the name.
    let member = |name| named(team.and_then(|team| team.member(name)).unwrap_or(name));
    answers.then(|| message.asked().map(member)).flatten()
}

fn named(name: &str) -> Actor {
    if name == LEAD { Actor::lead() } else { Actor::teammate(name, None) }
}

/// Without an agent id and a name, the actor is the session's own agent if the session cannot have another one.
fn by_session(call: &CallContext<'_>, team: Option<&Index>) -> Option<Actor> {
    if call.looks_like_split_pane() {
        return None;
    }
    let own = matches!(
        call.kind,
        EventKind::SessionStart
            | EventKind::SessionEnd
            | EventKind::Stop
            | EventKind::StopFailure
            | EventKind::UserPromptSubmit
            | EventKind::PreCompact
    ) || (call.kind == EventKind::Notification && call.payload.is_idle_prompt());
    let alone = || !call.state.company || version(call).is_some_and(|version| names_agents(&version));
    let speaks = own || (call.kind != EventKind::Unknown && !call.kind.is_for_rules() && alone());
    let name = if team.is_some() { LEAD } else { "lead" };
    speaks.then(|| Actor { name: Some(name.to_owned()), id: None, kind: ActorKind::Lead })
}

pub fn version(call: &CallContext<'_>) -> Option<String> {
    call.state.version.clone().or_else(|| {
        head(call.transcript()?).find_map(|record| Some(record.get("version")?.as_str()?.to_owned()))
    })
}
