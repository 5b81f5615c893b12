//! Receivers that are busy, broken or slow.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use teamkeep_core::config::{OtlpEncoding, ShipPrivacy};
use teamkeep_ship::otlp::{Headers, OtlpTarget, Request, SendError, SendErrorKind, Sender, traces};

use super::http::Got;
use super::sample::{RESOURCE, Sample};

/// A long time for a test, which no test waits for.
const LONG: Duration = Duration::from_secs(60);

/// A receiver of one request.
struct Fake {
    base: String,
    got: Receiver<Got>,
}

impl Fake {
    /// Reads a request, if it is to, and lets `answer` have the connection.
    fn new(reads: bool, answer: impl FnOnce(TcpStream) + Send + 'static) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (send, got) = channel();
        std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            if reads {
                send.send(Got::read(&stream).unwrap()).unwrap();
            }
            answer(stream);
        });
        Fake { base, got }
    }

    fn answering(answer: impl Into<Vec<u8>>) -> Fake {
        let answer = answer.into();
        // The sender may hang up before it has read everything.
        Fake::new(true, move |mut stream| drop(stream.write_all(&answer)))
    }

    fn target(&self, encoding: OtlpEncoding) -> OtlpTarget {
        let headers = Headers::parse("Authorization: Bearer s3cr3t-token").unwrap();
        let base = self.base.replace("http://", "http://user:passw0rd@") + "/base/?key=query-secret";
        OtlpTarget { base, encoding, headers }
    }

    fn send(&self) -> Result<(), SendError> {
        send(&self.target(OtlpEncoding::Protobuf), LONG)
    }
}

fn request() -> Request {
    traces(&RESOURCE, &Sample::new().export(ShipPrivacy::Full, 60, None)).remove(0)
}

fn send(target: &OtlpTarget, total: Duration) -> Result<(), SendError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sender = Sender::with_timeouts(target, LONG, total).unwrap();
    let result = runtime.block_on(sender.send(&request()));
    if let Err(error) = &result {
        let shown = format!("{error} {error:?} {sender:?}");
        for secret in ["s3cr3t", "passw0rd", "query-secret"] {
            assert!(!error.to_string().contains(secret), "{shown}");
        }
    }
    result
}

fn status(line: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {line}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn a_request_is_compressed_and_has_the_headers_of_the_file() {
    let fake = Fake::answering(status("200 OK", "Content-Type: application/x-protobuf\r\n", ""));
    fake.send().unwrap();
    let got = fake.got.recv().unwrap();
    assert_eq!(got.line, "POST /base/v1/traces?key=query-secret HTTP/1.1");
    assert_eq!(got.headers["content-type"], "application/x-protobuf");
    assert_eq!(got.headers["content-encoding"], "gzip");
    let body = got.content();
    assert_eq!(Request::Traces(ExportTraceServiceRequest::decode(body.as_slice()).unwrap()), request());
}

#[test]
fn json_is_sent_as_json() {
    let fake = Fake::answering(status("200 OK", "Content-Type: application/json\r\n", "{}"));
    let target = OtlpTarget { base: fake.base.clone(), ..fake.target(OtlpEncoding::Json) };
    send(&target, LONG).unwrap();
    let got = fake.got.recv().unwrap();
    assert_eq!(got.headers["content-type"], "application/json");
    assert_eq!(got.headers["authorization"], "Bearer s3cr3t-token");
    let body = got.content();
    assert_eq!(Request::Traces(serde_json::from_slice(&body).unwrap()), request());
}

#[test]
fn a_busy_receiver_says_when_to_send_again() {
    let retry = |headers: &str| Fake::answering(status("503 Busy", headers, "")).send().unwrap_err().kind;
    let after = |seconds| SendErrorKind::Retry { after: Some(Duration::from_secs(seconds)) };
    assert_eq!(retry("Retry-After: 7\r\n"), after(7));
    // At most an hour.
    assert_eq!(retry("Retry-After: 99999999\r\n"), after(3_600));
    assert_eq!(retry("Retry-After: soon\r\n"), SendErrorKind::Retry { after: None });
}

#[test]
fn a_rejection_is_not_sent_again_and_quotes_the_receiver() {
    let fake = Fake::answering(status(
        "400 Bad Request",
        "",
        "{\"code\":3,\"message\":\"bad span for s3cr3t-token\"}",
    ));
    let error = fake.send().unwrap_err();
    assert_eq!(error.kind, SendErrorKind::Rejected);
    let base = fake.base;
    assert_eq!(
        error.to_string(),
        format!(
            "cannot send traces to {base}/base/v1/traces: HTTP status 400 Bad Request: \"bad span for [hidden]\""
        )
    );
}

#[test]
fn another_encoding_and_redirects_have_a_hint() {
    let hint = |line: &str, headers: &str| {
        Fake::answering(status(line, headers, "")).send().unwrap_err().hint.unwrap()
    };
    assert!(hint("415 Unsupported Media Type", "").contains("ship.otlp-encoding"));
    assert!(hint("401 Unauthorized", "").contains("ship.otlp-headers-file"));
    // Nothing listens there: following it would be another error.
    assert!(hint("307 Temporary Redirect", "Location: http://127.0.0.1:1/\r\n").contains("not followed"));
}

#[test]
fn rejected_items_are_an_error_that_is_not_sent_again() {
    let body = r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}"#;
    let error =
        Fake::answering(status("200 OK", "Content-Type: application/json\r\n", body)).send().unwrap_err();
    assert_eq!(error.kind, SendErrorKind::Partial { rejected: 3 });
}

