//! A scratch directory of Claude Code with a team in it, and a store.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use teamkeep_model::event::{Id, SafeName};
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{Archive, CaptureRequest, CaptureScope, EndedBy};
use teamkeep_store::log::{Appending, Logs};
use teamkeep_system::clock::Clock;
use teamkeep_system::env::Env;
use teamkeep_system::paths::Paths;
use tempfile::TempDir;

use super::measure::{binary, time};

const SESSION: &str = "1353b3db-15db-4165-b1fb-ed39ac7e091c";
const TEAM: &str = "session-1353b3db";

/// The place of a worktree in its repository.
const WORKTREE: &str = ".claude/worktrees/agent-a4ae446dca1c54854";

/// Number of files of which a run remembers the uses.
const FILES: usize = 256;

pub struct Scene {
    dir: TempDir,
    /// A payload of one kilobyte.
    pub payload: Vec<u8>,
}

impl Scene {
    /// Three teammates with three tasks, already captured, in files that no longer change.
    pub fn small() -> Scene {
        let scene = Scene::of(3, 3, 6);
        scene.see();
        scene
    }

    /// A large team that was never captured.
    pub fn large() -> Scene {
        Scene::of(20, 200, 2_000)
    }

    /// A large team that is already captured.
    pub fn large_and_seen() -> Scene {
        let scene = Scene::large();
        scene.see();
        scene
    }

    /// A team with 1,000 messages in one inbox, already captured.
    pub fn mailbox() -> Scene {
        let scene = Scene::of(1, 1, 1_000);
        scene.see();
        scene
    }

    /// Adds one message before a call.
    pub fn one_more_message(&mut self, call: usize) {
        let mail: Vec<Value> = (0..=1_000 + call).map(|number| message(0, number)).collect();
        self.write(&format!("teams/{TEAM}/inboxes/member0.json"), &json!(mail));
    }

