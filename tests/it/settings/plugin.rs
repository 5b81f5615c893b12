//! The repository as a plugin of the client: its manifests, the script that finds the binary, and both copies of a hook.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};
use teamkeep_model::payload::EventKind;
use teamkeep_settings::version::{Version, since};
use tempfile::TempDir;

use crate::support::client_files::Lead;
use crate::support::programs::write_program;
use crate::support::sandbox::{CommandResult, Sandbox, feed, kebab};

pub const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub const SILENCE: (Option<i32>, &str, &str) = (Some(0), "", "");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

pub fn read(path: &str) -> Value {
    serde_json::from_str(&page(path)).unwrap()
}

/// Every hook of the plugin: of the file that the client takes by itself, and of those that the manifest names.
pub fn hooks() -> Map<String, Value> {
    let manifest = read(".claude-plugin/plugin.json");
    let more = manifest["hooks"].as_array().unwrap().iter().map(|path| path.as_str().unwrap());
    let mut all = Map::new();
    for path in ["hooks/hooks.json"].into_iter().chain(more) {
        for (event, groups) in read(path)["hooks"].as_object().unwrap() {
            assert!(all.insert(event.clone(), groups.clone()).is_none(), "{event} is in {path}, too");
        }
    }
    all
}

/// A plugin's directory: the script, and the binary where it is wanted.
pub struct Plugin(TempDir);

impl Plugin {
    pub fn new(with_binary: bool) -> Plugin {
        let plugin = Plugin(tempfile::tempdir().unwrap());
        std::fs::create_dir(plugin.at("bin")).unwrap();
        // A link: a script written here would be busy while another test's child still has it open.
        symlink(root().join("bin/teamkeep-plugin"), plugin.at("bin/teamkeep-plugin")).unwrap();
        if with_binary {
            symlink(env!("CARGO_BIN_EXE_teamkeep"), plugin.at("bin/teamkeep")).unwrap();
            symlink(env!("CARGO_BIN_EXE_teamkeep-hook"), plugin.at("bin/teamkeep-hook")).unwrap();
        }
        plugin
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// The script as the client runs it.
    pub fn command(&self, sandbox: &Sandbox, args: &[&str]) -> Command {
        let mut command = Command::new(self.at("bin/teamkeep-plugin"));
        sandbox.dress(&mut command);
        command.env("CLAUDE_PLUGIN_ROOT", self.0.path()).args(args);
        command
    }

    pub fn hook(&self, sandbox: &Sandbox, payload: &Value) -> CommandResult {
        let event = kebab(payload["hook_event_name"].as_str().unwrap());
        feed(&mut self.command(sandbox, &["hook", &event]), payload.to_string().as_bytes())
    }
}

pub fn all(result: &CommandResult) -> (Option<i32>, &str, &str) {
    (result.code, &result.out, &result.err)
}

#[test]
fn plugin_manifests_are_json_and_match_cargo_metadata() {
    let (plugin, marketplace) = (read(".claude-plugin/plugin.json"), read(".claude-plugin/marketplace.json"));
    assert_eq!(
        (&plugin["name"], &plugin["version"]),
        (&json!("teamkeep"), &json!(env!("CARGO_PKG_VERSION")))
    );
    assert_eq!(plugin["license"], env!("CARGO_PKG_LICENSE"));
    assert_eq!(marketplace["metadata"]["version"], plugin["version"]);
    let listed = &marketplace["plugins"];
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["name"]), (1, &plugin["name"]));
    assert_eq!(listed[0]["source"], "./plugin");
}

#[test]
fn plugin_hooks_use_known_events_and_run_the_plugin_script() {
    let events = hooks();
    assert_eq!(events.len(), 17);
    for (event, groups) in &events {
        assert_ne!(EventKind::named(event), EventKind::Unknown, "{event}");
        let hook = &groups[0]["hooks"][0];
        assert_eq!(hook["command"], "${CLAUDE_PLUGIN_ROOT}/bin/teamkeep-plugin");
        assert_eq!(hook["args"], json!(["hook", kebab(event)]));
    }
    let script = root().join("bin/teamkeep-plugin").metadata().unwrap();
    assert_eq!(script.permissions().mode() & 0o111, 0o111);
    assert!(page(".ci/run").contains("shellcheck install.sh .ci/run bin/teamkeep-plugin"));
}

