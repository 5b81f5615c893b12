//! What `docs/reference/policy.md` requires of a gate in a situation, by what Claude Code has, not by what hooks stored. Where the
//! documentation leaves it open, or it depends on hook calls that overlap, nothing is expected.

use teamkeep_config::Gate;

use crate::calls::{By, Call, Change, stopped};
use crate::hook::{Expected, State};
use crate::world::{Agent, LEAD, MAX_TASKS, Status, World};

/// What a tool call must get.
pub fn of_call(state: &State, by: By, call: Call) -> Expected {
    let world = &state.world;
    let mut expected = Expected::new();
    let is_request = matches!(call, Call::Request(..) | Call::RequestAll);
    let is_approval = matches!(call, Call::Answer { approve: true, .. });
    if is_approval && by == By::Agent(LEAD) {
        return vec![(Gate::ProtectLead, true)];
    }
    if is_request || is_approval || matches!(call, Call::Stop(..)) {
        let targets = stopped(world, by, call);
        let is_known = |agent: &Agent| !world.members[*agent].is_forgotten && !state.is_overlapped(*agent);
        let is_unfinished = |agent: &Agent| match is_approval {
            true => !world.owned(*agent, Status::InProgress).is_empty() && !state.permitted[*agent],
            false => world.is_busy(*agent),
        };
        // An unfinished teammate whose report is unknown may be blocked or not.
        let is_clear = |agent: &Agent| world.is_tasked() || world.members[*agent].is_unreported.is_some();
        let must = targets.iter().any(is_unfinished);
        if must || targets.iter().all(|agent| is_known(agent) && is_clear(agent)) {
            expected.push((Gate::PrematureShutdown, must));
        }
    }
    match call {
        Call::Request(to, ..) => expected.push((Gate::ProtectLead, to == LEAD)),
        Call::RequestAll => {
            let from_teammate = matches!(by, By::Agent(agent) if agent != LEAD);
            expected.push((Gate::ProtectLead, from_teammate));
        }
        Call::Message(..) | Call::Broadcast => {
            expected.extend([(Gate::ProtectLead, false), (Gate::PrematureShutdown, false)]);
        }
        Call::Update(task, change @ (Change::Start | Change::Complete)) => {
            let to = if change == Change::Start { Status::InProgress } else { Status::Completed };
            if world.tasks[task].is_some_and(|file| file.status != to) {
                expected.push((Gate::UnfinishedDependencies, world.blocker(task).is_some()));
            }
        }
        Call::Update(..) => expected.push((Gate::UnfinishedDependencies, false)),
        Call::Answer { approve: false, .. } => {
            expected.extend([(Gate::ProtectLead, false), (Gate::PrematureShutdown, false)]);
        }
        _ => {}
    }
    expected
}

/// What a TeammateIdle must get.
pub fn of_idle(state: &State, agent: Agent, answers: bool) -> Expected {
    let world = &state.world;
    let member = &world.members[agent];
    // A message that came during the turn is in no file.
    if member.is_forgotten || member.has_queued || state.is_overlapped(agent) {
        return Expected::new();
    }
    let (Some(is_asked), Some(awaits_lead)) = (member.is_asked, member.awaits_lead) else {
        return Expected::new();
    };
    if is_asked || member.has_mail {
        return vec![(Gate::IdleWithWork, false), (Gate::ReportBeforeIdle, false)];
    }
    let mut expected = vec![(Gate::IdleWithWork, !awaits_lead && has_work(world, agent))];
    if let Some(is_unreported) = member.is_unreported {
        expected.push((Gate::ReportBeforeIdle, is_unreported && !answers));
    }
    expected
}

/// Whether a teammate has work left: a task in progress that does not wait, or a free task while it does not wait itself.
fn has_work(world: &World, agent: Agent) -> bool {
    let waits =
        |task: &usize| world.blocker(*task).is_some() || world.tasks[*task].is_some_and(|file| file.waits);
    let open = world.owned(agent, Status::InProgress);
    let own = if open.is_empty() { world.owned(agent, Status::Pending) } else { open.clone() };
    if !own.is_empty() && own.iter().all(waits) {
        return false;
    }
    let is_free = |task: &usize| {
        let file = world.tasks[*task];
        file.is_some_and(|file| file.owner.is_none() && file.status == Status::Pending)
            && world.blocker(*task).is_none()
    };
    open.iter().any(|task| !waits(task)) || (0..MAX_TASKS).any(|task| is_free(&task))
}

/// What a Stop of the lead must get.
pub fn of_lead_stop(state: &State) -> Expected {
    let world = &state.world;
    let open = |task: &usize| world.tasks[*task].is_some_and(|file| file.status == Status::InProgress);
    let open: Vec<usize> = (0..MAX_TASKS).filter(open).collect();
    let is_uncertain = world.teammates().any(|agent| {
        let member = &world.members[agent];
        member.is_forgotten || member.is_idle.is_none() || state.is_overlapped(agent)
    });
    if world.members[LEAD].has_mail || open.is_empty() {
        return vec![(Gate::LeadStopsEarly, false)];
    }
    if is_uncertain || state.is_overlapped(LEAD) {
        return Expected::new();
    }
    let is_attended = |task: &usize| {
        let Some(file) = world.tasks[*task] else { return false };
        let works = |agent: Agent| {
            let member = &world.members[agent];
            member.is_working || member.has_mail || member.is_asked == Some(true)
        };
        file.waits || file.owner.is_some_and(|owner| owner != LEAD && works(owner))
    };
    let is_neglected = |task: &usize| {
        let Some(file) = world.tasks[*task] else { return false };
        let rests = |agent: Agent| {
            let member = &world.members[agent];
            let is_free = member.is_asked == Some(false) && member.awaits_lead == Some(false);
            member.is_idle == Some(true) && is_free && !member.is_working && !member.has_mail
        };
        let depends = world.blocker(*task).is_some();
        !file.waits && !depends && file.owner.is_some_and(|owner| owner != LEAD && rests(owner))
    };
    if open.iter().all(is_attended) {
        return vec![(Gate::LeadStopsEarly, false)];
    }
    if open.iter().any(is_neglected) {
        return vec![(Gate::LeadStopsEarly, true)];
    }
    Expected::new()
}
