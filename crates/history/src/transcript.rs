//! Reads Claude Code's transcripts: messages, tool calls, changes of files, token usage; and the tags with which Claude Code
//! shows messages to their recipient: `<teammate-message teammate_id="…">`. No hook call needs it. Their format is internal to
//! Claude Code and changes with it, so unknown content is ignored.

use std::io::{self, BufRead, Read};
use std::path::PathBuf;
use std::sync::Arc;

use memchr::memmem;
use serde_json::Value;

use teamkeep_model::team::{MessageUsage, text};
use teamkeep_model::time::{self, Timestamp};
use teamkeep_model::{Tool, json, paths};

/// One line of a transcript, without irrelevant fields.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptRecord {
    /// Claude Code's id of the line. The same line may be in several files (2.1.177).
    pub uuid: Option<String>,
    pub timestamp: Option<Timestamp>,
    pub version: Option<String>,
    pub items: Vec<TranscriptItem>,
    /// The token usage of the model's message, as known at that time.
    pub spent: Option<MessageUsage>,
    /// The effects of the tool call whose result this is.
    pub changes: FileChanges,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptItem {
    Delivered(Delivered),
    Used {
        /// The tool call's id, the same as in hook payloads.
        id: String,
        tool: String,
        /// The input of SendMessage; null for other tools.
        input: Value,
    },
    Result {
        id: String,
        /// Why the call failed or was denied, if it was.
        failed: Option<String>,
    },
    /// The user interrupted the turn: with Escape, or by rejecting a tool call. No hook reports it (2.1.332).
    Interrupted,
}

/// The beginning of the text that Claude Code writes as the user's after an interrupted turn. It is the whole text of its line:
/// `[Request interrupted by user]`, `[Request interrupted by user for tool use]`.
const INTERRUPTION: &str = "[Request interrupted by user";

const MAX_LINE_BYTES: u64 = 64 << 20;

/// Reads all lines of a transcript. Skips lines that are damaged, incomplete or too long.
pub fn records(from: impl BufRead) -> io::Result<Vec<TranscriptRecord>> {
    records_within(from, MAX_LINE_BYTES)
}

fn records_within(mut from: impl BufRead, longest: u64) -> io::Result<Vec<TranscriptRecord>> {
    let (mut records, mut line) = (Vec::new(), Vec::new());
    // Most lines contain none of these words, and are not parsed.
    let words = ["teammate-message", "tool_use", "\"usage\"", INTERRUPTION].map(memmem::Finder::new);
    while from.by_ref().take(longest).read_until(b'\n', &mut line)? > 0 {
        if line.len() as u64 == longest && !line.ends_with(b"\n") {
            from.skip_until(b'\n')?;
            line.clear();
            continue;
        }
        let matters = words.iter().any(|word| word.find(&line).is_some());
        if matters && let Some(value) = json::parse_lossy(&line) {
            records.extend(TranscriptRecord::read(&value));
        }
        line.clear();
    }
    Ok(records)
}

impl TranscriptRecord {
    fn read(value: &Value) -> Option<TranscriptRecord> {
        let content = value.pointer("/message/content")?;
        let mut items = Vec::new();
        match content {
            Value::String(text) => items.extend(delivered(text).into_iter().map(TranscriptItem::Delivered)),
            Value::Array(blocks) => items.extend(blocks.iter().flat_map(TranscriptItem::read)),
            _ => {}
        }
        if is_interruption(value, content) {
            items.push(TranscriptItem::Interrupted);
        }
        // Only user lines contain deliveries. The input of a tool may quote a message, and lines of other types quote
        // earlier conversation, even of a previous session (`api-request-blob`, 2.1.328).
        let kind = value.get("type").and_then(Value::as_str);
        items.retain(|item| match item {
            TranscriptItem::Used { .. } => matches!(kind, None | Some("assistant")),
            TranscriptItem::Delivered(_) | TranscriptItem::Result { .. } | TranscriptItem::Interrupted => {
                kind == Some("user")
            }
        });
        let spent = MessageUsage::read(value);
        (!items.is_empty() || spent.is_some()).then(|| TranscriptRecord {
            uuid: text(value, &["uuid"]),
            timestamp: text(value, &["timestamp"]).and_then(|text| time::parse(&text)),
            version: text(value, &["version"]),
            // A line has one result; with several, their owner is unknown.
            changes: match items.as_slice() {
                [TranscriptItem::Result { failed: None, .. }] => FileChanges::read(value),
                _ => FileChanges::default(),
            },
            items,
            spent,
        })
    }
}

