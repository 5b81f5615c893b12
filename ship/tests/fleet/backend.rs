//! The receiver to which the collector sends all that it takes.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use prost::Message;
use teamkeep_ship::otlp::Request;

use super::http::{Got, answer};

/// An OTLP/HTTP receiver that keeps every request.
pub struct Backend {
    pub base: String,
    requests: Arc<Mutex<Vec<Got>>>,
}

impl Backend {
    pub fn start() -> Backend {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let backend = Backend { base, requests: Arc::default() };
        let requests = Arc::clone(&backend.requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, requests) = (stream.unwrap(), Arc::clone(&requests));
                std::thread::spawn(move || keep(stream, &requests));
            }
        });
        backend
    }

    /// What has arrived so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().iter().map(decoded).collect()
    }
}

fn keep(stream: TcpStream, requests: &Mutex<Vec<Got>>) -> io::Result<()> {
    let request = Got::read(&stream)?;
    requests.lock().unwrap().push(request);
    answer(stream, "200 OK", "Content-Type: application/x-protobuf\r\n")
}

fn decoded(request: &Got) -> Request {
    let content = request.content();
    match request.path() {
        "/v1/traces" => Request::Traces(Message::decode(content.as_slice()).unwrap()),
        "/v1/logs" => Request::Logs(Message::decode(content.as_slice()).unwrap()),
        "/v1/metrics" => Request::Metrics(Message::decode(content.as_slice()).unwrap()),
        path => panic!("unknown path {path}"),
    }
}
