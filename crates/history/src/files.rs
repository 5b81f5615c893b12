//! Which agent changed which lines of which file, when and for which task, and which commits it made, by the results of
//! its tool calls. Also in the Agent Trace format, version 0.1: which ranges of lines of which file come from which model.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::timeline::{RunData, Timeline, ToolUse, state_after};
use crate::transcript::{Commit, LineChange};
use teamkeep_model::paths;
use teamkeep_model::team::is_uuid;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::RunRecord;
use teamkeep_system::fs;

const VERSION: &str = "0.1";

/// One trace record of a run: the lines that its agents added and that no later change removed, with their numbers after
/// its last change. Its files are those below `root`. The same run has the same ID in each export.
pub fn agent_trace(run: &RunRecord, found: &Attribution, root: &Path, at: Timestamp) -> Value {
    let mut files: BTreeMap<&str, Vec<&ToolChange>> = BTreeMap::new();
    for change in &found.changes {
        if let Some(path) = below(&change.path, root) {
            files.entry(path).or_default().push(change);
        }
    }
    let files = files.into_iter().filter_map(|(path, changes)| {
        let conversations = conversations(run, &LineOwners::of(changes.into_iter()));
        let path = match root.to_str().is_some_and(paths::has_backslashes) {
            true => path.replace('\\', "/"),
            false => path.to_owned(),
        };
        (!conversations.is_empty()).then(|| json!({"path": path, "conversations": conversations}))
    });
    json!({
        "version": VERSION,
        "id": id(&run.run),
        "timestamp": at.to_string(),
        "tool": {"name": "teamkeep", "version": env!("CARGO_PKG_VERSION")},
        "files": files.collect::<Vec<_>>(),
        "metadata": {"dev.teamkeep": {"run": run.run, "team": run.team}},
    })
}

/// The part of a recorded path below a directory.
fn below<'a>(path: &'a Path, directory: &Path) -> Option<&'a str> {
    match path.strip_prefix(directory) {
        Ok(below) => below.to_str(),
        Err(_) => paths::below(path.to_str()?, directory.to_str()?),
    }
}

/// The blocks of lines of a file by the agent and the model.
fn conversations(run: &RunRecord, owners: &LineOwners<'_>) -> Vec<Value> {
    let mut found: BTreeMap<(&str, Option<&str>), Vec<Value>> = BTreeMap::new();
    for (change, start, end) in owners.blocks() {
        let contributor = (change.agent.as_str(), change.model.as_deref());
        found.entry(contributor).or_default().push(json!({"start_line": start, "end_line": end}));
    }
    let session = run.lead_session.as_deref().filter(|session| is_uuid(session));
    let conversation = |((_, model), ranges): ((&str, Option<&str>), Vec<Value>)| {
        let mut contributor = json!({"type": "ai"});
        if let Some(model) = model {
            contributor["model_id"] = json!(format!("anthropic/{model}"));
        }
        let mut conversation = json!({"contributor": contributor, "ranges": ranges});
        if let Some(session) = session {
            conversation["url"] = json!(format!("urn:uuid:{session}"));
        }
        conversation
    };
    found.into_iter().map(conversation).collect()
}

