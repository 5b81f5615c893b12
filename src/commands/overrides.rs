//! `teamkeep pause`, `resume` and `allow`: the overrides, which disable gates for a time or allow one shutdown.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use serde_json::{Value, json, value::RawValue};

use super::catalog;
use super::when::compact;
use crate::context::Context;
use teamkeep_core::config::Gate;
use teamkeep_core::enforcement::{LONGEST_PAUSE, OverrideFile, Pause, SnapshotReader};
use teamkeep_core::error::{Error, Result, unknown};
use teamkeep_core::model::event::{Actor, Event, Id, LEAD, OVERRIDE, SafeName};
use teamkeep_core::store::log::Log;
use teamkeep_core::sys::clock;
use teamkeep_core::sys::unicode::fold;

/// A gate and a team; `None` for all.
#[derive(Debug, Clone)]
struct Scope {
    gate: Option<String>,
    team: Option<String>,
}

impl Scope {
    fn of(gate: Option<&String>, team: Option<&String>) -> Result<Scope> {
        if let Some(gate) = gate.filter(|gate| Gate::named(gate).is_none()) {
            return Err(unknown("gate", gate, &Gate::ALL.map(Gate::name)).of_usage());
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
    fn parse(&self) -> Result<(Option<&String>, TimeDelta)> {
        let (gate, last) = match self.gate.as_slice() {
            [gate, last] => (Some(gate), last),
            [last] => (None, last),
            [] => return Err(Error::usage("missing DURATION").hint("for how long? teamkeep pause 15m")),
            _ => return Err(Error::usage("expected a gate and a duration, or a duration")),
        };
        let duration = duration(last).map_err(|why| {
            let error = Error::usage(format!("invalid duration {last:?}: {why}"));
            match Gate::named(last) {
                Some(_) => error.hint(format!("for how long? teamkeep pause {last} 15m")),
                None => error,
            }
        })?;
        Ok((gate, duration))
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep resume
  teamkeep resume premature-shutdown")]
pub struct ResumeArgs {
    /// Only this gate, by its name in the configuration; `rule` for all rules
    #[arg(value_name = "GATE")]
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
  teamkeep allow bob@parser-team")]
pub struct AllowArgs {
    /// Teammate whose next shutdown is allowed
    #[arg(value_name = "TEAMMATE", value_parser = teammate)]
    name: String,
}

fn duration(text: &str) -> std::result::Result<TimeDelta, String> {
    let bare = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let span = compact(text)
        .and_then(|text| clock::parse_span(&text))
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
    let (gate, duration) = args.parse()?;
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
    let payload = json!({"override": "pause", "gate": pause.gate, "team": pause.team, "until": pause.until});
    record_unless_fixed(context, &pause.gate, pause.team.as_deref(), payload)?;
    file.change(now, |overrides| {
        overrides.pauses.retain(|other| (&other.gate, &other.team) != (&pause.gate, &pause.team));
        overrides.pauses.push(pause.clone());
    })?;
    context.ui.eprint_line(&format!("paused {}; to end it: teamkeep resume", describe(&pause)));
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
    if !fixed.is_empty() {
        payload["fixed"] = json!(fixed);
    }
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

/// Allowed shutdowns end together with the pause of their gate. Other active pauses are kept and listed.
pub fn resume(context: &Context, args: &ResumeArgs) -> Result<()> {
    let scope = Scope::of(args.gate.as_ref(), args.team.as_ref())?;
    let of_shutdowns = scope.team.is_none()
        && scope.gate.as_deref().is_none_or(|gate| gate == Gate::PrematureShutdown.name());
    let file = override_file(context)?;
    let now = context.clock.now();
    let mut before = file.read();
    before.pauses.retain(|pause| pause.is_in_force(now));
    let mut lines = Vec::new();
    if before.pauses.iter().any(|pause| scope.contains(pause))
        || (of_shutdowns && !before.shutdowns.is_empty())
    {
        let payload = json!({"override": "resume", "gate": scope.gate, "team": scope.team});
        record(context, scope.team.as_deref(), payload)?;
        before = file.change(now, |overrides| {
            let ended = overrides.pauses.extract_if(.., |pause| scope.contains(pause));
            lines.extend(ended.map(|pause| format!("ended: {}", describe(&pause))));
            if of_shutdowns {
                let names = overrides.shutdowns.drain(..);
                lines.extend(names.map(|name| format!("ended: allowed shutdown of {name}")));
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
    if !members.iter().any(|member| fold(member) == fold(name)) {
        let what = format!("no running team has a teammate named {name:?}");
        context.ui.warn_of(&suggest(what, "teammate", name, &members));
    }
    let payload = json!({"override": "allow-shutdown", "gate": gate, "team": null, "name": name});
    record_unless_fixed(context, &Some(gate.to_owned()), None, payload)?;
    file.change(context.clock.now(), |overrides| {
        overrides.shutdowns.retain(|other| other != name);
        overrides.shutdowns.push(name.clone());
    })?;
    context.ui.eprint_line(&format!("the next shutdown of {name:?} is allowed; to undo: teamkeep resume"));
    Ok(())
}

/// A name that is not known may be misspelled, or belong to a team that starts later.
fn suggest(what: String, kind: &str, name: &str, known: &BTreeSet<String>) -> Error {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Error::new(what).suggest(kind, name, &known)
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
    let gate = pause.gate.as_deref().unwrap_or("every gate");
    let team = pause.team.as_ref().map(|team| format!(" in team {team:?}")).unwrap_or_default();
    format!("{gate}{team} until {}", clock::moment(pause.until))
}

/// The file with pauses and allowances. A damaged one causes a warning.
fn override_file(context: &Context) -> Result<OverrideFile> {
    context.check_store()?;
    context.paths.secure()?;
    let file = OverrideFile::new(&context.paths.policy(), context.config.log.lock_patience);
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
        payload: &payload,
    };
    let line = event.line().map_err(Error::from_json)?;
    let log = Log::open(context.paths.log(), &context.config.log);
    let appended = log
        .append(&line, now)
        .map_err(|error| Error::caused("cannot record the override, so nothing was changed", error))?;
    if !appended.notes.is_empty() {
        let notes: Vec<String> = appended.notes.into_iter().map(|note| note.text).collect();
        context.ui.warn(notes.join("; "));
    }
    Ok(())
}
