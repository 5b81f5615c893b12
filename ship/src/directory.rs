//! A directory with a file of rows that another program follows, such as Vector, Fluent Bit or the `filelog` receiver of an OpenTelemetry
//! Collector.
//!
//! Rows are only appended, whole ones in one write. A file that is full is renamed, which a program that follows it notices: it reads the
//! renamed file to its end, then the new one. So the renamed files stay for some days.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err as files;
use teamkeep_model::time::{DAY, Timestamp};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::os;

use crate::part::compact;
use crate::setup::Setup;

const CURRENT: &str = "teamkeep-rows.jsonl";
const RENAMED: &str = "teamkeep-rows-";
/// A file is renamed before rows that would make it larger.
const MAX_FILE_BYTES: u64 = 64 << 20;
const MAX_FILES: usize = 16;

pub struct Directory {
    dir: PathBuf,
    max_file_bytes: u64,
}

impl Directory {
    pub fn of(setup: &Setup) -> Result<Directory> {
        let path = setup.context.config.ship.directory_path(setup.context.env.home.as_deref());
        let dir =
            path.ok_or_else(|| Error::new("cannot find the directory in `ship.directory`: HOME is not set"))?;
        Ok(Directory { dir, max_file_bytes: MAX_FILE_BYTES })
    }

    pub fn append(&self, lines: &[u8], at: Timestamp) -> Result<u64> {
        // The cause has the path, which is not for the table `hosts`.
        self.write(lines, at)
            .map_err(|error| Error::caused("cannot append rows to the file in `ship.directory`", error))?;
        Ok(lines.len() as u64)
    }

    fn write(&self, lines: &[u8], at: Timestamp) -> std::io::Result<()> {
        files::create_dir_all(&self.dir)?;
        let path = self.dir.join(CURRENT);
        let size = path.symlink_metadata().map_or(0, |found| found.len());
        if size > 0 && size.saturating_add(lines.len() as u64) > self.max_file_bytes {
            files::rename(&path, self.unused_name(at))?;
            self.remove_old()?;
        }
        let mut file = files::OpenOptions::new().create(true).append(true).read(true).open(&path)?;
        // Half a line of a full disk or a killed shipper ends here, so that it damages no other one.
        let end = file.file().metadata()?.len();
        if end > 0 && !ends_with_line_break(&file, end)? {
            file.write_all(b"\n")?;
        }
        file.write_all(lines)?;
        file.file().sync_data()
    }

    /// The name of a full file. A large shipment fills several at the same time.
    fn unused_name(&self, at: Timestamp) -> PathBuf {
        let name = |number: usize| self.dir.join(format!("{RENAMED}{}-{number:03}.jsonl", compact(at)));
        let is_used = |number: &usize| name(*number).symlink_metadata().is_ok();
        name((0..).take_while(is_used).count())
    }

    fn remove_old(&self) -> std::io::Result<()> {
        let mut renamed: Vec<PathBuf> = Vec::new();
        for entry in files::read_dir(&self.dir)? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(RENAMED.as_bytes())) {
                renamed.push(path);
            }
        }
        // Their names sort by time.
        renamed.sort();
        let excess = renamed.len().saturating_sub(MAX_FILES);
        for (index, path) in renamed.iter().enumerate() {
            // The oldest of too many go earlier.
            if is_older(path, if index < excess { DAY } else { DAY * 7 }) {
                files::remove_file(path)?;
            }
        }
        Ok(())
    }
}

fn is_older(path: &Path, limit: Duration) -> bool {
    let modified = path.symlink_metadata().and_then(|found| found.modified()).ok();
    modified.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > limit)
}

fn ends_with_line_break(file: &files::File, end: u64) -> std::io::Result<bool> {
    let mut last = [0];
    os::files::read_exact_at(file, &mut last, end - 1)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests;