/// A UUID of version 8 (its content is free) from the run's ID.
fn id(run: &str) -> String {
    let hash = blake3::hash(run.as_bytes());
    let mut bytes: [u8; 16] = std::array::from_fn(|place| hash.as_bytes()[place]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The changes and commits of a run, in order of time.
#[derive(Debug, Default, Serialize)]
pub struct Attribution {
    pub changes: Vec<ToolChange>,
    pub commits: Vec<MadeCommit>,
}

/// The change of a file by one tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolChange {
    pub at: Timestamp,
    pub agent: String,
    /// The tasks that the agent had in progress.
    pub tasks: Vec<TaskRef>,
    pub path: PathBuf,
    pub tool: String,
    pub tool_use_id: String,
    pub model: Option<String>,
    /// Number of added lines.
    pub added: usize,
    pub removed: usize,
    #[serde(skip)]
    pub lines: Arc<[LineChange]>,
}

/// A change of a file, and its run.
#[derive(Debug, Serialize)]
pub struct FileChange {
    pub run: String,
    pub team: Option<String>,
    #[serde(flatten)]
    pub change: ToolChange,
}

impl FileChange {
    /// The name of the run for people.
    pub fn run_name(&self) -> &str {
        self.team.as_deref().unwrap_or(&self.run)
    }
}

/// A commit that git printed when an agent made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MadeCommit {
    pub at: Timestamp,
    pub agent: String,
    pub tasks: Vec<TaskRef>,
    /// Its abbreviated hash.
    pub id: String,
    pub branch: String,
    pub subject: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskRef {
    pub id: String,
    pub subject: Option<String>,
}

impl Attribution {
    pub fn of(data: &RunData, timeline: &Timeline) -> Attribution {
        let team = state_after(&timeline.entries);
        let models = Models::of(data);
        let mut found = Attribution::default();
        for (id, used) in &data.transcripts.uses {
            let Some(changes) = &used.changes else { continue };
            let at = timeline.when.to_local_or_end(changes.at.or(used.at));
            let held = team.held_at(&used.transcript.by, at);
            let tasks =
                held.map(|(id, task, _)| TaskRef { id: id.to_owned(), subject: task.subject.clone() });
            let tasks: Vec<TaskRef> = tasks.collect();
            found.changes.extend(changes.edits.iter().map(|edit| ToolChange {
                at,
                agent: used.transcript.by.clone(),
                tasks: tasks.clone(),
                path: fs::plain(&edit.path),
                tool: used.tool.clone(),
                tool_use_id: id.clone(),
                model: models.of_call(used),
                added: edit.lines.iter().filter(|line| matches!(line, LineChange::Added { .. })).count(),
                removed: edit.lines.iter().filter(|line| matches!(line, LineChange::Removed { .. })).count(),
                lines: edit.lines.clone(),
            }));
            found.commits.extend(changes.commits.iter().map(|Commit { id, branch, subject }| MadeCommit {
                at,
                agent: used.transcript.by.clone(),
                tasks: tasks.clone(),
                id: id.clone(),
                branch: branch.clone(),
                subject: subject.clone(),
            }));
        }
        found.changes.sort_by(|a, b| (a.at, &a.path).cmp(&(b.at, &b.path)));
        found.commits.sort_by_key(|commit| commit.at);
        found
    }

    /// Keeps the changes of files that several agents changed.
    pub fn retain_shared(&mut self) {
        let mut agents: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        for change in &self.changes {
            agents.entry(change.path.clone()).or_default().insert(change.agent.clone());
        }
        self.changes.retain(|change| agents[&change.path].len() > 1);
    }

    /// Keeps the changes and commits of one agent.
    pub fn retain_agent(&mut self, agent: &str) {
        self.changes.retain(|change| change.agent == agent);
        self.commits.retain(|commit| commit.agent == agent);
    }
}

impl ToolChange {
    /// The texts of the lines that it added.
    pub(crate) fn added_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            LineChange::Added { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }
}

/// The models of each transcript's messages, in order of time.
struct Models<'a>(BTreeMap<&'a str, Vec<(Option<Timestamp>, &'a str)>>);

impl<'a> Models<'a> {
    fn of(data: &'a RunData) -> Models<'a> {
        let mut models: BTreeMap<&str, Vec<(Option<Timestamp>, &str)>> = BTreeMap::new();
        for cost in data.transcripts.costs.values() {
            let model = (cost.message.at, cost.message.model.as_str());
            models.entry(&cost.transcript.agent).or_default().push(model);
        }
        models.values_mut().for_each(|models| models.sort_unstable());
        Models(models)
    }

    /// The model of the message with this call.
    fn of_call(&self, used: &ToolUse) -> Option<String> {
        let models = self.0.get(used.transcript.agent.as_str())?;
        let before = models.partition_point(|(at, _)| *at <= used.at);
        before.checked_sub(1).map(|last| models[last].1.to_owned())
    }
}

/// A file, with the agents that changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHistory {
    /// Relative to the run's directory if it is below it.
    pub path: String,
    /// In the order of their first change.
    pub agents: Vec<FileUser>,
}

/// The changes of a file by one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileUser {
    pub agent: String,
    pub changes: usize,
    /// Number of added lines.
    pub added: usize,
    pub removed: usize,
    pub first: Timestamp,
    pub last: Timestamp,
}

impl FileHistory {
    /// Whether several agents changed it.
    pub fn is_shared(&self) -> bool {
        self.agents.len() > 1
    }
}

/// The changed files of a run in this directory, by path. `changes` are in order of time.
pub fn file_histories(changes: &[ToolChange], directory: Option<&Path>) -> Vec<FileHistory> {
    let mut files: BTreeMap<&Path, Vec<FileUser>> = BTreeMap::new();
    for change in changes {
        let agents = files.entry(&change.path).or_default();
        let place = agents.iter().position(|user| user.agent == change.agent).unwrap_or(agents.len());
        if place == agents.len() {
            agents.push(FileUser {
                agent: change.agent.clone(),
                changes: 0,
                added: 0,
                removed: 0,
                first: change.at,
                last: change.at,
            });
        }
        let user = &mut agents[place];
        user.changes += 1;
        user.added += change.added;
        user.removed += change.removed;
        user.last = change.at;
    }
    let shown = |path: &Path| {
        let below = directory.and_then(|directory| below(path, directory));
        below.map_or_else(|| path.display().to_string(), str::to_owned)
    };
    files.into_iter().map(|(path, agents)| FileHistory { path: shown(path), agents }).collect()
}

// The change that each line of a file comes from: after the last recorded change, and in the present file.

/// Lines beyond are ignored: the number of a line is not checked against the size of the file.
const MAX_LINES: usize = 1_000_000;

/// The change of each line, from the first; `None` for lines that no recorded change added.
#[derive(Debug, Default)]
struct LineOwners<'a>(Vec<Option<(&'a ToolChange, &'a str)>>);

impl<'a> LineOwners<'a> {
    /// Applies the changes of one file, which are in order of time.
    pub(super) fn of(changes: impl Iterator<Item = &'a ToolChange>) -> LineOwners<'a> {
        changes.fold(LineOwners::default(), LineOwners::then)
    }

    /// Applies a change, whose lines are in the order of the file; others are ignored.
    fn then(self, change: &'a ToolChange) -> LineOwners<'a> {
        let (mut before, mut after) = (self.0.into_iter(), Vec::new());
        for line in change.lines.iter() {
            let number = match line {
                LineChange::Created => {
                    (before, after) = (Vec::new().into_iter(), Vec::new());
                    continue;
                }
                LineChange::Added { number, .. } | LineChange::Removed { number } => *number as usize,
            };
            let index = number.saturating_sub(1);
            if index >= MAX_LINES || index < after.len() {
                continue;
            }
            after.extend(before.by_ref().take(index - after.len()));
            match line {
                LineChange::Added { text, .. } => {
                    after.resize(index, None);
                    after.push(Some((change, text.as_str())));
                }
                _ => drop(before.next()),
            }
        }
        after.extend(before);
        LineOwners(after)
    }

    /// The change that added the line with this number, from 1, and the text that it added.
    pub(super) fn line(&self, number: usize) -> Option<(&'a ToolChange, &'a str)> {
        *self.0.get(number.checked_sub(1)?)?
    }

    /// Blocks of lines of the same change: the change, the first and the last number.
    pub(super) fn blocks(&self) -> Vec<(&'a ToolChange, usize, usize)> {
        let mut blocks: Vec<(&ToolChange, usize, usize)> = Vec::new();
        for (number, owner) in (1..).zip(&self.0) {
            let Some((change, _)) = owner else { continue };
            match blocks.last_mut() {
                Some((last, _, end)) if std::ptr::eq(*last, *change) && *end + 1 == number => *end = number,
                _ => blocks.push((change, number, number)),
            }
        }
        blocks
    }
}

/// A line of the present file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentLine {
    /// From 1.
    pub number: usize,
    pub text: String,
}

/// How a line was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FoundBy {
    /// It is where the recorded changes put it.
    Place,
    /// It is the last one with this text.
    Text,
}

/// Finds the change that a line of the present file comes from.
#[derive(Debug)]
pub struct LineFinder<'a> {
    changes: &'a [&'a ToolChange],
    owners: LineOwners<'a>,
    /// The newest change that added each text.
    by_text: HashMap<&'a str, usize>,
}

impl<'a> LineFinder<'a> {
    /// `changes` are those of the file, in order of time.
    pub fn of(changes: &'a [&'a ToolChange]) -> LineFinder<'a> {
        let mut by_text = HashMap::new();
        for (index, change) in changes.iter().enumerate() {
            by_text.extend(change.added_lines().map(|text| (text, index)));
        }
        LineFinder { changes, owners: LineOwners::of(changes.iter().copied()), by_text }
    }

    /// The index of the change that added the line at this place, or else, if changes that are not recorded have moved it,
    /// of the newest one that added this text.
    pub fn find(&self, line: &PresentLine) -> Option<(usize, FoundBy)> {
        let at_place = self.owners.line(line.number).filter(|(_, text)| *text == line.text);
        let index = at_place
            .and_then(|(owner, _)| self.changes.iter().position(|change| std::ptr::eq(*change, owner)));
        index
            .map(|index| (index, FoundBy::Place))
            .or_else(|| Some((*self.by_text.get(line.text.as_str())?, FoundBy::Text)))
    }
}
