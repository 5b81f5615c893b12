//! Results that are reused while the worktree is unchanged.

use std::time::Duration;

use super::super::{Check, CheckOutcome};
use super::Bed;

#[test]
fn a_pass_is_reused_while_the_worktree_is_unchanged() {
    let bed = Bed::repository();
    let check = bed.counted("true");
    let mut runs = 0;
    let mut again = |what: &str| {
        let (first, second) = (bed.run(&check), bed.run(&check));
        runs += 1;
        assert_eq!((first.cached, second.cached, bed.runs()), (false, true, runs), "{what}");
        assert_eq!(first.outcome, second.outcome, "{what}");
    };
    again("as committed");
    bed.write("tracked", "two");
    again("after an edit");
    bed.write("new", "one");
    again("after a new file");
    bed.write("new", "two");
    again("after an edit of the same length to a file that git does not know");
    std::os::unix::fs::symlink("one", bed.tree().join("link")).unwrap();
    again("after a new link");
    std::fs::remove_file(bed.tree().join("link")).unwrap();
    std::os::unix::fs::symlink("two", bed.tree().join("link")).unwrap();
    again("after a link's change");
    bed.git(&["rm", "-q", "--cached", "tracked"]);
    again("after a file was forgotten");
    bed.git(&["add", "-A"]);
    bed.git(&["commit", "-qm", "second"]);
    again("after a commit");
    bed.write("ignored", "one");
    assert!(bed.run(&check).cached, "what is ignored does not count");
}

#[test]
fn a_failure_is_not_reused_after_a_fix_that_git_does_not_see() {
    let bed = Bed::repository();
    let check = bed.counted("test -e ignored");
    assert!(matches!(bed.run(&check).outcome, CheckOutcome::Failed { .. }));
    bed.write("ignored", "installed");
    assert_eq!((bed.run(&check).outcome, bed.runs()), (CheckOutcome::Passed, 2));
}

#[test]
fn no_result_is_stored_if_git_treats_changed_files_as_unchanged() {
    let attributes = [
        "* text=auto",
        "tracked ident",
        "tracked eol=crlf",
        "tracked crlf=input",
        "* working-tree-encoding=UTF-16",
    ];
    let settings = [
        ["core.autocrlf", "true"],
        ["core.autocrlf", "input"],
        ["core.symlinks", "false"],
        ["core.trustctime", "false"],
        ["core.checkStat", "minimal"],
    ];
    let prepare: Vec<(String, Bed)> = attributes
        .iter()
        .map(|line| {
            let bed = Bed::repository();
            std::fs::write(bed.tree().join(".git/info/attributes"), format!("{line}\n")).unwrap();
            ((*line).to_owned(), bed)
        })
        .chain(settings.iter().map(|[key, value]| {
            let bed = Bed::repository();
            bed.git(&["config", key, value]);
            (format!("{key}={value}"), bed)
        }))
        .collect();
    for (name, bed) in &prepare {
        let check = bed.counted("true");
        assert_eq!((bed.run(&check).cached, bed.run(&check).cached), (false, false), "{name}");
    }
    let plain = Bed::repository();
    std::fs::write(plain.tree().join(".git/info/attributes"), "*.png -text\n* -ident diff=c\n").unwrap();
    plain.git(&["config", "core.autocrlf", "false"]);
    let check = plain.counted("true");
    assert_eq!((plain.run(&check).cached, plain.run(&check).cached), (false, true));
}

#[test]
fn a_result_applies_again_when_its_state_returns() {
    let bed = Bed::repository();
    let check = bed.counted("true");
    for text in ["one", "two", "one", "two"] {
        bed.write("tracked", text);
        assert_eq!(bed.run(&check).outcome, CheckOutcome::Passed);
    }
    assert_eq!(bed.runs(), 2);
}

#[test]
fn results_are_separate_for_each_command_and_directory() {
    let bed = Bed::repository();
    let check = bed.counted("true");
    bed.run(&check);
    assert!(!bed.run_in(&bed.tree().join("sub"), &[&check]).remove(0).cached);
    assert!(!bed.run(&bed.counted("true ")).cached);
    assert_eq!(bed.runs(), 3);
}

#[test]
fn a_change_anywhere_in_the_worktree_counts_in_its_subdirectories() {
    let bed = Bed::repository();
    let (check, sub) = (bed.counted("true"), bed.tree().join("sub"));
    let cached = || bed.run_in(&sub, &[&check]).remove(0).cached;
    assert_eq!((cached(), cached()), (false, true));
    bed.write("new", "above the directory");
    assert_eq!((cached(), cached()), (false, true));
}

#[test]
fn no_result_is_stored_where_git_does_not_see_every_change() {
    let outside = Bed::new();
    let unborn = Bed::new();
    unborn.git(&["init", "-q"]);
    let nested = Bed::repository();
    nested.git(&["init", "-q", "sub/inner"]);
    let module = Bed::repository();
    module.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.", "module"]);
    module.git(&["commit", "-qm", "module"]);
    module.write("module/tracked", "changed inside");
    for (name, bed) in [("outside", outside), ("unborn", unborn), ("nested", nested), ("module", module)] {
        let check = bed.counted("true");
        assert_eq!((bed.run(&check).cached, bed.run(&check).cached), (false, false), "{name}");
        assert_eq!(bed.runs(), 2, "{name}");
    }
}

#[test]
fn no_result_is_stored_with_skipped_or_filtered_files_and_no_filter_runs() {
    let [assumed, skipped, modes, filtered, unused] = [(); 5].map(|()| Bed::repository());
    assumed.git(&["update-index", "--assume-unchanged", "tracked"]);
    skipped.git(&["update-index", "--skip-worktree", "tracked"]);
    modes.git(&["config", "core.fileMode", "false"]);
    let trace = filtered.0.path().join("filter-ran");
    filtered.write(".gitattributes", "tracked filter=mine\n");
    filtered.git(&["config", "filter.mine.clean", &format!("touch {}; cat", trace.display())]);
    filtered.write("tracked", "another content");
    for (name, bed) in
        [("assumed", &assumed), ("skipped", &skipped), ("modes", &modes), ("filtered", &filtered)]
    {
        let check = bed.counted("true");
        assert_eq!((bed.run(&check).cached, bed.run(&check).cached), (false, false), "{name}");
    }
    assert!(!trace.exists(), "a filter was run");
    unused.git(&["config", "filter.lfs.clean", "false"]);
    let check = unused.counted("true");
    assert_eq!(
        (unused.run(&check).cached, unused.run(&check).cached),
        (false, true),
        "no file goes through it"
    );
}

#[test]
fn a_timeout_or_a_check_that_changed_the_worktree_is_not_stored() {
    let bed = Bed::repository();
    let slow = Check { timeout: Duration::from_millis(100), ..bed.counted("sleep 1000") };
    bed.run(&slow);
    assert!(!bed.run(&slow).cached);
    let writes = bed.counted("echo more >> tracked");
    bed.run(&writes);
    assert!(!bed.run(&writes).cached);
}
