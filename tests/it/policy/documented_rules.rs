//! Every rule of the documentation is put into a policy file, installed for a client, and asked as that client asks it:
//! by the command of the hook whose matcher means the tool.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use teamkeep_config::{Config, Mode, Rule, TEMPLATE};

use crate::support::install_home::Home;
use crate::support::sandbox::{CommandResult, below, feed};

/// Clients with an own form of hooks each: no `args` and fewer events, `args`, and the newest.
const CLIENTS: [&str; 3] = ["2.1.47", "2.1.177", "2.1.330"];

/// The rule whose matches tests/it/policy/force_push.rs lists.
const FORCE_PUSH: &str = include_str!("../../rules/no-force-push.toml");

/// The input of a tool that a rule of the documentation is for, and one that it has nothing against.
fn inputs(rule: &str) -> [Value; 2] {
    let [bad, good] = match rule {
        "no-force-push" => ["git push --force origin main", "git push origin main"],
        "no-overrides" => ["teamkeep -q pause 1h", "teamkeep status"],
        other => panic!("the documentation has a new rule, {other}: write down here what it is for"),
    };
    [bad, good].map(|command| json!({"command": command}))
}

/// The TOML of every page that has a rule.
fn examples() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = below(&root.join("docs"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "md"))
        .chain([root.join("README.md")]);
    let mut found = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        let blocks = text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
        found.extend(blocks.map(|block| (page.display().to_string(), block)));
    }
    // In the template a line of TOML that is switched off has no blank behind its mark.
    let is_off =
        |line: &str| line.strip_prefix('#').filter(|rest| !rest.starts_with([' ', ':'])).map(str::to_owned);
    let rule: Vec<String> =
        TEMPLATE.lines().skip_while(|line| !line.starts_with("#[[rule]]")).filter_map(is_off).collect();
    found.push(("the template of the configuration".to_owned(), rule.join("\n")));
    found.retain(|(_, block)| block.contains("[[rule]]"));
    found
}

/// Whether a client runs a hook with this matcher for a tool, as docs/contributing/client-facts.md says.
fn runs(matcher: Option<&str>, tool: &str) -> bool {
    let Some(matcher) = matcher.filter(|matcher| !matches!(*matcher, "" | "*")) else { return true };
    match matcher.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '|') {
        true => matcher.split('|').any(|name| name == tool),
        false => regex::Regex::new(matcher).unwrap().is_match(tool),
    }
}

/// Calls each hook that the client runs for a payload, by the words that stand in the settings.
fn call(home: &Home, payload: &Value) -> Vec<CommandResult> {
    let settings = home.json();
    let groups = settings["hooks"][payload["hook_event_name"].as_str().unwrap()].as_array().unwrap().clone();
    let tool = payload["tool_name"].as_str().unwrap();
    let met = groups.iter().filter(|group| runs(group["matcher"].as_str(), tool));
    let hooks = met.flat_map(|group| group["hooks"].as_array().unwrap());
    hooks
        .map(|hook| {
            let line = hook["command"].as_str().unwrap();
            let mut command = match hook["args"].as_array() {
                Some(args) => {
                    let mut command = Command::new(line);
                    command.args(args.iter().map(|arg| arg.as_str().unwrap()));
                    command
                }
                None => {
                    let mut command = Command::new("/bin/sh");
                    command.args(["-c", line]);
                    command
                }
            };
            command.env_clear().current_dir(home.dir.path()).env("HOME", home.dir.path());
            feed(&mut command, payload.to_string().as_bytes())
        })
        .collect()
}

#[test]
#[cfg_attr(windows, ignore = "needs /bin/sh")]
fn installed_hooks_cover_the_documented_rules() {
    let mut asked = Vec::new();
    for (page, block) in examples() {
        let rules: Vec<Rule> = Config::parse(&block, Path::new(&page)).unwrap().rule;
        for client in CLIENTS {
            let home = Home::with("{}");
            std::fs::create_dir_all(home.at(".config/teamkeep")).unwrap();
            std::fs::write(home.at(".config/teamkeep/teamkeep.toml"), &block).unwrap();
            home.ok(&format!("install --client-version {client}"));
            for rule in &rules {
                if rule.name == "no-force-push" {
                    let of_tests = Config::parse(FORCE_PUSH, Path::new(&page)).unwrap();
                    assert_eq!(rule.matches, of_tests.rule[0].matches, "{page}");
                }
                let [bad, good] = inputs(&rule.name);
                let (event, tool) = (&rule.events[0], &rule.tools[0]);
                let payload = |input: &Value| {
                    json!({"session_id": "s1", "cwd": home.dir.path(), "hook_event_name": event,
                        "tool_name": tool, "tool_input": input, "tool_use_id": "t1"})
                };
                let result = call(&home, &payload(&bad));
                assert_eq!(result.len(), 1, "{page}, {client}: {} is asked once", rule.name);
                let blocks = rule.action == Mode::Block;
                assert_eq!(
                    result[0].code,
                    Some(if blocks { 2 } else { 0 }),
                    "{page}, {client}: {}",
                    rule.name
                );
                let told = if blocks { &result[0].err } else { &result[0].out };
                assert!(told.contains(rule.reason.split('.').next().unwrap()), "{told}");
                let result = call(&home, &payload(&good));
                assert_eq!((result[0].code, result[0].out.as_str()), (Some(0), ""), "{page}: {}", rule.name);
                asked.push(rule.name.clone());
            }
        }
    }
    assert_eq!(asked.len(), 5 * CLIENTS.len(), "{asked:?}");
}
