//! What `docs/guides/agents.md` and `docs/reference/json.md` say about the server.

use serde_json::{Value, json};

use super::server::Client;
use crate::history::traces::{V328, play_again};
use crate::store::bundle_sandbox::{SESSION, ended};
use crate::support::client_files::Lead;
use crate::support::reenact::Trace;
use crate::support::sandbox::{Sandbox, lines};

/// The tools in the guide, each with its command.
fn guide() -> Vec<(&'static str, &'static str)> {
    let rows = include_str!("../../../docs/guides/agents.md").lines();
    let rows = rows.filter_map(|row| row.strip_prefix("| `")?.split_once("` | `teamkeep "));
    rows.map(|(tool, command)| (tool, command.split('`').next().unwrap())).collect()
}

#[test]
fn the_guide_names_the_tools_and_their_commands() {
    let sandbox = ended("needle");
    let mut client = Client::start(&sandbox);
    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let tools: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let mut guide = guide();
    guide.sort();
    assert_eq!(guide.iter().map(|(tool, _)| *tool).collect::<Vec<_>>(), tools);
    for (tool, command) in guide {
        let arguments = if tool == "search" { json!({"query": "needle"}) } else { json!({}) };
        let data = client.call(tool, arguments)["data"].clone();
        let command = command.replace("QUERY", "needle").replace("RUN", "latest");
        let out = sandbox.printed(&["--utc"].into_iter().chain(command.split(' ')).collect::<Vec<_>>());
        match tool {
            "report" => assert_eq!(data, out.trim_end()),
            "list" => assert_eq!(data["entries"][0]["run"], parsed(&out)[0]["run"]),
            "log" => assert_eq!(ids(&data["entries"]), ids(&lines(&out).into())),
            "search" => assert_eq!(ids(&data["hits"]), ids(&parsed(&out)["hits"])),
            _ => assert_eq!(data["agents"], parsed(&out)["agents"]),
        }
    }
    client.end();
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What identifies the items of a list: the runs, the entries of a timeline, the hits.
fn ids(items: &Value) -> Vec<String> {
    let of = |item: &Value| ["id", "run", "at", "kind"].map(|key| item[key].to_string()).join(" ");
    items.as_array().unwrap_or_else(|| panic!("{items}")).iter().map(of).collect()
}

#[test]
fn each_parameter_selects_what_the_option_of_the_command_selects() {
    let told = play_again(Trace::read(V328.0, V328.1), 1);
    let mut client = Client::start(&told.sandbox);
    let list = ["list", "--all", "--json"];
    let log = ["log", "latest", "--json"];
    let search = ["search", "parser", "--json", "--limit=1000"];
    for (tool, arguments, fixed, option) in [
        ("list", json!({"project": "no-such-project"}), &list[..], &["--project=no-such-project"][..]),
        ("list", json!({"until": "1971-01-01T00:00:00Z"}), &list, &["--until=1971-01-01T00:00:00Z"]),
        ("list", json!({"since": "2100-01-01T00:00:00Z"}), &list, &["--since=2100-01-01T00:00:00Z"]),
        ("log", json!({"since": "+20s"}), &log, &["--since=+20s"]),
        ("log", json!({"run": "latest", "until": "+20s"}), &log, &["--until=+20s"]),
        ("log", json!({"involving": "alice"}), &log, &["--involving=alice"]),
        ("log", json!({"kinds": ["message", "idle"]}), &log, &["--kind=message", "--kind=idle"]),
        (
            "search",
            json!({"query": "pars", "word": true}),
            &["search", "pars", "--json", "--limit=1000"],
            &["--word"],
        ),
        (
            "search",
            json!({"query": "pars.r", "regex": true}),
            &["search", "pars.r", "--json", "--limit=1000"],
            &["--regex"],
        ),
        ("search", json!({"agent": "alice"}), &search, &["--agent=alice"]),
        ("search", json!({"kinds": ["task", "message"]}), &search, &["--kind=task", "--kind=message"]),
        ("search", json!({"run": "latest", "since": "+20s"}), &search, &["--run=latest", "--since=+20s"]),
        ("search", json!({"run": "latest", "until": "+20s"}), &search, &["--run=latest", "--until=+20s"]),
        ("search", json!({"limit": 2}), &search[..3], &["--limit=2"]),
    ] {
        let mut arguments = arguments;
        arguments["limit"] = arguments.get("limit").cloned().unwrap_or(json!(1_000));
        let list = if tool == "search" { "hits" } else { "entries" };
        if tool == "search" && arguments.get("query").is_none() {
            arguments["query"] = json!("parser");
        }
        let of = |args: &[&str]| -> Vec<String> {
            let out = told.sandbox.printed(args);
            ids(&match tool {
                "list" => parsed(&out),
                "log" => lines(&out).into(),
                _ => parsed(&out)["hits"].clone(),
            })
        };
        let selected = of(&[fixed, option].concat());
        assert_eq!(ids(&client.call(tool, arguments.clone())["data"][list]), selected, "{tool} {arguments}");
        assert_ne!(selected, of(fixed), "{tool} {arguments} selects something");
    }
    let brief = client.call("brief", json!({"agent": "alice", "at": "+20s"}))["data"].clone();
    let own = parsed(&told.sandbox.printed(&["brief", "--json", "--agent=alice", "--at=+20s"]));
    assert_eq!((&brief["for"], &brief["at"], &brief["tasks"]), (&json!("alice"), &own["at"], &own["tasks"]));
    for full in [true, false] {
        let found = client.call("search", json!({"query": "parser", "full": full}));
        let hits = found["data"]["hits"].as_array().unwrap();
        assert!(hits.iter().all(|hit| hit["text"].is_string() == full), "{found}");
    }
    client.end();
}

#[test]
fn a_result_has_its_keys_its_default_limits_and_at_most_about_60_kilobytes() {
    let sandbox = ended("needle");
    let lead = Lead::of(&sandbox, SESSION);
    for number in 0..120 {
        lead.before(
            &format!("m{number}"),
            "SendMessage",
            &json!({"to": "alice", "message": format!("needle {number} {}", "é".repeat(2_500))}),
            json!({}),
        );
    }
    let mut client = Client::start(&sandbox);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    let log = client.call("log", json!({}));
    assert_eq!(
        (keys(&log), keys(&log["data"])),
        ("notice data is_cut".to_owned(), "entries left_out".to_owned())
    );
    let kept = log["data"]["entries"].as_array().unwrap();
    let message = kept.last().unwrap()["text"].as_str().unwrap();
    assert_eq!((message.chars().count(), message.ends_with('…')), (2_001, true), "a long text is cut");
    assert!(log.to_string().len() < 61_000 && log["is_cut"] == true, "{}", log.to_string().len());
    let found = client.call("search", json!({"query": "needle"}));
    assert_eq!(found["data"]["hits"].as_array().unwrap().len(), 10);
    assert_eq!((&found["data"]["more"], &found["is_cut"]), (&json!(true), &json!(true)));
    let all = client.call("search", json!({"query": "needle", "limit": 1_000, "full": true}));
    assert!(all.to_string().len() < 61_000 && all["is_cut"] == true);
    let short = client.call("log", json!({"kinds": ["session-started"]}));
    assert_eq!((&short["data"]["left_out"], &short["is_cut"]), (&json!(0), &json!(false)));
    let error = client.call("log", json!({"run": "no-such-run"}));
    assert_eq!(keys(&error), "notice error");
    client.end();
}

#[test]
fn the_configuration_says_what_is_redacted_and_an_invalid_one_stops_the_server() {
    let sandbox = ended("needle in TICKET-4711");
    sandbox.configure("[[privacy.pattern]]\nname = \"ticket\"\nregex = 'TICKET-\\d+'\n");
    let mut client = Client::start(&sandbox);
    for (tool, arguments) in [("search", json!({"query": "needle", "full": true})), ("log", json!({}))] {
        let text = client.call(tool, arguments).to_string();
        assert!(text.contains("[redacted:ticket]") && !text.contains("4711"), "{tool}: {text}");
    }
    client.end();
    let sandbox = Sandbox::new();
    sandbox.write_config("[polity]\n");
    let result = sandbox.run(&["mcp"]);
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""), "{result:?}");
    assert!(result.err.contains("unknown key `polity`"), "{}", result.err);
}
