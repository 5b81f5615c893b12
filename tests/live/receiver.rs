//! An HTTP server that keeps the notifications that teamkeep posts.

use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::record::text;
use super::server::Request;

/// The notifications so far.
#[derive(Default)]
pub struct Receiver(Mutex<Vec<Value>>);

impl Receiver {
    /// Listens on a free port of the loopback interface; the address to post to.
    pub fn listen(self: &Arc<Self>) -> std::io::Result<String> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let receiver = self.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                if let Ok(Some(request)) = Request::read(&mut BufReader::new(&stream)) {
                    let body = serde_json::from_slice(&request.body).unwrap_or_default();
                    receiver.0.lock().unwrap_or_else(PoisonError::into_inner).push(body);
                }
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
            }
        });
        Ok(format!("http://127.0.0.1:{port}/teamkeep"))
    }

    /// Each notification's incident.
    pub fn incidents(&self) -> Vec<Value> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().map(|body| body["incident"].clone()).collect()
    }
}

/// The kind and first agent of an incident: `stalled-agent alice`.
pub fn name(incident: &Value) -> String {
    format!("{} {}", text(incident, "kind"), incident["agents"][0].as_str().unwrap_or("-"))
}
