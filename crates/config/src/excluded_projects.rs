//! `ship.exclude-projects`: the projects of which nothing is sent.

use std::path::{Path, PathBuf};

use super::parse_value::quoted;
use super::settings::{Entry, words};
use super::{Ship, pattern};

impl Ship {
    /// Whether nothing of a project in this directory is sent: a glob of `exclude-projects` matches it, or a directory above
    /// it. Links are followed on both sides, because Claude Code names the real directory of a project.
    pub fn excludes(&self, project: &Path, home: Option<&Path>) -> bool {
        if self.exclude_projects.is_empty() {
            return false;
        }
        let real = project.canonicalize().ok();
        let dirs: Vec<String> = std::iter::once(project)
            .chain(real.as_deref())
            .flat_map(Path::ancestors)
            .map(|dir| dir.to_string_lossy().into_owned())
            .collect();
        let globs = self.exclude_projects.iter().flat_map(|glob| spellings(glob, home));
        globs.into_iter().any(|glob| dirs.iter().any(|dir| pattern::matches(&glob, dir)))
    }
}

/// A glob with the home directory instead of `~`, and the same with links in its directories resolved.
fn spellings(glob: &str, home: Option<&Path>) -> Vec<String> {
    let glob = match (glob.strip_prefix('~'), home) {
        (Some(below), Some(home)) => format!("{}{below}", home.display()),
        _ => glob.to_owned(),
    };
    // Without a slash at the end.
    let path: PathBuf = Path::new(&glob).components().collect();
    let plain = path.ancestors().find(|dir| pattern::is_plain(&dir.to_string_lossy()));
    let linked = plain.and_then(|plain| {
        let rest = path.strip_prefix(plain).ok()?;
        let real = plain.canonicalize().ok().filter(|real| real != plain)?;
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    });
    std::iter::once(path.clone()).chain(linked).map(|path| path.to_string_lossy().into_owned()).collect()
}

/// Checks that each glob can match an absolute path.
pub(super) fn check_exclude_projects(entry: &Entry) -> Result<(), String> {
    let is_absolute = |glob: &str| glob == "~" || glob.starts_with(['/', '*']) || glob.starts_with("~/");
    match words(&entry.value).find(|glob| !is_absolute(glob)) {
        Some(glob) => {
            Err(format!("{} never matches; expected one that starts with /, ~/ or *", quoted(glob)))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::loaded;
    use super::*;

    #[test]
    fn a_user_adds_to_the_list_of_the_organization_and_removes_nothing_from_it() {
        let ours = "[ship]\nexclude-projects = [\"/srv/a\", \"/srv/b\"]\n";
        for fixed in ["", "fixed = [\"ship\"]", "fixed = [\"ship.exclude-projects\"]"] {
            let organization = format!("[organization]\n{fixed}\n{ours}");
            for (user, all) in [
                ("", vec!["/srv/a", "/srv/b"]),
                ("[\"~/private\"]", vec!["/srv/a", "/srv/b", "~/private"]),
                ("[\"/srv/b\", \"/srv/c\"]", vec!["/srv/a", "/srv/b", "/srv/c"]),
                ("[]", vec!["/srv/a", "/srv/b"]),
            ] {
                let key = if user.is_empty() { "" } else { "exclude-projects = " };
                let effective = loaded(&organization, &format!("[ship]\n{key}{user}\n"), "");
                assert!(effective.problems.is_empty(), "{fixed} {user}: {:?}", effective.problems);
                assert_eq!(effective.config.ship.exclude_projects, all, "{fixed} {user}");
            }
        }
        let only = loaded("", "[ship]\nexclude-projects = [\"~/private\"]\n", "");
        assert_eq!(only.config.ship.exclude_projects, ["~/private"]);
    }

    #[test]
    fn a_project_s_file_cannot_set_it_and_a_glob_that_never_matches_is_an_error() {
        let effective = loaded("", "", "[ship]\nexclude-projects = [\"/\"]\n");
        assert_eq!(effective.problems[0].code.name(), "not-in-project");
        for (glob, code) in
            [("private", "bad-value"), ("./a", "bad-value"), ("", "bad-glob"), ("/a/**/b/***", "bad-glob")]
        {
            let effective = loaded("", &format!("[ship]\nexclude-projects = [\"{glob}\"]\n"), "");
            assert_eq!(effective.problems[0].code.name(), code, "{glob}");
        }
    }

    fn excludes(globs: &[&str], project: &str) -> bool {
        let exclude_projects = globs.iter().map(|glob| (*glob).to_owned()).collect();
        let ship = Ship { exclude_projects, ..Ship::default() };
        ship.excludes(Path::new(project), Some(Path::new("/home/u")))
    }

    #[test]
    fn a_glob_excludes_a_directory_and_all_below_it() {
        for (glob, project) in [
            ("~/private", "/home/u/private"),
            ("~/private/", "/home/u/private"),
            ("~/private", "/home/u/private/a/b"),
            ("~/private/*", "/home/u/private/a"),
            ("~/private/*", "/home/u/private/a/b"),
            ("~", "/home/u/a"),
            ("/srv/a", "/srv/a/worktrees/b"),
            ("/srv/client-*", "/srv/client-x/parser"),
            ("*/secret", "/srv/a/secret/b"),
            ("/", "/srv"),
            ("*", "/srv"),
        ] {
            assert!(excludes(&["/nowhere", glob], project), "{glob} {project}");
        }
        for (glob, project) in [
            ("~/private", "/home/u/private2"),
            ("~/private", "/home/u"),
            ("~/private", "/home/other/private"),
            ("~/private/*", "/home/u/private"),
            ("/srv/a", "/srv/ab"),
            ("*/secret", "/srv/secrets"),
            ("/srv/a", ""),
        ] {
            assert!(!excludes(&[glob], project), "{glob} {project}");
        }
        assert!(!excludes(&[], "/home/u/private"));
    }

    #[test]
    fn links_lead_to_the_same_project() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("disk/private/a")).unwrap();
        std::os::unix::fs::symlink(home.join("disk/private"), home.join("private")).unwrap();
        let excludes = |glob: &str, project: &str| {
            let ship = Ship { exclude_projects: vec![glob.to_owned()], ..Ship::default() };
            ship.excludes(&home.join(project), Some(&home))
        };
        for glob in ["~/private", "~/private/*", "~/disk/private", "~/disk/*/a"] {
            for project in ["private/a", "disk/private/a"] {
                assert!(excludes(glob, project), "{glob} {project}");
            }
            assert!(!excludes(glob, "disk/other/b"), "{glob}");
        }
    }
}