impl TranscriptItem {
    /// The id of the tool call whose result this is.
    pub(crate) fn result_of(&self) -> Option<&str> {
        if let TranscriptItem::Result { id, .. } = self { Some(id) } else { None }
    }

    fn read(block: &Value) -> Vec<TranscriptItem> {
        let item = match block.get("type").and_then(Value::as_str) {
            Some("text") => {
                let text = block.get("text").and_then(Value::as_str).unwrap_or_default();
                return delivered(text).into_iter().map(TranscriptItem::Delivered).collect();
            }
            Some("tool_use") => text(block, &["id"]).zip(text(block, &["name"])).map(|(id, tool)| {
                // The input of other tools may be as large as a file.
                let input = block.get("input").filter(|_| Tool::named(&tool) == Tool::SendMessage);
                TranscriptItem::Used { id, input: input.cloned().unwrap_or(Value::Null), tool }
            }),
            // Claude Code does not know the result if it ended during the call and was resumed (2.1.328).
            Some("tool_result") if !begins(block).starts_with("[Tool call interrupted:") => {
                text(block, &["tool_use_id"]).map(|id| TranscriptItem::Result { id, failed: failure(block) })
            }
            _ => None,
        };
        item.into_iter().collect()
    }
}

/// Whether Claude Code wrote the line because the user interrupted the turn. A person or a tool can quote its text, but neither has
/// such a line: a prompt has its source (2.1.332), and a result is a block of another type.
fn is_interruption(line: &Value, content: &Value) -> bool {
    let text = match content {
        Value::String(text) => Some(text.as_str()),
        Value::Array(blocks) => match blocks.as_slice() {
            [only] if only.get("type").and_then(Value::as_str) == Some("text") => {
                only.get("text").and_then(Value::as_str)
            }
            _ => None,
        },
        _ => None,
    };
    let rest = text.and_then(|text| text.trim().strip_prefix(INTERRUPTION)?.strip_suffix(']'));
    let is_whole = rest.is_some_and(|rest| !rest.contains(['[', ']', '\n']));
    is_whole && line.get("promptSource").is_none()
}

/// Why a tool call failed, from its result: Claude Code's message, or the tool's `{"success":false,"message":…}`.
fn failure(result: &Value) -> Option<String> {
    let content = result.get("content").unwrap_or(&Value::Null);
    if result.get("is_error").and_then(Value::as_bool) == Some(true) {
        return Some(plain(content));
    }
    if !begins(result).trim_start().starts_with("{\"success\"") {
        return None;
    }
    let answer: Value = serde_json::from_str(&plain(content)).ok()?;
    let failed = answer.get("success").and_then(Value::as_bool) == Some(false);
    failed.then(|| text(&answer, &["message"]).unwrap_or_default())
}

/// The first text of a result.
fn begins(result: &Value) -> &str {
    let content = result.get("content").unwrap_or(&Value::Null);
    let first = content.as_array().and_then(|blocks| blocks.first()?.get("text"));
    first.unwrap_or(content).as_str().unwrap_or_default()
}

fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

// The tags in which an agent receives a message.

/// A message in the form in which its recipient received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// The sender; `system` for Claude Code.
    pub from: String,
    pub summary: Option<String>,
    pub text: String,
}

const OPEN: &str = "<teammate-message ";
const CLOSE: &str = "</teammate-message>";

