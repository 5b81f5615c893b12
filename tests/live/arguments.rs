//! The command line: versions, plays, and whether to write the table.

use std::path::PathBuf;

use super::scenarios;
use super::version::Version;

/// How the command is used.
pub const USAGE: &str = "\
usage: cargo test --test live -- --live [VERSION…] [--scenario NAME…] [--update-docs]
       cargo test --test live -- --live VERSION --picture FILE
  VERSION        versions of the client; 2.1.332, 2.1.177 and 2.1.47 where none is named
  --scenario     only these: in-process, panes, no-tasks, headless, mcp, rule, policy, managed, restore, git-races,
                 git-races-panes, git-calm, budget, budget-panes, worktrees, cleared, compacted, compacted-panes, compacted-teammate,
                 resumed, killed, hung-up, trouble, trouble-panes, failed, failed-panes, interrupted, answered, stopped,
                 planned, namesake, skill, demo, telemetry, telemetry-panes, plugin, plugin-panes, plugin-and-settings, marketplace,
                 marketplace-panes
  --update-docs  writes what was seen into tests/live/results.md
  --picture      writes the screen of a blocked shutdown into a file, and plays no scenario";

/// What was asked for.
pub struct Arguments {
    pub versions: Vec<Version>,
    pub scenarios: Vec<&'static scenarios::Scenario>,
    pub update_docs: bool,
    /// Where to write a screen instead.
    pub picture: Option<PathBuf>,
    /// Whether this process is in the network namespace already.
    pub inside: bool,
}

impl Arguments {
    /// Reads what stands behind `--live`; `None` where that is not there.
    pub fn read(given: &[String]) -> Result<Option<Self>, String> {
        let Some(at) = given.iter().position(|word| word == "--live") else { return Ok(None) };
        let mut arguments = Self {
            versions: Vec::new(),
            scenarios: Vec::new(),
            update_docs: false,
            picture: None,
            inside: false,
        };
        let mut words = given.iter().skip(at + 1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--update-docs" => arguments.update_docs = true,
                "--picture" => arguments.picture = Some(words.next().ok_or(USAGE)?.into()),
                "--inside" => arguments.inside = true,
                "--scenario" => {
                    let name = words.next().map_or("", String::as_str);
                    let found = scenarios::ALL.iter().find(|scenario| scenario.name == name);
                    arguments.scenarios.push(found.ok_or(format!("there is no scenario {name:?}\n{USAGE}"))?);
                }
                version => {
                    let version =
                        Version::parse(version).ok_or(format!("{version:?} is no version\n{USAGE}"))?;
                    arguments.versions.push(version);
                }
            }
        }
        if arguments.versions.is_empty() {
            arguments
                .versions
                .extend(["2.1.332", "2.1.177", "2.1.47"].iter().filter_map(|text| Version::parse(text)));
        }
        if arguments.scenarios.is_empty() {
            arguments.scenarios.extend(scenarios::ALL);
        }
        Ok(Some(arguments))
    }
}
