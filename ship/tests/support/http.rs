//! Requests as a server gets them.

#![allow(dead_code, clippy::unwrap_used)]

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;

use flate2::read::GzDecoder;

/// A request.
#[derive(Debug)]
pub struct Got {
    pub line: String,
    /// By name in lower case.
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Got {
    pub fn read(stream: &TcpStream) -> io::Result<Got> {
        let mut reader = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let headers = lines.iter().skip(1).filter_map(|line| line.split_once(": "));
        let headers: HashMap<String, String> =
            headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        let length = headers.get("content-length").map_or(Ok(0), |length| length.parse());
        let mut body = vec![0; length.map_err(|_| ErrorKind::InvalidData)?];
        reader.read_exact(&mut body)?;
        Ok(Got { line: lines.swap_remove(0), headers, body })
    }

    /// Sends the request on, and asks the server to close the connection after its response.
    pub fn write(&self, mut stream: &TcpStream) -> io::Result<()> {
        let mut head = format!("{}\r\n", self.line);
        let others = self.headers.iter().filter(|(name, _)| *name != "connection");
        others.for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes())?;
        stream.write_all(&self.body)
    }

    pub fn method(&self) -> &str {
        self.line.split(' ').next().unwrap_or_default()
    }

    /// The path in the first line.
    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    /// The decompressed body.
    pub fn content(&self) -> Vec<u8> {
        let mut content = Vec::new();
        GzDecoder::new(self.body.as_slice()).read_to_end(&mut content).unwrap();
        content
    }
}

/// Answers a request without a body and closes the connection. `headers` has lines, each with its end.
pub fn answer(stream: TcpStream, status: &str, headers: &str) -> io::Result<()> {
    answer_with(stream, status, headers, b"")
}

/// The same with a body.
pub fn answer_with(mut stream: TcpStream, status: &str, headers: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}
