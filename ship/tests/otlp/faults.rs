//! Receivers that are busy, broken or slow, as a single request finds them.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsPartialSuccess, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use teamkeep_ship::otlp::{Sender, Signal};
use teamkeep_system::error::{Error, Result};

use super::http::Got;

const CONTENT: &[u8] = b"the content of a request";

/// The answer to a connection.
type Connection = Box<dyn FnOnce(TcpStream) + Send>;

/// A receiver of one request after the other.
struct Fake {
    base: String,
    got: Receiver<Got>,
}

impl Fake {
    /// The first connections get these answers, and no others are accepted.
    fn new(answers: Vec<(bool, Connection)>) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (send, got) = channel();
        std::thread::spawn(move || {
            for (reads, answer) in answers {
                let (stream, _) = listener.accept().unwrap();
                if reads {
                    send.send(Got::read(&stream).unwrap()).unwrap();
                }
                answer(stream);
            }
        });
        Fake { base, got }
    }

    fn answering<const COUNT: usize>(answers: [&str; COUNT]) -> Fake {
        // The sender may hang up before it has read everything.
        let answer = |answer: &str| -> (bool, Connection) {
            let bytes = answer.as_bytes().to_vec();
            (true, Box::new(move |mut stream| drop(stream.write_all(&bytes))))
        };
        Fake::new(answers.map(answer).into())
    }

    /// Sends a request. Returns the note.
    fn send(&self, signal: Signal) -> Result<Option<String>> {
        send(&format!("{}/base/", self.base), signal)
    }

    fn error(&self) -> Error {
        self.send(Signal::Traces).unwrap_err()
    }
}