#[test]
fn lost_connections_are_tried_again() {
    let retry = SendErrorKind::Lost;
    // Before the request is read, in the middle of the response, and not HTTP at all.
    assert_eq!(Fake::new(false, drop).send().unwrap_err().kind, retry);
    assert_eq!(
        Fake::answering("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort").send().unwrap_err().kind,
        retry
    );
    assert_eq!(Fake::answering("SSH-2.0-OpenSSH\r\n").send().unwrap_err().kind, retry);
    let closed = Fake { base: "http://127.0.0.1:1".to_owned(), got: channel().1 };
    assert_eq!(closed.send().unwrap_err().kind, retry);
}

/// The error of a request with TLS to a server that sends these bytes.
fn error_with_tls(response: &'static [u8]) -> SendError {
    let fake = Fake::new(false, |mut stream| drop(stream.write_all(response)));
    let target = OtlpTarget {
        base: fake.base.replace("http:", "https:"),
        encoding: OtlpEncoding::Protobuf,
        headers: Headers::default(),
    };
    send(&target, LONG).unwrap_err()
}

#[test]
fn only_a_lasting_tls_error_is_not_tried_again() {
    let error = error_with_tls(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert_eq!(error.kind, SendErrorKind::Tls);
    assert!(error.hint.unwrap().contains("does not use TLS"), "{error}");
    // The fatal alert `internal_error`, as from a load balancer that restarts.
    let error = error_with_tls(&[21, 3, 3, 0, 2, 2, 80]);
    assert_eq!((error.kind, error.hint), (SendErrorKind::Lost, None), "{error}");
}

#[test]
fn a_silent_receiver_is_given_up() {
    let (hold, held) = channel::<()>();
    let fake = Fake::new(true, move |stream| {
        let _ = held.recv();
        drop(stream);
    });
    let error = send(&fake.target(OtlpEncoding::Protobuf), Duration::from_millis(200)).unwrap_err();
    assert_eq!(error.kind, SendErrorKind::Lost);
    assert!(error.to_string().ends_with("timed out"), "{error}");
    drop(hold);
}

#[test]
fn an_endless_response_is_not_read_to_its_end() {
    let endless = |line: &'static str| {
        Fake::new(true, move |mut stream| {
            let _ = stream.write_all(format!("HTTP/1.1 {line}\r\n\r\n").as_bytes());
            while stream.write_all(&[b'x'; 4_096]).is_ok() {}
        })
    };
    endless("200 OK").send().unwrap();
    let error = endless("400 Bad Request").send().unwrap_err();
    assert!(error.to_string().len() < 400, "{error}");
}
