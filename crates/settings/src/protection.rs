//! Who can change or read a file that applies to every user: only root may change it, and everyone must reach it.

use std::path::{Path, PathBuf};

use teamkeep_system::os::access::{closed_mode, exposure};
use teamkeep_system::os::places::HOMES;

/// What everyone needs to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicAccess {
    Read,
    Execute,
}

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

/// The file or directory because of which some users cannot use a file, if so. `access` is what they need of the file.
pub fn obstacle(path: &Path, access: PublicAccess) -> Option<String> {
    let real = path.canonicalize().ok()?;
    real.ancestors().enumerate().find_map(|(level, path)| {
        let mode = closed_mode(&path.metadata().ok()?, level == 0 && access == PublicAccess::Read)?;
        Some(format!("{} is not open to every user (mode {mode:o})", path.display()))
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
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

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
        assert!(
            obstacle(&file, PublicAccess::Read)
                .unwrap()
                .contains("/sub/file is not open to every user (mode 640)")
        );
        set(&file, 0o644);
        set(&dir.path().join("sub"), 0o700);
        assert!(
            obstacle(&file, PublicAccess::Read)
                .unwrap()
                .contains("/sub is not open to every user (mode 700)")
        );
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
