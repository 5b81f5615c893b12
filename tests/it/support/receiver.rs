//! A local HTTP receiver, which keeps what it got.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// One request, read completely.
#[derive(Debug, Clone)]
pub struct Request {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// How a request is answered.
#[derive(Debug, Clone)]
pub enum Reply {
    Status(&'static str),
    Redirect(String),
    /// Not at all: the connection stays open.
    Silence,
}

pub struct Receiver {
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Receiver {
    /// The first requests get these replies, and all further ones the last.
    pub fn replying(replies: &[Reply]) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook?key=hidden", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (kept, replies) = (requests.clone(), replies.to_vec());
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read(&stream) else { continue };
                let number = {
                    let mut kept = kept.lock().unwrap();
                    kept.push(request);
                    kept.len() - 1
                };
                let head = match &replies[number.min(replies.len() - 1)] {
                    Reply::Status(status) => format!("HTTP/1.1 {status}\r\n"),
                    Reply::Redirect(to) => format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: {to}\r\n"),
                    Reply::Silence => {
                        open.push(stream);
                        continue;
                    }
                };
                // A client that was killed reads no reply.
                let _ = stream
                    .write_all(format!("{head}Content-Length: 0\r\nConnection: close\r\n\r\n").as_bytes());
            }
        });
        Receiver { url, requests }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Waits until that many requests arrived.
    pub fn wait(&self, count: usize) -> Vec<Request> {
        let start = Instant::now();
        while self.requests().len() < count {
            assert!(start.elapsed() < Duration::from_secs(60), "{:?}", self.requests());
            std::thread::sleep(Duration::from_millis(10));
        }
        self.requests()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut next = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        Some(line.trim_end().to_owned())
    };
    let line = next()?;
    let mut headers = Vec::new();
    loop {
        let header = next()?;
        let Some((name, value)) = header.split_once(": ") else { break };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let mut request = Request { line, headers, body: String::new() };
    let length: usize = request.header("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8(body).ok()?;
    Some(request)
}
