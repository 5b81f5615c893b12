//! Recorded runs, altered: slower, cut off, with hook calls missing, and with a `/clear`.

use serde_json::{Value, json};

use super::reenact::Trace;
use teamkeep_model::time::Timestamp;
use teamkeep_model::time::{self};

/// The name of a recorded run, and when it began.
pub type Run = (&'static str, &'static str);

/// A recorded run that took this many times as long. All times in it are stretched, from its first hook call.
pub fn slowed((name, began): Run, times: i64) -> Trace {
    let mut trace = Trace::read(name, began);
    let start = time::parse(began).unwrap();
    for step in &mut trace.steps {
        step["at_ms"] = json!(step["at_ms"].as_i64().unwrap() * times);
        for key in ["write", "append", "payload"] {
            if let Some(part) = step.get_mut(key) {
                let text = stretched(&part.to_string(), start, times);
                *part = serde_json::from_str(&text).unwrap();
            }
        }
    }
    trace
}

/// A text with its times, in RFC 3339 and in milliseconds, stretched.
fn stretched(text: &str, start: Timestamp, times: i64) -> String {
    const RFC: usize = "2026-11-20T04:39:28.116Z".len();
    const MILLIS: usize = "1795149641059".len();
    let stretch = |millis: i64| start.millis() + (millis - start.millis()) * times;
    let mut result = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let rfc = rest.get(..RFC).filter(|word| word.starts_with("2026-") && word.ends_with('Z'));
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (taken, new) = if let Some(time) = rfc.and_then(time::parse) {
            (RFC, Timestamp::from_millis(stretch(time.millis())).unwrap().to_string())
        } else if digits == MILLIS && rest.starts_with("1795") {
            (MILLIS, stretch(rest[..MILLIS].parse().unwrap()).to_string())
        } else {
            let taken = digits.max(first.len_utf8());
            (taken, rest[..taken].to_owned())
        };
        result.push_str(&new);
        rest = &rest[taken..];
    }
    result
}

/// Ends a run after this many hook calls.
pub fn cut((name, began): Run, after: usize) -> Trace {
    let mut trace = Trace::read(name, began);
    trace.steps.truncate(after);
    // The process was on another machine. Those of panes were there until the end, so their calls name none.
    let lead = trace.steps[0]["env"]["CLAUDE_PID"].clone();
    for step in &mut trace.steps {
        *step = serde_json::from_str(&step.to_string().replace("pidSpace", "recordedSpace")).unwrap();
        if step["env"]["CLAUDE_PID"] != lead {
            step["env"].as_object_mut().unwrap().remove("CLAUDE_PID");
        }
    }
    trace
}

/// A run without the hook calls that are dropped. What changed on disk before such a call is there at the next one.
pub fn without((name, began): Run, mut is_dropped: impl FnMut(&Value) -> bool) -> Trace {
    let mut trace = Trace::read(name, began);
    let mut steps: Vec<Value> = Vec::new();
    let mut earlier: Option<Value> = None;
    for mut step in std::mem::take(&mut trace.steps) {
        if let Some(earlier) = earlier.take() {
            step = joined(earlier, step);
        }
        if is_dropped(&step["payload"]) { earlier = Some(step) } else { steps.push(step) }
    }
    trace.steps = steps;
    trace
}

/// The later step with the changes of the earlier one.
fn joined(earlier: Value, mut later: Value) -> Value {
    let object =
        |step: &Value, key: &str| step.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
    let list = |step: &Value| step.get("remove").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut write = object(&earlier, "write");
    let new = object(&later, "write");
    let gone = list(&earlier).into_iter().filter(|path| !new.contains_key(path.as_str().unwrap()));
    let gone: Vec<Value> = gone.chain(list(&later)).collect();
    write.extend(new);
    let mut append = object(&earlier, "append");
    for (path, text) in object(&later, "append") {
        let known = append.get(&path).and_then(Value::as_str).unwrap_or_default();
        let all = format!("{known}{}", text.as_str().unwrap());
        append.insert(path, json!(all));
    }
    later["write"] = json!(write);
    later["append"] = json!(append);
    if !gone.is_empty() {
        later["remove"] = json!(gone);
    }
    later
}

/// A `/clear` of the lead's after this many hook calls: its session ends, and another one leads the same team.
pub fn cleared((name, began): Run, after: usize) -> Trace {
    const NEW: &str = "c1ea0000-15db-4165-b1fb-ed39ac7e091c";
    let mut trace = Trace::read(name, began);
    let session = trace.steps[0]["payload"]["session_id"].as_str().unwrap().to_owned();
    let mut later = trace.steps.split_off(after);
    let call = |event: &str, fields: Value| {
        let mut step = trace.steps.last().unwrap().clone();
        for key in ["write", "append", "remove"] {
            step.as_object_mut().unwrap().remove(key);
        }
        let mut payload = json!({"session_id": session, "hook_event_name": event, "cwd": "/home/dev/parser",
            "transcript_path": trace.steps[0]["payload"]["transcript_path"]});
        payload.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        step["payload"] = payload;
        step
    };
    let end = call("SessionEnd", json!({"reason": "clear"}));
    later.insert(0, call("SessionStart", json!({"source": "clear"})));
    for step in &mut later {
        for part in ["env", "payload"] {
            if let Some(part) = step.get_mut(part) {
                *part = serde_json::from_str(&part.to_string().replace(&session, NEW)).unwrap();
            }
        }
        // The lead's next records are in the new session's transcript; its teammates' transcripts stay.
        if let Some(append) = step.get_mut("append").and_then(Value::as_object_mut) {
            let path = format!("projects/-home-dev-parser/{session}.jsonl");
            if let Some(text) = append.remove(&path) {
                append.insert(path.replace(&session, NEW), text);
            }
        }
    }
    trace.steps.push(end);
    trace.steps.extend(later);
    trace
}
