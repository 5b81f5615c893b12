//! One run: a scratch home, teamkeep installed, the client through its play, teamkeep taken out again.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::collector::{Collector, place_shipper};
use super::ending::{Ending, SKIP};
use super::home::Home;
use super::hooks::Hooks;
use super::interrupt;
use super::ledger::{Entry, Ledger};
use super::look::{self, Look};
use super::managed;
use super::moves::Move;
use super::receiver::Receiver;
use super::restored;
use super::scenarios::{Scenario, Step, Topology};
use super::server;
use super::terminal::Terminal;
use super::trouble;
use super::version::Version;
use super::witness;

/// What a run left behind, to be held against what was sent.
pub struct Played {
    pub home: Home,
    pub ledger: Arc<Ledger>,
    /// The kind and the first agent of each incident that it has.
    pub incidents: Vec<&'static str>,
    /// The kind of the report's verdict.
    pub verdict: &'static str,
    /// What was posted to it.
    pub receiver: Arc<Receiver>,
    /// What the client printed, where it has no terminal.
    pub printed: String,
    /// What the collector printed, where there is one.
    pub telemetry: String,
    /// What teamkeep's commands showed otherwise than they should.
    pub looked: RefCell<Vec<String>>,
    /// What they are looked at for.
    pub looks: Vec<Look>,
}

/// Plays a scenario with a client.
pub fn play(version: Version, client: &[String], scenario: &Scenario, root: &Path) -> Result<Played, String> {
    let generation = version.generation();
    let reply = scenario.reply;
    let ledger = Arc::new(Ledger::new(scenario.cache_writes()));
    let script: server::Script = Arc::new(move |cue| reply(generation, cue));
    let port = server::start(script, ledger.clone()).map_err(|error| format!("cannot listen: {error}"))?;
    let mut variables = vec![("CLAUDE_CODE_ENABLE_TODO_TOOLS", if scenario.tasks { "1" } else { "0" })];
    variables.extend(scenario.model(generation).map(|model| ("ANTHROPIC_MODEL", model)));
    let others = managed::variables(root);
    if scenario.hooks == Hooks::Managed {
        variables.extend(others.iter().map(|(name, value)| (*name, value.as_str())));
    }
    let tools: &[(&str, &str)] = match (scenario.rule, scenario.guarded) {
        (Some(rule), _) => &[("PreToolUse", rule.tool)],
        (_, Some(gates)) => gates.tools,
        _ => &[],
    };
    // Next to the directory of the run, which is created later.
    let beside = PathBuf::from(format!("{}.collector", root.display()));
    let collector = scenario.has_telemetry().then(|| Collector::start(&beside));
    let collector = collector.transpose()?;
    variables.extend(collector.iter().flat_map(Collector::variables));
    let mut home = Home::new(root.to_owned(), version, client, port, tools, &variables)
        .map_err(|error| format!("cannot make {}: {error}", root.display()))?;
    home.write_files(scenario.files).map_err(|error| format!("cannot write the project: {error}"))?;
    if scenario.name == "demo" {
        witness::record(root).map_err(|error| format!("cannot place the recorder: {error}"))?;
    }
    let policy = scenario.rule.map(|rule| rule.policy).or(scenario.guarded.map(|gates| gates.policy));
    if let Some(policy) = policy {
        home.write_policy(policy).map_err(|error| format!("cannot write the policy file: {error}"))?;
    }
    let receiver = Arc::new(Receiver::default());
    if scenario.ending == Ending::ExitAfterTrouble {
        let address = receiver.listen().map_err(|error| format!("cannot listen: {error}"))?;
        home.write_policy(&trouble::config(&address))
            .map_err(|error| format!("cannot write the policy file: {error}"))?;
    }
    if let Some(collector) = &collector {
        place_shipper(root)?;
        home.write_policy(&collector.config())
            .map_err(|error| format!("cannot write the configuration: {error}"))?;
    }
    scenario.hooks.bring(&mut home)?;
    let mut played = Played {
        home,
        ledger,
        incidents: scenario.incidents_with(version),
        verdict: scenario.verdict_with(version),
        receiver,
        printed: String::new(),
        telemetry: String::new(),
        looked: RefCell::default(),
        looks: (scenario.looks)(generation),
    };
    let done = match scenario.topology {
        Topology::Headless => {
            let arguments = [scenario.arguments, scenario.hooks.arguments()].concat();
            headless(&mut played, (scenario.steps)(generation), &arguments)
        }
        topology => {
            // Left to itself the client takes panes wherever it finds itself in tmux.
            let mode = if topology == Topology::Panes { "tmux" } else { "in-process" };
            let mode = format!("--teammate-mode {mode} {}", scenario.hooks.arguments().join(" "));
            let finish = |terminal: &Terminal<'_>| scenario.ending.finish(&played, scenario, terminal);
            let command = command("", scenario.ending.permissions(), &mode);
            session(&played, &(scenario.steps)(generation), &command, finish)
        }
    };
    let done = done.and_then(|()| restored::play(&played, version, scenario.then));
    look(&played, None);
    let kept = root.join("sent.json");
    std::fs::write(&kept, format!("{:#}\n", played.ledger.to_json()))
        .map_err(|error| format!("cannot write {}: {error}", kept.display()))?;
    done?;
    if let Some(collector) = collector {
        played.telemetry = collector.finish(&played.home)?;
    }
    Ok(played)
}

