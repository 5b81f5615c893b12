//! A teammate that uses no SendMessage: its answer reaches the lead in the notice that it is idle.

use super::super::conversation::Cue;
use super::super::look::Look;
use super::super::moves::{Move, say};
use super::super::version::Generation;
use super::{Step, at};

const ASKED: &str = "part=lead act=ask";

/// The answer counts as a report, and nothing warns of a missing one.
pub fn looks(_: Generation) -> Vec<Look> {
    let no_report = &["no report", "never reported", "never-reported", "report-before-idle"];
    vec![
        Look { after: Some(ASKED), command: &["status"], shows: &["alice", "idle"], lacks: no_report },
        Look { after: Some(ASKED), command: &["brief"], shows: &["three files"], lacks: no_report },
        Look {
            after: None,
            command: &["log", "latest"],
            shows: &["There are three files."],
            lacks: no_report,
        },
        Look { after: None, command: &["report", "latest"], shows: &["none found"], lacks: no_report },
    ]
}

pub fn steps(_: Generation) -> Vec<Step> {
    let answered = vec![("alice", "three files"), ("lead", "Alice counts")];
    let stopped = vec![("alice", "shutdown_response"), ("lead", "Asked alice")];
    vec![Step { typed: ASKED, until: answered }, Step { typed: "act=stop", until: stopped }]
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    if let Some(request) = cue.asked.last() {
        return vec![generation.agree(request)];
    }
    let plan = match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", "ask") => {
            vec![vec![generation.spawn("alice", "Count the files")], vec![say("Alice counts.")]]
        }
        ("lead", "stop") => {
            vec![vec![generation.ask_to_stop("alice", "All is known")], vec![say("Asked alice.")]]
        }
        ("alice", _) => vec![vec![say("There are three files.")]],
        _ => Vec::new(),
    };
    at(plan, cue.turn)
}
