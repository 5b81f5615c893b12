//! The state of this machine at a shipment: the row in the table `hosts`.

use std::path::PathBuf;
use std::time::Duration;

use teamkeep_config::{ShipPrivacy, file_hash};
use teamkeep_model::time::Timestamp;
use teamkeep_settings::layer::layers;
use teamkeep_settings::plan::events;
use teamkeep_store::shipping::{Shipping, ShippingState};
use teamkeep_system::process::{self, Outcome, Run};

use crate::part::Sent;
use crate::rows::HostRow;
use crate::setup::Setup;

const HOOK_PROGRAM: &str = "teamkeep-hook";
/// It needs a millisecond.
const TIMEOUT: Duration = Duration::from_secs(5);
const MAX_VERSION_BYTES: usize = 200;

pub struct HostState<'a> {
    pub setup: &'a Setup,
    pub user: Option<String>,
    /// The time of the shipment.
    pub at: Timestamp,
    /// Before this shipment.
    pub state: &'a ShippingState,
    pub sent: Sent,
    pub heads: Vec<String>,
    pub unreadable_bytes: u64,
}

impl HostState<'_> {
    pub fn row(self) -> HostRow {
        let HostState { setup, user, at, state, sent, heads, unreadable_bytes } = self;
        let context = &setup.context;
        let shipping = Shipping::of(&context.paths);
        let files = context.policy_files();
        let policy = files.organization.as_deref().and_then(file_hash);
        let last = state.last.as_ref().filter(|last| last.error.is_some());
        HostRow {
            at,
            user,
            teamkeep: hook_version(),
            policy: policy.map(|hash| hash.to_hex().to_string()),
            hooks: events(&layers(&context.env, &context.paths)).into_iter().collect(),
            privacy: match context.config.ship.privacy {
                ShipPrivacy::Full => "full",
                ShipPrivacy::Redacted => "redacted",
                ShipPrivacy::Metadata => "metadata",
            },
            unreadable_bytes,
            lost_bytes: shipping.removed().map_or(0, |removed| removed.bytes),
            last_error: last.map(|last| last.failed.clone().unwrap_or_else(|| "unknown".to_owned())),
            heads,
            runs: sent.runs,
            events: sent.events,
        }
    }
}

/// The version of the program that hooks run, which is beside this one.
fn hook_version() -> Option<String> {
    let program: PathBuf = std::env::current_exe().ok()?.with_file_name(HOOK_PROGRAM);
    let mut command = process::program(program.to_str()?);
    command.arg("--version").current_dir("/");
    let run = Run { until_closed: true, ..Run::new(command, TIMEOUT) };
    let (Outcome::Ended(status), out) = run.collect(MAX_VERSION_BYTES).ok()? else { return None };
    let out = String::from_utf8(out).ok().filter(|_| status.success())?;
    out.split_whitespace().nth(1).map(str::to_owned)
}
