//! An HTTP server that a test programs: a store, a gateway or a service that gives credentials.

#![allow(dead_code, clippy::unwrap_used)]

use std::collections::HashMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::http::Got;

/// A response. Without a status, the connection is closed instead.
#[derive(Debug, Default, Clone)]
pub struct Answer {
    pub status: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

pub fn status(status: &'static str) -> Answer {
    Answer { status, ..Answer::default() }
}

pub fn with_body(status: &'static str, body: impl Into<Vec<u8>>) -> Answer {
    Answer { status, body: body.into(), ..Answer::default() }
}

impl Answer {
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Answer {
        self.headers.push((name, value.into()));
        self
    }

    fn write(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut head = format!("HTTP/1.1 {}\r\n", self.status);
        self.headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        head.push_str(&format!("Content-Length: {}\r\nConnection: close\r\n\r\n", self.body.len()));
        stream.write_all(head.as_bytes())?;
        stream.write_all(&self.body)
    }
}

/// A running server, and the requests that it got.
pub struct Stub {
    pub base: String,
    pub port: u16,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Stub {
    /// Starts a server that answers one request after the other.
    pub fn start(mut answer: impl FnMut(&Got) -> Answer + Send + 'static) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stub = Stub { base: format!("http://127.0.0.1:{port}"), port, got: Arc::default() };
        let got = Arc::clone(&stub.got);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let Ok(request) = Got::read(&stream) else { continue };
                let answer = answer(&request);
                got.lock().unwrap().push(request);
                if !answer.status.is_empty() {
                    let _ = answer.write(stream);
                }
            }
        });
        stub
    }

    /// The requests since the last call.
    pub fn requests(&self) -> Vec<Got> {
        std::mem::take(&mut self.got.lock().unwrap())
    }
}

/// The objects of a store, by path.
#[derive(Debug, Default, Clone)]
pub struct Bucket(pub Arc<Mutex<HashMap<String, Vec<u8>>>>);

impl Bucket {
    /// Creates an object unless it exists, or reads it.
    pub fn answer(&self, got: &Got) -> Answer {
        let mut objects = self.0.lock().unwrap();
        match (got.method(), objects.get(got.path())) {
            ("GET", Some(content)) => {
                let length = content.len();
                // `object_store` needs the time.
                with_body("200 OK", content.clone())
                    .header("Last-Modified", "Fri, 20 Nov 2026 12:00:00 GMT")
                    .header("ETag", format!("\"{length}\""))
            }
            ("GET", None) => status("404 Not Found"),
            (_, Some(_)) if got.headers.get("if-none-match").is_some_and(|value| value == "*") => {
                status("412 Precondition Failed")
            }
            _ => {
                objects.insert(got.path().to_owned(), got.body.clone());
                status("200 OK").header("ETag", "\"new\"")
            }
        }
    }

    pub fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}