#[test]
fn plugin_hooks_match_the_hooks_that_install_writes() {
    let installed = read("hooks/settings.example.json").to_string();
    let script = "${CLAUDE_PLUGIN_ROOT}/bin/teamkeep-plugin";
    let as_installed = Value::Object(hooks()).to_string();
    let as_installed = as_installed.replace(script, "teamkeep-hook").replace("[\"hook\",", "[");
    let as_installed: Value = serde_json::from_str(&as_installed).unwrap();
    assert_eq!(as_installed, serde_json::from_str::<Value>(&installed).unwrap()["hooks"]);
}

#[test]
fn plugin_hook_files_name_only_events_of_their_version() {
    // A client skips the whole of a file that names one event which it does not know.
    for (path, patch) in [
        ("hooks/hooks.json", 33),
        ("hooks/since-2.1.78.json", 78),
        ("hooks/since-2.1.83.json", 83),
        ("hooks/since-2.1.84.json", 84),
        ("hooks/since-2.1.332.json", 332),
    ] {
        for event in read(path)["hooks"].as_object().unwrap().keys() {
            assert!(since(event).is_none_or(|since| since <= Version(2, 1, patch)), "{event} in {path}");
        }
    }
}

#[test]
fn plugin_commands_run_the_script_and_the_model_cannot_invoke_them() {
    for (name, runs) in [("status", "status"), ("log", "log ${CLAUDE_SESSION_ID} "), ("pause", "pause ")] {
        let text = page(&format!("commands/{name}.md"));
        assert!(text.starts_with("---\ndescription: "), "{text}");
        assert!(
            text.contains("\ndisable-model-invocation: true\n---\n"),
            "a gate is paused by no one it holds back"
        );
        assert!(
            text.contains(&format!("!`\"${{CLAUDE_PLUGIN_ROOT}}/bin/teamkeep-plugin\" {runs}")),
            "{text}"
        );
    }
}

#[test]
fn plugin_reports_a_missing_binary_once_a_session_and_no_hook_fails() {
    let (sandbox, plugin) = (Sandbox::new(), Plugin::new(false));
    let lead = Lead::of(&sandbox, ONE);
    let start =
        |source: &str| plugin.hook(&sandbox, &lead.payload("SessionStart", json!({"source": source})));
    let result = start("startup");
    let told: Value = serde_json::from_str(&result.out).unwrap();
    let place = plugin.0.path().to_str().unwrap();
    let message = format!(
        "teamkeep records nothing: teamkeep binary not found; copy the binary to {place}/bin, or build it (requires \
         Rust) in a clone of its repository: ./install.sh --no-hooks"
    );
    assert_eq!((result.code, told, result.err.as_str()), (Some(0), json!({"systemMessage": message}), ""));
    assert_eq!(all(&start("compact")), SILENCE);
    for event in hooks().keys().filter(|event| *event != "SessionStart") {
        let large = "x".repeat(300_000);
        assert_eq!(
            all(&plugin.hook(&sandbox, &lead.payload(event, json!({"prompt": large})))),
            SILENCE,
            "{event}"
        );
    }
    let old = |payload: &Value| feed(&mut plugin.command(&sandbox, &[]), payload.to_string().as_bytes());
    assert_eq!(all(&old(&lead.payload("Stop", json!({})))), SILENCE, "a client that knows no args");
    assert!(old(&lead.payload("SessionStart", json!({"source": "startup"}))).out.contains("systemMessage"));
    let result = feed(&mut plugin.command(&sandbox, &["status"]), b"");
    assert_eq!((result.code, result.out), (Some(0), format!("{message}\n")));
    assert!(!sandbox.keep("").exists());
}