/// The command that starts the client: with more variables, and more arguments.
pub fn command(variables: &str, permissions: &str, arguments: &str) -> String {
    format!("exec env {variables} claude {permissions} {arguments}")
}

/// A session in a terminal, from the client's start to its end.
pub fn session(
    played: &Played,
    steps: &[Step],
    command: &str,
    finish: impl FnOnce(&Terminal<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let terminal = Terminal::start(&played.home, command, (200, 60))?;
    terminal.wait_for_prompt()?;
    for step in steps {
        if step.typed == ESCAPE { escape(&terminal) } else { terminal.enter(step.typed) }?;
        let what = format!("what follows {:?}: {:?}", step.typed, step.until);
        terminal.wait(Duration::from_secs(120), &what, || {
            let entries = played.ledger.entries();
            step.until.iter().all(|mark| entries.iter().any(|entry| is(entry, *mark)))
                && played.ledger.quiet_for().1 > Duration::from_secs(4)
        })?;
        wait_for_leaving(played)?;
        look(played, Some(step.typed));
        let seen = played.home.root.join(format!("screen-{}.txt", step.typed.replace(['=', ' ', '/'], "-")));
        std::fs::write(&seen, terminal.screen())
            .map_err(|error| format!("cannot write {}: {error}", seen.display()))?;
    }
    finish(&terminal)
}

/// Notes what teamkeep's commands show otherwise than they should.
fn look(played: &Played, after: Option<&str>) {
    let found = look::differences(&played.looks, after, &played.home);
    played.looked.borrow_mut().extend(found);
}

/// Waits until the teammates that approved their shutdown have left the roster. The lead reads approvals from its inbox,
/// on a busy machine only after seconds; if the team is deleted earlier, they are in the roster until the end. With panes
/// of old versions a member can reappear permanently, so the wait is limited.
fn wait_for_leaving(played: &Played) -> Result<(), String> {
    let approved: Vec<String> = played
        .ledger
        .entries()
        .into_iter()
        .filter(|entry| is(entry, (entry.part.as_str(), "\"approve\":true")))
        .map(|entry| entry.part)
        .collect();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(20) {
        if interrupt::came() {
            return Err("interrupted".to_owned());
        }
        let roster = played.home.roster();
        if !approved.iter().any(|name| roster.contains(name)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

/// Presses Escape until the client reads it: one alone can be the beginning of another key.
fn escape(terminal: &Terminal) -> Result<(), String> {
    for _ in 0..5 {
        terminal.press("Escape")?;
        std::thread::sleep(Duration::from_secs(1));
        if terminal.screen().contains("nterrupted") {
            return Ok(());
        }
    }
    Err("Escape interrupted nothing".to_owned())
}

/// A step in which the user interrupts the turn.
pub const ESCAPE: &str = "(escape)";

/// The piece of a step's mark for a part that does not answer.
pub const HANGS: &str = "(hangs)";

/// Whether an entry is what a mark names: a part, and a piece of what it did.
pub fn is(entry: &Entry, (part, piece): (&str, &str)) -> bool {
    entry.part == part
        && match &entry.done {
            Move::Say(text) => text.contains(piece),
            Move::Use { input, .. } => input.to_string().contains(piece),
            Move::Hang => piece == HANGS,
            Move::Fail { message, .. } => message.contains(piece),
            Move::Fill | Move::Search(_) | Move::Wait(_) => false,
        }
}

/// The client with its prompt on the command line.
fn headless(played: &mut Played, steps: Vec<Step>, arguments: &[&str]) -> Result<(), String> {
    for step in steps {
        let mut child = played
            .home
            .command("claude")
            .arg(SKIP)
            .args(arguments)
            .args(["-p", step.typed])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start the client: {error}"))?;
        let began = Instant::now();
        while child.try_wait().map_err(|error| error.to_string())?.is_none() {
            if interrupt::came() || began.elapsed() > Duration::from_secs(120) {
                let _ = child.kill();
                return Err("the client was interrupted, or did not end within 120s".to_owned());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        played.printed.push_str(&String::from_utf8_lossy(&output.stdout));
        let entries = played.ledger.entries();
        if let Some(mark) = step.until.iter().find(|mark| !entries.iter().any(|entry| is(entry, **mark))) {
            return Err(format!("the client ended with {} before {mark:?}", output.status));
        }
    }
    Ok(())
}
