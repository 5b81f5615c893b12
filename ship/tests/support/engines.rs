//! Real servers on loopback addresses, started from the programs that `scripts/engines.sh` installs.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout
)]

use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a server may take until it answers.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A program of `scripts/engines.sh`.
#[derive(Debug, Clone, Copy)]
pub enum Engine {
    /// SeaweedFS, an object store.
    Weed,
    /// A collector for OpenTelemetry.
    Rotel,
    /// The Python that has the query engines.
    Python,
}

impl Engine {
    fn variable(self) -> &'static str {
        match self {
            Engine::Weed => "TEAMKEEP_WEED",
            Engine::Rotel => "TEAMKEEP_ROTEL",
            Engine::Python => "TEAMKEEP_ENGINES_PYTHON",
        }
    }

    /// Where `scripts/engines.sh` installs it.
    fn installed(self) -> Option<PathBuf> {
        let engines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/engines");
        let path = match self {
            Engine::Weed => engines.join("bin/weed"),
            Engine::Python => engines.join("bin/python"),
            Engine::Rotel => {
                let versions = std::fs::read_dir(engines.join("lib")).ok()?.flatten();
                let rotel = |python: &Path| python.join("site-packages/rotel/rotel-agent");
                return versions.map(|python| rotel(&python.path())).find(|path| path.exists());
            }
        };
        Some(path).filter(|path| path.exists())
    }
}

/// The path of an engine: that of its variable, else the installed one. Without it the test is skipped, unless
/// `TEAMKEEP_NEED_ENGINES` is 1: then it fails.
pub fn engine(engine: Engine) -> Option<PathBuf> {
    let variable = engine.variable();
    let set = std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = set.or_else(|| engine.installed()).filter(|path| path.exists());
    if path.is_none() {
        let is_needed = std::env::var_os("TEAMKEEP_NEED_ENGINES").is_some_and(|value| value == "1");
        assert!(!is_needed, "no {engine:?}: run scripts/engines.sh, or set {variable}");
        println!("skipped: no {engine:?}; run scripts/engines.sh, or set {variable}");
    }
    path
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub fn wait_for_port(port: u16) {
    let start = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(start.elapsed() < START_TIMEOUT, "no server at port {port}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A port that no outgoing connection takes while its server is down. SeaweedFS also uses the port plus 10,000.
pub fn lasting_port() -> u16 {
    static TAKEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let mut ports = std::iter::repeat_with(|| 10_000 + free_port() % 10_000);
    let is_usable =
        |port: &u16| is_free(*port) && is_free(*port + 10_000) && TAKEN.lock().unwrap().insert(*port);
    ports.find(is_usable).unwrap()
}

/// Sends a signal, such as `STOP`, to a process that the test started.
pub fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(status.unwrap().success());
}

/// A process that ends with the test.
pub struct Server(pub Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port with TLS, and the files of its certificate and key.
struct Tls {
    port: u16,
    certificate: PathBuf,
    key: PathBuf,
}

/// SeaweedFS with its S3 interface, and an access key.
pub struct S3 {
    weed: PathBuf,
    dir: PathBuf,
    ports: [u16; 4],
    tls: Option<Tls>,
    server: Option<Server>,
}

impl S3 {
    /// Starts a server that stores everything in this directory.
    pub fn start(weed: &Path, dir: &Path) -> S3 {
        S3::started(weed, dir, None)
    }

    /// The same with TLS, with the files of a certificate and its key.
    pub fn start_with_tls(weed: &Path, dir: &Path, certificate: &Path, key: &Path) -> S3 {
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        S3::started(weed, dir, Some(Tls { port: lasting_port(), certificate, key }))
    }

    fn started(weed: &Path, dir: &Path, tls: Option<Tls>) -> S3 {
        std::fs::create_dir_all(dir.join("data")).unwrap();
        let identity = r#"{"identities":[{"name":"t","credentials":[{"accessKey":"AK","secretKey":"SK"}],"actions":["Admin","Read","Write","List"]}]}"#;
        std::fs::write(dir.join("s3.json"), identity).unwrap();
        // Each server also listens at its port plus 10,000.
        let ports = std::array::from_fn(|_| lasting_port());
        let mut s3 = S3 { weed: weed.to_owned(), dir: dir.to_owned(), ports, tls, server: None };
        s3.restart();
        s3
    }

    /// Kills the server, if it runs, and starts it on the same data.
    pub fn restart(&mut self) {
        self.server = None;
        let [master, volume, filer, s3] = self.ports.map(|port| port.to_string());
        let log = std::fs::File::options().create(true).append(true).open(self.dir.join("weed.log")).unwrap();
        let mut command = Command::new(&self.weed);
        command.args([
            "server",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            "-filer",
            "-s3",
            "-volume.max=50",
            // By default a restart takes 20 seconds.
            "-master.electionTimeout=1s",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
        ]);
        command.arg(format!("-dir={}", self.dir.join("data").display()));
        command.arg(format!("-s3.config={}", self.dir.join("s3.json").display()));
        command.args([format!("-master.port={master}"), format!("-volume.port={volume}")]);
        command.args([format!("-filer.port={filer}"), format!("-s3.port={s3}")]);
        if let Some(Tls { port, certificate, key }) = &self.tls {
            command.arg(format!("-s3.port.https={port}"));
            command.arg(format!("-s3.cert.file={}", certificate.display()));
            command.arg(format!("-s3.key.file={}", key.display()));
        }
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.server = Some(Server(command.spawn().unwrap()));
        let tls = self.tls.iter().map(|tls| &tls.port);
        self.ports.iter().chain(tls).for_each(|port| wait_for_port(*port));
    }

    pub fn pid(&self) -> u32 {
        self.server.as_ref().map_or(0, |server| server.0.id())
    }

    /// The variables with which the shipper finds the server.
    pub fn environment(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ACCESS_KEY_ID", "AK".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "SK".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_ENDPOINT_URL", self.endpoint()),
        ]
    }

    pub fn endpoint(&self) -> String {
        match &self.tls {
            Some(tls) => format!("https://127.0.0.1:{}", tls.port),
            None => format!("http://127.0.0.1:{}", self.ports[3]),
        }
    }
}
