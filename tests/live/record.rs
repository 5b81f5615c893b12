//! What teamkeep has on record of a run, as its commands print it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::home::Home;
use super::sent::Sent;

/// The answers of teamkeep's commands.
pub struct Record {
    /// The run's line of `teams --all`.
    pub run: Value,
    /// Every line of `replay`.
    pub replay: Vec<Value>,
    pub show: Value,
    pub report: Value,
    pub verify: Value,
    /// Every event of the log.
    pub log: Vec<Value>,
}

impl Record {
    /// Asks for everything about the run in which these members were.
    pub fn read(home: &Home, sent: &Sent) -> Result<Self, String> {
        let runs = one(home, &["teams", "--all"])?;
        let with_all = |run: &&Value| {
            let members = words(&run["members"]);
            sent.members.keys().all(|name| members.contains(name.as_str()))
        };
        let found: Vec<&Value> = runs.as_array().into_iter().flatten().filter(with_all).collect();
        let [run] = found.as_slice() else {
            return Err(format!("{} runs on record have the members that there were: {runs:#}", found.len()));
        };
        let id = run["run"].as_str().unwrap_or_default();
        Ok(Self {
            replay: home.json(&["log", id])?,
            show: one(home, &["show", id])?,
            report: one(home, &["report", id])?,
            verify: one(home, &["verify"])?,
            log: home.json(&["log", "--raw"])?,
            run: (*run).clone(),
        })
    }

    /// The lines of the replay of these kinds.
    pub fn of(&self, kinds: &[&str]) -> impl Iterator<Item = &Value> {
        self.replay.iter().filter(move |entry| kinds.contains(&entry["kind"].as_str().unwrap_or_default()))
    }
}

fn one(home: &Home, arguments: &[&str]) -> Result<Value, String> {
    let mut values = home.json(arguments)?;
    if values.len() == 1 {
        Ok(values.remove(0))
    } else {
        Err(format!("teamkeep {} prints {} values", arguments.join(" "), values.len()))
    }
}

/// The words in a list.
pub fn words(list: &Value) -> BTreeSet<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A text of an object; empty where there is none.
pub fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}
