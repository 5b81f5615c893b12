//! The input of an export: one ended run, and the machine and user that ship it.

use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource as OtlpResource;
use teamkeep::report::Report;
use teamkeep_core::config::ShipPrivacy;
use teamkeep_core::model::TraceParent;
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::sys::clock::Timestamp;

use super::attributes::Attributes;
use super::names;
use crate::verdicts::RunVerdict;

/// Who ships: the same for all data of a process.
#[derive(Debug, Clone, Copy)]
pub struct Resource<'a> {
    pub organization: &'a str,
    pub host: &'a str,
    pub user: Option<&'a str>,
    pub service_version: &'a str,
}

impl Resource<'_> {
    pub(super) fn to_otlp(self) -> OtlpResource {
        let attributes = Attributes::default()
            .text(names::SERVICE_NAME, "teamkeep")
            .text(names::SERVICE_VERSION, self.service_version)
            .text(names::HOST_NAME, self.host)
            .maybe(names::USER_ID, self.user)
            .text(names::ORGANIZATION, self.organization);
        OtlpResource { attributes: attributes.into_list(), ..OtlpResource::default() }
    }

    pub(super) fn scope(self) -> InstrumentationScope {
        let (name, version) = ("teamkeep".to_owned(), self.service_version.to_owned());
        InstrumentationScope { name, version, ..InstrumentationScope::default() }
    }
}

/// A span of Claude Code's own telemetry in which a hook was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSpan {
    pub span: TraceParent,
    /// When the hook was called.
    pub at: Timestamp,
    pub session: Option<String>,
    /// The name of the agent that acted.
    pub agent: Option<String>,
}

/// An ended run. The privacy level has already been applied to the texts.
#[derive(Debug, Clone, Copy)]
pub struct RunExport<'a> {
    pub run: &'a RunRecord,
    pub report: &'a Report,
    pub verdicts: &'a [RunVerdict],
    /// The spans of Claude Code in which the run's hooks were called, in the order of the calls.
    pub links: &'a [ClientSpan],
    /// The end of the run in milliseconds.
    pub revision: i64,
    /// The revision that was sent before. Items that had ended by then are left out.
    pub previous: Option<i64>,
    pub privacy: ShipPrivacy,
}

impl RunExport<'_> {
    /// Whether something that ended at that time was not sent before.
    pub(super) fn is_new(&self, end: Timestamp) -> bool {
        self.previous.is_none_or(|previous| end.millis() > previous)
    }

    /// A text, if texts are sent and it is not empty.
    pub(super) fn text<'t>(&self, text: &'t str) -> Option<&'t str> {
        Some(text).filter(|text| self.privacy.has_texts() && !text.trim().is_empty())
    }

    /// The moment of the run's end, which is the end of all that has no recorded end.
    pub(super) fn end(&self) -> Timestamp {
        let revision = Timestamp::from_millis(self.revision).unwrap_or_default();
        revision.max(self.report.overview.started_at)
    }
}
