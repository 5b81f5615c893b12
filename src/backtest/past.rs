//! A team's files as they were, one look after the other. Each object is opened once, and only when somebody asks.

use std::collections::{BTreeMap, HashMap};

use crate::archive::{Archive, Journal, Snapshot};
use crate::gatekeeper::{File, Piece};
use crate::policy::TeamState;

/// A team's past, at a moment that only goes forward.
#[derive(Debug)]
pub struct Past<'a> {
    archive: &'a Archive,
    snapshots: &'a [Snapshot],
    /// By event, how many looks there were when its own had been taken.
    own: HashMap<&'a str, usize>,
    next: usize,
    /// Paths that changed since the state was last asked for, each with its content; `None` when it is gone.
    pending: BTreeMap<&'a str, Option<&'a str>>,
    opened: HashMap<(&'a str, &'a str), Option<Piece>>,
    /// The state. [`Past::open`] brings its files up to the moment.
    pub team: TeamState,
}

impl<'a> Past<'a> {
    /// The beginning.
    pub fn new(archive: &'a Archive, journal: &'a Journal, team: Option<&str>) -> Past<'a> {
        let snapshots = journal.snapshots.as_slice();
        let own =
            snapshots.iter().enumerate().map(|(place, look)| (look.event.as_str(), place + 1)).collect();
        let team = TeamState { name: team.map(str::to_owned), ..TeamState::default() };
        Past { archive, snapshots, own, next: 0, pending: BTreeMap::new(), opened: HashMap::new(), team }
    }

    /// Goes on to an event: to all looks until then, and to its own, which may be written behind a later one's.
    pub fn go_to(&mut self, id: &str, at: &str) {
        while self.snapshots.get(self.next).is_some_and(|look| look.at.as_str() <= at) {
            self.step();
        }
        let own = self.own.get(id).copied().unwrap_or(0);
        while self.next < own {
            self.step();
        }
    }

    /// Goes on to the last moment at which the team's directory was there.
    pub fn go_to_the_end(&mut self) {
        while self.snapshots.get(self.next).is_some_and(|look| look.team_dir != Some(false)) {
            self.step();
        }
    }

    fn step(&mut self) {
        let Some(look) = self.snapshots.get(self.next) else { return };
        self.next += 1;
        for change in &look.changed {
            // A state that could not be kept takes nothing away from the one before.
            if let Some(object) = &change.object {
                self.pending.insert(&change.path, Some(object));
            }
        }
        for path in &look.gone {
            self.pending.insert(path, None);
        }
    }

    /// Opens what has changed.
    pub fn open(&mut self) {
        for (path, object) in std::mem::take(&mut self.pending) {
            let Some(file) = File::of(path, self.team.name.as_deref()) else { continue };
            let Some(object) = object else {
                file.take(&mut self.team);
                continue;
            };
            let piece = self.opened.entry((path, object)).or_insert_with(|| {
                let bytes = self.archive.objects.get(object).ok()?;
                Some(file.says(&bytes))
            });
            if let Some(piece) = piece {
                piece.clone().put(&mut self.team);
            }
        }
    }
}
