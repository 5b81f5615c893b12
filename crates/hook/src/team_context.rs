//! Gives an agent that has lost its context the facts about its team. Another process finds them, so that neither its time
//! nor its failure can harm the session.

use std::process::Command;
use std::time::Duration;

use super::BackgroundMode;
use super::call::Call;
use teamkeep_config::{ContextLoss, TeamContext};
use teamkeep_model::compat::names_agents;
use teamkeep_model::event::{ActorKind, LEAD};
use teamkeep_model::payload::EventKind;
use teamkeep_system::command::command_line;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::process::{Outcome, Run};

/// After this time the session starts without the facts about its team.
const BRIEF_TIMEOUT: Duration = Duration::from_secs(2);

impl Call<'_> {
    /// Adds the facts to the response, if the agent of a team has lost its context at this call.
    pub(crate) fn add_team_context(&mut self) {
        let Some(arguments) = self.brief_arguments() else { return };
        let found = self.outcome.note("find the facts about the team", brief(&arguments));
        if let Some(facts) = found.filter(|facts| !facts.is_empty()) {
            let response = std::mem::take(&mut self.outcome.response);
            self.outcome.response = response.and_context(self.received.kind, &facts);
        }
    }

    /// The arguments of `teamkeep brief` for the agent that has lost its context: the run that it takes part in, or took part in
    /// before its session was resumed, and its name, unless it can be any agent in the lead's process.
    fn brief_arguments(&self) -> Option<Vec<String>> {
        let (received, by) = (&self.received, &self.by);
        let wanted = &received.recorder.config.context;
        let can_respond = received.kind == EventKind::SessionStart && self.outcome.response.exit == 0;
        if !can_respond || wanted.parts.is_empty() || received.recorder.finish != BackgroundMode::Detached {
            return None;
        }
        let loss = ContextLoss::named(received.payload.text("source")?)
            .filter(|loss| wanted.after.contains(loss))?;
        // A resumed session has no run until it has a team again, which can be before or after this call.
        let earlier = received
            .before
            .run
            .as_ref()
            .filter(|_| loss == ContextLoss::Resume && received.before.team.is_some());
        let in_team = by.own.as_ref().is_some_and(|own| own.team().is_some());
        let run = earlier.or(by.run.as_ref().filter(|_| in_team))?.clone();
        let name = match by.actor.kind {
            ActorKind::Lead if loss == ContextLoss::Compact && !self.is_surely_of_lead() => None,
            ActorKind::Lead => Some(LEAD.to_owned()),
            ActorKind::Teammate => Some(by.actor.name.clone()?),
            _ => return None,
        };
        let mut arguments = vec![run, "--after".to_owned(), loss.name().to_owned()];
        // A name can begin with a dash.
        arguments.extend(name.map(|name| format!("--agent={name}")));
        arguments.extend(["--max-bytes".to_owned(), wanted.max_bytes().to_string()]);
        Some(arguments)
    }

    /// Whether a call without an agent certainly is the lead's.
    fn is_surely_of_lead(&self) -> bool {
        self.by.state.version.as_deref().is_none_or(names_agents)
    }
}

/// The text of `teamkeep brief`; empty if the run has no such agent.
fn brief(arguments: &[String]) -> Result<String> {
    let program = command_line().map_err(|error| Error::caused("cannot find this program", error))?;
    let mut command = Command::new(program);
    command.arg("brief").args(arguments);
    let collected = Run::new(command, BRIEF_TIMEOUT).collect(TeamContext::MAX_BYTES as usize);
    match collected.map_err(|error| Error::caused("cannot run `teamkeep brief`", error))? {
        (Outcome::Ended(status), text) if status.success() => Ok(String::from_utf8_lossy(&text).into_owned()),
        (Outcome::Ended(status), _) => Err(Error::new(format!("`teamkeep brief` ended with {status}"))),
        (Outcome::TimedOut, _) => {
            Err(Error::new(format!("`teamkeep brief` took longer than {} s", BRIEF_TIMEOUT.as_secs())))
        }
        (Outcome::Stopped, _) => Ok(String::new()),
    }
}
