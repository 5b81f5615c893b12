//! `teamkeep pause`, `resume` and `allow`: the overrides, which disable gates for a time or allow one shutdown.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use serde_json::{Value, json, value::RawValue};

use super::catalog;
use teamkeep_config::Gate;
use teamkeep_hook::enforcement::{LONGEST_PAUSE, OverrideFile, SnapshotReader};
use teamkeep_model::event::{Actor, Event, Id, LEAD, OVERRIDE, SafeName};
use teamkeep_model::time;
use teamkeep_model::unicode::fold;
use teamkeep_policy::{Pause, allowance_payload};
use teamkeep_store::log::{Appending, Logs};
use teamkeep_system::error::{Error, Result, nearest, unknown};
use teamkeep_terminal::{Context, compact};

fn gate_beginning_with(text: &str) -> Option<&'static str> {
    Gate::ALL.map(Gate::name).into_iter().find(|name| !text.is_empty() && name.starts_with(text))
}

/// A gate and a team; `None` for all.
#[derive(Debug, Clone)]
struct Scope {
    gate: Option<String>,
    team: Option<String>,
}

impl Scope {
    fn of(gate: Option<&String>, team: Option<&String>) -> Result<Scope> {
        if let Some(gate) = gate.filter(|gate| Gate::named(gate).is_none()) {
            let error = match gate_beginning_with(gate) {
                Some(near) => {
                    Error::not_found(format!("unknown gate {gate:?}")).hint(format!("did you mean {near:?}?"))
                }
                None => unknown("gate", gate, &Gate::ALL.map(Gate::name)),
            };
            return Err(error.of_usage());
        }
        Ok(Scope { gate: gate.cloned(), team: team.cloned() })
    }

    /// Whether a pause is only for this gate and this team.
    fn contains(&self, pause: &Pause) -> bool {
        let within = |scope: &Option<String>, of: &Option<String>| scope.is_none() || scope == of;
        within(&self.gate, &pause.gate) && within(&self.team, &pause.team)
    }
}

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "teamkeep pause [OPTIONS] [GATE] DURATION",
    after_help = "Examples:
  # All gates and rules
  teamkeep pause 1h

  # One gate in one team
  teamkeep pause premature-shutdown 15m --team parser-team

  # The active pauses and allowances
  teamkeep status"
)]
pub struct PauseArgs {
    /// Duration, such as `15m` or `2h`, at most 24 hours. A gate before it limits the pause to this gate: its name in the
    /// configuration, or `rule` for all rules
    #[arg(value_names = ["GATE", "DURATION"], num_args = 0..=2)]
    gate: Vec<String>,
    /// Only in this team
    #[arg(long, value_parser = safe_name)]
    team: Option<String>,
}

