//! A real browser: headless Chromium, driven by chromedriver over WebDriver's HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// One at a time: a browser takes what memory a small machine has.
static TURN: Mutex<()> = Mutex::new(());

/// What the browser is told when it starts: nothing of its own may ask the network for anything.
const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
];

pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    page: String,
    _profile: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Browser {
    /// Starts one; `None` where somebody said that there is to be none, and where none is installed: whoever has
    /// nothing but Rust can run the tests. `.ci/run` insists on one, for what the page does is told by nothing else.
    pub fn start() -> Option<Browser> {
        let is_set = |name| std::env::var(name).is_ok_and(|value| value == "1");
        if is_set("TEAMKEEP_SKIP_BROWSER") {
            return None;
        }
        let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (driver, port) = start_driver(is_set("TEAMKEEP_NEED_BROWSER"))?;
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Browser {
            driver,
            port,
            session: String::new(),
            page: String::new(),
            _profile: profile,
            _turn: turn,
        };
        browser.begin();
        Some(browser)
    }

    fn begin(&mut self) {
        let own = format!("--user-data-dir={}", self._profile.path().display());
        let flags: Vec<&str> = FLAGS.into_iter().chain([own.as_str()]).collect();
        let options = json!({
            "browserName": "chrome",
            "goog:chromeOptions": { "args": flags },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let asked = json!({ "capabilities": { "alwaysMatch": options } });
        let answer = self.ask("POST", "/session", Some(asked)).unwrap_or_else(|error| {
            panic!("chromedriver cannot start a browser: is Debian's package chromium installed? {error}")
        });
        self.session = format!("/session/{}", answer["sessionId"].as_str().unwrap());
    }

    /// Sends a request to the driver and reads what it answers.
    fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value, Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\n", self.port);
        let rest = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all((head + &rest).as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        if answer["value"]["error"].is_string() {
            return Err(answer["value"].clone());
        }
        Ok(answer["value"].clone())
    }

    fn tell(&self, method: &str, what: &str, body: Value) -> Value {
        let path = format!("{}{what}", self.session);
        self.ask(method, &path, (method == "POST").then_some(body))
            .unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    /// Opens a page and waits until it is drawn.
    pub fn open(&mut self, page: &Path) {
        self.page = format!("file://{}", page.display());
        self.tell("POST", "/url", json!({ "url": self.page }));
        let start = Instant::now();
        while self.run("return document.documentElement.hasAttribute('data-ready')") != true {
            let result = self.run("return document.getElementById('failure').textContent");
            assert!(start.elapsed() < Duration::from_secs(30), "the page was not drawn: {result}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs a script in the page, as a debugger does, and gives what it returns.
    pub fn run(&self, script: &str) -> Value {
        self.tell("POST", "/execute/sync", json!({ "script": script, "args": [] }))
    }

    /// Changes the fragment of the page's address, and waits until the page is drawn with it.
    pub fn go(&self, fragment: &str) {
        self.run(&format!(
            "return new Promise((drawn) => {{ \
             addEventListener('hashchange', () => requestAnimationFrame(() => requestAnimationFrame(drawn)), {{ once: true }}); \
             location.hash = {}; }})",
            json!(fragment)
        ));
    }

    /// What the page shows of an element, as text.
    pub fn text(&self, selector: &str) -> String {
        let script = format!("return document.querySelector({}).textContent", json!(selector));
        self.run(&script).as_str().unwrap().to_owned()
    }

    /// Presses keys, one after the other, as a person does.
    pub fn press(&self, keys: &[&str]) {
        let act =
            |key: &&str| [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})];
        let actions: Vec<Value> = keys.iter().flat_map(act).collect();
        self.tell(
            "POST",
            "/actions",
            json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }),
        );
    }

    /// Moves and presses the mouse.
    pub fn mouse(&self, actions: &[Value]) {
        self.tell(
            "POST",
            "/actions",
            json!({ "actions": [{ "type": "pointer", "id": "mouse", "actions": actions }] }),
        );
    }

    /// Gives an element the keyboard.
    pub fn focus(&self, selector: &str) {
        self.run(&format!("document.querySelector({}).focus()", json!(selector)));
    }

    /// Whether the page has a dialog of the browser open, such as `alert` makes.
    pub fn is_alerted(&self) -> bool {
        self.ask("GET", &format!("{}/alert/text", self.session), None).is_ok()
    }

    /// A command of the browser's own protocol.
    pub fn command(&self, command: &str, params: Value) -> Value {
        self.tell("POST", "/goog/cdp/execute", json!({ "cmd": command, "params": params }))
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        self.tell("POST", "/se/log", json!({ "type": kind })).as_array().unwrap().clone()
    }

    /// Holds that nothing was complained about, and nothing asked for but the page.
    pub fn must_be_content(&self) {
        assert_eq!(self.log("browser"), Vec::<Value>::new());
        let failure = self.run("const failure = document.getElementById('failure'); return failure.hidden");
        assert_eq!(failure, true);
        let asked: Vec<String> = (self.log("performance").iter())
            .map(|entry| serde_json::from_str::<Value>(entry["message"].as_str().unwrap()).unwrap())
            .filter(|told| told["message"]["method"] == "Network.requestWillBeSent")
            .map(|told| told["message"]["params"]["request"]["url"].as_str().unwrap().to_owned())
            .filter(|url| url.starts_with("file:") || url.starts_with("http") || url.starts_with("ws"))
            .collect();
        assert!(!asked.is_empty() && asked.iter().all(|url| *url == self.page), "{asked:?}");
        assert_eq!(self.run("return performance.getEntriesByType('resource').length"), 0);
    }
}

/// How often to start chromedriver: it picks a free port, and ends if another process takes that port first.
const ATTEMPTS: u32 = 5;

/// Starts chromedriver and returns its port. `None` if it is not installed and not needed.
fn start_driver(is_needed: bool) -> Option<(Child, u16)> {
    let mut output = String::new();
    for _ in 0..ATTEMPTS {
        let spawned = Command::new("chromedriver")
            .arg("--port=0")
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut driver = match spawned {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_needed => return None,
            spawned => spawned.unwrap_or_else(|error| {
                panic!(
                    "chromedriver cannot be run ({error}): install Debian's packages chromium and chromium-driver, \
                     or set TEAMKEEP_SKIP_BROWSER=1 to go without the tests of the HTML report"
                )
            }),
        };
        // A process blocks when it writes to a full pipe.
        let mut stderr = driver.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port = lines
            .by_ref()
            .inspect(|line| output += &format!("{line}\n"))
            .find_map(|line| line.split("successfully on port ").nth(1)?.trim_end_matches('.').parse().ok());
        if let Some(port) = port {
            std::thread::spawn(move || lines.for_each(drop));
            return Some((driver, port));
        }
        let _ = driver.kill();
        output += &errors.join().unwrap();
        output += &format!("{}\n", driver.wait().unwrap());
    }
    panic!("chromedriver named no port in {ATTEMPTS} attempts:\n{output}")
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.ask("DELETE", &self.session, None);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
