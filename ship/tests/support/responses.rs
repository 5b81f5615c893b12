//! An OTLP/HTTP receiver that responds as a test configures it.

#![allow(clippy::unwrap_used)]

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::http::{self, Got};

/// Instead of a status: the connection is closed without a response.
pub const NO_RESPONSE: &str = "";

/// A receiver that responds to each path with a status, and its requests.
pub struct Receiver {
    pub base: String,
    responses: Arc<Mutex<Responses>>,
    got: Arc<Mutex<Vec<String>>>,
}

/// The paths with the status 200 and those that are rejected, and the status and the headers of all others; after that many requests,
/// all are accepted.
pub struct Responses {
    pub paths: Vec<&'static str>,
    pub rejected: Vec<&'static str>,
    /// The status of rejected paths.
    pub rejection: &'static str,
    /// The number of rejections, after which the rejected paths are like the others.
    pub rejections_left: usize,
    pub otherwise: &'static str,
    pub headers: &'static str,
    pub remaining: usize,
}

impl Responses {
    /// The same to all requests.
    pub fn with(otherwise: &'static str) -> Responses {
        Responses {
            paths: Vec::new(),
            rejected: Vec::new(),
            rejection: "400 Bad Request",
            rejections_left: usize::MAX,
            otherwise,
            headers: "",
            remaining: usize::MAX,
        }
    }
}

impl Receiver {
    pub fn start(paths: &[&'static str], otherwise: &'static str) -> Receiver {
        Receiver::responding(Responses { paths: paths.to_vec(), ..Responses::with(otherwise) })
    }

    pub fn responding(responses: Responses) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let receiver = Receiver { base, responses: Arc::new(Mutex::new(responses)), got: Arc::default() };
        let (responses, got) = (receiver.responses.clone(), receiver.got.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (responses, got) = (responses.clone(), got.clone());
                std::thread::spawn(move || respond(stream.unwrap(), &responses, &got));
            }
        });
        receiver
    }

    pub fn accept(&self, paths: &[&'static str]) {
        self.responses.lock().unwrap().paths = paths.to_vec();
    }

    /// The paths of the requests since the last call.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.got.lock().unwrap())
    }
}

/// Reads one request and responds. The shipper may close the connection before.
fn respond(stream: TcpStream, responses: &Mutex<Responses>, got: &Mutex<Vec<String>>) {
    let Ok(request) = Got::read(&stream) else { return };
    let (status, headers) = {
        let mut responses = responses.lock().unwrap();
        let is_accepted = responses.remaining == 0 || responses.paths.contains(&request.path());
        responses.remaining = responses.remaining.saturating_sub(1);
        match is_accepted {
            true => ("200 OK", ""),
            false if responses.rejections_left > 0 && responses.rejected.contains(&request.path()) => {
                responses.rejections_left -= 1;
                (responses.rejection, "")
            }
            false => (responses.otherwise, responses.headers),
        }
    };
    got.lock().unwrap().push(request.path().to_owned());
    if status != NO_RESPONSE {
        let _ = http::answer(stream, status, headers);
    }
}