fn send(base: &str, signal: Signal) -> Result<Option<String>> {
    let mut secret = HeaderValue::from_static("Bearer s3cr3t-token");
    secret.set_sensitive(true);
    let headers = HeaderMap::from_iter([(AUTHORIZATION, secret)]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sender = Sender::new(base, headers).unwrap();
    let result = runtime.block_on(sender.send(signal, CONTENT)).map(|sent| sent.note);
    let shown = match &result {
        Ok(note) => format!("{note:?} {sender:?}"),
        Err(error) => format!("{error} {error:?} {}", error.hints.join(" ")),
    };
    assert!(!shown.contains("s3cr3t"), "{shown}");
    result
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";

fn status(line: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {line}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn a_request_is_compressed_and_has_the_headers_of_the_file() {
    let fake = Fake::answering([OK]);
    assert_eq!(fake.send(Signal::Logs).unwrap(), None);
    let got = fake.got.recv().unwrap();
    assert_eq!(got.line, "POST /base/v1/logs HTTP/1.1");
    for (name, value) in [("content-type", "application/x-protobuf"), ("content-encoding", "gzip")] {
        assert_eq!(got.headers[name], value);
    }
    assert_eq!(got.content(), CONTENT);
}

#[test]
fn a_receiver_that_is_busy_or_lost_gets_the_same_request_again() {
    let busy = |line: &str, headers: &str| status(line, headers, "");
    for first in [
        busy("503 Busy", "Retry-After: 1\r\n"),
        busy("429 Too Many Requests", "Retry-After: soon\r\n"),
        busy("502 Bad Gateway", ""),
        busy("504 Gateway Timeout", ""),
        String::new(),
    ] {
        let fake = Fake::answering([&first, OK]);
        assert_eq!(fake.send(Signal::Traces).unwrap(), None, "{first}");
        let (one, other) = (fake.got.recv().unwrap(), fake.got.recv().unwrap());
        assert_eq!((one.line, one.body), (other.line, other.body));
    }
}

#[test]
fn a_rejected_request_is_a_note_that_quotes_the_receiver_and_is_not_sent_again() {
    for line in ["400 Bad Request", "413 Content Too Large", "422 Unprocessable"] {
        let fake = Fake::answering([&status(line, "", "{\"message\":\"bad span for\n s3cr3t-token\"}")]);
        let note = fake.send(Signal::Traces).unwrap().unwrap();
        let quoted = r#""{\"message\":\"bad span for [hidden]\"}""#;
        assert!(
            note.contains(&format!("rejected a request with traces: HTTP status {}", &line[..3])),
            "{note}"
        );
        assert!(note.ends_with(quoted), "{note}");
    }
}

#[test]
fn items_that_were_not_taken_are_a_note() {
    let answer = |body: Vec<u8>| -> (bool, Connection) {
        let head = status("200 OK", "Content-Type: application/x-protobuf\r\n", "");
        let head = head.replace("Content-Length: 0", &format!("Content-Length: {}", body.len()));
        (true, Box::new(move |mut stream| drop(stream.write_all(&[head.into_bytes(), body].concat()))))
    };
    let message = "too old".to_owned();
    let partial = ExportLogsPartialSuccess { rejected_log_records: 3, error_message: message.clone() };
    let logs = ExportLogsServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    let partial = ExportTracePartialSuccess { rejected_spans: 2, error_message: message };
    let traces = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    for (signal, body, expected) in [
        (Signal::Logs, logs, "the OTLP receiver rejected 3 of the logs: \"too old\""),
        (Signal::Traces, traces, "the OTLP receiver rejected 2 of the traces: \"too old\""),
    ] {
        assert_eq!(Fake::new(vec![answer(body)]).send(signal).unwrap().unwrap(), expected);
    }
}

#[test]
fn a_wrong_address_and_wrong_credentials_are_errors_with_a_hint() {
    for (line, headers, hint) in [
        ("401 Unauthorized", "", "ship.otlp-headers-file"),
        ("403 Forbidden", "", "ship.otlp-headers-file"),
        ("404 Not Found", "", "check ship.otlp and ship.otlp-signals"),
        ("405 Method Not Allowed", "", "check ship.otlp and ship.otlp-signals"),
        ("407 Proxy Authentication Required", "", ""),
        ("410 Gone", "", ""),
        ("415 Unsupported Media Type", "", ""),
        // Nothing listens there: following it would be another error.
        ("307 Temporary Redirect", "Location: http://127.0.0.1:1/\r\n", "are not followed"),
    ] {
        let fake = Fake::answering([&status(line, headers, "")]);
        let error = fake.error();
        let expected =
            format!("cannot send traces: {}/base/v1/traces: HTTP status {}", fake.base, &line[..3]);
        assert!(error.to_string().starts_with(&expected), "{error}");
        assert!(error.hints.join(" ").contains(hint), "{error:?}");
    }
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort".to_owned(),
        "SSH-2.0-OpenSSH\r\n".to_owned(),
        // A network that needs a login.
        status("200 OK", "Content-Type: text/html\r\n", "<html>login</html>"),
    ] {
        assert!(Fake::answering([&answer]).send(Signal::Traces).is_err(), "{answer}");
    }
    let error = Fake::answering([&status("500 Internal Server Error", "", "")]).error();
    assert!(error.hints.is_empty(), "{error:?}");
}

#[test]
fn only_a_lasting_tls_error_is_not_tried_again() {
    let send = |answers: Vec<&'static [u8]>| {
        let answer = |bytes: &'static [u8]| -> (bool, Connection) {
            (false, Box::new(move |mut stream| drop(stream.write_all(bytes))))
        };
        let fake = Fake::new(answers.into_iter().map(answer).collect());
        send(&fake.base.replace("http:", "https:"), Signal::Logs).unwrap_err()
    };
    // The fatal alert `internal_error`, as from a load balancer that restarts.
    let (alert, plain): (&[u8], &[u8]) = (&[21, 3, 3, 0, 2, 2, 80], b"HTTP/1.1 400 Bad Request\r\n\r\n");
    for answers in [vec![plain], vec![alert, plain]] {
        let error = send(answers);
        assert!(error.hints.join(" ").contains("does not use TLS"), "{error:?}");
    }
}

#[test]
fn an_endless_response_is_not_read_to_its_end() {
    let endless = |line: &'static str| {
        let answer: Connection = Box::new(move |mut stream| {
            let _ = stream.write_all(format!("HTTP/1.1 {line}\r\n\r\n").as_bytes());
            while stream.write_all(&[b'x'; 4_096]).is_ok() {}
        });
        Fake::new(vec![(true, answer)])
    };
    for line in ["200 OK", "400 Bad Request"] {
        let error = endless(line).send(Signal::Logs).unwrap_err().to_string();
        assert!(error.contains("length limit exceeded"), "{error}");
    }
}
