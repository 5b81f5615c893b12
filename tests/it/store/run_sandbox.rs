//! What the tests of runs share: two sessions, a team that has begun, and processes that stand for clients.

use serde_json::{Value, json};
use teamkeep_system::os;

use crate::support::client_files::Lead;
use crate::support::programs::waiting_process;
use crate::support::sandbox::Sandbox;

pub const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub const TWO: &str = "bbbbbbbb-0000-4000-8000-000000000002";

/// A process that represents the client, until it is dropped.
pub struct Client(pub std::process::Child);

impl Client {
    pub fn start() -> Client {
        Client(waiting_process().spawn().unwrap())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A team that this client leads.
pub fn led<'a>(sandbox: &'a Sandbox, client: &Client) -> Lead<'a> {
    let pid = client.0.id();
    let lead = Lead { pid: Some(pid), ..Lead::of(sandbox, ONE) };
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": pid}}));
    lead.start("startup");
    lead
}

/// The number of a process that has ended.
pub fn ended_process() -> u32 {
    let mut child = os::process::shell("exit 0").spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    pid
}

pub fn rows<'a>(teams: &'a [Value], key: &str) -> Vec<&'a Value> {
    teams.iter().map(|team| &team[key]).collect()
}

/// A team of alice and bob that has done a little.
pub fn begin<'a>(sandbox: &'a Sandbox, session: &str) -> Lead<'a> {
    let lead = Lead::of(sandbox, session);
    lead.roster(1_000, &["alice", "bob"]);
    lead.start("startup");
    lead.task("1", "pending", None);
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    lead
}
