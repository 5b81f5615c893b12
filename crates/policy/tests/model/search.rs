//! The exhaustive search: every state that is reachable in a number of actions, each action with every property.

use std::hash::{Hash, Hasher};

use stateright::{Checker, HasDiscoveries, Model, Property as Condition};

use crate::actions::Action;
use crate::hook::State;
use crate::order;
use crate::properties::Property;
use crate::scope::Scope;

/// A state with its key, which represents it in the search.
#[derive(Debug, Clone)]
pub struct Node {
    pub state: State,
    key: u64,
    /// The number of actions that led to it, which is the smallest one in a breadth-first search.
    depth: usize,
}

impl Node {
    fn of(state: State, depth: usize) -> Node {
        Node { key: state.key(), state, depth }
    }
}

impl Hash for Node {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.key.hash(hasher);
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.key == other.key
    }
}

/// A team with tasks, and one without.
pub struct Teams {
    scope: Scope,
    /// States after this many actions are checked, and no action follows.
    depth: usize,
}

impl Model for Teams {
    type State = Node;
    type Action = Action;

    fn init_states(&self) -> Vec<Node> {
        let Scope { teammates, tasks, .. } = self.scope;
        [tasks, 0].map(|tasks| Node::of(State::new(teammates, tasks), 0)).into()
    }

    fn actions(&self, node: &Node, actions: &mut Vec<Action>) {
        if node.depth < self.depth {
            actions.extend(node.state.actions(&self.scope));
        }
    }

    fn next_state(&self, node: &Node, action: Action) -> Option<Node> {
        let mut state = node.state.clone();
        state.act(action);
        Some(Node::of(state, node.depth + 1))
    }

    fn properties(&self) -> Vec<Condition<Self>> {
        fn holds(node: &Node, property: Property) -> bool {
            node.state.violation.as_ref().is_none_or(|violation| violation.property != property)
        }
        macro_rules! conditions {
            ($($Property:ident)*) => {
                vec![$(Condition::always(Property::$Property.name(), |_, node| holds(node, Property::$Property)),)*]
            };
        }
        let mut conditions = conditions!(
            BusyTeammateIsNotStopped NoLiveLock GuardCountsEachAgent OnlyBlockableEventsAreBlocked
            GatesAreAsDocumented BlockedCallLeavesNoTrace CallersAgree
        );
        conditions
            .push(Condition::always(Property::OrderDoesNotMatter.name(), |teams: &Teams, node: &Node| {
                !teams.scope.orders || order::check(&node.state).is_ok()
            }));
        assert_eq!(conditions.len(), Property::ALL.len());
        conditions
    }
}

/// Searches all states up to a depth: their number, or the shortest way to a state in which a property does not hold.
pub fn search(scope: &Scope, depth: usize) -> Result<(usize, usize), String> {
    // One thread, because with several the depth of a state depends on their order.
    let checker = Teams { scope: scope.clone(), depth }
        .checker()
        .threads(1)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let Some((name, path)) = checker.discoveries().into_iter().next() else {
        return Ok((checker.unique_state_count(), checker.state_count()));
    };
    let state = &path.last_state().state;
    let why = match &state.violation {
        Some(violation) => violation.why.clone(),
        None => order::check(state).err().unwrap_or_default(),
    };
    let actions: Vec<Action> = path.into_actions();
    Err(format!("{name}: {why}\nafter {actions:?}"))
}
