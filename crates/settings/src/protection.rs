//! Who can change or read a file that applies to every user: only root may change it, and everyone must reach it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The directories with the users' own directories.
const HOMES: [&str; 3] = ["/home", "/root", "/Users"];
/// The permission of everyone to read a file.
pub const READ: u32 = 0o004;
/// The permission of everyone to run a program, or to use a directory.
pub const EXECUTE: u32 = 0o001;
const STICKY: u32 = 0o1000;

/// Why others than root can change what is at a path, if they can: by the file, or by a directory above it.
pub fn weakness(path: &Path) -> Option<String> {
    // Whoever can replace a link can replace what it leads to.
    let link = path.parent().and_then(|parent| parent.canonicalize().ok());
    let real = path.canonicalize().ok();
    let below = |path: Option<PathBuf>| -> Vec<PathBuf> {
        path.iter().flat_map(|path| path.ancestors().map(Path::to_path_buf)).collect()
    };
    let all = below(real).into_iter().chain(below(link));
    all.into_iter().find_map(|path| {
        let metadata = path.metadata().ok()?;
        Some(format!("{} {}", path.display(), exposure(&metadata)?))
    })
}

/// Why others than root can change a file or a directory.
fn exposure(metadata: &Metadata) -> Option<String> {
    let (mode, uid, gid) = (metadata.mode(), metadata.uid(), metadata.gid());
    if uid != 0 {
        return Some(format!("belongs to user {uid}"));
    }
    // In such a directory, users can only replace their own files.
    let is_sticky = metadata.is_dir() && mode & STICKY != 0;
    if mode & 0o002 != 0 && !is_sticky {
        return Some(format!("is writable by everyone (mode {:o})", mode & 0o7777));
    }
    (mode & 0o020 != 0 && gid != 0 && !is_sticky).then(|| format!("is writable by group {gid}"))
}

/// The file or directory because of which some users cannot use a file, if so. `needed` is what they need of the file.
pub fn obstacle(path: &Path, needed: u32) -> Option<String> {
    let real = path.canonicalize().ok()?;
    real.ancestors().enumerate().find_map(|(level, path)| {
        let mode = path.metadata().ok()?.mode();
        let needed = if level == 0 { needed } else { EXECUTE };
        (mode & needed == 0)
            .then(|| format!("{} is not open to every user (mode {:o})", path.display(), mode & 0o7777))
    })
}

/// Whether a path is in a user's own directory.
pub fn is_in_home(path: &Path, home: Option<&Path>) -> bool {
    let homes = HOMES.iter().map(Path::new).chain(home.filter(|home| home.parent().is_some()));
    homes.into_iter().any(|home| path.starts_with(home))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_weak_if_it_or_a_directory_above_it_is_writable_by_others() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sub/file");
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(&file, "").unwrap();
        let set = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let writable_by = |path: &Path| exposure(&path.metadata().unwrap());
        set(&file, 0o666);
        if file.metadata().unwrap().uid() == 0 {
            assert!(writable_by(&file).unwrap().contains("writable by everyone (mode 666)"));
            set(&file, 0o644);
            assert_eq!(writable_by(&file), None);
            set(&dir.path().join("sub"), 0o777);
            assert!(weakness(&file).unwrap().contains("/sub is writable by everyone"));
            set(&dir.path().join("sub"), 0o1777);
            assert_eq!(writable_by(&dir.path().join("sub")), None, "only the owner can replace a file");
        } else {
            assert!(weakness(&file).unwrap().contains(" belongs to user "));
        }
        set(&file, 0o640);
        assert!(obstacle(&file, READ).unwrap().contains("/sub/file is not open to every user (mode 640)"));
        set(&file, 0o644);
        set(&dir.path().join("sub"), 0o700);
        assert!(obstacle(&file, READ).unwrap().contains("/sub is not open to every user (mode 700)"));
        assert_eq!(weakness(&dir.path().join("gone/file")), None);
    }

    #[test]
    fn a_path_in_a_home_directory_is_found() {
        let home = Some(Path::new("/srv/people/ann"));
        for path in ["/home/ann/bin/teamkeep", "/root/teamkeep", "/Users/ann/x", "/srv/people/ann/x"] {
            assert!(is_in_home(Path::new(path), home), "{path}");
        }
        assert!(!is_in_home(Path::new("/usr/local/bin/teamkeep"), home));
        assert!(!is_in_home(Path::new("/usr/bin/teamkeep"), Some(Path::new("/"))));
    }
}
