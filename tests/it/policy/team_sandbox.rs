//! A small team whose hooks are called one by one, for tests of what the policy says over several calls.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::sandbox::{CommandResult, Sandbox, lines};

pub const SESSION: &str = "11111111-2222-3333-4444-555555555555";
pub const TEAM: &str = "session-11111111";

pub struct Team {
    pub sandbox: Sandbox,
    calls: AtomicUsize,
}

impl Team {
    /// A session that has begun, and no team yet.
    pub fn new(config: &str) -> Team {
        let team = Team { sandbox: Sandbox::judging(), calls: AtomicUsize::new(0) };
        team.sandbox.write_config(config);
        let transcript = json!({"type": "user", "version": "2.1.328", "sessionId": SESSION});
        team.sandbox.write(&format!("projects/p/{SESSION}.jsonl"), format!("{transcript}\n"));
        team.event("SessionStart", None, json!({"source": "startup"}));
        team
    }

    /// Puts the roster on disk.
    pub fn roster(&self, names: &[&str]) {
        let member = |name: &str| json!({"agentId": format!("{name}@{TEAM}"), "name": name, "joinedAt": 1, "tmuxPaneId": "in-process", "cwd": "/"});
        let members: Vec<Value> = ["team-lead"].iter().chain(names).map(|name| member(name)).collect();
        let config = json!({"name": TEAM, "createdAt": 1_795_149_516_289_u64, "leadAgentId": format!("team-lead@{TEAM}"),
            "leadSessionId": SESSION, "members": members});
        self.sandbox.write(&format!("teams/{TEAM}/config.json"), config);
    }

    /// Spawns a teammate, which reports at once.
    pub fn spawn(&self, name: &str) {
        let input = json!({"name": name, "description": format!("work of {name}"), "prompt": "do it"});
        let spawned = json!({"status": "teammate_spawned", "name": name, "agent_id": agent(name),
            "teammate_id": format!("{name}@{TEAM}"), "team_name": TEAM});
        self.tool("Agent", None, input, spawned);
        let report = json!({"to": "team-lead", "summary": "s", "message": "done"});
        let routed = json!({"success": true, "routing": {"sender": name, "target": "@team-lead"}});
        self.tool("SendMessage", Some(name), report, routed);
    }

    pub fn task(&self, id: usize, status: &str, owner: &str, blocked_by: &[&str]) {
        let task = json!({"id": id.to_string(), "subject": format!("Subject {id}"), "status": status, "owner": owner,
            "blocks": [], "blockedBy": blocked_by});
        self.sandbox.write(&format!("tasks/{TEAM}/{id}.json"), task);
    }

    pub fn event(&self, event: &str, agent_of: Option<&str>, fields: Value) -> CommandResult {
        let payload = self.payload(event, agent_of, fields);
        let project = self.sandbox.home().join("parser");
        let env = [("CLAUDE_PROJECT_DIR", project.to_str().unwrap())];
        self.sandbox.feed(&crate::support::sandbox::kebab(event), payload.to_string().as_bytes(), &env)
    }

    pub fn payload(&self, event: &str, agent_of: Option<&str>, fields: Value) -> Value {
        let transcript = self.sandbox.client(&format!("projects/p/{SESSION}.jsonl"));
        let mut payload = json!({"session_id": SESSION, "transcript_path": transcript, "cwd": self.sandbox.home().join("parser"),
            "hook_event_name": event});
        let all = payload.as_object_mut().unwrap();
        match (event, agent_of) {
            ("TeammateIdle" | "TaskCompleted", Some(name)) => {
                all.insert("teammate_name".to_owned(), json!(name));
                all.insert("team_name".to_owned(), json!(TEAM));
            }
            (_, Some(name)) => {
                all.insert("agent_id".to_owned(), json!(agent(name)));
                all.insert("agent_type".to_owned(), json!(name));
            }
            _ => {}
        }
        all.extend(fields.as_object().unwrap().clone());
        payload
    }

    /// A tool that is about to run: the hook's exit code.
    pub fn pre(&self, tool: &str, by: Option<&str>, input: Value) -> i32 {
        self.begin(tool, by, input).0.code.unwrap()
    }

    /// Each call is in a message of its own, for which a model needs its time.
    fn begin(&self, tool: &str, by: Option<&str>, input: Value) -> (CommandResult, Value) {
        self.sandbox.think();
        let id = format!("toolu_{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let fields = json!({"tool_name": tool, "tool_input": input, "tool_use_id": id});
        (self.event("PreToolUse", by, fields.clone()), fields)
    }

    /// A tool that runs, unless it is refused.
    pub fn tool(&self, tool: &str, by: Option<&str>, input: Value, response: Value) -> i32 {
        let (result, mut fields) = self.begin(tool, by, input);
        if result.code != Some(2) {
            fields["tool_response"] = response;
            self.event("PostToolUse", by, fields);
        }
        result.code.unwrap()
    }

    /// The lead asks somebody to stop.
    pub fn ask(&self, to: &str) -> i32 {
        let request = json!({"to": to, "message": {"type": "shutdown_request", "reason": "done"}});
        self.tool(
            "SendMessage",
            None,
            request,
            json!({"success": true, "request_id": format!("shutdown-1@{to}"), "target": to}),
        )
    }

    /// A teammate is about to approve its shutdown.
    pub fn approve(&self, name: &str) -> i32 {
        let answer =
            json!({"type": "shutdown_response", "request_id": format!("shutdown-1@{name}"), "approve": true});
        self.pre("SendMessage", Some(name), json!({"to": "team-lead", "message": answer}))
    }

    /// A completion of a task: the hook's answer to it.
    pub fn complete(&self, name: &str, task: &str) -> CommandResult {
        let input = json!({"taskId": task, "status": "completed"});
        let (_, mut fields) = self.begin("TaskUpdate", Some(name), input);
        let result =
            self.event("TaskCompleted", Some(name), json!({"task_id": task, "task_subject": "Subject"}));
        fields["tool_response"] = json!({"success": result.code != Some(2)});
        self.event("PostToolUse", Some(name), fields);
        result
    }

    /// What the hook decided, and what a test of the last run says: `block premature-shutdown`, by event.
    pub fn both(&self) -> (BTreeMap<String, Vec<String>>, BTreeMap<String, Vec<String>>) {
        let word = |verdict: &Value| {
            let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} {}", text("decision"), text("gate"), text("rule"), verdict["escalated"])
        };
        let (mut live, mut tested): (BTreeMap<_, Vec<String>>, BTreeMap<_, Vec<String>>) = Default::default();
        for event in self.sandbox.log().iter().filter(|event| event["event"] == "Verdict") {
            let of = event["verdict"]["of"].as_str().unwrap().to_owned();
            live.entry(of).or_default().push(word(&event["verdict"]));
        }
        for line in lines(&self.sandbox.printed(&["policy", "test", "latest", "--json"])) {
            if !line["verdict"].is_null() {
                tested
                    .entry(line["of"].as_str().unwrap().to_owned())
                    .or_default()
                    .push(word(&line["verdict"]));
            }
        }
        (live, tested)
    }
}

fn agent(name: &str) -> String {
    format!("a{name}-7dfceaaaef47c69e")
}
