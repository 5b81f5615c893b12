//! The file of Claude Code's managed settings that `install` and `uninstall` change. Its install record is in a directory
//! of the system: with `sudo`, the store can be that of the user who calls it. Only root may change a file that applies to every user,
//! and everyone must reach it.

use std::path::{Path, PathBuf};

use jsonc_parser::cst::CstInputValue;
use serde_json::Value;

use super::document::{lenient_data, parse, text_of};
use super::file::{SettingsFile, make_public_directories};
use super::hook_command;
use super::install_records::InstallRecords;
use super::layer::{ONLY_MANAGED, base_file, drop_in_file};
use super::version::{FIRST_WITH_DROP_INS, Version};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs;
use teamkeep_system::os;
use teamkeep_system::os::HOME_PARENTS;
use teamkeep_system::os::access::{closed_mode, exposure};

/// The install records of managed settings.
///
/// # Errors
/// Their directory cannot be created.
pub fn records() -> Result<InstallRecords> {
    // On macOS, the organization's configuration is in the same directory, and every user reads it.
    make_public_directories(Path::new(os::SYSTEM_DIR))?;
    Ok(known_records())
}

/// [`records`], without creating their directory.
pub fn known_records() -> InstallRecords {
    InstallRecords::at(Path::new(os::SYSTEM_DIR).join("installs"))
}

/// The file to install into: where teamkeep's hooks already are, else a drop-in file if this version of Claude Code reads
/// them.
///
/// # Errors
/// It cannot be read, or is a link where teamkeep creates the file.
pub fn file_for(version: Version) -> Result<SettingsFile> {
    let base = SettingsFile::read_public(&base_file());
    let has_hooks = base.as_ref().is_ok_and(has_hooks);
    if has_hooks || version < FIRST_WITH_DROP_INS { base } else { own_drop_in() }
}

/// The files with teamkeep's hooks; the drop-in file if there are none.
///
/// # Errors
/// As of [`file_for`].
pub fn installed_files() -> Result<Vec<SettingsFile>> {
    let (drop_in, base) = (own_drop_in()?, SettingsFile::read_public(&base_file()));
    let found: Vec<SettingsFile> = base.into_iter().chain([drop_in.clone()]).filter(has_hooks).collect();
    Ok(if found.is_empty() { vec![drop_in] } else { found })
}

fn has_hooks(file: &SettingsFile) -> bool {
    !hook_command::ours(&lenient_data(file.bytes())).is_empty()
}

fn own_drop_in() -> Result<SettingsFile> {
    let path = drop_in_file();
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
        let what = format!("cannot use {}: it is a symlink", path.display());
        return Err(Error::new(what).hint("nothing was changed; replace it by a regular file, or remove it"));
    }
    SettingsFile::read_public(&path)
}

/// Checks that this process may write managed settings.
///
/// # Errors
/// It does not run as root.
pub fn check_root() -> Result<()> {
    if os::access::is_administrator() {
        return Ok(());
    }
    Err(Error::new("only root can change managed settings, which apply to every user")
        .hint("nothing was changed; run the command again with sudo"))
}

/// The content with `allowManagedHooksOnly`.
///
/// # Errors
/// The reason why this content cannot be edited.
pub fn with_only_managed(content: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let (bom, text) = text_of(content)?;
    if text.trim().is_empty() {
        return Ok(format!("{{\n  \"{ONLY_MANAGED}\": true\n}}\n").into_bytes());
    }
    let document = parse(text)?;
    if document.data().get(ONLY_MANAGED) == Some(&Value::Bool(true)) {
        return Ok(content.to_vec());
    }
    match document.settings.get(ONLY_MANAGED) {
        Some(known) => known.set_value(CstInputValue::Bool(true)),
        None => drop(document.settings.insert(0, ONLY_MANAGED, CstInputValue::Bool(true))),
    }
    Ok(format!("{bom}{}", document.root).into_bytes())
}

/// Whether nothing but `allowManagedHooksOnly` is in a content without hooks.
pub fn is_rest_of_install(file: &Path, content: &[u8]) -> bool {
    let data = lenient_data(content);
    let is_empty = data.as_object().is_some_and(|keys| keys.keys().all(|key| key == ONLY_MANAGED));
    file == drop_in_file() && is_empty
}

/// What everyone needs to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicAccess {
    Read,
    Execute,
}

/// Why others than root can change what is at a path, if they can: by the file, or by a directory above it.
pub fn weakness(path: &Path) -> Option<String> {
    // Whoever can replace a link can replace what it leads to.
    let link = path.parent().and_then(|parent| fs::canonicalize(parent).ok());
    let real = fs::canonicalize(path).ok();
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
    let real = fs::canonicalize(path).ok()?;
    real.ancestors().enumerate().find_map(|(level, path)| {
        let mode = closed_mode(&path.metadata().ok()?, level == 0 && access == PublicAccess::Read)?;
        Some(format!("{} is not open to every user (mode {mode:o})", path.display()))
    })
}

/// Whether a path is in a user's own directory.
pub fn is_in_home(path: &Path, home: Option<&Path>) -> bool {
    let homes = HOME_PARENTS.iter().map(Path::new).chain(home.filter(|home| home.parent().is_some()));
    homes.into_iter().any(|home| path.starts_with(home))
}

#[cfg(all(test, unix))]
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
