//! The meaning of a receiver's response.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceResponse;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use reqwest::StatusCode;
use serde_json::Value;
use url::Url;

use super::{Headers, SendError, SendErrorKind, Signal};

/// Maximum length of a receiver's words in an error.
const MAX_QUOTED_CHARS: usize = 200;
/// The shortest part of a header that is replaced in the receiver's words.
const MIN_SECRET_CHARS: usize = 6;

/// A response, read up to its maximum size.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub after: Option<Duration>,
    pub is_protobuf: bool,
    pub body: Vec<u8>,
}

/// Credentials, which a receiver may quote and errors do not show.
#[derive(Debug)]
pub struct Secrets(Vec<String>);

impl Secrets {
    pub fn of(headers: &Headers, address: &Url) -> Secrets {
        let values =
            headers.iter().flat_map(|(_, value)| [value].into_iter().chain(value.split([' ', '=', ','])));
        let query = address.query_pairs().map(|(_, value)| value.into_owned());
        let mut secrets: Vec<String> = values.map(str::to_owned).chain(query).collect();
        secrets.extend(address.password().map(str::to_owned));
        secrets.extend([address.username().to_owned()]);
        secrets.retain(|secret| secret.chars().count() >= MIN_SECRET_CHARS);
        // The whole value before its parts.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Secrets(secrets)
    }

    fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "[hidden]"))
    }
}

/// The error that a response means; `None` if the receiver took everything.
pub fn refusal(signal: Signal, answer: &Answer, secrets: &Secrets) -> Option<SendError> {
    let status = answer.status;
    if status.is_success() && !answer.is_protobuf && answer.body.trim_ascii_start().starts_with(b"<") {
        let page = SendError::lost("the response is a web page, not an OTLP response");
        return Some(SendError {
            hint: Some("check ship.otlp, and whether the network needs a login"),
            ..page
        });
    }
    if status.is_success() {
        let (rejected, message) = partial_success(signal, answer).filter(|(rejected, _)| *rejected > 0)?;
        let text = format!("the receiver rejected {rejected} items{}", quoted(&message, secrets));
        return Some(SendError::new(SendErrorKind::Partial { rejected }, text));
    }
    let text = format!("HTTP status {status}{}", quoted(&message(answer), secrets));
    let kind = match status.as_u16() {
        429 | 502 | 503 | 504 => SendErrorKind::Retry { after: answer.after },
        401 | 403 => SendErrorKind::Unauthorized,
        413 => SendErrorKind::TooLarge,
        status @ (404 | 405 | 501) => SendErrorKind::Unsupported { status },
        500.. => SendErrorKind::Failed,
        _ => SendErrorKind::Rejected,
    };
    Some(SendError { hint: hint(status), ..SendError::new(kind, text) })
}

fn hint(status: StatusCode) -> Option<&'static str> {
    match status.as_u16() {
        300..=399 => Some("redirects are not followed: set ship.otlp to the final address"),
        401 | 403 => Some("check the credentials in ship.otlp-headers-file"),
        404 | 405 | 501 => Some("check ship.otlp: /v1/traces, /v1/logs and /v1/metrics are appended to it"),
        413 => Some("raise the receiver's limit for the size of a request"),
        406 | 415 => Some("set ship.otlp-encoding to the other encoding: protobuf or json"),
        _ => None,
    }
}

/// The number of rejected items and the reason, from a response that may have neither.
fn partial_success(signal: Signal, answer: &Answer) -> Option<(i64, String)> {
    let body = answer.body.as_slice();
    match signal {
        _ if !answer.is_protobuf => json_partial_success(signal, body),
        Signal::Traces => ExportTraceServiceResponse::decode(body)
            .ok()?
            .partial_success
            .map(|partial| (partial.rejected_spans, partial.error_message)),
        Signal::Logs => ExportLogsServiceResponse::decode(body)
            .ok()?
            .partial_success
            .map(|partial| (partial.rejected_log_records, partial.error_message)),
        Signal::Metrics => ExportMetricsServiceResponse::decode(body)
            .ok()?
            .partial_success
            .map(|partial| (partial.rejected_data_points, partial.error_message)),
    }
}

/// The same in OTLP/JSON, where the number can be a text, which the types of opentelemetry-proto do not read.
fn json_partial_success(signal: Signal, body: &[u8]) -> Option<(i64, String)> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let partial = body.get("partialSuccess")?;
    let rejected = partial.get(match signal {
        Signal::Traces => "rejectedSpans",
        Signal::Logs => "rejectedLogRecords",
        Signal::Metrics => "rejectedDataPoints",
    })?;
    let rejected = rejected.as_i64().or_else(|| rejected.as_str()?.parse().ok())?;
    let message = partial.get("errorMessage").and_then(Value::as_str).unwrap_or_default();
    Some((rejected, message.to_owned()))
}

/// The body of an error: `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(string, tag = "2")]
    message: String,
}

