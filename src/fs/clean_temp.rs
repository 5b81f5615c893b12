//! Removal of temporary files that killed writers left behind.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Removes temporary files below a directory that were last written more than `age` ago. Does not follow links, and
/// skips entries that cannot be read.
pub fn remove_temp_files(dir: &Path, age: Duration) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
        if kind.is_dir() {
            remove_temp_files(&entry.path(), age);
        } else if kind.is_file() && meant(&name).is_some() && is_old(&entry, age) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Removes this user's old temporary files of one target file, like [`sweep`]. Other entries of the directory are not
/// examined, because the directory may belong to another program.
pub fn sweep_beside(path: &Path, age: Duration) {
    let Some((dir, name)) = path.parent().zip(path.file_name().and_then(|name| name.to_str())) else {
        return;
    };
    let own = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_ours = meant(&entry.file_name()).is_some_and(|meant| meant == name)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && entry.metadata().is_ok_and(|metadata| metadata.uid() == own);
        if is_ours && is_old(&entry, age) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn is_old(entry: &std::fs::DirEntry, age: Duration) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|since| since > age))
}

/// The name of the target file, if this is a temporary name from [`super::beside`].
fn meant(name: &std::ffi::OsStr) -> Option<&str> {
    let (meant, number) = name.to_str()?.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.')?;
    (number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(meant)
}

#[cfg(test)]
mod tests {
    use super::super::{beside, write_atomic};
    use super::*;
    use std::fs::File;

    #[test]
    fn what_a_killed_writer_left_is_swept_when_it_is_old() {
        let dir = tempfile::tempdir().unwrap();
        let left = beside(&dir.path().join("a/state.json"));
        assert_ne!(left, beside(&dir.path().join("a/state.json")));
        let mine = dir.path().join("a/.mine.tmp");
        write_atomic(&left, b"", false).unwrap();
        write_atomic(&mine, b"", false).unwrap();
        remove_temp_files(dir.path(), Duration::from_secs(3_600));
        assert!(left.exists());
        let old = std::time::UNIX_EPOCH + Duration::from_secs(1);
        File::open(&left).unwrap().set_modified(old).unwrap();
        File::open(&mine).unwrap().set_modified(old).unwrap();
        remove_temp_files(dir.path(), Duration::from_secs(3_600));
        assert!(!left.exists() && mine.exists());
    }

    #[test]
    fn beside_a_file_only_what_its_own_writers_left_is_swept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let left = beside(&path);
        let others =
            [".settings.json.mine.tmp", "settings.json.0123456789abcdef.tmp", ".a.0123456789abcdef.tmp"];
        for file in others.iter().map(|name| dir.path().join(name)).chain([left.clone()]) {
            File::create_new(&file).unwrap();
            sweep_beside(&path, Duration::from_secs(600));
            assert!(file.exists(), "somebody may be writing it");
            File::open(&file).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        sweep_beside(&path, Duration::from_secs(600));
        assert!(!left.exists() && others.iter().all(|name| dir.path().join(name).exists()));
    }
}
