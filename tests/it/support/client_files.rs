//! The client's payloads and files, for scenes that no recorded run has.

use serde_json::{Value, json};

use super::sandbox::Sandbox;

/// A session of the client and the team that it leads.
pub struct Lead<'a> {
    pub sandbox: &'a Sandbox,
    pub session: String,
    pub team: String,
    /// The client's process, where the hooks are told.
    pub pid: Option<u32>,
}

impl<'a> Lead<'a> {
    /// Of 2.1.178 and later: the team is named by the session.
    pub fn of(sandbox: &'a Sandbox, session: &str) -> Lead<'a> {
        let head: String = session.chars().take(8).collect();
        Lead { sandbox, session: session.to_owned(), team: format!("session-{head}"), pid: None }
    }

    /// Of a client that names its teams.
    pub fn named(sandbox: &'a Sandbox, session: &str, team: &str) -> Lead<'a> {
        Lead { sandbox, session: session.to_owned(), team: team.to_owned(), pid: None }
    }

    pub fn transcript(&self) -> String {
        format!("projects/-home-dev-parser/{}.jsonl", self.session)
    }

    /// What every payload of the session has, and these fields.
    pub fn payload(&self, event: &str, fields: Value) -> Value {
        let transcript = self.sandbox.client(&self.transcript());
        let mut payload =
            json!({"session_id": self.session, "transcript_path": transcript, "hook_event_name": event});
        for (key, value) in fields.as_object().unwrap() {
            payload[key] = value.clone();
        }
        payload
    }

    pub fn hook(&self, event: &str, fields: Value) {
        let pid = self.pid.map(|pid| pid.to_string());
        let env: Vec<(&str, &str)> = pid.iter().map(|pid| ("CLAUDE_PID", pid.as_str())).collect();
        self.sandbox.hook(self.payload(event, fields), &env);
    }

    pub fn start(&self, source: &str) {
        self.hook("SessionStart", json!({"source": source}));
    }

    pub fn end(&self, reason: &str) {
        self.hook("SessionEnd", json!({"reason": reason}));
    }

    /// Writes the roster: the lead and these members.
    pub fn roster(&self, created: i64, members: &[&str]) {
        self.config(created, members, json!({}));
    }

    /// The same with more keys.
    pub fn config(&self, created: i64, members: &[&str], more: Value) {
        let mut config = json!({"name": self.team, "createdAt": created, "leadSessionId": self.session,
            "leadAgentId": format!("team-lead@{}", self.team), "members": []});
        for name in ["team-lead"].iter().chain(members) {
            let member =
                json!({"agentId": format!("{name}@{}", self.team), "name": name, "joinedAt": created});
            config["members"].as_array_mut().unwrap().push(member);
        }
        for (key, value) in more.as_object().unwrap() {
            config[key] = value.clone();
        }
        self.sandbox.write(&format!("teams/{}/config.json", self.team), config);
    }

    pub fn inbox(&self, owner: &str, mail: Value) {
        self.sandbox.write(&format!("teams/{}/inboxes/{owner}.json", self.team), mail);
    }

    pub fn task(&self, id: &str, status: &str, owner: Option<&str>) {
        let task = json!({"id": id, "subject": format!("Task {id}"), "status": status, "owner": owner});
        self.sandbox.write(&format!("tasks/{}/{id}.json", self.team), task);
    }

    /// Removes the team's directory, and leaves its tasks.
    pub fn erase(&self) {
        self.sandbox.remove_dir(&format!("teams/{}", self.team));
    }

    /// A tool of the lead's, before and after.
    pub fn tool(&self, id: &str, tool: &str, input: &Value, response: Value) {
        self.before(id, tool, input, json!({}));
        self.after(id, tool, input, response, json!({}));
    }

    pub fn before(&self, id: &str, tool: &str, input: &Value, by: Value) {
        self.hook("PreToolUse", with(by, json!({"tool_name": tool, "tool_input": input, "tool_use_id": id})));
    }

    pub fn after(&self, id: &str, tool: &str, input: &Value, response: Value, by: Value) {
        let call =
            json!({"tool_name": tool, "tool_input": input, "tool_use_id": id, "tool_response": response});
        self.hook("PostToolUse", with(by, call));
    }

    /// Adds a record to the lead's transcript.
    pub fn says(&self, role: &str, content: Value) {
        let path = self.sandbox.client(&self.transcript());
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        let record = json!({"type": role, "timestamp": self.sandbox.last(), "message": {"role": role, "content": content}});
        self.sandbox.write(&self.transcript(), format!("{known}{record}\n"));
    }
}

fn with(mut one: Value, other: Value) -> Value {
    for (key, value) in other.as_object().unwrap() {
        one[key] = value.clone();
    }
    one
}

/// How many entries there are of a kind.
pub fn count(entries: &[Value], kind: &str) -> usize {
    entries.iter().filter(|entry| entry["kind"] == kind).count()
}

/// The one entry of a kind.
pub fn only<'a>(entries: &'a [Value], kind: &str) -> &'a Value {
    assert_eq!(count(entries, kind), 1, "{kind} in {entries:#?}");
    entries.iter().find(|entry| entry["kind"] == kind).unwrap()
}
