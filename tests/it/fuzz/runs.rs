//! Runs in text form, for targets that need more than one file: a line `=== NAME` begins a file. An `object` is named by the
//! hash of its content. The line break before the next file is not part of it.

use std::io::Read;
use std::path::Path;

use teamkeep::bundle::{ImportTarget, ImportedRun, import};
use teamkeep_config::Config;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{Archive, hash};
use teamkeep_store::log::Logs;
use teamkeep_system::error::Result;
use teamkeep_system::paths::Paths;
use tempfile::TempDir;

/// The largest import, so that a small file that unpacks to gigabytes is an error and not a slow run.
const MAX_BYTES: u64 = 1 << 20;

/// A store of its own, in memory where there is such a file system.
pub struct Store {
    pub dir: TempDir,
    pub config: Config,
}

impl Default for Store {
    fn default() -> Store {
        let memory = Path::new("/dev/shm");
        let root = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Store { dir: TempDir::new_in(root).unwrap(), config: Config::default() }
    }
}

impl Store {
    pub fn paths(&self) -> Paths {
        let store = self.dir.path().join("store");
        Paths { config: store.join("none.toml"), store, client: None, warning: None }
    }

    pub fn archive(&self) -> Archive {
        Archive::open(self.paths().store, &self.config)
    }

    pub fn logs(&self) -> Logs {
        Logs::of(&self.paths())
    }

    pub fn import(&self, bundle: impl Read) -> Result<ImportedRun> {
        let paths = self.paths();
        paths.secure()?;
        let right = self.archive().maintain(self.config.log.lock_patience)?;
        let target = ImportTarget { right: &right, paths: &paths, config: &self.config, now: now() };
        import(bundle, &target, Some(MAX_BYTES))
    }
}

pub fn now() -> Timestamp {
    Timestamp::from_millis(1_796_000_000_000).unwrap()
}

/// The bundle that a text describes.
pub fn bundle(text: &[u8]) -> Vec<u8> {
    let packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(packed);
    for (name, content) in files(text) {
        let name = match name.as_str() {
            "object" => format!("objects/{}", hash(&content)),
            _ => name,
        };
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        // A name that a tar file cannot have is not the matter here.
        let _ = tar.append_data(&mut header, name, content.as_slice());
    }
    tar.into_inner().and_then(|packed| packed.finish()).unwrap()
}

fn files(text: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match (line.strip_prefix(b"=== "), files.last_mut()) {
            (Some(name), _) => files.push((String::from_utf8_lossy(name).trim().to_owned(), Vec::new())),
            (None, Some((_, content))) => content.extend_from_slice(line),
            (None, None) => {}
        }
    }
    for (_, content) in &mut files {
        content.pop_if(|byte| *byte == b'\n');
    }
    files
}