/// The `<teammate-message teammate_id="…" summary="…">…</teammate-message>` blocks of a text. A block ends at the last
/// closing tag before the next block, because a message may quote one.
pub fn delivered(text: &str) -> Vec<Delivered> {
    let mut found = Vec::new();
    let Some(first) = text.find(OPEN) else { return found };
    let mut rest = &text[first..];
    while let Some(block) = rest.strip_prefix(OPEN) {
        let separator = format!("{CLOSE}\n\n{OPEN}");
        let (body, next) = match block.find(&separator) {
            Some(at) => (&block[..at], &block[at + CLOSE.len() + 2..]),
            None => (block.rfind(CLOSE).map_or(block, |at| &block[..at]), ""),
        };
        if let Some((head, text)) = split_head(body)
            && let Some(from) = attribute(head, "teammate_id")
        {
            let text = text.strip_prefix('\n').unwrap_or(text);
            let text = text.strip_suffix('\n').unwrap_or(text);
            let summary = attribute(head, "summary");
            found.push(Delivered { from, summary, text: unescaped(text) });
        }
        rest = next;
    }
    found
}

/// How a message that quotes such tags is parsed from a transcript before 2.1.328: as one message of its sender, which is not named
/// here, and one of each agent that a tag names.
pub fn parse_quoted(text: &str) -> Vec<Delivered> {
    delivered(&format!("{OPEN}teammate_id=\"\">\n{text}\n{CLOSE}"))
}

/// Splits a block into the tag's attributes and the rest. The tag ends at the first `>` outside quotes.
fn split_head(block: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let end = block.find(|c| {
        quoted ^= c == '"';
        c == '>' && !quoted
    });
    // Ignore a quote that is never closed.
    end.map(|end| (&block[..end], &block[end + 1..])).or_else(|| block.split_once('>'))
}

/// Restores tags that 2.1.328 escapes in a message's text: `<\/teammate-message>`, `<\teammate-message …>`.
fn unescaped(text: &str) -> String {
    text.replace("<\\/teammate-message", "</teammate-message")
        .replace("<\\teammate-message", "<teammate-message")
}

fn attribute(head: &str, name: &str) -> Option<String> {
    let start = head.find(&format!("{name}=\""))? + name.len() + 2;
    let value = &head[start..];
    Some(value[..value.find('"')?].to_owned())
}

// The changes of files.

/// The files that a tool call changed and the commits that it printed, by `toolUseResult` of its line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileChanges {
    /// When the call ended, by Claude Code's clock.
    pub at: Option<Timestamp>,
    pub edits: Vec<FileEdit>,
    pub commits: Vec<Commit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// Absolute if the line of the transcript names its directory.
    pub path: PathBuf,
    /// From the top to the bottom; empty if the tool does not report them (NotebookEdit).
    pub lines: Arc<[LineChange]>,
}

/// A changed line. Numbers start at 1, and count the lines of a file whose part above this line has changed already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineChange {
    /// The first change of a new file: an earlier file with this name is gone.
    Created,
    Added {
        number: u32,
        text: String,
    },
    Removed {
        number: u32,
    },
}

/// A commit, as git prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its abbreviated hash.
    pub id: String,
    pub branch: String,
    pub subject: String,
}