/// The receiver's words about an error: the message of a status, else the body.
fn message(answer: &Answer) -> String {
    if answer.is_protobuf {
        let status = RpcStatus::decode(answer.body.as_slice());
        return status.map(|status| status.message).unwrap_or_default();
    }
    let status: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let message = status.as_ref().and_then(|status| status.get("message")?.as_str());
    message.map_or_else(|| String::from_utf8_lossy(&answer.body).into_owned(), str::to_owned)
}

/// `: "words"`, on one line, without secrets and control characters.
fn quoted(message: &str, secrets: &Secrets) -> String {
    let hidden = secrets.hide(message);
    let words: Vec<&str> = hidden.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let start: String = line.chars().take(MAX_QUOTED_CHARS).collect();
    match start.is_empty() {
        true => String::new(),
        false => format!(": {start:?}"),
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTracePartialSuccess;

    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        let status = StatusCode::from_u16(status).unwrap();
        Answer { status, after: None, is_protobuf: false, body: body.as_bytes().to_vec() }
    }

    fn refused(status: u16, body: &str) -> Option<(SendErrorKind, String)> {
        let headers = Headers::parse("Authorization: Bearer s3cr3t-token").unwrap();
        let secrets = Secrets::of(&headers, &Url::parse("https://u:passw0rd@h/?key=abcdefgh").unwrap());
        let error = refusal(Signal::Traces, &answer(status, body), &secrets)?;
        Some((error.kind, error.to_string()))
    }

    #[test]
    fn a_success_is_not_an_error_whatever_its_body() {
        for body in
            ["", "{}", "OK", r#"{"partialSuccess":{}}"#, r#"{"partialSuccess":{"errorMessage":"slow"}}"#]
        {
            assert_eq!(refused(200, body), None, "{body}");
        }
    }

    #[test]
    fn a_web_page_is_not_the_response_of_a_receiver() {
        let (kind, text) = refused(200, "\n<!DOCTYPE html><title>Log in</title>").unwrap();
        assert_eq!(kind, SendErrorKind::Lost);
        assert!(text.contains("web page"), "{text}");
        // The first two bytes of this valid response are a line break and `<`.
        let success = ExportTracePartialSuccess { rejected_spans: 2, error_message: "x".repeat(56) };
        let body = ExportTraceServiceResponse { partial_success: Some(success) }.encode_to_vec();
        assert_eq!(body[..2], *b"\n<");
        let answer = Answer { is_protobuf: true, body, ..answer(200, "") };
        let error = refusal(Signal::Traces, &answer, &Secrets(Vec::new())).unwrap();
        assert_eq!(error.kind, SendErrorKind::Partial { rejected: 2 });
    }

    #[test]
    fn rejected_items_of_a_partial_success_are_an_error() {
        let partial = SendErrorKind::Partial { rejected: 2 };
        let body = r#"{"partialSuccess":{"rejectedSpans":2,"errorMessage":"too old"}}"#;
        assert_eq!(
            refused(200, body),
            Some((partial, r#"the receiver rejected 2 items: "too old""#.to_owned()))
        );
        // OTLP/JSON spells 64-bit integers as texts.
        assert_eq!(refused(200, &body.replace("2,", "\"2\",")).map(|(kind, _)| kind), Some(partial));
        let success = ExportTracePartialSuccess { rejected_spans: 2, error_message: String::new() };
        let response = ExportTraceServiceResponse { partial_success: Some(success) };
        let answer = Answer { is_protobuf: true, body: response.encode_to_vec(), ..answer(200, "") };
        assert_eq!(partial_success(Signal::Traces, &answer), Some((2, String::new())));
    }

    #[test]
    fn the_status_decides_whether_to_send_again() {
        let retry = |status| matches!(refused(status, "").unwrap().0, SendErrorKind::Retry { .. });
        for status in [429, 502, 503, 504] {
            assert!(retry(status), "{status}");
        }
        for status in [401, 403] {
            assert_eq!(refused(status, "").unwrap().0, SendErrorKind::Unauthorized, "{status}");
        }
        for status in [500, 507, 521] {
            assert_eq!(refused(status, "").unwrap().0, SendErrorKind::Failed, "{status}");
        }
        assert_eq!(refused(413, "").unwrap().0, SendErrorKind::TooLarge);
        for status in [301, 307, 400, 415] {
            assert_eq!(refused(status, "").unwrap().0, SendErrorKind::Rejected, "{status}");
        }
        for status in [404, 405, 501] {
            assert_eq!(refused(status, "").unwrap().0, SendErrorKind::Unsupported { status }, "{status}");
        }
    }

    #[test]
    fn the_receivers_words_are_quoted_without_secrets_and_controls() {
        let body = "{\"message\":\"\\u001b[2J no such\\ntoken s3cr3t-token, passw0rd, abcdefgh\"}";
        let expected = r#"HTTP status 401 Unauthorized: "[2J no such token [hidden], [hidden], [hidden]""#;
        assert_eq!(refused(401, body).unwrap().1, expected);
        assert_eq!(
            refused(400, &"x".repeat(9_999)).unwrap().1.len(),
            r#"HTTP status 400 Bad Request: """#.len() + 200
        );
    }
}
