//! A big recorded run: a lead and twelve teammates, 150 tasks and 3,091 messages in 4 h 54 min. One teammate goes silent
//! for 3 h 18 min with a task in progress. Everything else goes well.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use teamkeep_model::time::Timestamp;
use teamkeep_model::time::{self};
use teamkeep_store::archive::ContentWriter;

pub const TEAMMATES: [&str; 12] =
    ["mobile", "web", "api", "infra", "data", "auth", "docs", "search", "billing", "mail", "qa", "ops"];
pub const MESSAGES: usize = 3_091;
pub const TASKS: usize = 150;
/// The messages to the silent teammate.
pub const UNREAD: usize = 81;
/// The silent teammate's last task.
pub const LOST: usize = 149;
/// Seconds from the start.
pub const SILENT_FROM: i64 = 4_920;
pub const SILENT_TO: i64 = SILENT_FROM + 3 * 3_600 + 18 * 60;
pub const END: i64 = 4 * 3_600 + 54 * 60;
const START: &str = "2026-02-03T04:05:06.000Z";
const SESSION: &str = "b1660000-15db-4165-b1fb-ed39ac7e091c";
const TEAM: &str = "session-b1660000";
const RUN: &str = "b166000000000001";
const MODEL: &str = "claude-opus-4-5-20251101";

/// Whether the first teammate goes silent, or finishes its last task like all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    Stall,
    Good,
}

