//! The run of `teamkeep demo`: a team that loses work. bob is stopped in the middle of a task, carol never answers, bob
//! changes a line that alice has just added, and carol does not read an answer.
//!
//! `scripts/demo_run.py` makes `src/demo/run.jsonl.gz` of it. There, it lasts 22 times as long.

use serde_json::json;

use super::super::conversation::Cue;
use super::super::moves::{Move, change_task, list_tasks, say};
use super::super::play::HANGS;
use super::super::version::Generation;
use super::{Facts, Step, at, begin};

pub const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("tomlfmt/Cargo.toml.txt")),
    ("src/main.rs", include_str!("tomlfmt/main.rs")),
];
const LEXER: &str = include_str!("tomlfmt/lexer.rs");
const OPTIONS: &str = include_str!("tomlfmt/options.rs");
const FORMAT: &str = include_str!("tomlfmt/format.rs");
const GOLDEN: &str = include_str!("tomlfmt/golden.rs");

/// bob's conversation is compacted. The facts that it reads then end with carol's question.
pub const FACTS: Facts = Facts { part: "bob", act: "alice-escapes", state: "" };

/// Each task: its subject, its description, its owner, and the tasks that it waits for.
type Job = (&'static str, &'static str, Option<&'static str>, &'static [&'static str]);

const JOBS: [Job; 7] = [
    ("Write the lexer", "Split a TOML file into tokens. Keep comments as tokens.", Some("alice"), &[]),
    ("Write the formatter", "Print tables, arrays, inline tables and long strings.", Some("bob"), &["1"]),
    ("Keep comments in place", "Print each comment on the line that it had.", Some("alice"), &[]),
    ("Read .tomlfmt.toml", "The width of a line and the indent, with defaults.", Some("alice"), &[]),
    ("Test on real files", "Golden files: those of Cargo, ruff and mkdocs.", Some("carol"), &[]),
    ("Add the command line", "tomlfmt [--check] FILE…, exit code 1 if a file changes.", None, &["2"]),
    ("Release 0.1.0", "Changelog, tag, and a first look by the users.", None, &["5", "6"]),
];

pub fn steps(_: Generation) -> Vec<Step> {
    let setup = "part=lead act=setup Build tomlfmt, a formatter for TOML files that keeps comments";
    let begun = vec![
        ("alice", "Comments stay"),
        ("alice", "as they are written"),
        ("carol", HANGS),
        ("lead", "alice writes"),
    ];
    vec![
        Step { typed: setup, until: begun },
        Step {
            typed: "act=status How far are we? I have heard nothing from carol",
            until: vec![("lead", "has not answered"), ("bob", "not work yet")],
        },
        Step {
            typed: "act=stop It is late. Stop bob, we continue tomorrow",
            until: vec![("bob", "shutdown_response"), ("lead", "bob is stopped")],
        },
    ]
}

pub fn reply(generation: Generation, cue: &Cue) -> Vec<Move> {
    if let Some(request) = cue.asked.last() {
        return vec![generation.agree(request)];
    }
    let plan = match (cue.part.as_str(), cue.act.as_str()) {
        ("lead", act) => lead(generation, act),
        ("alice", act) => alice(generation, act),
        ("bob", act) => bob(generation, act),
        _ => carol(generation),
    };
    at(plan, cue.turn)
}

fn lead(generation: Generation, act: &str) -> Vec<Vec<Move>> {
    let stop = |seconds, why: &str| after(seconds, vec![generation.ask_to_stop("bob", why)]);
    match act {
        "setup" => {
            let tasks = JOBS.map(|(subject, description, ..)| Move::Use {
                tool: "TaskCreate",
                input: json!({"subject": subject, "description": description}),
            });
            let changes = (1..).zip(JOBS).map(|(id, (_, _, owner, waits)): (u32, Job)| {
                let mut change = json!({});
                if let Some(owner) = owner {
                    change["owner"] = json!(owner);
                }
                if !waits.is_empty() {
                    change["addBlockedBy"] = json!(waits);
                }
                change_task(&id.to_string(), change)
            });
            let spawn = |name: &str, job: &str, prompt: &str| {
                let prompt = format!("part={name} You are {name}. {prompt}");
                generation.spawn(name, job).with("prompt", &prompt)
            };
            vec![
                after(
                    1,
                    bash(
                        "git config user.name sam && git config user.email sam@example.org && git add -A && git commit -m 'Start tomlfmt'",
                    ),
                ),
                after(2, tasks.into()),
                changes.collect(),
                after(
                    1,
                    vec![
                        spawn(
                            "alice",
                            "Lexer, comments, options",
                            "Write the lexer (#1) and hand it to bob, read the options (#4), and keep the comments (#3).",
                        ),
                        spawn(
                            "bob",
                            "Formatter",
                            "Write the formatter (#2) as soon as the lexer is there, and hand it to alice.",
                        ),
                        spawn("carol", "Tests", "Test on real files (#5). alice knows the lexer."),
                    ],
                ),
                vec![say(
                    "alice writes the lexer, bob the formatter, carol the tests. #6 and #7 wait for them.",
                )],
                vec![say("Noted.")],
            ]
        }
        "status" => vec![
            after(2, vec![list_tasks()]),
            after(
                1,
                vec![generation.tell(
                    "carol",
                    "How far are the tests?",
                    "How far is #5? Commit what you have, and send a summary",
                )],
            ),
            vec![say("3 of 7 tasks are done. bob has half of the formatter (#2). carol has not answered.")],
            vec![say("Noted.")],
        ],
        _ => vec![
            stop(1, "We continue tomorrow"),
            stop(2, "The user asks for it"),
            stop(3, "Leave #2 as it is, and stop"),
            stop(3, "Stop now"),
            vec![say("bob is stopped. #2 is open again, carol still works on #5.")],
            vec![say("Noted.")],
        ],
    }
}

fn alice(generation: Generation, act: &str) -> Vec<Vec<Move>> {
    match act {
        "" => vec![
            begin("1"),
            after(3, write("src/lexer.rs", LEXER)),
            after(1, bash("git add src/lexer.rs && git commit -m 'Add the lexer'")),
            complete("1"),
            vec![generation.tell(
                "bob",
                "The lexer is there",
                "The lexer is in src/lexer.rs. A comment is a token of its own. act=bob-format",
            )],
            begin("4"),
            after(3, write("src/options.rs", OPTIONS)),
            after(1, bash("git add src/options.rs && git commit -m 'Read .tomlfmt.toml'")),
            complete("4"),
            vec![say("The lexer (#1) and the options (#4) are committed.")],
        ],
        "alice-escapes" => vec![
            after(
                2,
                vec![generation.tell(
                    "carol",
                    "Escapes are not decoded",
                    "No: the lexer keeps escapes as they are written. Compare texts, not values",
                )],
            ),
            vec![say("Answered carol: escapes are kept as they are written.")],
        ],
        _ => vec![
            begin("3"),
            read("src/format.rs"),
            after(4, edit("src/format.rs", "            Kind::Comment => {}\n", COMMENT)),
            after(1, bash("git commit -am 'Keep comments in place'")),
            complete("3"),
            vec![say("Comments stay where they are (#3).")],
        ],
    }
}

fn bob(generation: Generation, act: &str) -> Vec<Vec<Move>> {
    match act {
        "" => vec![vec![say("I wait for the lexer.")]],
        "bob-format" => vec![
            begin("2"),
            read("src/lexer.rs"),
            after(14, write("src/format.rs", FORMAT)),
            after(1, bash("git add src/format.rs && git commit -m 'Add the formatter'")),
            after(
                10,
                vec![generation.tell(
                "alice",
                "You can add the comments",
                "src/format.rs is committed. It drops comments: you can add them (#3). act=alice-comments",
            )],
            ),
            after(15, edit("src/format.rs", "            Kind::Comma => line.push_str(\", \"),\n", COMMA)),
            after(3, bash("git commit -am 'Wrap long arrays'")),
            after(12, vec![change_task("2", json!({"activeForm": "Printing inline tables"})), Move::Fill]),
        ],
        // After the compaction. Claude Code can keep an answer from before it.
        _ => vec![
            read("src/format.rs"),
            read("src/format.rs"),
            after(14, edit("src/format.rs", "line.push_str(\"  \");", "line.push(' ');")),
            after(14, bash("git diff --stat")),
            after(
                10,
                vec![say(
                    "Tables and arrays are printed. Inline tables and long strings do not work yet (#2).",
                )],
            ),
        ],
    }
}

fn carol(generation: Generation) -> Vec<Vec<Move>> {
    let question = "Does the lexer decode escapes? The golden files depend on it. act=alice-escapes";
    vec![
        begin("5"),
        after(4, read("src/main.rs")),
        after(14, vec![generation.tell("alice", "Are escapes decoded?", question)]),
        after(1, write("tests/golden.rs", GOLDEN)),
        vec![Move::Hang],
    ]
}

const COMMENT: &str = "            Kind::Comment => {
                if !line.is_empty() {
                    line.push_str(\"  \");
                }
                line.push_str(&token.text);
            }
";

const COMMA: &str = "            Kind::Comma if options.wraps(&line) => line.push_str(\",\\n    \"),
            Kind::Comma => line.push_str(\", \"),
";

/// The same moves, after so many seconds.
fn after(seconds: u64, mut moves: Vec<Move>) -> Vec<Move> {
    moves.push(Move::Wait(seconds));
    moves
}

fn complete(task: &str) -> Vec<Move> {
    vec![change_task(task, json!({"status": "completed"}))]
}

fn bash(command: &str) -> Vec<Move> {
    vec![Move::Use { tool: "Bash", input: json!({"command": command}) }]
}

fn read(file: &str) -> Vec<Move> {
    vec![Move::Use { tool: "Read", input: json!({"file_path": file}) }]
}

fn write(file: &str, text: &str) -> Vec<Move> {
    vec![Move::Use { tool: "Write", input: json!({"file_path": file, "content": text}) }]
}

fn edit(file: &str, old: &str, new: &str) -> Vec<Move> {
    vec![Move::Use { tool: "Edit", input: json!({"file_path": file, "old_string": old, "new_string": new}) }]
}
