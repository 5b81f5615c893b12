//! Live conformance: the real client, a scripted model behind it, and what teamkeep makes of the run.
//!
//! `just live [VERSION…]`, or `cargo test --test live -- --live [VERSION…]`, downloads the client, runs it in a network
//! namespace that has only a loopback interface, and holds what is on record against what was sent. Without `--live`
//! it does nothing: a plain `cargo test` stays without a network, a client and root.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

mod arguments;
mod checks;
mod client;
mod collector;
mod conversation;
mod ending;
mod home;
mod hooks;
mod interrupt;
mod ledger;
mod look;
mod managed;
mod moves;
mod namespace;
mod picture;
mod play;
mod process;
mod receiver;
mod record;
mod restored;
mod scenarios;
mod seen;
mod sent;
mod server;
mod stream;
mod table;
mod telemetry;
mod terminal;
mod trouble;
mod version;
mod witness;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arguments::Arguments;
use record::Record;
use scenarios::Scenario;
use seen::Seen;
use sent::Sent;
use table::Table;
use version::Version;

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let done = match Arguments::read(&given) {
        Ok(None) => return ExitCode::SUCCESS,
        Ok(Some(arguments)) if arguments.inside => namespace::close(&place().join("etc"))
            .and_then(|()| interrupt::watch())
            .and_then(|()| run_all(&arguments)),
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
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/results.md");
    let mut table = Table::read(&read(&page)?).map_err(|error| format!("{}: {error}", page.display()))?;
    let mut failed = 0;
    for version in &arguments.versions {
        let client = client::fetch(*version, &clients())?;
        if let Some(file) = &arguments.picture {
            picture::take(*version, &client, file)?;
            continue;
        }
        let mut events = BTreeSet::new();
        for scenario in &arguments.scenarios {
            if let Some(why) = scenario.lacks(*version) {
                println!("{version} {}: not run: {why}", scenario.name);
                table.put(*version, scenario.name, Seen::nothing(why).cells);
                continue;
            }
            match run(*version, &client, scenario) {
                Ok(seen) => {
                    println!("{version} {}: as sent: {}", scenario.name, seen.cells.join("; "));
                    events.extend(seen.events);
                    table.put(*version, scenario.name, seen.cells);
                }
                Err(differences) if interrupt::came() => return Err(differences.join("\n")),
                Err(differences) => {
                    failed += 1;
                    table.forget(*version, scenario.name);
                    println!("{version} {}: FAILED", scenario.name);
                    for difference in differences {
                        println!("    {}", difference.replace('\n', "\n    "));
                    }
                }
            }
        }
        println!("{version}: {}", events.iter().cloned().collect::<Vec<_>>().join(", "));
        // Some of the runs alone say nothing of the events of the others.
        if arguments.scenarios.len() < scenarios::ALL.len() {
            events.extend(table.events.remove(version).unwrap_or_default());
        }
        table.events.insert(*version, events.into_iter().collect());
    }
    table.sort(|run| scenarios::ALL.iter().position(|scenario| scenario.name == run));
    if arguments.update_docs {
        let text = table.written_into(&read(&page)?)?;
        std::fs::write(&page, text).map_err(|error| format!("cannot write {}: {error}", page.display()))?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Plays one scenario with one client; what differs from what was sent, when something does.
fn run(version: Version, client: &[String], scenario: &Scenario) -> Result<Seen, Vec<String>> {
    let root = place().join("runs").join(format!("{version}-{}", scenario.name));
    let one = |error: String| vec![error, format!("everything of the run is in {}", root.display())];
    let played = play::play(version, client, scenario, &root).map_err(one)?;
    let sent = Sent::read(&played.ledger);
    let record = Record::read(&played.home, &sent).map_err(one)?;
    let mut found = checks::differences(version, scenario, &played, &sent, &record);
    found.extend(scenario.hooks.examined(&played.home));
    found.extend(scenario.hooks.go(&played.home));
    if found.is_empty() {
        return Ok(Seen::of(scenario, &played, &sent, &record));
    }
    found.push(format!("everything of the run is in {}", root.display()));
    Err(found)
}