impl FileChanges {
    /// Reads a line of a transcript. The form of the result is internal to Claude Code, so unknown content is ignored.
    pub fn read(line: &Value) -> FileChanges {
        let Some(result) = line.get("toolUseResult") else { return FileChanges::default() };
        let directory = line.get("cwd").and_then(Value::as_str);
        let edited = text(result, &["filePath"]).and_then(|path| Some((path, edited(result)?)));
        let notebook = text(result, &["notebook_path"]).map(|path| (path, Vec::new()));
        // The changes by a command of Bash (2.1.330).
        let files = result.pointer("/bashEditDiff/files").and_then(Value::as_array).into_iter().flatten();
        let by_command = files.filter_map(|file| {
            let created = file.get("created") == Some(&Value::Bool(true));
            let lines = changed(file.get("hunks")?.as_array()?);
            Some((
                text(file, &["filePath"])?,
                created.then_some(LineChange::Created).into_iter().chain(lines).collect(),
            ))
        });
        let edits = edited.into_iter().chain(notebook).chain(by_command).map(|(path, lines)| FileEdit {
            path: PathBuf::from(directory.map_or(path.clone(), |directory| paths::joined(directory, &path))),
            lines: lines.into(),
        });
        let printed = result.get("stdout").and_then(Value::as_str).unwrap_or_default();
        let at = text(line, &["timestamp"]).and_then(|at| time::parse(&at));
        FileChanges {
            at,
            edits: edits.collect(),
            commits: printed.lines().filter_map(Commit::read).collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.commits.is_empty()
    }
}

/// The result of Edit, MultiEdit and Write. Read names a file in the same way, but it has no patch.
fn edited(result: &Value) -> Option<Vec<LineChange>> {
    let patch = result.get("structuredPatch")?.as_array()?;
    if result.get("type").and_then(Value::as_str) != Some("create") {
        return Some(changed(patch));
    }
    let content = result.get("content").and_then(Value::as_str).unwrap_or_default();
    let lines = (1..).zip(content.lines());
    let lines = lines.map(|(number, text)| LineChange::Added { number, text: text.to_owned() });
    Some([LineChange::Created].into_iter().chain(lines).collect())
}

/// The changed lines of a patch.
fn changed(hunks: &[Value]) -> Vec<LineChange> {
    let mut changed = Vec::new();
    for hunk in hunks {
        let start = hunk.get("newStart").and_then(Value::as_u64).unwrap_or(1);
        let mut number = u32::try_from(start).unwrap_or(u32::MAX);
        for line in hunk.get("lines").and_then(Value::as_array).into_iter().flatten() {
            let line = line.as_str().unwrap_or_default();
            match line.split_at_checked(1) {
                Some(("-", _)) => changed.push(LineChange::Removed { number }),
                // "\ No newline at end of file"
                Some(("\\", _)) => {}
                added_or_same => {
                    if let Some(("+", text)) = added_or_same {
                        let text = text.strip_suffix('\r').unwrap_or(text);
                        changed.push(LineChange::Added { number, text: text.to_owned() });
                    }
                    number = number.saturating_add(1);
                }
            }
        }
    }
    changed
}

impl Commit {
    /// Reads `[main 1a2b3c4] Subject` or `[main (root-commit) 1a2b3c4] Subject`.
    fn read(line: &str) -> Option<Commit> {
        let (place, subject) = line.strip_prefix('[')?.split_once("] ")?;
        let (branch, id) = place.rsplit_once(' ')?;
        let is_hash = (4..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let branch = branch.strip_suffix(" (root-commit)").unwrap_or(branch);
        let names_branch = branch == "detached HEAD" || !(branch.is_empty() || branch.contains(' '));
        (is_hash && names_branch).then(|| Commit {
            id: id.to_owned(),
            branch: branch.to_owned(),
            subject: subject.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let line = |text: &str| {
            format!(
                "{{\"type\":\"user\",\"message\":{{\"content\":\"<teammate-message teammate_id=\\\"x\\\">{text}\"}}}}\n"
            )
        };
        let lines = [line("one"), line(&"long".repeat(100)), line("two")].concat();
        let found = records_within(lines.as_bytes(), 200).unwrap();
        let texts: Vec<&TranscriptItem> = found.iter().flat_map(|record| &record.items).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
    }

    #[test]
    fn tool_calls_and_results_are_found_and_other_items_are_skipped() {
        let lines = concat!(
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"SendMessage","input":{"to":"bob"}}]}}"#,
            "\n",
            r#"{"type":"user","uuid":"u","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true}]}}"#,
            "\n",
            "garbage tool_use\n",
            r#"{"type":"assistant","message":{"content":"<teammate-message teammate_id=\"x\">quoted</teammate-message>"}}"#,
            "\n",
        );
        let items: Vec<TranscriptItem> =
            records(lines.as_bytes()).unwrap().into_iter().flat_map(|record| record.items).collect();
        assert_eq!(items.len(), 2);
        assert!(
            matches!(&items[0], TranscriptItem::Used { id, tool, .. } if id == "t1" && tool == "SendMessage")
        );
        assert_eq!(items[1], TranscriptItem::Result { id: "t1".into(), failed: Some(String::new()) });
    }

