//! Two teammates in one git working tree. In the races each gets in the way of the other; in the calm run nobody does.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::moves::{Move, change_task, make_task, say};
use super::super::version::Generation;
use super::{Guarded, Step, at, begin, delete_step, delete_team};

/// The hooks of the gates for shared files.
const TOOLS: &[(&str, &str)] = &[
    ("PreToolUse", "Edit|NotebookEdit|Write|Bash"),
    ("PostToolUse", "Edit|NotebookEdit|Write|Read|Bash"),
    ("PostToolUseFailure", "Bash"),
];

/// The gates for shared files, two that block and one that warns.
pub const RACES: Guarded = Guarded {
    name: "the gates for shared files",
    tools: TOOLS,
    policy: "[policy]\nedit-collision = { mode = \"block\" }\nhistory-rewrite = { mode = \"block\" }\nadd-everything = { mode = \"warn\" }\n",
    verdicts: |generation| race_verdicts(is_late_edit_allowed(generation)),
    read: |generation| race_reasons(is_late_edit_allowed(generation)),
    made: &[
        ("bob", "2", None),
        ("alice", "1", None),
        ("alice", "1", Some("Number the notes")),
        ("alice", "1", None),
        ("alice", "1", None),
    ],
};

/// The same in panes: there a client of any version refuses the late edit itself.
pub const RACES_IN_PANES: Guarded =
    Guarded { verdicts: |_| race_verdicts(false), read: |_| race_reasons(false), ..RACES };

fn race_verdicts(is_late_edit_allowed: bool) -> Vec<(&'static str, &'static str)> {
    let collision = is_late_edit_allowed.then_some(("block", "edit-collision"));
    let others = [
        ("warn", "add-everything"),
        ("warn", "add-everything"),
        ("block", "history-rewrite"),
        ("block", "history-rewrite"),
        ("block", "history-rewrite"),
        ("block", "history-rewrite"),
        ("warn", "add-everything"),
    ];
    collision.into_iter().chain(others).collect()
}

/// The agent, a part of its call, and a part of the result that it reads.
fn race_reasons(is_late_edit_allowed: bool) -> Vec<(&'static str, &'static str, &'static str)> {
    let late = match is_late_edit_allowed {
        true => "notes.txt\", which bob changed at ",
        false => "File has ",
    };
    vec![
        ("alice", r"one\n2", late),
        ("bob", "--amend -m", "Blocked: git commit --amend would replace the last commit, which alice made."),
        ("bob", "reset --hard", "Blocked: git reset --hard would "),
        ("bob", "stash drop", "Blocked: git stash drop "),
        ("bob", "worktree remove", "Blocked: git worktree remove "),
    ]
}

/// The same gates, all of them blocking.
pub const CALM: Guarded = Guarded {
    name: "the gates for shared files",
    tools: TOOLS,
    policy: "[policy]\nedit-collision = { mode = \"block\" }\nhistory-rewrite = { mode = \"block\" }\nadd-everything = { mode = \"block\" }\n",
    verdicts: |_| Vec::new(),
    read: |_| Vec::new(),
    made: &[
        ("alice", "1", None),
        ("alice", "1", Some("Number the first")),
        ("bob", "2", None),
        ("bob", "2", Some("Number the second")),
    ],
};

/// Whether a client edits a file that changed after the agent read it. Older ones refuse that themselves, without a hook.
fn is_late_edit_allowed(generation: Generation) -> bool {
    generation == Generation::Session
}

