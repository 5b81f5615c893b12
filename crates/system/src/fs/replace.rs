//! Atomic replacement of files, and removal of the drafts that killed writers left behind.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fs_err::File;

use super::kinds::OpenMode;
use super::read::regular;
use super::{create_private, entries, open, open_private, sync};
use crate::os;

/// Replaces a file atomically: writes a temporary file beside it, then renames it.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::create(path)?;
    draft.write_all(bytes)?;
    draft.rename(path)
}

/// Like [`write_atomic`], for state that is written at many hook calls and can be made again. On ext4, a rename over a file waits
/// until the blocks of the new one are allocated, which takes a millisecond. An exchange does not: after a power failure the
/// file may be empty. Returns whether there was a file.
pub fn exchange(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut draft = Draft::create(path)?;
    draft.write_all(bytes)?;
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    if is_file && os::files::exchange(draft.path(), path).is_ok() {
        // Dropping the draft removes the former file, which has its name now.
        return Ok(true);
    }
    draft.rename(path).map(|()| is_file)
}

/// Like [`write_atomic`], and syncs the file and its directory to disk.
pub fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::create(path)?;
    draft.write_all(bytes)?;
    draft.rename_synced(path)
}

/// A temporary file that gets its final name when it is complete. Dropping it earlier removes it.
#[derive(Debug)]
pub struct Draft {
    file: File,
    is_renamed: bool,
}

impl Draft {
    /// Creates the file in the directory of `path`, and that directory if it is missing.
    pub fn create(path: &Path) -> io::Result<Draft> {
        Ok(Draft { file: create_private(&temporary_path(path))?, is_renamed: false })
    }

    /// Like [`Draft::create`], but in an existing directory only: a run's directory may be removed at any moment.
    pub fn create_in_existing(path: &Path) -> io::Result<Draft> {
        let file = open(&temporary_path(path), OpenMode::Create)?;
        Ok(Draft { file, is_renamed: false })
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    pub fn rename(mut self, path: &Path) -> io::Result<()> {
        os::files::rename(self.file.path(), path)?;
        self.is_renamed = true;
        Ok(())
    }

    /// Like [`Draft::rename`], and syncs the file and its directory to disk.
    pub fn rename_synced(self, path: &Path) -> io::Result<()> {
        self.sync()?;
        self.rename(path)?;
        match path.parent() {
            // The parent of a bare name is the current directory.
            Some(parent) if parent.as_os_str().is_empty() => sync(Path::new(".")),
            parent => parent.map_or(Ok(()), sync),
        }
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_renamed {
            let _ = std::fs::remove_file(self.file.path());
        }
    }
}

/// A file name beside `path` that no other writer uses.
pub fn temporary_path(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    // Containers may reuse process ids, and killed writers leave their files behind.
    let random = RandomState::new().hash_one((std::process::id(), count));
    name.push(format!(".{random:016x}.tmp"));
    path.with_file_name(name)
}

/// Removes temporary files below a directory that were last written more than `age` ago. Follows no links.
pub fn remove_old_drafts(dir: &Path, age: Duration) {
    for entry in entries(dir) {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => remove_old_drafts(&entry.path(), age),
            Ok(kind) if kind.is_file() && target_name(&entry.file_name()).is_some() => {
                remove_if_old(&entry, age)
            }
            _ => {}
        }
    }
}

/// Removes this user's old temporary files of one file only: the directory may belong to another program.
pub fn remove_old_drafts_of(path: &Path, age: Duration) {
    let Some((dir, name)) = path.parent().zip(path.file_name().and_then(OsStr::to_str)) else { return };
    for entry in entries(dir).filter(|entry| target_name(&entry.file_name()) == Some(name)) {
        if entry
            .metadata()
            .is_ok_and(|metadata| metadata.is_file() && os::access::other_owner(&metadata).is_none())
        {
            remove_if_old(&entry, age);
        }
    }
}

fn remove_if_old(entry: &std::fs::DirEntry, age: Duration) {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    if modified.is_ok_and(|time| time.elapsed().is_ok_and(|since| since > age)) {
        let _ = std::fs::remove_file(entry.path());
    }
}

/// Whether this is the name of a temporary file, which its writer may have left behind.
pub fn is_draft(name: &OsStr) -> bool {
    target_name(name).is_some()
}