/// What happens at a second.
enum Step {
    Claim(usize, &'static str),
    Complete(usize, &'static str),
    Send {
        number: usize,
        from: &'static str,
        to: &'static str,
    },
    LastSign,
    /// A refused attempt to stop the silent teammate.
    Refused(usize),
    Stop,
}

pub struct BigRun {
    store: PathBuf,
    client: PathBuf,
    contents: ContentWriter,
    /// Where the last content of each file is.
    places: HashMap<String, u64>,
    log: String,
    journal: String,
    transcripts: BTreeMap<&'static str, String>,
    events: usize,
    now: Timestamp,
    start: Timestamp,
    /// The tokens of the silent teammate's messages since it began its last task, without cache reads.
    pub lost_tokens: u64,
}

impl BigRun {
    /// Writes the run into this store, and its transcripts below this directory of Claude Code's.
    pub fn write(store: &Path, client: &Path, course: Course) -> BigRun {
        BigRun::with_messages(store, client, course, MESSAGES)
    }

    /// The same with this number of messages in the same time.
    pub fn with_messages(store: &Path, client: &Path, course: Course, messages: usize) -> BigRun {
        let start = time::parse(START).unwrap();
        let mut run = BigRun {
            store: store.to_owned(),
            client: client.to_owned(),
            contents: ContentWriter::new(&store.join("runs").join(RUN), "event", true),
            places: HashMap::new(),
            log: String::new(),
            journal: String::new(),
            transcripts: BTreeMap::new(),
            events: 0,
            now: start,
            start,
            lost_tokens: 0,
        };
        run.begin();
        for (second, step) in steps(course, messages) {
            run.now = start + chrono::TimeDelta::seconds(second);
            run.step(step, course);
        }
        run.end();
        run
    }

    fn begin(&mut self) {
        self.event("SessionStart", "team-lead", json!({"source": "startup"}));
        self.event(
            "UserPromptSubmit",
            "team-lead",
            json!({"prompt": "Build the platform for all twelve areas"}),
        );
        self.roster(&TEAMMATES);
        for number in 1..=TASKS {
            self.task(number, "pending", None);
        }
        for name in TEAMMATES {
            self.event("SubagentStart", name, json!({}));
        }
    }

    fn step(&mut self, step: Step, course: Course) {
        match step {
            Step::Claim(task, name) => {
                self.update(task, "in_progress", name);
                self.spend(name, &json!([{"type": "text", "text": format!("Now task {task}")}]));
            }
            Step::Complete(task, name) => self.update(task, "completed", name),
            Step::Send { number, from, to } => self.message(number, (from, to), course),
            Step::LastSign => {
                let input = json!({"command": "./gradlew connectedCheck"});
                self.event(
                    "PreToolUse",
                    TEAMMATES[0],
                    json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": "toolu_last"}),
                );
            }
            Step::Refused(time) => {
                let of = self.stop_call("PreToolUse", time);
                self.verdict(&of, time);
            }
            Step::Stop => {
                let of = self.stop_call("PreToolUse", 4);
                self.verdict(&of, 4);
                self.stop_call("PostToolUse", 4);
                self.roster(&TEAMMATES[1..]);
                self.task(LOST, "pending", None);
            }
        }
    }

    fn end(&mut self) {
        self.now = self.start + chrono::TimeDelta::seconds(END);
        self.event("SessionEnd", "team-lead", json!({"reason": "prompt_input_exit"}));
        self.look(&[], Some(false));
        let (start, end) = (self.start.to_string(), self.now.to_string());
        let transcript = self.transcript("team-lead");
        let run = json!({"v": 1, "run": RUN, "team": TEAM, "lead_session": SESSION, "started_at": start,
            "created_at": start, "ended_at": end, "ended_by": "session-end", "finished": true,
            "ended_reason": "prompt_input_exit",
            "sessions": [{"id": SESSION, "role": "lead", "transcript": transcript}]});
        let dir = self.store.join("runs").join(RUN);
        self.contents.flush().unwrap();
        write(&dir.join("run.json"), &run.to_string());
        write(&dir.join("snapshots.jsonl"), &self.journal);
        write(&self.store.join(format!("runs/{RUN}/events.jsonl")), &self.log);
        for (name, text) in std::mem::take(&mut self.transcripts) {
            let path = self.transcript(name);
            write(&path, &text);
            let meta = json!({"name": name, "agentType": name, "taskKind": "in_process_teammate"});
            if name != "team-lead" {
                write(&path.with_extension("meta.json"), &meta.to_string());
            }
        }
    }

    fn transcript(&self, name: &str) -> PathBuf {
        let dir = self.client.join("projects/-home-dev-parser");
        match name {
            "team-lead" => dir.join(format!("{SESSION}.jsonl")),
            _ => dir.join(SESSION).join("subagents").join(format!("agent-{}.jsonl", agent(name))),
        }
    }

    fn message(&mut self, number: usize, (from, to): (&'static str, &'static str), course: Course) {
        let text = format!("Part {number} of the work is done; the notes are in docs/part-{number}.md.");
        let input = json!({"to": to, "summary": format!("part {number}"), "message": text});
        let id = format!("toolu_{number}");
        let call = json!({"tool_name": "SendMessage", "tool_input": input, "tool_use_id": id});
        self.event("PreToolUse", from, call.clone());
        let mut done = call;
        done["tool_response"] =
            json!({"success": true, "routing": {"sender": from, "target": format!("@{to}")}});
        self.event("PostToolUse", from, done);
        self.spend(from, &json!([{"type": "tool_use", "id": id, "name": "SendMessage", "input": input}]));
        let second = (self.now - self.start).num_seconds();
        if course == Course::Stall && to == TEAMMATES[0] && second >= SILENT_FROM {
            return;
        }
        let read = self.now + chrono::TimeDelta::seconds(20);
        let content = format!(
            "<teammate-message teammate_id=\"{from}\" summary=\"part {number}\">\n{text}\n</teammate-message>"
        );
        let record = json!({"type": "user", "uuid": format!("read-{number}"), "timestamp": read.to_string(),
            "message": {"role": "user", "content": content}});
        let _ = writeln!(self.transcripts.entry(to).or_default(), "{record}");
    }

    /// A message of the model, with its tokens.
    fn spend(&mut self, name: &'static str, content: &Value) {
        let id = format!("msg_{}", self.events);
        let usage = json!({"input_tokens": 2_000, "output_tokens": 400, "cache_creation_input_tokens": 1_000,
            "cache_read_input_tokens": 50_000});
        let record = json!({"type": "assistant", "uuid": id, "timestamp": self.now.to_string(), "version": "2.1.330",
            "message": {"id": id, "role": "assistant", "model": MODEL, "content": content, "usage": usage}});
        let _ = writeln!(self.transcripts.entry(name).or_default(), "{record}");
        let second = (self.now - self.start).num_seconds();
        if name == TEAMMATES[0] && (LAST_CLAIM..SILENT_TO).contains(&second) {
            self.lost_tokens += 3_400;
        }
    }

    fn update(&mut self, task: usize, status: &str, name: &'static str) {
        let call = json!({"tool_name": "TaskUpdate", "tool_use_id": format!("toolu_{task}_{status}"),
            "tool_input": {"taskId": task.to_string(), "status": status, "owner": name}});
        self.event("PreToolUse", name, call.clone());
        self.task(task, status, Some(name));
        let mut done = call;
        done["tool_response"] = json!({"success": true, "taskId": task.to_string()});
        self.event("PostToolUse", name, done);
    }

    fn task(&mut self, number: usize, status: &str, owner: Option<&str>) {
        // Each task of an area depends on the one before it.
        let before = number.checked_sub(TEAMMATES.len()).filter(|before| *before > 0 && number != LOST);
        let blocked_by: Vec<String> = before.iter().map(usize::to_string).collect();
        let task = json!({"id": number.to_string(), "subject": format!("Part {number} of the platform"),
            "description": "With tests and documentation", "status": status, "owner": owner, "blocks": [],
            "blockedBy": blocked_by});
        self.look(&[(format!("tasks/{TEAM}/{number}.json"), &task)], None);
    }

    fn roster(&mut self, names: &[&str]) {
        let created = self.start.millis();
        let member = |name: &str| {
            json!({"name": name, "agentId": format!("{name}@{TEAM}"), "joinedAt": created,
            "prompt": format!("You are {name}. Do the tasks of your area.")})
        };
        let members: Vec<Value> = ["team-lead"].iter().chain(names).map(|name| member(name)).collect();
        let config =
            json!({"name": TEAM, "createdAt": created, "leadSessionId": SESSION, "members": members});
        self.look(&[(format!("teams/{TEAM}/config.json"), &config)], Some(true));
    }

    fn stop_call(&mut self, event: &str, time: usize) -> String {
        let call = json!({"tool_name": "TaskStop", "tool_use_id": format!("toolu_stop_{time}"),
            "tool_input": {"task_id": TEAMMATES[0]}, "tool_response": {"success": true}});
        self.event(event, "team-lead", call)
    }

    /// The default policy's answer to an attempt to stop the silent teammate.
    fn verdict(&mut self, of: &str, time: usize) {
        let escalated = time > 3;
        let verdict = json!({"of": of, "decision": if escalated { "warn" } else { "block" },
            "gate": "premature-shutdown", "code": "unfinished-work", "reason": format!("stopping mobile, which still owns task {LOST}"),
            "escalated": escalated, "blocks": if escalated { json!(3) } else { json!(null) }});
        self.line("Verdict", "team-lead", json!({"hook_event_name": "Verdict"}), Some(verdict));
    }

    fn event(&mut self, event: &str, name: &str, mut fields: Value) -> String {
        fields["session_id"] = json!(SESSION);
        fields["hook_event_name"] = json!(event);
        fields["transcript_path"] = json!(self.transcript("team-lead"));
        if name != "team-lead" {
            (fields["agent_id"], fields["agent_type"]) = (json!(agent(name)), json!(name));
        }
        self.line(event, name, fields, None)
    }

    fn line(&mut self, event: &str, name: &str, payload: Value, verdict: Option<Value>) -> String {
        self.events += 1;
        let id = format!("00000000{:018}", self.events);
        let actor = match name {
            "team-lead" => json!({"name": name, "id": null, "kind": "lead"}),
            _ => json!({"name": name, "id": agent(name), "kind": "teammate"}),
        };
        let mut line = json!({"v": 1, "at": self.now.to_string(), "id": id, "event": event, "session": SESSION,
            "team": TEAM, "actor": actor, "run": RUN, "payload": payload});
        if let Some(verdict) = verdict {
            line["verdict"] = verdict;
        }
        let _ = writeln!(self.log, "{line}");
        id
    }

    fn look(&mut self, files: &[(String, &Value)], team_dir: Option<bool>) {
        let changed: Vec<Value> = files
            .iter()
            .map(|(path, content)| {
                let text = content.to_string();
                let former = self.places.get(path).copied();
                let (object, place) = self.contents.put(text.as_bytes(), former).unwrap();
                self.places.extend(place.map(|place| (path.clone(), place)));
                json!({"path": path, "object": object, "size": text.len()})
            })
            .collect();
        let event = format!("00000000{:018}", self.events);
        let mut line = json!({"v": 1, "at": self.now.to_string(), "event": event, "changed": changed});
        if let Some(there) = team_dir {
            line["team_dir"] = json!(there);
        }
        let _ = writeln!(self.journal, "{line}");
    }
}

/// When the silent teammate takes its last task.
const LAST_CLAIM: i64 = 4_500;

fn steps(course: Course, many: usize) -> Vec<(i64, Step)> {
    let mut steps = Vec::new();
    // The first teammate does the first tasks of its area, then the last one.
    let first: Vec<usize> = (1..LOST).step_by(TEAMMATES.len()).take(4).collect();
    for (place, task) in first.iter().enumerate() {
        let from = 60 + place as i64 * 1_000;
        steps.push((from, Step::Claim(*task, TEAMMATES[0])));
        steps.push((from + 900, Step::Complete(*task, TEAMMATES[0])));
    }
    steps.push((LAST_CLAIM, Step::Claim(LOST, TEAMMATES[0])));
    // The others share the rest in the order of their numbers, and so of their dependencies.
    let others: Vec<usize> = (1..=TASKS).filter(|task| *task != LOST && !first.contains(task)).collect();
    let each = others.len().div_ceil(TEAMMATES.len() - 1) as i64;
    let length = (END - 600) / each;
    for (place, task) in others.iter().enumerate() {
        let name = TEAMMATES[1 + place % (TEAMMATES.len() - 1)];
        let from = 60 + (place / (TEAMMATES.len() - 1)) as i64 * length + place as i64 % 11;
        steps.push((from, Step::Claim(*task, name)));
        steps.push((from + length - 60, Step::Complete(*task, name)));
    }
    match course {
        Course::Good => steps.push((LAST_CLAIM + 900, Step::Complete(LOST, TEAMMATES[0]))),
        Course::Stall => {
            steps.push((SILENT_FROM, Step::LastSign));
            steps.extend((1..=3).map(|time| (SILENT_TO - 200 + time as i64 * 40, Step::Refused(time))));
            steps.push((SILENT_TO, Step::Stop));
        }
    }
    steps.extend(messages(course, many));
    steps.sort_by_key(|(second, _)| *second);
    steps
}

fn messages(course: Course, many: usize) -> Vec<(i64, Step)> {
    let all = TEAMMATES.len();
    let mut unread = 0;
    let message = |number: usize| {
        let second = 90 + number as i64 * (END - 300) / many as i64;
        let is_silent = course == Course::Stall && second >= SILENT_FROM;
        let is_there = !is_silent || second < SILENT_TO;
        let from = if number.is_multiple_of(29) { "team-lead" } else { TEAMMATES[number % all] };
        let from = if is_silent && from == TEAMMATES[0] { TEAMMATES[1] } else { from };
        let mut to = TEAMMATES[(number * 7 + 3) % all];
        if to == from || number.is_multiple_of(17) && from != "team-lead" {
            to = if from == "team-lead" { TEAMMATES[2] } else { "team-lead" };
        }
        if is_silent && to == TEAMMATES[0] {
            let wanted = is_there && unread < UNREAD;
            unread += usize::from(wanted);
            to = if wanted { to } else { "team-lead" };
        }
        (second, Step::Send { number, from, to })
    };
    (0..many).map(message).collect()
}

fn agent(name: &str) -> String {
    format!("a{name}-7dfceaaaef47c69e")
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
