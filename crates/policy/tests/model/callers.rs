//! The other programs that evaluate the policy, each in its way: `policy test` (`src/backtest/mod.rs`) and `policy explain`
//! (`src/commands/policy/`). They have a state of their own only while it differs from the hook's.

use teamkeep_policy::{
    Case, Decision, Evaluation, EvaluationInput, Guard, Judgement, Ledger, Lift, Overrides, TeamState,
    Verdict, evaluate, judge,
};

use crate::world::TEAM;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Others {
    /// The counts of `policy test`. It knows no overrides, so they differ after the first one that lifted a block.
    pub test: Option<Box<Guard>>,
    /// The history of `policy explain --run`. It reads from the log which calls were blocked.
    pub run: Option<Box<Ledger>>,
    /// Whether the state file was lost. The others read what it had from the log, so they know more than a hook.
    pub is_lost: bool,
}

/// A hook call: the state before it, and how the hook evaluated it.
#[derive(Clone, Copy)]
pub struct Judged<'a> {
    pub input: EvaluationInput<'a>,
    pub team: &'a TeamState,
    pub guard: &'a Guard,
    pub overrides: &'a Overrides,
    pub evaluation: &'a Evaluation,
    pub guard_after: &'a Guard,
    pub ledger_after: &'a Ledger,
}

impl Others {
    /// Whether an event without findings matters to them.
    pub fn differ(&self) -> bool {
        self.test.is_some() || self.run.is_some()
    }

    /// Compares their verdicts with the hook's, and adds the event to their state.
    pub fn judge(&mut self, judged: Judged<'_>) -> Result<(), String> {
        if self.is_lost {
            return Ok(());
        }
        let hook = &judged.evaluation.verdicts;
        let explained = explain(judged.input, judged.team, judged.guard, judged.overrides);
        if explained != *hook {
            return Err(format!("explain: {explained:?}, hook: {hook:?}"));
        }
        self.explain_run(judged)?;
        self.test(judged)
    }

    /// `policy test`: the recorded event was blocked or not; its own verdict permits shutdowns.
    fn test(&mut self, judged: Judged<'_>) -> Result<(), String> {
        let Judged { input, evaluation, team, .. } = judged;
        let (mut guard, counts_alike) = match self.test.take() {
            Some(guard) => (*guard, false),
            None => (judged.guard.clone(), true),
        };
        let test = evaluate(input, team, &mut guard, |_| false);
        let is_lifted = evaluation.verdicts.iter().any(|verdict| verdict.paused);
        if counts_alike && !is_lifted && test.verdicts != evaluation.verdicts {
            return Err(format!("test: {:?}, hook: {:?}", test.verdicts, evaluation.verdicts));
        }
        let mut team = team.clone();
        team.apply(input.event, &Judgement { blocked: evaluation.is_blocked(), ..test.judgement() });
        if team.ledger != *judged.ledger_after {
            return Err(format!("test has {:?}, hook {:?}", team.ledger, judged.ledger_after));
        }
        self.test = (guard != *judged.guard_after).then(|| Box::new(guard));
        Ok(())
    }

    /// `policy explain --run`, for the same event as the next one of a run.
    fn explain_run(&mut self, judged: Judged<'_>) -> Result<(), String> {
        let Judged { input, evaluation, .. } = judged;
        let mut team = judged.team.clone();
        if let Some(ledger) = self.run.take() {
            team.ledger = *ledger;
            // These are read from the stored history.
            for (name, member) in &mut team.ledger.members {
                member.shutdown_permitted = judged.team.ledger.of(name).shutdown_permitted;
            }
            let findings = judge(input.policy, input.rules, &Case::new(*input.event, &team));
            let input = EvaluationInput { findings: &findings, ..input };
            let verdicts = explain(input, &team, judged.guard, judged.overrides);
            if decisions(&verdicts) != decisions(&evaluation.verdicts) {
                return Err(format!("explain --run: {verdicts:?}, hook: {:?}", evaluation.verdicts));
            }
        }
        team.apply(input.event, &Judgement { blocked: evaluation.is_blocked(), ..Judgement::default() });
        self.run = (team.ledger != *judged.ledger_after).then(|| Box::new(team.ledger));
        Ok(())
    }
}

/// As `policy explain` does: on copies of the counts and the overrides.
fn explain(
    input: EvaluationInput<'_>,
    team: &TeamState,
    guard: &Guard,
    overrides: &Overrides,
) -> Vec<Verdict> {
    let (mut guard, mut overrides) = (guard.clone(), overrides.clone());
    let evaluation = evaluate(input, team, &mut guard, |finding| {
        match overrides.lift(finding, input.policy, Some(TEAM), &team.members) {
            Some(Lift::Allowance(name)) => {
                let name = name.to_owned();
                overrides.use_up(&name)
            }
            lift => lift.is_some(),
        }
    });
    evaluation.verdicts
}

fn decisions(verdicts: &[Verdict]) -> Vec<(Decision, &str)> {
    verdicts.iter().map(|verdict| (verdict.decision, verdict.code.as_str())).collect()
}