    fn of(members: usize, tasks: usize, messages: usize) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let mut payload = payload(dir.path(), "PostToolUse");
        payload["agent_id"] = json!("amember0-b3f0bb31e647a261");
        payload["agent_type"] = json!("member0");
        payload["tool_name"] = json!("Bash");
        payload["tool_use_id"] = json!("toolu_4d6f232c9c594454a14ca9");
        payload["tool_input"] = json!({"command": "cargo test", "description": "run the tests"});
        let rest = 1_024usize.saturating_sub(payload.to_string().len());
        payload["tool_response"] = json!({"stdout": "x".repeat(rest.saturating_sub(32))});
        let scene = Scene { dir, payload: payload.to_string().into_bytes() };
        let lead =
            json!({"name": "team-lead", "agentId": format!("team-lead@{TEAM}"), "tmuxPaneId": "leader"});
        let roster: Vec<Value> = std::iter::once(lead).chain((0..members).map(member)).collect();
        let config = json!({"name": TEAM, "createdAt": 1_795_149_641_059u64, "leadSessionId": SESSION,
            "members": roster});
        scene.write(&format!("teams/{TEAM}/config.json"), &config);
        for owner in 0..members {
            let mail: Vec<Value> = (0..messages / members).map(|number| message(owner, number)).collect();
            scene.write(&format!("teams/{TEAM}/inboxes/member{owner}.json"), &json!(mail));
        }
        for number in 0..tasks {
            scene.task(number, "pending");
        }
        scene
    }

    /// Captures everything and waits until the files are old enough to trust their stamps.
    fn see(&self) {
        std::thread::sleep(Duration::from_millis(100));
        let start = payload(self.dir.path(), "SessionStart").to_string();
        time(&mut self.hook("session-start"), start.as_bytes());
        time(&mut self.hook("post-tool-use"), &self.payload);
    }

    fn store(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    fn write(&self, path: &str, value: &Value) {
        let path = self.dir.path().join(".claude").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, value.to_string()).unwrap();
    }

    fn task(&self, number: usize, status: &str) {
        let task = json!({"id": number.to_string(), "subject": format!("Task {number}"), "status": status,
            "description": "d".repeat(400), "owner": "member0", "blocks": [], "blockedBy": []});
        self.write(&format!("tasks/{TEAM}/{number}.json"), &task);
    }

    /// From here on, each call is a message to a teammate, which the gates and ten rules of the user judge.
    pub fn judge(&mut self) {
        let rule = |number: usize| {
            // Every second one is a regular expression.
            let pattern =
                if number.is_multiple_of(2) { "*forbidden word*" } else { "/forbidden +(word|name).*[0-9]/" };
            format!(
                "[[rule]]\nname = \"rule-{number}\"\nevents = [\"PreToolUse\"]\ntools = [\"SendMessage\"]\n\
                 match = {{ \"/tool_input/message\" = \"{pattern}\" }}\naction = \"block\"\nreason = \"No.\"\n"
            )
        };
        let rules: String = (0..10).map(rule).collect();
        let config = self.dir.path().join(".config/teamkeep/teamkeep.toml");
        std::fs::create_dir_all(config.parent().unwrap()).unwrap();
        std::fs::write(config, rules).unwrap();
        let mut asks = payload(self.dir.path(), "PreToolUse");
        asks["tool_name"] = json!("SendMessage");
        asks["tool_use_id"] = json!("toolu_4d6f232c9c594454a14ca9");
        asks["tool_input"] = json!({"to": "member1", "summary": "news", "message": "x".repeat(600)});
        self.payload = asks.to_string().into_bytes();
    }

    /// From here on, each call is the end of a teammate's turn, which the gates judge.
    pub fn idle(&mut self) {
        let mut idle = payload(self.dir.path(), "TeammateIdle");
        (idle["teammate_name"], idle["team_name"]) = (json!("member1"), json!(TEAM));
        self.payload = idle.to_string().into_bytes();
    }

    /// From here on, recorded data is to be shipped. A shipper was started a moment ago.
    pub fn ship(&mut self) {
        let config = self.dir.path().join(".config/teamkeep/teamkeep.toml");
        std::fs::create_dir_all(config.parent().unwrap()).unwrap();
        std::fs::write(config, "[ship]\notlp = \"http://127.0.0.1:9\"\ninterval = \"1d\"\n").unwrap();
        time(&mut self.hook("post-tool-use"), &self.payload);
    }

    /// From here on, each call is an edit or a git command, which the gates for shared files judge. The run has used as many
    /// files as it can remember.
    pub fn guard(&mut self) {
        let policy = "[policy]\nedit-collision = { mode = \"block\" }\nhistory-rewrite = { mode = \"block\" }\n\
                      add-everything = { mode = \"block\" }\n";
        let config = self.dir.path().join(".config/teamkeep/teamkeep.toml");
        std::fs::create_dir_all(config.parent().unwrap()).unwrap();
        std::fs::write(config, policy).unwrap();
        for dir in ["parser/.git", "parser/src"] {
            std::fs::create_dir_all(self.dir.path().join(dir)).unwrap();
        }
        for number in 0..2 * FILES {
            let tool = if number < FILES { "Read" } else { "Edit" };
            self.use_file(tool, number);
            time(&mut self.hook("pre-tool-use"), &self.payload);
        }
    }

    /// From here on, each call creates a task, which the budget judges. The lead's transcript has this many messages of the
    /// model, each with a long result of a tool. It was read before.
    pub fn spend(&mut self, messages: usize) {
        let policy = "[[policy.budget.limit]]\nper = \"run\"\nusd = 1_000_000\nblock-at = \"100%\"\n\n\
                      [[policy.budget.limit]]\nper = \"agent\"\ntokens = 4_000_000_000\n\n\
                      [[policy.budget.limit]]\nper = \"hour\"\nusd = 1_000_000\n";
        let config = self.dir.path().join(".config/teamkeep/teamkeep.toml");
        std::fs::create_dir_all(config.parent().unwrap()).unwrap();
        std::fs::write(config, policy).unwrap();
        let lines: String = (0..messages).map(|number| answer(number) + &result(number)).collect();
        let file = self.transcript();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, &lines).unwrap();
        self.create_task();
        // A call reads 8 MiB.
        for _ in 0..=lines.len() >> 23 {
            time(&mut self.hook("pre-tool-use"), &self.payload);
        }
    }

    /// Adds one message of the model before a call.
    pub fn answer(&mut self, call: usize) {
        use std::io::Write;
        let mut file = std::fs::OpenOptions::new().append(true).open(self.transcript()).unwrap();
        file.write_all(answer(1_000_000 + call).as_bytes()).unwrap();
    }

    fn transcript(&self) -> PathBuf {
        payload(self.dir.path(), "")["transcript_path"].as_str().unwrap().into()
    }

    fn create_task(&mut self) {
        let mut call = payload(self.dir.path(), "PreToolUse");
        call["tool_name"] = json!("TaskCreate");
        call["tool_use_id"] = json!("toolu_4d6f232c9c594454a14ca9");
        call["tool_input"] = json!({"subject": "One more", "description": "d".repeat(600)});
        self.payload = call.to_string().into_bytes();
    }

    /// Makes the next call an edit.
    pub fn edit(&mut self, call: usize) {
        self.use_file("Edit", call);
    }

    /// Makes the next call a git command.
    pub fn run_git(&mut self, call: usize) {
        let command = "cd src && git add parser.rs && git commit -m \"$(cat <<'EOF'\nParse numbers\n\nDon't fail.\nEOF\n)\"";
        self.call(call, "Bash", &json!({"command": command, "description": "commit"}));
    }

    /// Makes a repository with this many files and a worktree of it.
    pub fn add_worktree(&mut self, files: usize) {
        let repository = self.dir.path().join("repository");
        for number in 0..files {
            let file = repository.join(format!("src/module-{}/file-{number}.rs", number % 50));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, format!("fn number() -> usize {{ {number} }}\n").repeat(50)).unwrap();
        }
        let git = |args: &[&str]| {
            let identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"];
            let mut command = Command::new("git");
            assert!(command.args(identity).args(args).current_dir(&repository).status().unwrap().success());
        };
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", "Begin"]);
        git(&["worktree", "add", "--quiet", WORKTREE]);
        // Git looks again at files that are as new as the index.
        std::thread::sleep(Duration::from_millis(1_100));
        git(&["-C", WORKTREE, "status", "--porcelain"]);
    }

    /// Changes a file of the worktree, and runs SubagentStop of an agent in it.
    pub fn stop_in_worktree(&mut self) -> Duration {
        let worktree = self.dir.path().join("repository").join(WORKTREE);
        let file = worktree.join("src/module-0/file-0.rs");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, format!("{text}// changed\n")).unwrap();
        let mut stop = payload(&worktree, "SubagentStop");
        stop["transcript_path"] = payload(self.dir.path(), "")["transcript_path"].clone();
        stop["agent_id"] = json!("amember0-b3f0bb31e647a261");
        stop["agent_type"] = json!("member0");
        time(&mut self.hook("subagent-stop"), stop.to_string().as_bytes())
    }

    /// Each file is used by one of the members.
    fn use_file(&mut self, tool: &str, number: usize) {
        let file = self.dir.path().join(format!("parser/src/module-{:03}/parser.rs", number % FILES));
        let text = "x".repeat(300);
        self.call(number, tool, &json!({"file_path": file, "old_string": text, "new_string": text}));
    }

    fn call(&mut self, number: usize, tool: &str, input: &Value) {
        let member = number % FILES % 3;
        let mut call = payload(&self.dir.path().join("parser"), "PreToolUse");
        call["transcript_path"] = payload(self.dir.path(), "")["transcript_path"].clone();
        call["agent_id"] = json!(format!("amember{member}-b3f0bb31e647a261"));
        call["agent_type"] = json!(format!("member{member}"));
        (call["tool_name"], call["tool_input"]) = (json!(tool), input.clone());
        call["tool_use_id"] = json!(format!("toolu_{number}"));
        self.payload = call.to_string().into_bytes();
    }

    /// Changes one file before a call.
    pub fn change_one(&mut self, call: usize) {
        self.task(0, &format!("state {call} of {}", std::process::id()));
    }

    pub fn hook(&self, event: &str) -> Command {
        let mut command = Command::new(binary());
        command.arg(event).env_clear();
        command.env("HOME", self.dir.path()).env("TEAMKEEP_HOME", self.store()).env("CLAUDE_PID", "1");
        command.env("PATH", "/usr/bin:/bin");
        command
    }

    /// Runs SessionStart.
    pub fn session_start(&mut self, source: &str) -> Duration {
        let mut start = payload(self.dir.path(), "SessionStart");
        start["source"] = json!(source);
        time(&mut self.hook("session-start"), start.to_string().as_bytes())
    }

    /// Runs SessionEnd. With `erased`, the team's directory is deleted first, as Claude Code does.
    pub fn session_end(&mut self, erased: bool) -> Duration {
        let mut end = payload(self.dir.path(), "SessionEnd");
        end["reason"] = json!("prompt_input_exit");
        let known = self.store().join("teams/open").join(format!("team-{TEAM}.json")).exists();
        if erased && known {
            std::fs::remove_dir_all(self.dir.path().join(".claude/teams").join(TEAM)).unwrap();
        }
        let mut command = self.hook("session-end");
        command.env_remove("CLAUDE_PID");
        let took = time(&mut command, end.to_string().as_bytes());
        // Do not measure the detached process with the next scene.
        while self.archive().has_unfinished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        took
    }

    fn archive(&self) -> Archive {
        Archive::new(self.store(), 1 << 20, Duration::from_secs(60))
    }

    /// Adds this many ended runs to the archive, and this many bytes to the log.
    pub fn fill_with_history(&mut self, runs: usize, bytes: usize) {
        let at = Clock::default().now() - chrono::TimeDelta::days(1);
        let archive = self.archive();
        let elsewhere = self.dir.path().join("elsewhere");
        for number in 0..runs {
            let team = SafeName::new(&format!("team-{number}")).unwrap();
            let config = json!({"name": team.as_str(), "createdAt": number, "leadSessionId": format!("s{number}"),
                "members": [member(number)]});
            let file = elsewhere.join(format!("teams/{team}/config.json"));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, config.to_string()).unwrap();
            let subject = CaptureScope::Team(team);
            archive.capture(
                &subject,
                &elsewhere,
                &CaptureRequest { at, event: &Id::new(at), durable: false, until: None },
            );
            archive.update_run(&subject, |_, run| run.end(EndedBy::SessionEnd, None, at)).unwrap();
            let memory = self.store().join(format!("sessions/s{number}.json"));
            std::fs::create_dir_all(memory.parent().unwrap()).unwrap();
            std::fs::write(memory, json!({"v": 1, "team": "team-0"}).to_string()).unwrap();
        }
        for run in archive.unfinished() {
            archive.mark_finished(&run).unwrap();
        }
        self.fill_log(bytes, at);
        std::thread::sleep(Duration::from_millis(100));
        time(&mut self.hook("post-tool-use"), &self.payload);
    }

    fn fill_log(&self, bytes: usize, at: Timestamp) {
        let env = Env { store: Some(self.store()), ..Env::default() };
        let log = Logs::of(&Paths::find(&env)).session(None);
        let how = Appending { segment_size: 2 << 20, patience: Duration::from_secs(60), durable: false };
        let filler = "x".repeat(20_000);
        let line =
            json!({"v": 1, "at": at.to_string(), "id": "x", "event": "Stop", "payload": {"filler": filler}});
        let line = line.to_string();
        for _ in 0..bytes / line.len() {
            log.append(line.as_bytes(), at, how).unwrap();
        }
    }
}