/// The name of the target file, if this is a name from [`temporary_path`].
fn target_name(name: &OsStr) -> Option<&str> {
    let (target, number) = name.to_str()?.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.')?;
    (number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(target)
}

/// A file that is appended to. The caller must hold its lock.
#[derive(Debug)]
pub struct Appender {
    file: File,
    pub length: u64,
}

impl Appender {
    /// Opens a regular file, or creates it.
    pub fn open(path: &Path) -> io::Result<Appender> {
        Appender::with(path, OpenMode::Append)
    }

    pub fn create(path: &Path) -> io::Result<Appender> {
        Appender::with(path, OpenMode::AppendNew)
    }

    fn with(path: &Path, mode: OpenMode) -> io::Result<Appender> {
        let file = open_private(path, mode)?;
        let length = regular(&file)?.len();
        Ok(Appender { file, length })
    }

    /// Appends bytes and returns their offset. After an error, the file is unchanged.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let start = self.length;
        // One write, unless the disk takes only a part; the second write then returns the error.
        os::files::append(&mut self.file, bytes, start).inspect_err(|_| drop(self.file.set_len(start)))?;
        self.length += bytes.len() as u64;
        Ok(start)
    }

    /// Appends a line and returns its offset. An incomplete line of a killed writer is ended in the same write.
    pub fn append_line(&mut self, line: &[u8]) -> io::Result<u64> {
        match self.is_torn()? {
            true => self.append(&[b"\n", line].concat()).map(|start| start + 1),
            false => self.append(line),
        }
    }

    /// The last bytes of the file, at most so many.
    pub fn last_bytes(&self, most: usize) -> io::Result<Vec<u8>> {
        let mut last = vec![0; usize::try_from(self.length).map_or(most, |length| length.min(most))];
        let start = self.length - last.len() as u64;
        os::files::read_exact_at(&self.file, &mut last, start)?;
        Ok(last)
    }

    /// The whole lines in the last bytes, at most so many; none if they cannot be read.
    pub fn last_lines(&self, most_bytes: usize) -> String {
        let mut bytes = self.last_bytes(most_bytes).unwrap_or_default();
        if bytes.len() as u64 != self.length {
            let first = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
            bytes.drain(..first);
        }
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// Whether the last line has no line break, because its writer was killed.
    pub fn is_torn(&self) -> io::Result<bool> {
        let mut last = [b'\n'];
        if self.length > 0 {
            os::files::read_exact_at(&self.file, &mut last, self.length - 1)?;
        }
        Ok(last != [b'\n'])
    }

    /// Removes the bytes after an offset.
    pub fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.length = length;
        Ok(())
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::Duration;

    #[cfg(unix)]
    use super::super::{lock, sync};
    use super::*;

    #[cfg(unix)]
    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_is_private_and_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/state.json");
        assert!(Draft::create_in_existing(&path).is_err());
        write_atomic(&path, b"one").unwrap();
        write_synced(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!((mode(&path), mode(&dir.path().join("a"))), (0o600, 0o700));
        drop(Draft::create_in_existing(&path).unwrap());
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    #[cfg_attr(windows, ignore = "wine replaces no file that a reader has open")]
    fn a_reader_of_a_replaced_file_finds_one_of_its_contents() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        let contents = [vec![b'a'; 5_000], vec![b'b'; 9_000]];
        let exchange = |path: &Path, bytes: &[u8]| exchange(path, bytes).map(drop);
        for replace in [write_atomic as fn(&Path, &[u8]) -> io::Result<()>, exchange] {
            replace(&path, &contents[0]).unwrap();
            std::thread::scope(|scope| {
                let writes = scope.spawn(|| {
                    (0..500).for_each(|count| replace(&path, &contents[count % 2]).unwrap());
                });
                while !writes.is_finished() {
                    assert!(contents.contains(&std::fs::read(&path).unwrap()));
                }
            });
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "the former content is removed");
    }

    #[test]
    fn a_temporary_file_of_a_killed_writer_is_removed_when_it_is_old() {
        let dir = tempfile::tempdir().unwrap();
        let left = temporary_path(&dir.path().join("a/state.json"));
        assert_ne!(left, temporary_path(&dir.path().join("a/state.json")));
        let mine = dir.path().join("a/.mine.tmp");
        write_atomic(&left, b"").unwrap();
        write_atomic(&mine, b"").unwrap();
        remove_old_drafts(dir.path(), Duration::from_secs(3_600));
        assert!(left.exists());
        let old = std::time::UNIX_EPOCH + Duration::from_secs(1);
        File::open(&left).unwrap().set_modified(old).unwrap();
        File::open(&mine).unwrap().set_modified(old).unwrap();
        remove_old_drafts(dir.path(), Duration::from_secs(3_600));
        assert!(!left.exists() && mine.exists());
    }

    #[test]
    fn beside_a_file_only_temporary_files_of_its_own_writers_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let left = temporary_path(&path);
        let others =
            [".settings.json.mine.tmp", "settings.json.0123456789abcdef.tmp", ".a.0123456789abcdef.tmp"];
        for file in others.iter().map(|name| dir.path().join(name)).chain([left.clone()]) {
            File::create_new(&file).unwrap();
            remove_old_drafts_of(&path, Duration::from_secs(600));
            assert!(file.exists(), "another process may be writing it");
            File::open(&file).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        remove_old_drafts_of(&path, Duration::from_secs(600));
        assert!(!left.exists() && others.iter().all(|name| dir.path().join(name).exists()));
    }

    #[cfg(unix)]
    #[test]
    fn a_line_is_written_through_no_link_and_into_no_pipe() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link, pipe) = (dir.path().join("real"), dir.path().join("link"), dir.path().join("pipe"));
        std::fs::write(&real, "").unwrap();
        symlink(&real, &link).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        for path in [&link, &pipe, &dir.path().to_path_buf()] {
            assert!(sync(path).is_ok(), "a pipe holds no data of teamkeep, and is not waited for");
            assert!(Appender::open(path).is_err());
            assert!(lock(path, Duration::ZERO).is_err());
            assert_eq!(exchange(path, b"line").is_ok(), path != dir.path());
        }
        assert_eq!(
            (std::fs::read(&link).unwrap(), std::fs::read(&pipe).unwrap()),
            (b"line".to_vec(), b"line".to_vec())
        );
        assert_eq!(std::fs::read(&real).unwrap(), b"");
    }

    #[test]
    fn an_incomplete_line_is_ended_before_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let open = || Appender::open(&path).unwrap();
        assert_eq!((open().is_torn().unwrap(), open().append_line(b"one\n").unwrap()), (false, 0));
        open().append(b"tw").unwrap();
        assert_eq!((open().is_torn().unwrap(), open().append_line(b"three\n").unwrap()), (true, 7));
        assert_eq!(std::fs::read(&path).unwrap(), b"one\ntw\nthree\n");
        assert!(Appender::create(&path).is_err());
    }
}