#[test]
fn doctor_names_the_script_that_builds_the_plugin_binary() {
    let sandbox = Sandbox::new();
    let place = sandbox.home().join("my clone");
    for bin in ["bin", "plugin/bin"] {
        std::fs::create_dir_all(place.join(bin)).unwrap();
        symlink(root().join("bin/teamkeep-plugin"), place.join(bin).join("teamkeep-plugin")).unwrap();
    }
    std::fs::write(place.join("install.sh"), "").unwrap();
    for bin in ["bin", "plugin/bin"] {
        let mut command = Command::new(place.join(bin).join("teamkeep-plugin"));
        sandbox.dress(&mut command);
        let result = feed(command.args(["status"]), b"");
        let build = format!("(requires Rust): {}/install.sh --no-hooks\n", place.display());
        assert!(result.out.ends_with(&build), "{}", result.out);
    }
}

#[test]
fn marketplace_offers_only_the_plugin() {
    let mut files = vec![".claude-plugin/plugin.json".to_owned(), "bin/teamkeep-plugin".to_owned()];
    let hooks = ["hooks", "since-2.1.78", "since-2.1.83", "since-2.1.84", "since-2.1.332"];
    files.extend(hooks.map(|name| format!("hooks/{name}.json")));
    let commands = root().join("commands").read_dir().unwrap();
    files.extend(commands.map(|entry| format!("commands/{}", entry.unwrap().file_name().to_str().unwrap())));
    files.push("skills/team-history/SKILL.md".to_owned());
    if std::env::var_os("TEAMKEEP_GENERATE").is_some() {
        for path in &files {
            std::fs::create_dir_all(root().join("plugin").join(path).parent().unwrap()).unwrap();
            std::fs::copy(root().join(path), root().join("plugin").join(path)).unwrap();
        }
    }
    for path in &files {
        let copy = root().join("plugin").join(path);
        assert_eq!(
            page(&format!("plugin/{path}")),
            page(path),
            "TEAMKEEP_GENERATE=1 cargo test --test it settings::plugin"
        );
        let metadata = copy.symlink_metadata().unwrap();
        let mode = root().join(path).metadata().unwrap().permissions().mode();
        assert!(metadata.is_file() && metadata.permissions().mode() & 0o111 == mode & 0o111, "{path}");
    }
    files.extend(["README.md", "bin/teamkeep", "bin/teamkeep-hook"].map(str::to_owned));
    let (mut odd, mut dirs) = (Vec::new(), vec![root().join("plugin")]);
    while let Some(dir) = dirs.pop() {
        for entry in dir.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                odd.push(path.strip_prefix(root().join("plugin")).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    odd.retain(|path| !files.contains(path));
    assert_eq!(odd, [""; 0]);
}

#[test]
fn plugin_prints_json_from_a_directory_with_an_unusual_name() {
    let sandbox = Sandbox::new();
    let plugin = Plugin::new(false);
    let odd = plugin.at("an \"odd\" \\ place/bin");
    std::fs::create_dir_all(&odd).unwrap();
    symlink(root().join("bin/teamkeep-plugin"), odd.join("teamkeep-plugin")).unwrap();
    let mut command = Command::new(odd.join("teamkeep-plugin"));
    sandbox.dress(&mut command);
    let result = feed(command.args(["hook", "session-start"]), b"{\"source\":\"startup\"}");
    let told: Value = serde_json::from_str(&result.out).unwrap();
    assert!(told["systemMessage"].as_str().unwrap().ends_with("./install.sh --no-hooks"), "{told}");
}

#[test]
fn plugin_finds_the_binary_next_to_the_script_on_path_and_in_install_prefix() {
    for place in ["beside", "path", "home"] {
        let sandbox = Sandbox::new();
        let plugin = Plugin::new(place == "beside");
        let lead = Lead::of(&sandbox, ONE);
        let local = sandbox.home().join(".local/bin");
        if place != "beside" {
            std::fs::create_dir_all(&local).unwrap();
            symlink(env!("CARGO_BIN_EXE_teamkeep"), local.join("teamkeep")).unwrap();
        }
        let mut command = plugin.command(&sandbox, &["hook", "notification"]);
        if place == "path" {
            command.env("HOME", "/nonexistent").env("PATH", format!("/usr/bin:/bin:{}", local.display()));
        }
        let result = feed(&mut command, lead.payload("Notification", json!({})).to_string().as_bytes());
        assert_eq!(all(&result), SILENCE, "{place}");
        assert_eq!(sandbox.log().len(), 1, "{place}");
        let result = feed(&mut plugin.command(&sandbox, &["status", "--json"]), b"");
        assert_eq!(result.code, Some(0), "{place}");
    }
}

#[test]
fn plugin_does_not_run_a_same_named_file_in_the_session_directory() {
    let (sandbox, plugin) = (Sandbox::new(), Plugin::new(false));
    let project = sandbox.home().join("project");
    std::fs::create_dir_all(project.join("bin")).unwrap();
    symlink("/bin/false", project.join("teamkeep")).unwrap();
    symlink("/bin/false", project.join("bin/teamkeep")).unwrap();
    let found = sandbox.home().join("found");
    std::fs::create_dir(&found).unwrap();
    symlink(env!("CARGO_BIN_EXE_teamkeep"), found.join("teamkeep")).unwrap();
    let payload = Lead::of(&sandbox, ONE).payload("SessionStart", json!({"source": "startup"}));
    let run = |search: &str| {
        let mut command = plugin.command(&sandbox, &["hook", "session-start"]);
        command.current_dir(&project).env("HOME", "").env("PATH", search);
        feed(&mut command, payload.to_string().as_bytes())
    };
    for nothing in ["", ".", ":/usr/bin:/bin", ".:/usr/bin:/bin", "/usr/bin:/bin:", "bin:/usr/bin:/bin"] {
        let result = run(nothing);
        assert!(
            result.code == Some(0) && result.out.contains("teamkeep binary not found"),
            "{nothing}: {}",
            result.err
        );
    }
    for good in [".:bin::DIR:/usr/bin", ":DIR"] {
        let result = run(&good.replace("DIR", found.to_str().unwrap()));
        assert!(result.code == Some(0) && result.out.contains("watchPaths"), "{good}: {}", result.out);
    }
}

#[test]
fn plugin_reports_a_foreign_binary_once_and_no_hook_fails() {
    let (sandbox, plugin) = (Sandbox::new(), Plugin::new(false));
    let mut binary = b"\x7fELF\x02\x01\x01".to_vec();
    binary.resize(4096, 0);
    write_program(&plugin.at("bin/teamkeep"), binary);
    let lead = Lead::of(&sandbox, ONE);
    let result = plugin.hook(&sandbox, &lead.payload("SessionStart", json!({"source": "startup"})));
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(result.out.contains("/bin/teamkeep does not run on this machine\"}"), "{}", result.out);
    let result = plugin.hook(&sandbox, &lead.payload("Stop", json!({})));
    assert_eq!((result.code, result.out.as_str()), (Some(0), ""));
}

#[test]
fn plugin_reads_the_event_from_the_payload_if_the_client_passes_no_args() {
    let (sandbox, plugin) = (Sandbox::new(), Plugin::new(true));
    let payload = Lead::of(&sandbox, ONE).payload("Stop", json!({}));
    let both = [&[][..], &["hook"]]
        .map(|args| feed(&mut plugin.command(&sandbox, args), payload.to_string().as_bytes()));
    assert!(both.iter().all(|result| all(result) == SILENCE));
    assert!(sandbox.log().iter().all(|line| line["event"] == "Stop") && sandbox.log().len() == 2);
}

#[test]
fn run_is_found_by_the_id_of_any_of_its_sessions() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, ONE, "parser-team");
    lead.roster(1_770_091_200_000, &["bob"]);
    lead.start("startup");
    assert!(sandbox.printed(&["log", ONE]).starts_with("parser-team "));
}