/// A line of a transcript with a message of the model.
fn answer(number: usize) -> String {
    let usage = json!({"input_tokens": 12, "output_tokens": 300 + number % 90, "cache_read_input_tokens": 40_000,
        "cache_creation_input_tokens": 900, "service_tier": "standard"});
    let message = json!({"id": format!("msg_01{number:022}"), "model": "claude-opus-5-5", "role": "assistant", "usage": usage,
        "content": [{"type": "text", "text": "t".repeat(900)}]});
    json!({"type": "assistant", "timestamp": "2026-11-23T12:00:00.000Z", "sessionId": SESSION, "message": message}).to_string() + "\n"
}

/// A line with the result of a tool.
fn result(number: usize) -> String {
    let content = json!([{"type": "tool_result", "tool_use_id": format!("toolu_{number}"), "content": "r".repeat(4_000)}]);
    json!({"type": "user", "sessionId": SESSION, "message": {"role": "user", "content": content}}).to_string()
        + "\n"
}

fn payload(home: &Path, event: &str) -> Value {
    json!({"session_id": SESSION, "hook_event_name": event, "cwd": home, "permission_mode": "default",
        "transcript_path": home.join(format!(".claude/projects/-home-dev-parser/{SESSION}.jsonl"))})
}

fn member(number: usize) -> Value {
    json!({"agentId": format!("member{number}@{TEAM}"), "name": format!("member{number}"), "agentType": "general-purpose",
        "model": "opus", "prompt": "p".repeat(600), "color": "blue", "joinedAt": 1_795_149_647_000u64,
        "tmuxPaneId": "in-process", "cwd": "/home/dev/parser", "subscriptions": [], "backendType": "in-process"})
}

fn message(owner: usize, number: usize) -> Value {
    json!({"from": "team-lead", "text": format!("{number} for {owner}: {}", "t".repeat(300)), "read": false,
        "timestamp": "2026-11-20T04:40:47.000Z", "summary": "a summary", "msg_id": format!("m{owner}-{number}")})
}
