//! The recorded runs of `tests/fixtures/traces`, recorded again by the hooks of this version.

use std::path::PathBuf;
use std::time::Duration;

use teamkeep::report::Report;
use teamkeep::timeline::{RunCatalog, merge};
use teamkeep_core::config::Config;
use teamkeep_core::config::ShipPrivacy;
use teamkeep_core::store::archive::{Archive, RunRecord};
use teamkeep_core::store::log::Logs;
use teamkeep_core::sys::clock::Timestamp;
use teamkeep_core::sys::paths::Paths;
use teamkeep_ship::otlp::RunExport;
use teamkeep_ship::verdicts::RunVerdict;

/// A run with its report.
pub struct Recorded {
    pub run: RunRecord,
    pub report: Report,
    pub verdicts: Vec<RunVerdict>,
}

impl Recorded {
    /// Replays a trace and opens the run with the most turns.
    pub fn trace(name: &str) -> Recorded {
        let path = format!("{}/../tests/fixtures/traces/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let store = tempfile::tempdir().unwrap();
        teamkeep::demo::replay_into(&text, Some(store.path().to_owned())).unwrap();
        let archive = Archive::new(store.path().to_owned(), 32 << 20, Duration::from_secs(60));
        let paths =
            Paths { store: store.path().to_owned(), config: PathBuf::new(), client: None, warning: None };
        let catalog = RunCatalog::open(archive, Logs::of(&paths));
        let opened = catalog.open_runs(&catalog.runs.iter().collect::<Vec<_>>()).unwrap();
        let recorded = opened.runs.iter().map(|data| {
            let timeline = merge(data);
            let now = data.run.ended_at.unwrap();
            Recorded {
                run: data.run.clone(),
                report: Report::of(data, &timeline, &Config::default(), now),
                verdicts: RunVerdict::of(&timeline.entries),
            }
        });
        recorded.max_by_key(|recorded| recorded.report.turns.len()).unwrap()
    }

    pub fn export(&self, privacy: ShipPrivacy) -> RunExport<'_> {
        RunExport {
            run: &self.run,
            report: &self.report,
            verdicts: &self.verdicts,
            links: &[],
            revision: self.run.ended_at.map(Timestamp::millis).unwrap(),
            previous: None,
            privacy,
        }
    }
}
