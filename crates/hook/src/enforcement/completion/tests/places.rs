//! The directory in which a check runs.

use std::path::Path;

use super::super::directory;
use super::Bed;

#[test]
fn a_check_runs_in_the_project_for_any_current_directory() {
    let (bed, other) = (Bed::repository(), Bed::repository());
    let (project, sub) = (bed.tree(), bed.tree().join("sub"));
    for cwd in [sub.as_path(), &other.tree(), Path::new("/"), Path::new("/nonexistent"), Path::new("")] {
        assert_eq!(directory(Some(&project), cwd), project, "{}", cwd.display());
    }
    assert_eq!(directory(Some(&sub), &project), sub);
    assert_eq!(directory(None, &sub), sub);
    assert_eq!(directory(Some(&bed.0.path().join("plain")), &sub), bed.0.path().join("plain"));
}

#[test]
fn an_agent_in_another_worktree_of_the_project_is_checked_there() {
    let bed = Bed::repository();
    bed.git(&["worktree", "add", "-q", "../theirs"]);
    let theirs = bed.0.path().canonicalize().unwrap().join("theirs");
    std::fs::create_dir(theirs.join("deep")).unwrap();
    for cwd in [&theirs, &theirs.join("deep")] {
        assert_eq!(directory(Some(&bed.tree()), cwd), theirs);
        assert_eq!(directory(Some(&bed.tree().join("sub")), cwd), theirs.join("sub"));
    }
}
