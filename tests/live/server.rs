//! A Messages API that answers from a script.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use serde_json::{Value, json};

use super::ledger::Ledger;
use super::moves::Move;

/// What a script answers to a request; `None` where the request belongs to no part.
pub type Script = Arc<dyn Fn(&super::conversation::Cue) -> Vec<Move> + Send + Sync>;

/// Listens on a free port of the loopback interface and answers for as long as the process lives.
pub fn start(script: Script, ledger: Arc<Ledger>) -> io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (script, ledger) = (script.clone(), ledger.clone());
            // A client that hangs up ends its connection, and nothing else.
            std::thread::spawn(move || drop(talk(&stream, &script, &ledger)));
        }
    });
    Ok(port)
}

/// Answers one connection's requests, one after the other.
fn talk(stream: &TcpStream, script: &Script, ledger: &Ledger) -> io::Result<()> {
    let mut input = BufReader::new(stream);
    while let Some(request) = Request::read(&mut input)? {
        let Some((status, kind, text)) = answer(&request, script, ledger) else {
            io::copy(&mut input, &mut io::sink())?;
            return Ok(());
        };
        let body = if request.method == "HEAD" { "" } else { &text };
        let head = format!(
            "HTTP/1.1 {status} -\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{NO_RETRY}\r\n",
            text.len()
        );
        let mut out = stream;
        out.write_all(format!("{head}{body}").as_bytes())?;
    }
    Ok(())
}

/// A client that may retry an error does it for minutes.
const NO_RETRY: &str = "x-should-retry: false\r\n";

/// The status, the type and the text of the answer; `None` for none.
fn answer(request: &Request, script: &Script, ledger: &Ledger) -> Option<(u64, &'static str, String)> {
    if request.method != "POST" {
        return Some((200, "application/json", "{}".to_owned()));
    }
    if !request.path.contains("/v1/messages") || request.path.contains("count_tokens") {
        return Some((200, "application/json", json!({"input_tokens": 100}).to_string()));
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let message = ledger.answer(&body, script)?;
    let status = message["status"].as_u64().filter(|_| message["type"] == "error");
    Some(if body["stream"] == true && status.is_none() {
        (200, "text/event-stream", super::stream::events(&message))
    } else {
        (status.unwrap_or(200), "application/json", message.to_string())
    })
}

pub struct Request {
    method: String,
    path: String,
    pub body: Vec<u8>,
}

impl Request {
    /// Reads the next request; `None` when there is none any more.
    pub fn read(input: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut first = String::new();
        if input.read_line(&mut first)? == 0 {
            return Ok(None);
        }
        let mut words = first.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut length = 0;
        loop {
            let mut line = String::new();
            input.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = Vec::new();
        input.take(length).read_to_end(&mut body)?;
        Ok(Some(Self { method, path, body }))
    }
}
