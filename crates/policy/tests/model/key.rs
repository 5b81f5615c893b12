//! What is hashed of a state. Two states with the same key have the same future, as far as decisions are concerned:
//!
//! - Positions in the ledger are only compared with each other, so their ranks are hashed.
//! - Times matter only to the window of the loop guard: a count is fresh or not.
//! - Warnings that were already shown are left out: they change no decision.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;

use teamkeep_policy::{Guard, Ledger};

use crate::hook::State;

/// The stored form of the loop guard, whose fields are private.
#[derive(Deserialize)]
struct StoredGuard {
    counts: BTreeMap<String, StoredCount>,
    completed: Vec<String>,
}

#[derive(Deserialize)]
struct StoredCount {
    blocks: u32,
    last: i64,
}

/// The ranks of the positions in a ledger.
struct Ranks(Vec<u64>);

impl Ranks {
    fn of(ledger: &Ledger) -> Ranks {
        let mut all: Vec<u64> = ledger.pending.values().map(|call| call.order).collect();
        for member in ledger.members.values() {
            all.extend(member.instructions.values().chain(member.questions.values()));
            let positions = [member.last_message, member.since, member.idle, member.delivered];
            all.extend(positions.into_iter().flatten());
            all.extend(member.answer.as_ref().map(|answer| answer.at));
        }
        all.sort_unstable();
        all.dedup();
        Ranks(all)
    }

    fn rank(&self, position: u64) -> usize {
        self.0.binary_search(&position).unwrap_or(usize::MAX)
    }

    fn hash(&self, ledger: &Ledger, hasher: &mut impl Hasher) {
        let rank = |position: Option<u64>| position.map(|position| self.rank(position));
        for (name, member) in &ledger.members {
            name.hash(hasher);
            for positions in [&member.instructions, &member.questions] {
                positions.len().hash(hasher);
                positions.iter().for_each(|(name, at)| (name, self.rank(*at)).hash(hasher));
            }
            [member.last_message, member.since, member.idle, member.delivered].map(rank).hash(hasher);
            member.answer.as_ref().map(|answer| (self.rank(answer.at), answer.is_all)).hash(hasher);
            (member.stopping, member.shutdown_permitted).hash(hasher);
        }
        for member in &ledger.live.roster {
            (&member.name, format!("{:?}", member.doing)).hash(hasher);
        }
        for (id, call) in &ledger.pending {
            (id, self.rank(call.order), &call.by, call.spawns.is_some(), &call.starter).hash(hasher);
        }
        (&ledger.pending_completions, &ledger.handles, &ledger.spawned_for, &ledger.background).hash(hasher);
        (ledger.tasked, ledger.names_agents, &ledger.starters).hash(hasher);
    }
}

fn hash_ledger(ledger: &Ledger, hasher: &mut impl Hasher) {
    Ranks::of(ledger).hash(ledger, hasher);
}

fn hash_guard(guard: &Guard, now: i64, hasher: &mut impl Hasher) {
    let stored: StoredGuard = serde_json::from_str(&serde_json::to_string(guard).unwrap()).unwrap();
    for (key, count) in &stored.counts {
        (key, count.blocks, is_fresh(count.last, now)).hash(hasher);
    }
    stored.completed.hash(hasher);
}

/// Whether another block now belongs to the same message. A fresh count is one since the last [`Action::Wait`].
///
/// [`Action::Wait`]: crate::actions::Action::Wait
fn is_fresh(last: i64, now: i64) -> bool {
    now - last < crate::hook::WINDOW_MS
}

impl State {
    pub fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.world.hash(&mut hasher);
        hash_ledger(&self.ledger, &mut hasher);
        hash_guard(&self.guard, self.now, &mut hasher);
        self.overrides.shutdowns.hash(&mut hasher);
        self.overrides.pauses.iter().for_each(|pause| pause.gate.hash(&mut hasher));
        for (key, (blocks, last)) in &self.counts {
            (key, blocks, is_fresh(*last, self.now)).hash(&mut hasher);
        }
        (self.counted_completed, self.allowed, self.permitted, self.open).hash(&mut hasher);
        self.others.is_lost.hash(&mut hasher);
        if let Some(guard) = &self.others.test {
            hash_guard(guard, self.now, &mut hasher);
        }
        if let Some(ledger) = &self.others.run {
            hash_ledger(ledger, &mut hasher);
        }
        self.violation.as_ref().map(|violation| violation.property).hash(&mut hasher);
        hasher.finish()
    }
}
