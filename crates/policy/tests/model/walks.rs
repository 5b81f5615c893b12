//! Random walks: longer than any search can be, and with everything.

use crate::actions::Action;
use crate::hook::State;
use crate::properties::{Property, Violation};
use crate::scope::Scope;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        usize::try_from((mixed ^ (mixed >> 31)) % limit).unwrap_or(0)
    }
}

/// The order of the hook calls that can come next is checked after one action in this many.
const ORDERS_ONE_IN: usize = 1_000;

/// Actions that would end most walks or make most of them alike come seldom: once in this many times that they are chosen.
fn rarity(action: Action) -> usize {
    use crate::calls::Call;
    match action {
        Action::LoseState => 30,
        Action::Pause(_) | Action::Call(_, Call::DeleteTeam) | Action::Begin(_, Call::DeleteTeam) => 10,
        Action::Allow(_) => 3,
        _ => 1,
    }
}

/// A walk of at most this many actions; the actions, and the violation in its last state.
fn walk(scope: &Scope, random: &mut Random, length: usize) -> (usize, Vec<Action>, Option<Violation>) {
    let tasks = if random.below(4) == 0 { 0 } else { scope.tasks };
    let mut state = State::new(scope.teammates, tasks);
    let mut taken = Vec::new();
    while taken.len() < length && state.violation.is_none() {
        let actions = state.actions(scope);
        if actions.is_empty() {
            break;
        }
        let action = loop {
            let action = actions[random.below(actions.len())];
            if random.below(rarity(action)) == 0 {
                break action;
            }
        };
        state.act(action);
        if random.below(ORDERS_ONE_IN) == 0 {
            state.check_order();
        }
        taken.push(action);
    }
    (tasks, taken, state.violation)
}

/// Does those of the actions that are possible, and returns the violation. The order is checked only after the last one.
fn replay(scope: &Scope, tasks: usize, actions: &[Action]) -> Option<Violation> {
    let mut state = State::new(scope.teammates, tasks);
    for action in actions {
        if state.violation.is_none() && state.actions(scope).contains(action) {
            state.act(*action);
        }
    }
    state.check_order();
    state.violation
}

/// Leaves out one action after the other as long as the same property is violated.
fn shortest(scope: &Scope, tasks: usize, mut actions: Vec<Action>, property: Property) -> Vec<Action> {
    let mut place = actions.len();
    while place > 0 {
        place -= 1;
        let mut fewer = actions.clone();
        fewer.remove(place);
        if replay(scope, tasks, &fewer).is_some_and(|violation| violation.property == property) {
            actions = fewer;
            // An action before it can be needless now.
            place = actions.len();
        }
    }
    actions
}

/// Walks until this many actions are done.
pub fn walks(scope: &Scope, seed: u64, steps: usize, length: usize) -> Result<usize, String> {
    let mut random = Random(seed);
    let mut done = 0;
    while done < steps {
        let (tasks, actions, violation) = walk(scope, &mut random, length);
        done += actions.len();
        if let Some(Violation { property, .. }) = violation {
            let actions = shortest(scope, tasks, actions, property);
            let why = replay(scope, tasks, &actions).map_or(String::new(), |violation| violation.why);
            let name = property.name();
            return Err(format!("{name}: {why}\nseed {seed}, {tasks} tasks, after {actions:?}"));
        }
    }
    Ok(done)
}
