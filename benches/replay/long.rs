//! A long run: ten teammates that use tools, take tasks, send messages and go idle, for a given number of events. Only
//! the number of tool calls grows: there are always 200 tasks and 5,000 messages.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use teamkeep_model::time::Timestamp;
use teamkeep_model::time::{self};
use teamkeep_store::archive::ContentWriter;
use teamkeep_store::chain::{ChainHash, ChainPoint};
use teamkeep_store::log::{Logs, SegmentName};
use teamkeep_system::paths::Paths;

const MEMBERS: usize = 10;
const TASKS: usize = 200;
const MESSAGES: usize = 5_000;
/// Segments are closed at this size, as the recorder does.
const SEGMENT: usize = 16 << 20;

/// A run being written.
pub struct Long<'a> {
    pub events: usize,
    pub bytes: usize,
    store: &'a Path,
    contents: ContentWriter,
    /// Where the last content of each file is.
    places: HashMap<String, u64>,
    run: String,
    team: String,
    session: String,
    log: Option<(BufWriter<File>, usize)>,
    head: ChainPoint,
    journal: String,
    line: String,
    start: Timestamp,
    now: Timestamp,
}

impl<'a> Long<'a> {
    /// Writes the run with this number, of about this many events, into a store.
    pub fn write(store: &'a Path, number: usize, events: usize) -> Long<'a> {
        let start = time::parse("2026-02-03T00:00:00Z").unwrap() + chrono::TimeDelta::hours(number as i64);
        let run = format!("{number:08x}aabbccdd");
        let mut long = Long {
            events: 0,
            bytes: 0,
            store,
            contents: ContentWriter::new(&store.join("runs").join(&run), "event", true),
            places: HashMap::new(),
            run,
            team: format!("session-{number:08x}"),
            session: format!("{number:08x}-15db-4165-b1fb-ed39ac7e091c"),
            log: None,
            head: ChainPoint::default(),
            journal: String::new(),
            line: String::new(),
            start,
            now: start,
        };
        std::fs::create_dir_all(long.dir()).unwrap();
        long.begin();
        let turns = MESSAGES.min(events / 20).max(2);
        for turn in 0..turns {
            long.turn(turn, turns, events);
        }
        long.end();
        long
    }

    fn begin(&mut self) {
        let names = ["team-lead".to_owned()].into_iter().chain((0..MEMBERS).map(name));
        let team = self.team.clone();
        let members: Vec<Value> = names
            .map(|name| json!({"name": name, "agentId": format!("{name}@{team}"), "prompt": "p".repeat(600)}))
            .collect();
        let config = json!({"name": team, "createdAt": self.start.millis(), "leadSessionId": self.session,
            "members": members});
        self.event("SessionStart", None, r#""source":"startup""#);
        self.look(&[(format!("teams/{team}/config.json"), &config)], Some(true));
    }

    /// One turn of a teammate: many tool calls, a part of a task, and a message to the next teammate.
    fn turn(&mut self, turn: usize, turns: usize, events: usize) {
        let (me, next) = (turn % MEMBERS, name((turn + 1) % MEMBERS));
        let me_named = name(me);
        self.event("SubagentStart", Some(me), "");
        let (per_task, own) = ((turns / TASKS).max(2), turn / (turns / TASKS).max(2) + 1);
        let status = match turn % per_task {
            0 => Some("in_progress"),
            last if last == per_task - 1 => Some("completed"),
            _ => None,
        };
        if let Some(status) = status.filter(|_| own <= TASKS) {
            let call = format!(
                r#""tool_name":"TaskUpdate","tool_use_id":"toolu_{turn}_t","tool_input":{{"taskId":"{own}","status":"{status}","owner":"{me_named}"}}"#
            );
            self.event("PreToolUse", Some(me), &call);
            let done = format!(r#"{call},"tool_response":{{"success":true,"taskId":"{own}"}}"#);
            self.event("PostToolUse", Some(me), &done);
            let task = json!({"id": own.to_string(), "subject": format!("Part {own}"), "description": "d".repeat(300),
                "owner": me_named, "status": status, "blocks": [], "blockedBy": []});
            self.look(&[(format!("tasks/{}/{own}.json", self.team), &task)], None);
        }
        let until = events * (turn + 1) / turns;
        let (code, output) = ("x".repeat(250), "o".repeat(700));
        let mut step = 0;
        while self.events + 8 < until {
            step += 1;
            let call = format!(
                r#""tool_name":"Bash","tool_use_id":"toolu_{turn}_{step}","tool_input":{{"command":"cargo test part_{turn}_{step} {code}","description":"test"}}"#
            );
            self.event("PreToolUse", Some(me), &call);
            let done =
                format!(r#"{call},"tool_response":{{"stdout":"{output}","stderr":"","interrupted":false}}"#);
            self.event("PostToolUse", Some(me), &done);
        }
        let call = format!(
            r#""tool_name":"SendMessage","tool_use_id":"toolu_{turn}_m","tool_input":{{"to":"{next}","summary":"part {turn}","message":"part {turn} is done {}"}}"#,
            "m".repeat(300)
        );
        self.event("PreToolUse", Some(me), &call);
        let done = format!(
            r#"{call},"tool_response":{{"success":true,"routing":{{"sender":"{me_named}","target":"@{next}"}}}}"#
        );
        self.event("PostToolUse", Some(me), &done);
        let mail = json!([{"from": me_named, "text": format!("part {turn} is done {}", "m".repeat(300)),
            "timestamp": self.now.to_string(), "summary": format!("part {turn}"), "read": false}]);
        self.look(&[(format!("teams/{}/inboxes/{next}.json", self.team), &mail)], None);
        self.event("SubagentStop", Some(me), &format!(r#""last_assistant_message":"{}""#, "l".repeat(300)));
        self.event("TeammateIdle", Some(me), &format!(r#""teammate_name":"{me_named}""#));
    }

    fn end(&mut self) {
        self.event("SessionEnd", None, r#""reason":"other""#);
        self.look(&[], Some(false));
        let (start, end) = (self.start.to_string(), self.now.to_string());
        let run = json!({"v": 1, "run": self.run, "team": self.team, "lead_session": self.session, "started_at": start,
            "created_at": start, "ended_at": end, "ended_by": "session-end", "finished": true,
            "sessions": [{"id": self.session, "role": "lead"}]});
        let dir = self.dir();
        self.contents.flush().unwrap();
        std::fs::write(dir.join("run.json"), run.to_string()).unwrap();
        std::fs::write(dir.join("snapshots.jsonl"), &self.journal).unwrap();
        self.close();
        let paths =
            Paths { store: self.store.to_owned(), config: PathBuf::new(), client: None, warning: None };
        Logs::of(&paths).run(&self.run).unwrap().compress().unwrap();
    }

    fn dir(&self) -> PathBuf {
        self.store.join("runs").join(&self.run)
    }

    fn close(&mut self) {
        if let Some((mut log, _)) = self.log.take() {
            log.flush().unwrap();
            let closed = SegmentName::Closed(self.head).to_string();
            std::fs::rename(self.dir().join("events.jsonl"), self.dir().join(closed)).unwrap();
        }
    }

    fn event(&mut self, event: &str, who: Option<usize>, fields: &str) {
        self.events += 1;
        self.now = self.now + chrono::TimeDelta::milliseconds(3);
        let (at, id, session) = (self.now.to_string(), self.last_id(), &self.session);
        let (actor, agent) = match who.map(name) {
            Some(who) => {
                let agent = format!("a{who}-7dfceaaaef47c69e");
                (
                    format!(r#"{{"name":"{who}","id":"{agent}","kind":"teammate"}}"#),
                    format!(r#","agent_id":"{agent}","agent_type":"{who}""#),
                )
            }
            None => (r#"{"name":"team-lead","id":null,"kind":"lead"}"#.to_owned(), String::new()),
        };
        let comma = if fields.is_empty() { "" } else { "," };
        self.line.clear();
        let _ = write!(
            self.line,
            r#"{{"v":1,"at":"{at}","id":"{id}","event":"{event}","session":"{session}","team":"{}","actor":{actor},"run":"{}","payload":{{"session_id":"{session}","transcript_path":"/home/dev/.claude/projects/-home-dev-parser/{session}.jsonl","cwd":"/home/dev/parser","prompt_id":"9e5494e8-6871-4629-88da-dcb0e7338bb4","permission_mode":"default","hook_event_name":"{event}"{agent}{comma}{fields}}}"#,
            self.team, self.run
        );
        let ChainPoint { count, hash: after } = self.head;
        let hash = ChainHash::of_line(count + 1, after, self.line.as_bytes());
        let _ = writeln!(self.line, r#","chain":"{}:{after}:{hash}"}}"#, count + 1);
        self.bytes += self.line.len();
        if self.log.as_ref().is_some_and(|(_, size)| size + self.line.len() > SEGMENT) {
            self.close();
        }
        self.head = ChainPoint { count: count + 1, hash };
        if self.log.is_none() {
            let file = File::create(self.dir().join("events.jsonl")).unwrap();
            self.log = Some((BufWriter::new(file), 0));
        }
        if let Some((log, size)) = &mut self.log {
            log.write_all(self.line.as_bytes()).unwrap();
            *size += self.line.len();
        }
    }

    fn last_id(&self) -> String {
        format!("{}{:018}", &self.run[..8], self.events)
    }

    fn look(&mut self, files: &[(String, &Value)], team_dir: Option<bool>) {
        let mut changed = Vec::new();
        for (path, text) in files {
            let text = serde_json::to_string_pretty(text).unwrap();
            let former = self.places.get(path).copied();
            let (object, place) = self.contents.put(text.as_bytes(), former).unwrap();
            self.places.extend(place.map(|place| (path.clone(), place)));
            changed.push(json!({"path": path, "object": object, "size": text.len()}));
        }
        let mut line =
            json!({"v": 1, "at": self.now.to_string(), "event": self.last_id(), "changed": changed});
        if let Some(there) = team_dir {
            line["team_dir"] = json!(there);
        }
        writeln!(self.journal, "{line}").unwrap();
    }
}

fn name(number: usize) -> String {
    format!("member{number}")
}
