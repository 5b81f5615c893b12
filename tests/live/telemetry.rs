//! What the collector received, read from what it printed.

use std::collections::{BTreeMap, BTreeSet};

/// The service name of Claude Code, and that of teamkeep.
pub const CLIENT: &str = "claude-code";
pub const TEAMKEEP: &str = "teamkeep";

/// The IDs of a trace and of a span of it.
pub type SpanId = (String, String);

/// A span that was received.
#[derive(Default, Debug)]
pub struct Span {
    pub service: String,
    pub name: String,
    pub id: SpanId,
    pub attributes: BTreeMap<String, String>,
    pub links: Vec<Link>,
}

#[derive(Default, Debug)]
pub struct Link {
    pub to: SpanId,
    pub attributes: BTreeMap<String, String>,
}

/// What was received.
#[derive(Default)]
pub struct Telemetry {
    pub spans: Vec<Span>,
    /// The values of `session.id` of Claude Code's spans, records and data points.
    pub sessions: BTreeSet<String>,
    /// The services that sent log records, and those that sent metrics.
    pub with_records: BTreeSet<String>,
    pub with_metrics: BTreeSet<String>,
    service: String,
    place: Place,
}

/// What the line is part of.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Resource,
    Span,
    Link,
    Record,
    Metric,
}

impl Telemetry {
    /// Reads what the collector printed.
    pub fn read(printed: &str) -> Self {
        let mut telemetry = Self::default();
        printed.lines().map(str::trim).for_each(|line| telemetry.take(line));
        telemetry
    }

    /// The spans of a service.
    pub fn of(&self, service: &str) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(move |span| span.service == service)
    }

    fn take(&mut self, line: &str) {
        if let Some((begun, _)) = line.split_once(" #") {
            self.begin(begun);
        } else if let Some((key, value)) = line.strip_prefix("-> ").and_then(|line| line.split_once(": ")) {
            self.attribute(key, value);
        } else if let (Place::Span, Some((key, value)), Some(span)) =
            (self.place, line.split_once(':'), self.spans.last_mut())
        {
            let field = match key.trim_end() {
                "Trace ID" => &mut span.id.0,
                "ID" => &mut span.id.1,
                "Name" => &mut span.name,
                _ => return,
            };
            value.trim().clone_into(field);
        }
    }

    fn begin(&mut self, what: &str) {
        self.place = match what {
            "ResourceSpans" | "ResourceLog" | "ResourceMetrics" | "ResourceMetric" => Place::Resource,
            "Span" => {
                self.spans.push(Span { service: self.service.clone(), ..Span::default() });
                Place::Span
            }
            "SpanLink" => {
                self.spans.iter_mut().last().into_iter().for_each(|span| span.links.push(Link::default()));
                Place::Link
            }
            "LogRecord" => {
                self.with_records.insert(self.service.clone());
                Place::Record
            }
            "NumberDataPoints" => {
                self.with_metrics.insert(self.service.clone());
                Place::Metric
            }
            _ => self.place,
        };
    }

    fn attribute(&mut self, key: &str, printed: &str) {
        let text = printed.strip_prefix("Str(").and_then(|text| text.strip_suffix(')')).unwrap_or(printed);
        if self.place == Place::Resource && key == "service.name" {
            text.clone_into(&mut self.service);
        }
        if key == "session.id" && self.service == CLIENT {
            self.sessions.insert(text.to_owned());
        }
        let (place, span) = (self.place, self.spans.last_mut());
        let link = span.filter(|_| matches!(place, Place::Span | Place::Link));
        let Some(span) = link else { return };
        match (place, span.links.last_mut(), key) {
            (Place::Link, Some(link), "Trace ID") => text.clone_into(&mut link.to.0),
            (Place::Link, Some(link), "ID") => text.clone_into(&mut link.to.1),
            (Place::Link, Some(link), _) => drop(link.attributes.insert(key.to_owned(), text.to_owned())),
            _ => drop(span.attributes.insert(key.to_owned(), text.to_owned())),
        }
    }
}
