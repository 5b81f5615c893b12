//! The report of a run for people, and its incidents.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anstyle::Style;

use super::document::{Block, Document, Graph, Table};
use super::files::file_table;
use super::line::{GREEN, Line, RED, YELLOW, plain, styled};
use super::values::{actor, count, first_line, redaction_summary, since, strip_tags, thousands};
use teamkeep_history::report::{
    Incident, MessageRow, PRICES_AS_OF, Report, Role, RunOutcome, TaskHistory, TaskUpdate, Topology,
};
use teamkeep_history::timeline::Kind;
use teamkeep_model::TaskStatus;
use teamkeep_model::json::serde_name;
use teamkeep_model::team::Tokens;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_model::words::dollars;

/// Shown for unknown values.
const UNKNOWN: &str = "unknown";

/// `--full`: everything but automatic messages and Claude Code's internal agents.
pub fn full_report(report: &Report) -> Document {
    Page { report, lists_all: false }.document()
}

/// `--all`: the same with automatic messages and Claude Code's internal agents.
pub fn whole_report(report: &Report) -> Document {
    Page { report, lists_all: true }.document()
}

struct Page<'a> {
    report: &'a Report,
    /// Whether automatic messages and Claude Code's internal agents are listed.
    lists_all: bool,
}

impl Page<'_> {
    fn document(&self) -> Document {
        let mut document = overview(self.report);
        document.section("Incidents", incidents(&self.report.incidents, self.report.overview.started_at));
        document.section("Observations", self.observations());
        document.section("Phases", self.phases());
        document.section("Agents", self.agents());
        document.section("Messages", self.messages());
        document.section("Tasks", self.tasks());
        document.section("Files changed by several agents", self.shared_files());
        document.section("Tools", self.tools());
        document.section("Time", self.time());
        document.section("Tokens", self.tokens());
        document
    }

    /// The time since the start of the run: `+1m05s`.
    fn since(&self, at: Option<Timestamp>) -> String {
        at.map(|at| since(self.report.overview.started_at, at)).unwrap_or_default()
    }

    fn observations(&self) -> Document {
        let rows = self.report.observations.iter().map(|observation| {
            [serde_name(&observation.code), self.since(observation.at), observation.what.clone()]
        });
        Document::from(Table::of(&["kind", "when#", "observation"], rows))
    }

    fn phases(&self) -> Document {
        let rows = self.report.phases.iter().map(|phase| {
            let (from, to) = (phase.from, phase.to);
            [
                serde_name(&phase.name),
                self.since(from),
                self.since(to),
                from.zip(to)
                    .map(|(from, to)| time::duration((to - from).num_milliseconds()))
                    .unwrap_or_default(),
                thousands(phase.signs),
                if phase.from.is_none() { "not observed".to_owned() } else { String::new() },
            ]
        });
        Document::from(Table::of(&["phase", "from#", "to#", "duration#", "entries#", ""], rows))
    }

    fn agents(&self) -> Document {
        let agents = self.report.agents.iter();
        let instances = agents.flat_map(|agent| agent.instances.iter().map(move |one| (agent, one)));
        let (shown, helpers): (Vec<_>, Vec<_>) =
            instances.partition(|(_, instance)| self.lists_all || instance.role != Role::Helper);
        let rows = shown.iter().map(|(agent, instance)| {
            [
                agent.name.clone(),
                serde_name(&instance.role).replace('-', " "),
                self.since(instance.first),
                self.since(instance.last),
                thousands(instance.turns),
                number(instance.tool_uses),
                instance.id.clone(),
            ]
        });
        let titles = ["name", "role", "first#", "last#", "turns#", "tools#", "id"];
        let mut document = Document::from(Table::of(&titles, rows));
        if !helpers.is_empty() {
            let helpers = count(helpers.len(), "helper agent");
            document.paragraph(format!("and {helpers} of Claude Code (list with --all)"));
        }
        document
    }

    fn messages(&self) -> Document {
        let messages = &self.report.mail;
        let shown = messages.messages.iter().filter(|message| self.lists_all || !message.automatic);
        let rows = shown.map(|message| {
            [
                self.since(Some(message.at)),
                actor(&message.from).to_owned(),
                recipient(&message.to),
                message.kind.clone(),
                thousands(message.chars),
                message_text(message),
            ]
        });
        let table = Table::of(&["when#", "from", "to", "kind", "chars#", "text"], rows);
        if table.rows.is_empty() {
            return Document::default();
        }
        let mut document = Document::from(table);
        if self.lists_all {
            let pairs = messages.by_pair.iter().map(|pair| {
                let numbers = [pair.messages, pair.chars].map(thousands);
                [pair.from.clone(), recipient(&pair.to)].into_iter().chain(numbers).chain([String::new()])
            });
            document.paragraph("Messages by sender and recipient");
            document.table(Table::of(&["from", "to", "messages#", "chars#", ""], pairs));
        }
        document
    }

    fn tasks(&self) -> Document {
        let tasks = &self.report.tasks;
        if tasks.is_empty() {
            return Document::default();
        }
        let mut board: Vec<_> = tasks
            .iter()
            .map(|task| {
                let is_erased = task.removed_at.is_some() && task.status != TaskStatus::Deleted;
                [
                    task.id.clone(),
                    format!("{}{}", task.status, if is_erased { ", erased" } else { "" }),
                    task.owner.clone().unwrap_or_else(|| "-".to_owned()),
                    task.blocked_by.join(", "),
                    self.task_cost(&task.id),
                    subject(task),
                ]
            })
            .collect();
        if let Some(rest) = &self.report.spending.no_task {
            let cost = shown_cost(rest.cost, rest.tokens);
            board.push([
                String::new(),
                String::new(),
                String::new(),
                String::new(),
                cost,
                "(no task)".to_owned(),
            ]);
        }
        let mut document =
            Document::from(Table::of(&["task#", "status", "owner", "depends on", "cost#", "subject"], board));
        let graph = dependencies(tasks);
        if !graph.edges.is_empty() {
            document.paragraph("Dependencies");
            document.blocks.push(Block::Graph(graph));
        }
        if !self.lists_all {
            return document;
        }
        let changes = tasks.iter().flat_map(|task| task.changes.iter().map(move |change| (task, change)));
        let changes = changes.map(|(task, change)| {
            [task.id.clone(), self.since(Some(change.at)), actor(&change.by).to_owned(), result(change)]
        });
        document.paragraph("Changes");
        document.table(Table::of(&["task#", "when#", "by", "change"], changes));
        document
    }

    /// The cost of a task.
    fn task_cost(&self, id: &str) -> String {
        let usage = self.report.spending.tasks.iter().find(|usage| usage.task == id);
        usage.map(|usage| shown_cost(usage.cost, usage.tokens)).unwrap_or_default()
    }

    fn shared_files(&self) -> Document {
        let shared = self.report.files.iter().filter(|file| file.is_shared());
        file_table(self.report.overview.started_at, &shared.cloned().collect::<Vec<_>>())
    }

    fn tools(&self) -> Document {
        let tools = &self.report.tools;
        if tools.by_agent.is_empty() {
            return Document::default();
        }
        let calls = |tools: &BTreeMap<String, usize>| thousands(tools.values().sum::<usize>());
        let names = |tools: &BTreeMap<String, usize>| {
            let mut tools: Vec<_> = tools.iter().collect();
            tools.sort_by_key(|(_, uses)| Reverse(**uses));
            let tools = tools.iter().map(|(tool, uses)| format!("{tool} {}", thousands(**uses)));
            tools.collect::<Vec<_>>().join(", ")
        };
        let agents = tools.by_agent.iter().map(|user| {
            let at_least = if user.complete { "" } else { "at least " };
            let calls = format!("{at_least}{}", calls(&user.tools));
            [user.agent.clone(), calls, number(user.failed), names(&user.tools)]
        });
        let total = ["total".to_owned(), calls(&tools.total), String::new(), names(&tools.total)];
        Document::from(Table::of(&["agent", "calls#", "failed#", "tools"], agents.chain([total])))
    }

    fn time(&self) -> Document {
        let work = &self.report.work;
        let rows = work.agents.iter().map(|agent| {
            let untimed = match agent.unseen_turns {
                0 => String::new(),
                turns => format!("{} not timed (start not recorded)", count(turns, "turn")),
            };
            let times = [agent.working_ms, agent.silent_ms, agent.waiting_ms, agent.idle_ms];
            let [working, silent, waiting, idle] = times.map(duration);
            [agent.agent.clone(), thousands(agent.turns), working, silent, waiting, idle, untimed]
        });
        let titles = ["agent", "turns#", "working#", "silent#", "waiting#", "idle#", ""];
        let mut document = Document::from(Table::of(&titles, rows));
        let [worked, busy, saved] = [work.worked_ms, work.busy_ms, work.saved_ms].map(duration);
        document.paragraph(match work.worked_ms {
            None => format!("agent time {UNKNOWN}: no turns recorded"),
            Some(_) => {
                format!("agents worked {worked} in {busy} with work ({saved} saved by parallelism)")
            }
        });
        document
    }

    fn tokens(&self) -> Document {
        let usage = &self.report.spending;
        let mut document = Document::default();
        let Some(total) = &usage.total else {
            document.paragraph(format!("{UNKNOWN}: no transcript recorded"));
            return document;
        };
        let agents = usage.agents.iter().map(|agent| {
            (agent.agent.as_str(), agent.messages, &agent.tokens, agent.cost, agent.models.join(", "))
        });
        let messages = usage.agents.iter().map(|agent| agent.messages).sum();
        let rows = agents.chain([("total", messages, total, usage.cost, String::new())]);
        let rows = rows.map(|(name, messages, tokens, cost, models)| {
            let messages = messages as u64;
            let numbers = [messages, tokens.input, tokens.output, tokens.cache_read, tokens.cache_write];
            let cost = cost.map_or_else(String::new, dollars);
            [name.to_owned()].into_iter().chain(numbers.map(thousands)).chain([cost, models])
        });
        let titles =
            ["agent", "messages#", "input#", "output#", "cache read#", "cache write#", "cost#", "model"];
        document.table(Table::of(&titles, rows));
        document.paragraph(match usage.unpriced.as_slice() {
            [] if usage.cost.is_none() => "no token use is recorded".to_owned(),
            [] => format!("US dollars, at list prices of {PRICES_AS_OF} or your own"),
            models => format!("cost {UNKNOWN}: no price for {}; add a [[report.price]]", models.join(", ")),
        });
        if !usage.unknown.is_empty() {
            document.paragraph(format!("{UNKNOWN} for {} (no transcript)", usage.unknown.join(", ")));
        }
        document
    }
}

