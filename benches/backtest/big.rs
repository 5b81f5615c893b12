//! A large run: eight teammates that take tasks, use tools, send messages and go idle.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use teamkeep_model::time::Timestamp;
use teamkeep_model::time::{self};
use teamkeep_store::archive::ContentWriter;

const RUN: &str = "00112233aabbccdd";
const TEAM: &str = "session-1353b3db";
const SESSION: &str = "1353b3db-15db-4165-b1fb-ed39ac7e091c";
const MEMBERS: usize = 8;

/// The number of events, snapshots and contents written.
pub struct Big {
    pub events: usize,
    pub looks: usize,
    pub written: usize,
    pub bytes: usize,
    contents: ContentWriter,
    /// Where the last content of each file is.
    places: HashMap<String, u64>,
    log: String,
    journal: String,
    now: Timestamp,
}

impl Big {
    /// Writes a run of about this many events into a store.
    pub fn write(store: &Path, events: usize) -> Big {
        let start = time::parse("2026-02-03T00:00:01Z").unwrap();
        let mut big = Big {
            events: 0,
            looks: 0,
            written: 0,
            bytes: 0,
            contents: ContentWriter::new(&store.join("runs").join(RUN), "event", true),
            places: HashMap::new(),
            log: String::new(),
            journal: String::new(),
            now: start,
        };
        big.begin();
        for round in 0.. {
            if big.events >= events {
                break;
            }
            big.turn(round);
        }
        let run = json!({"v": 1, "run": RUN, "team": TEAM, "lead_session": SESSION, "started_at": start.to_string(),
            "created_at": start.to_string(), "sessions": [{"id": SESSION, "role": "lead"}], "finished": true});
        let dir = store.join("runs").join(RUN);
        std::fs::create_dir_all(&dir).unwrap();
        big.contents.flush().unwrap();
        std::fs::write(dir.join("run.json"), run.to_string()).unwrap();
        std::fs::write(dir.join("snapshots.jsonl"), &big.journal).unwrap();
        std::fs::write(dir.join("events.jsonl"), &big.log).unwrap();
        big.bytes = big.log.len();
        big
    }

    fn begin(&mut self) {
        let names = ["team-lead".to_owned()].into_iter().chain((0..MEMBERS).map(name));
        let members: Vec<Value> = names
            .map(|name| json!({"name": name, "agentId": format!("{name}@{TEAM}"), "prompt": "p".repeat(600)}))
            .collect();
        let config = json!({"name": TEAM, "createdAt": 1_795_149_641_059u64, "leadSessionId": SESSION, "members": members});
        let id = self.event("SessionStart", None, json!({"source": "startup"}));
        self.look(&id, &[(format!("teams/{TEAM}/config.json"), config)]);
    }

    /// One turn of a teammate: it takes a task, works on it, completes it, sends a message to the next teammate, and
    /// goes idle.
    fn turn(&mut self, round: usize) {
        let (me, next) = (name(round % MEMBERS), name((round + 1) % MEMBERS));
        let who = Some(me.as_str());
        let (task, tool) = (format!("{}", round % 40 + 1), |step: usize| format!("toolu_{round}_{step}"));
        let file = format!("tasks/{TEAM}/{task}.json");
        let as_is = |status: &str| {
            json!({"id": task, "subject": format!("Part {round}"), "description": "d".repeat(300), "owner": me,
                "status": status, "blocks": [], "blockedBy": if !round.is_multiple_of(40) { json!([format!("{}", round % 40)]) } else { json!([]) }})
        };
        self.event("SubagentStart", who, json!({}));
        self.update(who, &tool(0), &task, "in_progress");
        let id = self.last_id();
        self.look(&id, &[(file.clone(), as_is("in_progress"))]);
        for step in 1..=4 {
            let input = json!({"command": format!("cargo test part_{round}_{step} {}", "x".repeat(250)), "description": "test"});
            let call = json!({"tool_name": "Bash", "tool_use_id": tool(step), "tool_input": input});
            self.event("PreToolUse", who, call.clone());
            let mut done = call;
            done["tool_response"] = json!({"stdout": "o".repeat(700), "stderr": ""});
            self.event("PostToolUse", who, done);
        }
        // Some stop before completing the task, so that gates have something to block.
        if round % 7 != 3 {
            self.update(who, &tool(5), &task, "completed");
            let id = self.last_id();
            self.look(&id, &[(file, as_is("completed"))]);
        }
        let input = json!({"to": next, "summary": "done", "message": format!("part {round} is done {}", "m".repeat(300))});
        let call = json!({"tool_name": "SendMessage", "tool_use_id": tool(6), "tool_input": input});
        self.event("PreToolUse", who, call.clone());
        let mut done = call;
        done["tool_response"] =
            json!({"success": true, "routing": {"sender": me, "target": format!("@{next}")}});
        let id = self.event("PostToolUse", who, done);
        let mail = json!([{"from": me, "text": format!("part {round} is done"), "timestamp": self.now.to_string(), "read": false}]);
        self.look(&id, &[(format!("teams/{TEAM}/inboxes/{next}.json"), mail)]);
        if round.is_multiple_of(50) {
            let input = json!({"to": next, "message": {"type": "shutdown_request", "reason": "enough"}});
            self.event(
                "PreToolUse",
                None,
                json!({"tool_name": "SendMessage", "tool_use_id": tool(7), "tool_input": input}),
            );
        }
        self.event("SubagentStop", who, json!({"last_assistant_message": "l".repeat(300)}));
        let id = self.event("TeammateIdle", who, json!({"teammate_name": me}));
        self.look(&id, &[(format!("teams/{TEAM}/inboxes/{me}.json"), json!([]))]);
    }

