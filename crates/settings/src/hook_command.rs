//! Finds teamkeep's hooks in settings, and classifies them: hooks that `install` wrote, and commands of the user that
//! call teamkeep. Only the first are ever edited or removed. A command that does anything else belongs to its author.

use serde_json::Value;

use crate::program::{is_bare, is_named};
use teamkeep_model::paths;
use teamkeep_model::payload::EventKind;
use teamkeep_system::command::{is_hook_program, posix_quoted};

/// An event, and a matcher group with only one command.
#[derive(Debug, Clone, PartialEq)]
pub struct HookEntry {
    pub event: String,
    pub group: Value,
}

impl HookEntry {
    /// The command.
    pub fn hook(&self) -> &Value {
        self.group.pointer("/hooks/0").unwrap_or(&Value::Null)
    }

    /// The matcher; empty if there is none.
    pub fn matcher(&self) -> &str {
        self.group.get("matcher").and_then(Value::as_str).unwrap_or_default()
    }

    /// teamkeep and its arguments in the command.
    pub fn words(&self) -> Vec<String> {
        of(self.hook()).unwrap_or_default()
    }

    /// Whether it is as `install` writes it. Otherwise it is the user's own command.
    pub fn is_written(&self) -> bool {
        is_ours(self.hook())
    }
}

/// The hooks in settings that `install` wrote.
pub fn ours(settings: &Value) -> Vec<HookEntry> {
    select(settings, is_ours)
}

/// Every command in settings that calls teamkeep, whoever wrote it.
pub fn calls(settings: &Value) -> Vec<HookEntry> {
    select(settings, |hook| of(hook).is_some())
}

fn select(settings: &Value, is_selected: impl Fn(&Value) -> bool) -> Vec<HookEntry> {
    let mut found = Vec::new();
    for (event, groups) in settings.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            let hooks = group.get("hooks").and_then(Value::as_array).into_iter().flatten();
            for hook in hooks.filter(|hook| is_selected(hook)) {
                let mut group = group.clone();
                group["hooks"] = Value::Array(vec![hook.clone()]);
                found.push(HookEntry { event: event.clone(), group });
            }
        }
    }
    found
}

/// Whether a hook, in either form, is exactly a call that some version of `install` writes: the hook program, or
/// `teamkeep hook`, an event, and optionally `--plugin`.
pub fn is_ours(hook: &Value) -> bool {
    let Some(command) = command(hook) else { return false };
    match hook.get("args") {
        None => {
            let words = split(command);
            let spelled: Vec<String> = words.iter().map(|word| posix_quoted(word)).collect();
            spelled.join(" ") == command && is_plain(&with_subcommand(words))
        }
        Some(Value::Array(args)) if args.iter().all(Value::is_string) => {
            is_plain(&with_subcommand(with_args(command, args)))
        }
        Some(_) => false,
    }
}

/// The words of a hook's call, also within a longer command: the program, `hook`, and the event. A command that only mentions
/// such a call counts, too: no shell is imitated here, and nothing edits these hooks.
pub fn of(hook: &Value) -> Option<Vec<String>> {
    let command = command(hook)?;
    let args = hook.get("args").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let words = with_args(command, args);
    if let Some(call) = call_at_start(&words).or_else(|| call_at_start(&split(command))) {
        return Some(call);
    }
    let line = words.join(" ");
    let words = line.split(|c: char| c.is_whitespace() || ";&|()<>`'\"".contains(c));
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
    (0..words.len()).find_map(|start| call_at_start(words.get(start..)?))
}

/// The call with which these words begin.
fn call_at_start(words: &[String]) -> Option<Vec<String>> {
    let (program, args) = words.split_first()?;
    let is_call =
        is_hook_program(program) || (is_named(program) && args.first().is_some_and(|arg| arg == "hook"));
    is_call.then(|| with_subcommand(words.to_vec()))
}

fn command(hook: &Value) -> Option<&str> {
    let is_command = hook.get("type").is_none_or(|kind| kind == "command");
    hook.get("command").and_then(Value::as_str).filter(|_| is_command)
}

/// The program and its arguments. A value that is not a string becomes an empty word, to keep the positions.
fn with_args(command: &str, args: &[Value]) -> Vec<String> {
    let args = args.iter().map(|arg| arg.as_str().unwrap_or_default().to_owned());
    std::iter::once(command.to_owned()).chain(args).collect()
}

/// The words of a call, where `teamkeep-hook EVENT` becomes the equal `teamkeep-hook hook EVENT`.
fn with_subcommand(mut words: Vec<String>) -> Vec<String> {
    if words.first().is_some_and(|program| is_hook_program(program)) {
        words.insert(1, "hook".to_owned());
    }
    words
}

fn is_plain(words: &[String]) -> bool {
    let (program, event) = match words {
        [program, hook, event] if hook == "hook" => (program, event),
        [program, hook, event, plugin] if hook == "hook" && plugin == "--plugin" => (program, event),
        _ => return false,
    };
    let is_event = EventKind::named(event) != EventKind::Unknown
        && event.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    is_event && is_named(program) && (is_bare(program) || paths::is_absolute(program))
}

