//! The settings that all hook calls of a process share, and the chain of stages that records one.

use super::outcome::Outcome;
use super::parse::Parsed;
use crate::archive::Archive;
use crate::clock::Clock;
use crate::config::{self, Config, Problem};
use crate::env::Env;
use crate::log::Log;
use crate::paths::Paths;
use crate::payload::Input;

use super::BackgroundMode;

/// Records hook calls.
#[derive(Debug)]
pub struct Recorder {
    /// The environment variables.
    pub env: Env,
    /// Paths of the store and of Claude Code.
    pub paths: Paths,
    /// The configuration.
    pub config: Config,
    /// Problems in the configuration files.
    pub problems: Vec<Problem>,
    /// The clock.
    pub clock: Clock,
    /// Which process does the remaining work after the end of a run.
    pub finish: BackgroundMode,
}

impl Recorder {
    /// Records one call. `asked` is the event named on the command line.
    pub fn record(&self, input: &Input, asked: Option<&str>) -> Outcome {
        Parsed::new(self, input, asked).capture().attribute(input).append().judge().finish()
    }

    /// The archive.
    pub fn archive(&self) -> Archive {
        Archive::open(self.paths.archive(), &self.config)
    }

    /// The event log.
    pub(super) fn log(&self) -> Log {
        Log::open(self.paths.log(), &self.config.log)
    }

    /// Whether metadata-only mode is on: texts are recorded as sizes and hashes.
    pub(super) fn is_metadata_only(&self) -> bool {
        self.config.privacy.record == config::RecordMode::Metadata
    }
}