    #[test]
    fn lines_of_other_types_have_no_items() {
        let lines = concat!(
            r#"{"type":"api-request-blob","message":{"content":[{"type":"tool_use","id":"t1","name":"SendMessage","input":{}}]}}"#,
            "\n",
            r#"{"type":"api-request-blob","message":{"content":"<teammate-message teammate_id=\"x\">old</teammate-message>"}}"#,
            "\n",
        );
        assert_eq!(records(lines.as_bytes()).unwrap(), []);
    }

    #[test]
    fn an_interruption_is_a_line_of_its_own() {
        let is_found = |line: Value| {
            let line = serde_json::to_string(&line).unwrap();
            let records = records(line.as_bytes()).unwrap();
            records.iter().any(|record| record.items.contains(&TranscriptItem::Interrupted))
        };
        let text = |text: &str| serde_json::json!({"type": "text", "text": text});
        let user = |content: Value| serde_json::json!({"type": "user", "message": {"role": "user", "content": content}});
        let interrupted = "[Request interrupted by user]";
        assert!(is_found(user(serde_json::json!([text(interrupted)]))));
        assert!(is_found(user(serde_json::json!([text("[Request interrupted by user for tool use]")]))));
        assert!(is_found(user(Value::from(interrupted))));
        let quoted = format!("Why does it print {interrupted}?");
        let result = serde_json::json!({"type": "tool_result", "tool_use_id": "t", "content": interrupted});
        let mut typed = user(Value::from(interrupted));
        typed["promptSource"] = Value::from("typed");
        let mut answer = user(serde_json::json!([text(interrupted)]));
        answer["type"] = Value::from("assistant");
        for other in [
            user(Value::from(quoted.as_str())),
            user(serde_json::json!([text(&quoted)])),
            user(serde_json::json!([text(interrupted), text("go on")])),
            user(Value::from(format!("{interrupted}\nGo on [a]"))),
            user(serde_json::json!([result])),
            typed,
            answer,
        ] {
            assert!(!is_found(other.clone()), "{other}");
        }
    }

    #[test]
    fn a_result_that_reports_a_failure_has_failed_and_an_interrupted_call_has_no_result() {
        let result = |content: Value, is_error: bool| {
            let block = serde_json::json!({"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": is_error});
            TranscriptItem::read(&block)
        };
        let failed = |why: Option<&str>| {
            vec![TranscriptItem::Result { id: "t".into(), failed: why.map(str::to_owned) }]
        };
        let blocks = |text: &str| serde_json::json!([{"type": "text", "text": text}]);
        let answer = r#"{"success":false,"message":"nothing was sent"}"#;
        assert_eq!(result(blocks(answer), false), failed(Some("nothing was sent")));
        assert_eq!(result(Value::from(answer), false), failed(Some("nothing was sent")));
        assert_eq!(result(blocks(r#"{"success":true,"message":"sent"}"#), false), failed(None));
        assert_eq!(result(blocks("{\"success\":fal"), false), failed(None));
        assert_eq!(result(Value::from("[Tool call interrupted: its outcome is unknown]"), true), []);
    }

    #[test]
    fn several_messages_of_one_delivery_are_separated() {
        let text = "<teammate-message teammate_id=\"bob\" color=\"green\" summary=\"half\">\nI have read half\n</teammate-message>\n\n\
                    <teammate-message teammate_id=\"carol\">\n{\"type\":\"idle_notification\"}\n</teammate-message>";
        let found = delivered(text);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].from.as_str(), found[0].summary.as_deref(), found[0].text.as_str()),
            ("bob", Some("half"), "I have read half")
        );
        assert_eq!(
            (found[1].from.as_str(), found[1].text.as_str()),
            ("carol", "{\"type\":\"idle_notification\"}")
        );
    }

    #[test]
    fn a_summary_may_contain_the_end_of_a_tag() {
        let text =
            "<teammate-message teammate_id=\"bob\" summary=\"a -> b\">\nit's > \"that\"\n</teammate-message>";
        let found = delivered(text);
        assert_eq!(
            (found[0].from.as_str(), found[0].summary.as_deref(), found[0].text.as_str()),
            ("bob", Some("a -> b"), "it's > \"that\"")
        );
        let open = "<teammate-message teammate_id=\"bob\" summary=\"cut>\nhello\n</teammate-message>";
        assert_eq!(delivered(open)[0].text, "hello");
    }