/// The words of a shell command line with quotes and backslashes resolved.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => word.get_or_insert_default().extend(chars.by_ref().take_while(|c| *c != '\'')),
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    word.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hooks_that_install_writes_are_ours() {
        for ours in [
            json!({"command": "teamkeep hook stop"}),
            json!({"type": "command", "command": "/old/place/teamkeep hook task-created", "timeout": 3}),
            json!({"command": "'/with space/teamkeep' hook stop"}),
            json!({"command": "'/it'\\''s/teamkeep' hook stop --plugin"}),
            json!({"command": "/a b/teamkeep", "args": ["hook", "stop"]}),
            json!({"command": "teamkeep", "args": ["hook", "stop", "--plugin"]}),
            json!({"command": "teamkeep-hook stop"}),
            json!({"command": "'/with space/teamkeep-hook' stop --plugin"}),
            json!({"command": "/a b/teamkeep-hook", "args": ["stop"]}),
            json!({"command": "teamkeep-hook", "args": ["stop", "--plugin"]}),
            json!({"command": "C:/Users/ann/bin/teamkeep-hook.exe stop"}),
            json!({"command": "'C:/with space/teamkeep-hook.exe' stop"}),
            json!({"command": r"C:\Users\ann\bin\teamkeep-hook.exe", "args": ["stop"]}),
        ] {
            assert!(is_ours(&ours) && of(&ours).is_some(), "{ours}");
        }
    }

    #[test]
    fn custom_command_that_calls_teamkeep_is_found_but_not_ours() {
        for line in [
            "teamkeep hook stop && ./my-gate.sh",
            "teamkeep hook stop; ./mine",
            "teamkeep hook stop | tee -a log",
            "teamkeep hook stop > /dev/null && ./mine",
            "teamkeep hook stop &",
            "teamkeep hook stop\n./mine",
            "teamkeep hook stop # why",
            "echo $(teamkeep hook stop)",
            "echo `teamkeep hook stop`",
            "./mine && /opt/teamkeep hook stop",
            "/opt/x/teamkeep hook notes --sync",
            "teamkeep hook notes",
            "teamkeep hook Stop",
            "teamkeep hook",
            "teamkeep  hook stop",
            "\"/with space/teamkeep\" hook stop",
            "/with\\ space/teamkeep hook stop",
            "~/bin/teamkeep hook stop",
            "$HOME/bin/teamkeep hook stop",
            "bin/teamkeep hook stop",
            "TEAMKEEP_HOME=/srv/tk teamkeep hook stop",
            "env TEAMKEEP_HOME=/srv/tk teamkeep hook stop",
            "timeout -k 1 10 teamkeep hook stop",
            "if teamkeep hook stop; then ./mine; fi",
            "sh -c 'teamkeep hook stop; ./mine'",
            "teamkeep-hook stop && ./mine",
            "/opt/teamkeep-hook notes",
            "teamkeep-hook",
            "teamkeep-hook hook stop",
            "~/bin/teamkeep-hook stop",
        ] {
            let hook = json!({"type": "command", "command": line});
            assert!(!is_ours(&hook), "{line}");
            assert_eq!(of(&hook).unwrap()[1], "hook", "{line}");
        }
        for hook in [
            json!({"command": "teamkeep", "args": ["hook", "stop", "--sync"]}),
            json!({"command": "teamkeep", "args": ["hook", "notes"]}),
            json!({"command": "teamkeep", "args": ["hook", "stop", 7]}),
            json!({"command": "sh", "args": ["-c", "teamkeep hook stop; ./mine"]}),
        ] {
            assert!(!is_ours(&hook) && of(&hook).is_some(), "{hook}");
        }
    }

    #[test]
    fn command_that_does_not_call_teamkeep_is_not_found() {
        for other in [
            json!({"command": "/bin/teamkeep"}),
            json!({"command": "/bin/teamkeep report"}),
            json!({"command": "/bin/teamkeeper hook stop"}),
            json!({"command": "/bin/teamkeep-hooks stop"}),
            json!({"command": "/bin/teamkeep stop"}),
            json!({"command": "/bin/teamkeep", "args": ["report"]}),
            json!({"command": "/bin/other", "args": ["hook", "stop"]}),
            json!({"type": "http", "url": "http://x", "command": "teamkeep hook stop"}),
            json!({"command": 7}),
            json!({"prompt": "teamkeep hook"}),
            json!("teamkeep hook stop"),
        ] {
            assert!(!is_ours(&other) && of(&other).is_none(), "{other}");
        }
    }

    #[test]
    fn path_is_quoted_for_the_shell_only_if_needed() {
        assert_eq!(posix_quoted("/usr/local/bin/teamkeep"), "/usr/local/bin/teamkeep");
        for path in ["/a b/teamkeep", "/it's/teamkeep", "/$HOME/teamkeep", "/\"x\\/teamkeep", "/ü/teamkeep"]
        {
            let line = format!("{} hook", posix_quoted(path));
            assert_eq!(split(&line), [path, "hook"]);
            if cfg!(unix) {
                let printed = format!("printf %s {}", posix_quoted(path));
                let out = std::process::Command::new("sh").args(["-c", &printed]).output().unwrap();
                assert_eq!(out.stdout, path.as_bytes());
            }
        }
    }
}
