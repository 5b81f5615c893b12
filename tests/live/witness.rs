//! A hook of somebody else's beside ours, at every event: it keeps each payload that the client sent.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::version::Version;

/// Our hooks' events and matchers.
const OURS: &str = include_str!("../../hooks/settings.example.json");

/// Puts the witness in its place: one file a payload, whatever comes at the same time. A client that leaves does not end it.
pub fn place(root: &Path) -> io::Result<()> {
    fs::create_dir_all(root.join("witness"))?;
    let script = root.join("bin/witness");
    let kept = root.join("witness/XXXXXXXXXX");
    fs::write(
        &script,
        format!("#!/bin/sh\ntrap '' HUP TERM\nexec cat >\"$(mktemp '{}')\"\n", kept.display()),
    )?;
    make_executable(&script)
}

/// Lets it also keep, for each payload, the time, the variables of the hook, the files of the team and of the project, and how long
/// the transcripts were: the recording that `scripts/demo_run.py` reads.
pub fn record(root: &Path) -> io::Result<()> {
    fs::create_dir_all(root.join("recording"))?;
    let script = root.join("bin/witness");
    let root = root.display();
    let text = format!(
        "#!/bin/sh
trap '' HUP TERM
call=$(mktemp -d '{root}/recording/XXXXXXXXXX')
date +%s%N >\"$call/at\"
cd '{root}/home/.claude'
cp -r --parents teams tasks \"$call\" 2>/dev/null
find projects -name '*.jsonl' -printf '%s %p\\n' >\"$call/transcripts\" 2>/dev/null
mkdir \"$call/project\" && cp -r '{root}/project/.' \"$call/project\" && rm -rf \"$call/project/.git\"
env | grep '^CLAUDE' >\"$call/env\"
cat >\"$call/payload\"
cp \"$call/payload\" \"$(mktemp '{root}/witness/XXXXXXXXXX')\"
"
    );
    fs::write(&script, text)?;
    make_executable(&script)
}

pub fn make_executable(script: &Path) -> io::Result<()> {
    fs::set_permissions(script, fs::Permissions::from_mode(0o755))
}

/// Its hooks: the events that this client knows, and the tools that ours are for; at some events also
/// others, which only the policy looks at.
pub fn hooks(root: &Path, version: Version, tools: &[(&str, &str)]) -> Value {
    let command = root.join("bin/witness").display().to_string();
    let ours: Value = serde_json::from_str(OURS).unwrap_or_default();
    let events = ours["hooks"].as_object().into_iter().flatten().filter(|(event, _)| version.knows(event));
    let hooks = events.map(|(event, groups)| {
        let mut group = json!({"hooks": [{"type": "command", "command": format!("'{command}'")}]});
        if let Some(matcher) = groups[0].get("matcher") {
            group["matcher"] = matcher.clone();
            let more = tools.iter().find(|(at, _)| at == event);
            if let (Some((_, tools)), Some(matcher)) = (more, matcher.as_str()) {
                group["matcher"] = json!(format!("{matcher}|{tools}"));
            }
        }
        (event.clone(), json!([group]))
    });
    Value::Object(hooks.collect::<Map<String, Value>>())
}

/// Throws away what it saw so far.
pub fn forget(root: &Path) -> io::Result<()> {
    fs::remove_dir_all(root.join("witness"))?;
    fs::create_dir_all(root.join("witness"))
}

/// Every payload that was sent.
pub fn payloads(root: &Path) -> Vec<Value> {
    let files = fs::read_dir(root.join("witness")).into_iter().flatten().flatten();
    let texts = files.map(|file| fs::read(file.path()).unwrap_or_default());
    texts.map(|text| serde_json::from_slice(&text).unwrap_or_default()).collect()
}
