//! Live conformance: the real client, a scripted model behind it, and what teamkeep makes of the run.
//!
//! `just live [VERSION…]`, or `cargo test --test live -- --live [VERSION…]`, downloads the client, runs it in a network
//! namespace that has only a loopback interface, and holds what is on record against what was sent. Without `--live`
//! it does nothing: a plain `cargo test` stays without a network, a client and root.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

mod arguments;
mod checks;
mod client;
mod conversation;
mod home;
mod ledger;
mod moves;
mod namespace;
mod play;
mod record;
mod restored;
mod scenarios;
mod sent;
mod server;
mod stream;
mod terminal;
mod version;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arguments::Arguments;
use scenarios::Scenario;
use version::Version;

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let done = match Arguments::read(&given) {
        Ok(None) => return ExitCode::SUCCESS,
        Ok(Some(arguments)) if arguments.inside => namespace::close().and_then(|()| run_all(&arguments)),
        Ok(Some(arguments)) => namespace::missing()
            .and_then(|()| {
                arguments
                    .versions
                    .iter()
                    .try_for_each(|version| client::fetch(*version, &clients()).map(drop))
            })
            .and_then(|()| namespace::enter(&given)),
        Err(error) => Err(error),
    };
    done.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

/// Where everything of the live runs is: below the target directory.
fn place() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap_or(temporary).join("live")
}

fn clients() -> PathBuf {
    place().join("clients")
}

/// Plays each scenario with each client.
fn run_all(arguments: &Arguments) -> Result<ExitCode, String> {
    let mut failed = 0;
    for version in &arguments.versions {
        let client = client::fetch(*version, &clients())?;
        for scenario in &arguments.scenarios {
            if let Some(why) = scenario.lacks(*version) {
                println!("{version} {}: not played: {why}", scenario.name);
                continue;
            }
            match run(*version, &client, scenario) {
                Ok(told) => println!("{version} {}: {told}", scenario.name),
                Err(differences) => {
                    failed += 1;
                    println!("{version} {}: FAILED", scenario.name);
                    for difference in differences {
                        println!("    {}", difference.replace('\n', "\n    "));
                    }
                }
            }
        }
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Plays one scenario with one client; what differs from what was sent, when something does.
fn run(version: Version, client: &[String], scenario: &Scenario) -> Result<String, Vec<String>> {
    let root = place().join("runs").join(format!("{version}-{}", scenario.name));
    let one = |error: String| vec![error, format!("everything of the run is in {}", root.display())];
    let played = play::play(version, client, scenario, &root).map_err(one)?;
    let sent = sent::Sent::read(&played.ledger);
    let record = record::Record::read(&played.home, &sent).map_err(one)?;
    let mut found = checks::differences(scenario, &played, &sent, &record);
    match played.home.teamkeep(&["uninstall", "--yes"]) {
        Ok(_) => found.extend(played.home.settings_changed().map(|what| format!("settings.json: {what}"))),
        Err(error) => found.push(error),
    }
    if found.is_empty() {
        return Ok(format!(
            "as sent: {} members, {} tasks, {} messages",
            sent.members.len() + 1,
            sent.tasks.len(),
            sent.messages.len()
        ));
    }
    found.push(format!("everything of the run is in {}", root.display()));
    Err(found)
}