/// The color of an outcome.
fn outcome_style(outcome: RunOutcome) -> Style {
    match outcome {
        RunOutcome::Completed => GREEN,
        RunOutcome::OpenWork => YELLOW,
        RunOutcome::Crashed => RED,
        RunOutcome::Running => Style::new(),
    }
}

/// The run, its verdict, and its numbers.
pub(super) fn overview(report: &Report) -> Document {
    let overview = &report.overview;
    let started = time::moment(overview.started_at);
    let ended = match (&overview.ended_by, &overview.ended_reason) {
        (Some(by), Some(reason)) => format!("ended by {by} ({reason})"),
        (Some(by), None) => format!("ended by {by}"),
        (None, _) => "no end recorded".to_owned(),
    };
    let version = match overview.client_versions.as_slice() {
        [] => "Claude Code version unknown".to_owned(),
        versions => format!("Claude Code {}", versions.join(", ")),
    };
    let topology = match overview.topology {
        Topology::InProcess => "teammates in the lead's process",
        Topology::Panes => "teammates in separate panes",
        Topology::Mixed => "teammates in the lead's process and in separate panes",
        Topology::LeadAlone => "a lead without teammates",
        Topology::NoTeam => "a session without a team",
    };
    let counts = &overview.count;
    let mut document = Document::default();
    let outcome = match report.verdict.kind {
        RunOutcome::Completed => "Completed",
        RunOutcome::OpenWork => "Ended with open work",
        RunOutcome::Crashed => "Crashed",
        RunOutcome::Running => "Running",
    };
    document.heading(format!("{} {}", overview.team.as_deref().unwrap_or("(no team)"), overview.run));
    let outcome = styled(outcome_style(report.verdict.kind), format!("{outcome}:"));
    document.line(Line::from([outcome, plain(&report.verdict.sentence)]).hanging(0));
    let known = duration(overview.duration_ms);
    document.paragraph(match report.verdict.kind {
        RunOutcome::Running => format!("{started}, running for {known}"),
        _ => format!("{started}, lasted {known}, {ended}"),
    });
    document.paragraph(format!("{version}, {topology}"));
    document.paragraph(format!(
        "{}, {}, {} ({} completed), {}",
        count(counts.members, "member"),
        messages_sent(report),
        count(counts.tasks, "task"),
        thousands(counts.completed),
        count(counts.turns, "turn"),
    ));
    let (events, snapshots) = (count(counts.events, "event"), count(counts.snapshots, "snapshot"));
    document.paragraph(format!("recorded: {events}, {snapshots}"));
    if !overview.worktrees.is_empty() {
        let names = overview.worktrees.join(", ");
        let command = format!("teamkeep restore {} --worktrees", overview.run);
        document.paragraph(format!("work in git worktrees: {names}; to get it as branches: {command}"));
    }
    if let Some(counts) = &report.redacted {
        document.paragraph(redaction_summary(counts));
    }
    document
}