impl PauseArgs {
    /// The gate, if one is named, and the duration, which comes last.
    fn parse(&self, context: &Context) -> Result<(Option<&String>, TimeDelta)> {
        let (gate, last) = match self.gate.as_slice() {
            [gate, last] => (Some(gate), last),
            [last] => (None, last),
            [] => return Err(Error::usage("missing DURATION").hint("for how long? teamkeep pause 15m")),
            _ => return Err(Error::usage("expected a gate and a duration, or a duration")),
        };
        let duration = duration(last).map_err(|why| {
            let error = Error::usage(format!("invalid duration {last:?}: {why}"));
            match gate {
                Some(first) if duration(first).is_ok() => {
                    error.hint(format!("did you mean: teamkeep pause {last} {first}?"))
                }
                _ if duration(&format!("{last}m")).is_ok() => error.hint(format!("did you mean {last}m?")),
                None if gate_beginning_with(last) == Some(last) => {
                    error.hint(format!("for how long? teamkeep pause {last} 15m"))
                }
                None => match gate_beginning_with(last) {
                    Some(near) => error.hint(format!("did you mean: teamkeep pause {near} 15m?")),
                    None if running_members(context).contains(last) => {
                        error.hint(format!("to allow the next shutdown of {last}: teamkeep allow {last}"))
                    }
                    None => error,
                },
                Some(_) => error,
            }
        })?;
        Ok((gate, duration))
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep resume
  teamkeep resume premature-shutdown

  # End the allowance of bob's shutdown
  teamkeep resume bob")]
pub struct ResumeArgs {
    /// Only the pause of this gate, by its name in the configuration (`rule` for all rules), or the allowance of this teammate
    #[arg(value_name = "GATE|TEAMMATE")]
    gate: Option<String>,
    /// Only in this team
    #[arg(long, value_parser = safe_name)]
    team: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # The next shutdown of bob is not blocked; until then, status shows that, and resume ends it
  teamkeep allow bob

  # With the address of a message
  teamkeep allow bob@parser-team

  # Before the team starts
  teamkeep allow bob --force")]
pub struct AllowArgs {
    /// Teammate of a running team whose next shutdown is allowed, at most 24 hours from now
    #[arg(value_name = "TEAMMATE", value_parser = teammate)]
    name: String,
    /// Allow it even if no running team has this teammate
    #[arg(long)]
    force: bool,
}

fn duration(text: &str) -> std::result::Result<TimeDelta, String> {
    let bare = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let span = compact(text)
        .and_then(|text| time::parse_span(&text))
        .filter(|millis| !bare && *millis > 0)
        .and_then(TimeDelta::try_milliseconds);
    match span {
        None => Err("expected a value such as \"15m\" or \"1h30m\"".to_owned()),
        Some(span) if span > LONGEST_PAUSE => {
            Err("longer than 24h; to turn a gate off for good, set its mode in teamkeep.toml".to_owned())
        }
        Some(span) => Ok(span),
    }
}

fn safe_name(text: &str) -> std::result::Result<String, String> {
    SafeName::new(text)
        .map(|name| name.to_string())
        .ok_or_else(|| "no team or teammate has this name".to_owned())
}

/// A teammate by any address of a message: `bob`, `@bob`, `bob@team`.
fn teammate(text: &str) -> std::result::Result<String, String> {
    let address = text.trim().trim_start_matches('@');
    match address.split_once('@').map_or(address, |(name, _)| name) {
        "*" => Err("name one teammate; `*` is not allowed".to_owned()),
        name => safe_name(name),
    }
}

/// A pause replaces the previous one of the same gate and team.
pub fn pause(context: &Context, args: &PauseArgs) -> Result<()> {
    let (gate, duration) = args.parse(context)?;
    let Scope { gate, team } = Scope::of(gate, args.team.as_ref())?;
    let now = context.clock.now();
    let until =
        now.checked_add(duration).ok_or_else(|| Error::usage("the end of the pause is out of range"))?;
    let file = override_file(context)?;
    context.warn_missing_store();
    if let Some(team) = &team {
        warn_unknown_team(context, team);
    }
    let pause = Pause { gate, team, until };
    let payload = pause.payload(&context.config.policy);
    record_unless_fixed(context, &pause.gate, pause.team.as_deref(), payload)?;
    file.change(now, |overrides| {
        overrides.pauses.retain(|other| (&other.gate, &other.team) != (&pause.gate, &pause.team));
        overrides.pauses.push(pause.clone());
    })?;
    context.ui.eprint_line(&format!("paused {}; to end it: teamkeep resume", describe(&pause)));
    context.note_other_store();
    Ok(())
}

/// Records a pause or an allowance. If the organization has fixed its gate, the attempt is recorded and rejected; a pause of
/// all gates applies to the others.
fn record_unless_fixed(
    context: &Context,
    gate: &Option<String>,
    team: Option<&str>,
    mut payload: Value,
) -> Result<()> {
    let fixed = context.config.policy.fixed_gates(gate.as_deref());
    let is_rejected = gate.is_some() && !fixed.is_empty();
    if is_rejected {
        payload["rejected"] = Value::Bool(true);
    }
    record(context, team, payload)?;
    let gates = format!("{}, which the organization has fixed", fixed.join(", "));
    if is_rejected {
        let why = format!("pauses and allowances do not apply to {gates}");
        return Err(Error::new(why)
            .hint("the attempt is recorded; see the origin of each value: teamkeep config show"));
    }
    if !fixed.is_empty() {
        context.ui.warn(format!("the pause does not apply to {gates}"));
    }
    Ok(())
}

/// Ends everything, the pauses of one gate or team, or the allowance of one teammate. Other active pauses are kept and listed.
pub fn resume(context: &Context, args: &ResumeArgs) -> Result<()> {
    let file = override_file(context)?;
    let now = context.clock.now();
    let mut before = file.read_active(now);
    let is_allowed = |name: &String| before.shutdowns.iter().find(|one| fold(one) == fold(name)).cloned();
    let teammate = args.gate.as_ref().filter(|_| args.team.is_none()).and_then(is_allowed);
    if let Some(name) = teammate {
        let gate = Gate::PrematureShutdown.name();
        let payload = json!({"override": "resume", "gate": gate, "team": null, "name": name});
        record(context, None, payload)?;
        file.change(now, |overrides| overrides.shutdowns.retain(|one| *one != name))?;
        context.ui.eprint_line(&ended_allowance(&name));
        return Ok(());
    }
    let is_like_gate =
        |name: &str| gate_beginning_with(name).or(nearest(name, &Gate::ALL.map(Gate::name), 2)).is_some();
    if let Some(name) = args.gate.as_ref().filter(|name| !is_like_gate(name)) {
        let error = Error::not_found(format!("no gate and no allowed shutdown is named {name:?}"));
        return Err(error.hint("the active pauses and allowances: teamkeep status"));
    }
    let scope = Scope::of(args.gate.as_ref(), args.team.as_ref())?;
    let ends_all = scope.gate.is_none() && scope.team.is_none();
    let mut lines = Vec::new();
    if before.pauses.iter().any(|pause| scope.contains(pause)) || (ends_all && !before.shutdowns.is_empty()) {
        let payload = json!({"override": "resume", "gate": scope.gate, "team": scope.team});
        record(context, scope.team.as_deref(), payload)?;
        before = file.change(now, |overrides| {
            let ended = overrides.pauses.extract_if(.., |pause| scope.contains(pause));
            lines.extend(ended.map(|pause| {
                let is_active =
                    if ends_all && pause.gate.is_none() { "; the policy is active again" } else { "" };
                format!("ended the pause of {}{is_active}", paused(&pause))
            }));
            if ends_all {
                lines.extend(overrides.shutdowns.drain(..).map(|name| ended_allowance(&name)));
            }
            overrides.clone()
        })?;
    }
    let kept = before.pauses.iter().map(describe);
    lines.extend(kept.map(|pause| format!("still paused: {pause}; to end every pause: teamkeep resume")));
    if lines.is_empty() {
        lines.push("no active pauses or allowances".to_owned());
    }
    lines.iter().for_each(|line| context.ui.eprint_line(line));
    Ok(())
}

fn ended_allowance(name: &str) -> String {
    format!("ended the allowance of {name}'s shutdown")
}

/// Allows one shutdown, however often the command is repeated.
pub fn allow(context: &Context, args: &AllowArgs) -> Result<()> {
    let name = &args.name;
    if fold(name) == LEAD {
        let why = format!("cannot allow a shutdown of {LEAD}: it would end the whole team");
        let hint = "to pause the gate that blocks it: teamkeep pause protect-lead 5m";
        return Err(Error::new(why).hint(hint));
    }
    let gate = Gate::PrematureShutdown.name();
    let file = override_file(context)?;
    context.warn_missing_store();
    let members = running_members(context);
    if !args.force && !members.iter().any(|member| fold(member) == fold(name)) {
        let what = match members.is_empty() {
            true => Error::not_found("no team is running"),
            false => {
                suggest(format!("no running team has a teammate named {name:?}"), "teammate", name, &members)
            }
        };
        return Err(
            what.hint(format!("to allow it for a team that starts later: teamkeep allow {name} --force"))
        );
    }
    let now = context.clock.now();
    let until = now.checked_add(LONGEST_PAUSE).ok_or_else(|| Error::new("the time is out of range"))?;
    let payload = allowance_payload(name, Some(until), &context.config.policy);
    record_unless_fixed(context, &Some(gate.to_owned()), None, payload)?;
    file.change(now, |overrides| {
        overrides.shutdowns.retain(|other| other != name);
        overrides.shutdowns.push(name.clone());
        overrides.shutdowns_until.insert(name.clone(), until);
    })?;
    let until = time::moment(until);
    context.ui.eprint_line(&format!(
        "the next shutdown of {name:?} is allowed until {until}; to undo: teamkeep resume {name}"
    ));
    context.note_other_store();
    Ok(())
}

/// A name that is not known may be misspelled, or belong to a team that starts later.
fn suggest(what: String, kind: &str, name: &str, known: &BTreeSet<String>) -> Error {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Error::not_found(what).suggest(kind, name, &known)
}

fn running_members(context: &Context) -> BTreeSet<String> {
    let archive = catalog::archive(context);
    let teams = archive.open_subjects().into_iter().filter(|subject| subject.team().is_some());
    let members = teams.flat_map(|subject| {
        let index = archive.index(&subject);
        let team = subject.team().map(SafeName::as_str);
        let reader = SnapshotReader { archive: &archive, client: None, live_first: false, until: None };
        reader.team((team, None), index.as_ref()).members
    });
    members.filter(|member| member != LEAD).collect()
}

/// Warns if no team with this name is running.
fn warn_unknown_team(context: &Context, team: &str) {
    let archive = catalog::archive(context);
    let running: BTreeSet<String> =
        archive.open_subjects().iter().filter_map(|subject| Some(subject.team()?.to_string())).collect();
    if !running.contains(team) {
        let mut known = running;
        known.extend(catalog::lenient_catalog(context).runs.iter().filter_map(|run| run.team.clone()));
        context.ui.warn_of(&suggest(format!("no running team is named {team:?}"), "team", team, &known));
    }
}

/// `premature-shutdown in team "t1" until 2026-02-03 04:05:06 UTC`.
fn describe(pause: &Pause) -> String {
    format!("{} until {}", paused(pause), time::moment(pause.until))
}

fn paused(pause: &Pause) -> String {
    let gate = pause.gate.as_deref().unwrap_or("every gate and rule");
    let team = pause.team.as_ref().map(|team| format!(" in team {team:?}")).unwrap_or_default();
    format!("{gate}{team}")
}

/// The file with pauses and allowances. A damaged one causes a warning.
fn override_file(context: &Context) -> Result<OverrideFile> {
    context.check_store()?;
    context.paths.secure()?;
    let file = OverrideFile::new(&context.paths.store, context.config.log.lock_patience);
    if let Err(error) = file.try_read() {
        context.ui.warn(format!("pauses and allowances ignored: {error}"));
    }
    Ok(file)
}

/// Appends the event. The author is unknown: the actor is `user`, of unknown kind, and `terminal` is whether stdin is a
/// terminal. An override that cannot be recorded must not become active.
fn record(context: &Context, team: Option<&str>, mut payload: Value) -> Result<()> {
    payload["terminal"] = Value::Bool(context.ui.is_typed());
    let payload = RawValue::from_string(payload.to_string()).map_err(Error::from_json)?;
    let now = context.clock.now();
    let id = Id::new(now);
    let event = Event {
        v: 1,
        at: now,
        id: id.as_str(),
        event: OVERRIDE,
        session: None,
        team,
        actor: &Actor { name: Some("user".to_owned()), ..Actor::unknown() },
        run: None,
        task_list: None,
        traceparent: None,
        warning: None,
        malformed: None,
        verdict: None,
        snapshots: None,
        plugin: false,
        payload: &payload,
    };
    let line = event.line().map_err(Error::from_json)?;
    let limits = &context.config.log;
    let how = Appending { segment_size: limits.segment_size, patience: limits.lock_patience, durable: false };
    let appended = Logs::of(&context.paths)
        .session(None)
        .append(&line, now, how)
        .map_err(|error| Error::caused("cannot record the override, so nothing was changed", error))?;
    if !appended.notes.is_empty() {
        let notes: Vec<String> = appended.notes.into_iter().map(|note| note.text).collect();
        context.ui.warn(notes.join("; "));
    }
    Ok(())
}