pub fn steps(generation: Generation) -> Vec<Step> {
    let setup = vec![("alice", "are numbered"), ("bob", "are reviewed"), ("lead", "works")];
    let stopped = vec![("alice", "shutdown_response"), ("bob", "shutdown_response"), ("lead", "Asked both")];
    let mut steps =
        vec![Step { typed: "part=lead act=setup", until: setup }, Step { typed: "act=stop", until: stopped }];
    steps.extend(delete_step(generation));
    steps
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    if let Some(request) = cue.asked.last() {
        return vec![generation.agree(request)];
    }
    let plan = match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", act) => lead(generation, act),
        ("bob", "") => vec![begin("2"), wait()],
        ("alice", "") => vec![begin("1"), read(), turn(generation, "bob", "edit"), wait()],
        ("bob", "bob-edit") => vec![read(), edit("one", "1"), turn(generation, "alice", "edit"), wait()],
        ("alice", "alice-edit") => vec![
            write("one\n2\n"),
            read(),
            edit("two", "2"),
            bash("git add -A"),
            bash("git commit -m 'Number the notes'"),
            bash("echo draft > draft.txt && git stash push --quiet --include-untracked"),
            bash("git worktree add --quiet of-alice -b of-alice"),
            read_from("of-alice/notes.txt"),
            edit_in("of-alice/notes.txt", "1", "eins"),
            read(),
            edit("1", "ichi"),
            bash("git add notes.txt"),
            complete("1"),
            turn(generation, "bob", "amend"),
            vec![say("The notes are numbered.")],
        ],
        ("bob", "bob-amend") => vec![
            bash("git commit --amend -m Mine"),
            bash("git reset --hard HEAD~1"),
            bash("git stash drop"),
            bash("git worktree remove --force of-alice"),
            bash("git commit --quiet -m 'All of it'"),
            bash("git commit --quiet --allow-empty -m \"$(cat <<'EOF'\nDon't (lose) it\nEOF\n)\""),
            bash("git commit --quiet --amend --no-edit --allow-empty"),
            complete("2"),
            vec![say("The notes are reviewed.")],
        ],
        ("alice", _) => vec![vec![say("The notes are numbered.")]],
        _ => vec![wait()],
    };
    at(plan, cue.turn)
}

/// The same work in turns.
pub fn calm(generation: Generation, cue: &Cue) -> Vec<Move> {
    let plan = match (cue.part.as_str(), cue.act.as_str()) {
        ("alice", "") => vec![
            begin("1"),
            read(),
            edit("one", "1"),
            bash("git add -A && git commit -m 'Number the first'"),
            complete("1"),
            turn(generation, "bob", "edit"),
            vec![say("The notes are numbered.")],
        ],
        ("bob", "bob-edit") => vec![
            read(),
            edit("two", "2"),
            bash("git commit -am 'Number the second'"),
            bash("git commit --quiet --amend --no-edit && git stash list && git reset --hard --quiet"),
            complete("2"),
            vec![say("The notes are reviewed.")],
        ],
        ("alice", act) if act.starts_with("bob") => vec![vec![say("The notes are numbered.")]],
        _ => return reply(generation, cue),
    };
    match cue.asked.last() {
        Some(request) => vec![generation.agree(request)],
        None => at(plan, cue.turn),
    }
}

fn lead(generation: Generation, act: &str) -> Vec<Vec<Move>> {
    match act {
        "setup" => {
            let mut plan: Vec<Vec<Move>> =
                generation.make_team().into_iter().map(|made| vec![made]).collect();
            plan.extend([
                vec![make_task("Number the notes"), make_task("Review the notes")],
                vec![change_task("1", json!({"owner": "alice"})), change_task("2", json!({"owner": "bob"}))],
                bash("git config user.name team && git config user.email team@example.org"),
                bash("printf 'one\\ntwo\\n' > notes.txt && git add notes.txt && git commit --quiet -m 'Add the notes'"),
                vec![generation.spawn("bob", "Review the notes")],
                vec![generation.spawn("alice", "Number the notes")],
                vec![say("The team works.")],
            ]);
            plan
        }
        "stop" => {
            let ask = |name: &str| generation.ask_to_stop(name, "All work is done");
            vec![vec![ask("alice"), ask("bob")], vec![say("Asked both to stop.")]]
        }
        _ => delete_team(generation),
    }
}

fn complete(task: &str) -> Vec<Move> {
    vec![change_task(task, json!({"status": "completed"}))]
}

fn wait() -> Vec<Move> {
    vec![say("I wait for the other.")]
}

/// Tells another to act. The answer to the call has the text as well, so nothing but the end of the turn can follow.
fn turn(generation: Generation, name: &str, act: &str) -> Vec<Move> {
    vec![generation.tell(name, "your turn", &format!("It is your turn: act={name}-{act}"))]
}

fn bash(command: &str) -> Vec<Move> {
    vec![Move::Use { tool: "Bash", input: json!({"command": command, "description": "Work with git"}) }]
}

fn read() -> Vec<Move> {
    read_from("notes.txt")
}

fn read_from(path: &str) -> Vec<Move> {
    vec![Move::Use { tool: "Read", input: json!({"file_path": path}) }]
}

fn write(content: &str) -> Vec<Move> {
    vec![Move::Use { tool: "Write", input: json!({"file_path": "notes.txt", "content": content}) }]
}

fn edit(old: &str, new: &str) -> Vec<Move> {
    edit_in("notes.txt", old, new)
}

fn edit_in(path: &str, old: &str, new: &str) -> Vec<Move> {
    let input = json!({"file_path": path, "old_string": old, "new_string": new});
    vec![Move::Use { tool: "Edit", input }]
}