/// The number of messages that were sent, and of all others: `13 messages (+12 automatic, 3 blocked)`.
fn messages_sent(report: &Report) -> String {
    let counts = &report.overview.count;
    let blocked = report.mail.messages.iter().filter(|message| message.blocked).count();
    let rejected = counts.refused.saturating_sub(blocked);
    let others = [(counts.automatic, "automatic"), (blocked, "blocked"), (rejected, "rejected")];
    let others = others.iter().filter(|(number, _)| *number > 0);
    let others: Vec<String> = others.map(|(number, kind)| format!("{} {kind}", thousands(*number))).collect();
    let plus = if counts.automatic > 0 { "+" } else { "" };
    let sent = count(counts.messages, "message");
    if others.is_empty() { sent } else { format!("{sent} ({plus}{})", others.join(", ")) }
}

/// A cost, or its tokens if a model has no price.
fn shown_cost(cost: Option<f64>, tokens: Tokens) -> String {
    cost.map_or_else(|| format!("{} tokens", thousands(tokens.new_tokens())), dollars)
}

pub(super) fn duration(millis: Option<i64>) -> String {
    millis.map_or_else(|| UNKNOWN.to_owned(), time::duration)
}

fn number(number: Option<usize>) -> String {
    number.map_or_else(|| UNKNOWN.to_owned(), thousands)
}

