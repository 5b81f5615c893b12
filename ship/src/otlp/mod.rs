//! Ended runs as OpenTelemetry data: a trace, log records and metrics, sent with OTLP over HTTP.
//!
//! ```text
//! Report ──┬─▶ traces  ─┐
//! verdicts ┼─▶ logs    ─┼─▶ Request ─▶ Sender ─▶ receiver
//! links  ──┴─▶ metrics ─┘
//! ```
//!
//! [`traces`], [`logs`] and [`metrics`] are pure: the same run gives the same ids, so that a receiver can drop
//! duplicates. `docs/organization/opentelemetry.md` lists every name.

mod attributes;
mod batch;
mod export;
mod ids;
mod logs;
mod metrics;
pub mod names;
mod request;
mod response;
mod run_context;
mod sender;
mod target;
mod tasks;
mod traces;
mod turns;

pub use export::{ClientSpan, Resource, RunExport};
pub use logs::logs;
pub use metrics::metrics;
pub use request::Request;
pub use sender::{SendError, SendErrorKind, Sender};
pub use target::{Headers, OtlpTarget};
pub use teamkeep_core::store::shipping::Signal;
pub use traces::traces;

/// All requests of a run, in the order in which they are sent.
pub fn requests(resource: &Resource<'_>, export: &RunExport<'_>) -> Vec<Request> {
    [traces(resource, export), logs(resource, export), metrics(resource, export)].concat()
}