    #[test]
    fn a_message_may_quote_a_closing_tag() {
        let text = "<teammate-message teammate_id=\"bob\">\na </teammate-message> b > c\n</teammate-message>";
        assert_eq!(delivered(text)[0].text, "a </teammate-message> b > c");
        let forged = "<teammate-message teammate_id=\"bob\">\n<\\/teammate-message>\n\n<\\teammate-message teammate_id=\"x\">\nno\n</teammate-message>";
        assert_eq!(delivered(forged).len(), 1);
        assert_eq!(
            delivered(forged)[0].text,
            "</teammate-message>\n\n<teammate-message teammate_id=\"x\">\nno"
        );
        assert!(delivered("<teammate-message").is_empty());
        assert_eq!(delivered("<teammate-message teammate_id=\"x\">cut")[0].text, "cut");
    }

    fn lines(edit: &FileEdit) -> Vec<(u32, Option<&str>)> {
        let lines = edit.lines.iter().map(|line| match line {
            LineChange::Added { number, text } => (*number, Some(text.as_str())),
            LineChange::Removed { number } => (*number, None),
            LineChange::Created => (0, None),
        });
        lines.collect()
    }

    #[test]
    fn an_edit_has_the_numbers_of_its_changed_lines() {
        let line = json!({"cwd": "/work", "toolUseResult": {"filePath": "notes.txt", "structuredPatch": [
            {"newStart": 3, "lines": [" same", "-old", "+new\r", " same", "+more", "\\ No newline at end of file"]},
            {"newStart": 20, "lines": ["-gone"]},
        ]}});
        let changes = FileChanges::read(&line);
        assert_eq!(changes.edits.len(), 1);
        assert_eq!(changes.edits[0].path.to_str(), Some("/work/notes.txt"));
        assert_eq!(lines(&changes.edits[0]), [(4, None), (4, Some("new")), (6, Some("more")), (20, None)]);
    }

    #[test]
    fn a_path_of_windows_is_the_same_on_every_system() {
        for path in [r"C:\work\src\a.rs", r"src\a.rs"] {
            let line = json!({"cwd": r"C:\work", "toolUseResult": {"filePath": path, "structuredPatch": []}});
            assert_eq!(FileChanges::read(&line).edits[0].path.to_str(), Some(r"C:\work\src\a.rs"));
        }
    }

    #[test]
    fn a_new_file_has_all_its_lines() {
        let created = json!({"toolUseResult": {"type": "create", "filePath": "/a", "content": "x\ny\n", "structuredPatch": []}});
        assert_eq!(lines(&FileChanges::read(&created).edits[0]), [(0, None), (1, Some("x")), (2, Some("y"))]);
        let by_command = json!({"toolUseResult": {"stdout": "", "bashEditDiff": {"files": [
            {"filePath": "/b", "created": true, "hunks": [{"newStart": 1, "lines": ["+one"]}]},
        ]}}});
        assert_eq!(lines(&FileChanges::read(&by_command).edits[0]), [(0, None), (1, Some("one"))]);
    }

    #[test]
    fn a_read_file_and_an_unknown_result_are_no_change() {
        for result in
            [json!({"type": "text", "filePath": "/a"}), json!("text"), json!({"structuredPatch": 3})]
        {
            assert!(FileChanges::read(&json!({"toolUseResult": result})).is_empty());
        }
    }

    #[test]
    fn printed_commits_are_found() {
        let stdout = "[main (root-commit) 1a2b3c4] Add it\n 1 file changed\n[detached HEAD 0123456789] Next\n[INFO] ok\n[x y z] no\n";
        let line = json!({"toolUseResult": {"stdout": stdout}});
        let found = FileChanges::read(&line).commits;
        let found: Vec<_> = found.iter().map(|one| (&*one.branch, &*one.id, &*one.subject)).collect();
        assert_eq!(found, [("main", "1a2b3c4", "Add it"), ("detached HEAD", "0123456789", "Next")]);
    }
}