fn recipient(to: &str) -> String {
    if to == "*" { "everyone".to_owned() } else { to.to_owned() }
}

fn message_text(message: &MessageRow) -> String {
    let text = first_line(message.summary.as_deref().unwrap_or(&message.text));
    match (&message.refused, message.delivered) {
        // The policy's reason is listed among the observations.
        (Some(_), _) if message.blocked => format!("{text} (blocked)"),
        (Some(why), _) => format!("{text} (rejected: {})", first_line(strip_tags(why))),
        (None, Some(false)) => format!("{text} (never read)"),
        _ => text,
    }
}

fn subject(task: &TaskHistory) -> String {
    first_line(task.subject.as_deref().unwrap_or_default())
}

/// The dependencies of tasks. An unknown task has only its id.
fn dependencies(tasks: &[TaskHistory]) -> Graph {
    let mut nodes: Vec<_> = tasks.iter().map(|task| (task.id.clone(), subject(task))).collect();
    let mut edges = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        for id in &task.blocked_by {
            let known = nodes.iter().position(|(known, _)| known == id);
            edges.push((known.unwrap_or(nodes.len()), place));
            nodes.extend(known.is_none().then(|| (id.clone(), String::new())));
        }
    }
    Graph { nodes, edges }
}

fn result(change: &TaskUpdate) -> String {
    let from = change.from.as_ref().map_or("(none)", TaskStatus::as_str);
    let to = match change.kind {
        Kind::TaskDeleted => "(deleted)",
        _ => change.to.as_ref().map_or("(erased)", TaskStatus::as_str),
    };
    let status = if from == to { from.to_owned() } else { format!("{from} → {to}") };
    match (&change.owner_from, &change.owner) {
        (Some(from), None) => format!("{status}, unassigned (was {from})"),
        (None, Some(to)) => format!("{status}, assigned to {to}"),
        (Some(from), Some(to)) if from != to => format!("{status}, owner {from} → {to}"),
        _ => status,
    }
}

/// Number of steps shown at the start and at the end of an incident's chain.
const SHOWN_STEPS: usize = 4;

/// Each incident with its evidence, its cost and its remedy below it.
fn incidents(incidents: &[Incident], started_at: Timestamp) -> Document {
    let mut document = Document::default();
    if incidents.is_empty() {
        document.paragraph("none found");
    }
    let row = |when: String, what: String| [String::new(), String::new(), when, what];
    let rows = incidents.iter().flat_map(|incident| {
        let when = since(started_at, incident.from);
        let first = [rank(incident), incident.kind.name(), when, incident.summary.clone()];
        let hidden = incident.chain.len().saturating_sub(2 * SHOWN_STEPS);
        let mut rows = vec![first];
        for (place, step) in incident.chain.iter().enumerate() {
            match place {
                SHOWN_STEPS if hidden > 0 => rows.push(row(String::new(), format!("- … {hidden} more"))),
                _ if (SHOWN_STEPS..SHOWN_STEPS + hidden).contains(&place) => {}
                _ => rows.push(row(since(started_at, step.at), format!("- {}", step.what))),
            }
        }
        rows.extend(incident_cost(incident).map(|cost| row(String::new(), format!("cost: {cost}"))));
        let remedy = incident.remedy.as_ref().map(|remedy| format!("remedy: {remedy}"));
        rows.extend(remedy.map(|remedy| row(String::new(), remedy)));
        rows
    });
    document.table(Table::of(&["severity", "kind", "when#", "incident"], rows));
    document
}

/// Its severity, or that the work was completed later.
pub(super) fn rank(incident: &Incident) -> String {
    if incident.resolved { "resolved".to_owned() } else { incident.severity.name() }
}

/// The cost of an incident: `1 task lost, 480 tokens, $0.02`.
pub fn incident_cost(incident: &Incident) -> Option<String> {
    let cost = &incident.cost;
    let parts = [
        (cost.tasks_lost > 0).then(|| format!("{} lost", count(cost.tasks_lost, "task"))),
        cost.tokens.filter(|tokens| *tokens > 0).map(|tokens| format!("{} tokens", thousands(tokens))),
        cost.usd.filter(|usd| *usd > 0.0).map(dollars),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