    fn update(&mut self, who: Option<&str>, tool: &str, task: &str, status: &str) {
        let call = json!({"tool_name": "TaskUpdate", "tool_use_id": tool, "tool_input": {"taskId": task, "status": status, "owner": who}});
        self.event("PreToolUse", who, call.clone());
        if status == "completed" {
            let subject = json!({"task_id": task, "task_subject": "Part", "teammate_name": who});
            self.event("TaskCompleted", who, subject);
        }
        let mut done = call;
        done["tool_response"] = json!({"success": true, "taskId": task});
        self.event("PostToolUse", who, done);
    }

    fn event(&mut self, event: &str, who: Option<&str>, fields: Value) -> String {
        self.events += 1;
        self.now = self.now + chrono::TimeDelta::milliseconds(150);
        let id = self.last_id();
        let agent = who.map(|who| format!("a{who}-7dfceaaaef47c69e"));
        let mut payload = json!({"session_id": SESSION, "hook_event_name": event, "cwd": "/home/dev/parser",
            "transcript_path": format!("/home/dev/.claude/projects/-home-dev-parser/{SESSION}.jsonl"),
            "prompt_id": "9e5494e8-6871-4629-88da-dcb0e7338bb4", "permission_mode": "default"});
        if let Some(agent) = &agent {
            payload["agent_id"] = json!(agent);
            payload["agent_type"] = json!(who);
        }
        for (key, value) in fields.as_object().unwrap() {
            payload[key] = value.clone();
        }
        let actor = match who {
            Some(who) => json!({"name": who, "id": agent, "kind": "teammate"}),
            None => json!({"name": "team-lead", "id": null, "kind": "lead"}),
        };
        let line = json!({"v": 1, "at": self.now.to_string(), "id": id, "event": event, "session": SESSION,
            "team": TEAM, "actor": actor, "run": RUN, "payload": payload});
        writeln!(self.log, "{line}").unwrap();
        id
    }

    fn last_id(&self) -> String {
        format!("{:026}", self.events)
    }

    fn look(&mut self, event: &str, files: &[(String, Value)]) {
        self.looks += 1;
        let mut changed = Vec::new();
        for (path, text) in files {
            let text = serde_json::to_string_pretty(text).unwrap();
            let former = self.places.get(path).copied();
            let (object, place) = self.contents.put(text.as_bytes(), former).unwrap();
            self.places.extend(place.map(|place| (path.clone(), place)));
            self.written += 1;
            changed.push(json!({"path": path, "object": object, "size": text.len()}));
        }
        let line = json!({"v": 1, "at": self.now.to_string(), "event": event, "changed": changed});
        writeln!(self.journal, "{line}").unwrap();
    }
}

fn name(number: usize) -> String {
    format!("member{number}")
}
