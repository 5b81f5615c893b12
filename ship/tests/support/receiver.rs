//! An OTLP/HTTP receiver that keeps every request, and responds as a test wants.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

use super::http::{Got, answer_with};

/// A request that was accepted.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Traces(ExportTraceServiceRequest),
    Logs(ExportLogsServiceRequest),
}

/// The answer to a request.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    Accepted,
    /// It takes the request, but the connection ends before the response.
    Lost,
    /// It does not take the request: the status, and the lines of headers.
    Refused(&'static str, &'static str),
}

/// Accepts nothing for the next ten minutes.
pub const BUSY: Answer = Answer::Refused("503 Service Unavailable", "Retry-After: 600\r\n");

type Rule = Box<dyn FnMut(&str) -> Answer + Send>;

/// A running receiver.
pub struct Receiver {
    pub base: String,
    kept: Arc<Kept>,
}

struct Kept {
    rule: Mutex<Rule>,
    accepted: Mutex<Vec<Request>>,
    paths: Mutex<Vec<String>>,
}

impl Receiver {
    pub fn start() -> Receiver {
        Receiver::responding(|_| Answer::Accepted)
    }

    /// The rule has the answer to a request with this path.
    pub fn responding(rule: impl FnMut(&str) -> Answer + Send + 'static) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let kept =
            Kept { rule: Mutex::new(Box::new(rule)), accepted: Mutex::default(), paths: Mutex::default() };
        let receiver = Receiver { base, kept: Arc::new(kept) };
        let kept = Arc::clone(&receiver.kept);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept) = (stream.unwrap(), Arc::clone(&kept));
                std::thread::spawn(move || kept.take(stream));
            }
        });
        receiver
    }

    pub fn respond(&self, rule: impl FnMut(&str) -> Answer + Send + 'static) {
        *self.kept.rule.lock().unwrap() = Box::new(rule);
    }

    pub fn set_busy(&self, is_busy: bool) {
        self.respond(move |_| if is_busy { BUSY } else { Answer::Accepted });
    }

    /// The requests that it has accepted.
    pub fn requests(&self) -> Vec<Request> {
        self.kept.accepted.lock().unwrap().clone()
    }

    /// The paths of all requests since the last call.
    pub fn paths(&self) -> Vec<String> {
        std::mem::take(&mut self.kept.paths.lock().unwrap())
    }
}

impl Kept {
    /// Reads a request and responds. The shipper may close the connection before.
    fn take(&self, stream: TcpStream) -> io::Result<()> {
        let request = Got::read(&stream)?;
        let answer = (self.rule.lock().unwrap())(request.path());
        self.paths.lock().unwrap().push(request.path().to_owned());
        if let Answer::Refused(status, headers) = answer {
            return answer_with(stream, status, headers, b"");
        }
        self.accepted.lock().unwrap().push(decoded(&request));
        match answer {
            Answer::Accepted => {
                answer_with(stream, "200 OK", "Content-Type: application/x-protobuf\r\n", b"")
            }
            _ => Ok(()),
        }
    }
}

fn decoded(request: &Got) -> Request {
    let content = request.content();
    match request.path() {
        "/v1/traces" => Request::Traces(Message::decode(content.as_slice()).unwrap()),
        "/v1/logs" => Request::Logs(Message::decode(content.as_slice()).unwrap()),
        path => panic!("unknown path {path}"),
    }
}
