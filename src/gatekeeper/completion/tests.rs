//! Checks run as they are at a hook: real commands, real repositories.

use super::*;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Barrier;
use tempfile::TempDir;

/// A work tree, and beside it what is not in it: the gatekeeper's directory, and a file that counts runs.
struct Bed(TempDir);

impl Bed {
    fn new() -> Bed {
        let bed = Bed(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(bed.tree().join("sub")).unwrap();
        bed
    }

    fn repository() -> Bed {
        let bed = Bed::new();
        bed.write("tracked", "one");
        bed.write(".gitignore", "ignored\n");
        bed.git(&["init", "-q"]);
        bed.git(&["add", "-A"]);
        bed.git(&["commit", "-qm", "first"]);
        bed
    }

    fn tree(&self) -> PathBuf {
        self.0.path().join("tree")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.tree().join(name), text).unwrap();
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = git.args(args).current_dir(self.tree()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A command that leaves a line outside the tree each time it runs.
    fn counted(&self, then: &str) -> Check {
        check(&format!("echo ran >> {}; {then}", self.0.path().join("runs").display()))
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.0.path().join("runs")).unwrap_or_default().lines().count()
    }

    fn run_in(&self, cwd: &Path, checks: &[&Check]) -> Vec<Checked> {
        run(checks, cwd, &self.0.path().join("policy"), Duration::from_secs(60))
    }

    fn run(&self, check: &Check) -> Checked {
        self.run_in(&self.tree(), &[check]).remove(0)
    }
}

fn check(run: &str) -> Check {
    let any = || "*".to_owned();
    let timeout = Duration::from_secs(300);
    Check { run: run.to_owned(), subject: any(), owner: any(), team: any(), timeout }
}

fn outcome(line: &str) -> Outcome {
    Bed::new().run(&check(line)).outcome
}

fn lines(outcome: Outcome) -> Vec<String> {
    match outcome {
        Outcome::Failed { last_lines, .. } | Outcome::TimedOut { last_lines, .. } => last_lines,
        other => panic!("{other:?} says nothing"),
    }
}

#[test]
fn a_command_passes_or_fails_with_its_exit_and_its_last_lines_of_both_streams() {
    assert_eq!(outcome("echo fine"), Outcome::Passed);
    let last_lines = vec!["first".to_owned(), "second\\u{202e}".to_owned()];
    assert_eq!(
        outcome("echo first; printf 'second\\007\\342\\200\\256\\n' >&2; exit 3"),
        Outcome::Failed { exit: 3, last_lines }
    );
    assert_eq!(outcome("kill -9 $$"), Outcome::Failed { exit: 137, last_lines: Vec::new() });
    assert_eq!(lines(outcome("seq 100; false")), (91..=100).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_command_is_run_in_the_task_s_directory_without_a_stdin() {
    let bed = Bed::new();
    let said = lines(bed.run_in(&bed.tree().join("sub"), &[&check("pwd -P; cat; false")]).remove(0).outcome);
    assert!(said.len() == 1 && said[0].ends_with("/tree/sub"), "{said:?}");
}

#[test]
fn every_check_is_run_and_each_command_once() {
    let bed = Bed::new();
    let (one, two) = (bed.counted("false"), check("true"));
    let done = bed.run_in(&bed.tree(), &[&one, &two, &one]);
    assert_eq!(done.len(), 2);
    assert_eq!((&done[1].outcome, bed.runs()), (&Outcome::Passed, 1));
}

#[test]
fn a_command_that_does_not_end_is_ended_with_all_that_it_started() {
    let bed = Bed::new();
    let line = "echo begun; sleep 1000 & echo $! > child; (sleep 1000; true) & sleep 1000";
    let slow = Check { timeout: Duration::from_secs(3), ..check(line) };
    let outcome = bed.run(&slow).outcome;
    assert_eq!(outcome, Outcome::TimedOut { after: slow.timeout, last_lines: vec!["begun".to_owned()] });
    let child = std::fs::read_to_string(bed.tree().join("child")).unwrap();
    while is_running(child.trim()) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What waits for its parent to hear of its end no longer runs.
fn is_running(pid: &str) -> bool {
    let listed = Command::new("ps").args(["-o", "stat=", "-p", pid]).output();
    let state = listed.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    state.is_ok_and(|state| !state.is_empty() && !state.starts_with('Z'))
}

#[test]
fn what_a_command_leaves_running_ends_with_it() {
    let bed = Bed::new();
    assert_eq!(bed.run(&check("sleep 1000 & echo $! > child")).outcome, Outcome::Passed);
    let child = std::fs::read_to_string(bed.tree().join("child")).unwrap();
    while is_running(child.trim()) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_left_the_group_and_talks_on_is_not_waited_for() {
    let ended = outcome("setsid yes & sleep 0.2; exit 3");
    assert!(matches!(ended, Outcome::Failed { exit: 3, .. }), "{ended:?}");
}

#[test]
fn a_command_that_closes_its_streams_is_waited_for() {
    let bed = Bed::new();
    assert_eq!(
        bed.run(&check("exec >&- 2>&-; sleep 0.1; touch done; exit 4")).outcome,
        Outcome::Failed { exit: 4, last_lines: Vec::new() }
    );
    assert!(bed.tree().join("done").exists());
}

#[test]
fn of_a_hundred_megabytes_of_output_the_end_is_kept() {
    let said = lines(outcome("head -c 104857600 /dev/zero; echo; echo the end; false"));
    assert_eq!(said.last().unwrap(), "the end");
    assert!(said.iter().all(|line| line.chars().count() <= 200));
}

#[test]
fn garbage_comes_out_as_text_that_drives_nothing() {
    let said = lines(outcome("printf 'a\\377\\376\\000b\\033[2J\\302\\n'; false"));
    assert_eq!(said, ["a\u{fffd}\u{fffd}b\u{fffd}"]);
    let random = lines(outcome("head -c 300000 /dev/urandom; false"));
    assert!(random.iter().all(|line| !line.chars().any(char::is_control)));
}

#[test]
fn in_a_directory_that_is_not_there_nothing_passes() {
    let bed = Bed::new();
    for gone in ["/nonexistent", ""] {
        let checked = bed.run_in(Path::new(gone), &[&bed.counted("true")]).remove(0);
        let why = format!("its directory \"{gone}\" is not there");
        assert_eq!((checked.outcome, bed.runs()), (Outcome::NotBegun { why }, 0));
    }
}

#[test]
fn a_check_runs_in_the_project_wherever_somebody_went() {
    let (bed, other) = (Bed::repository(), Bed::repository());
    let (project, sub) = (bed.tree(), bed.tree().join("sub"));
    for cwd in [sub.as_path(), &other.tree(), Path::new("/"), Path::new("/nonexistent"), Path::new("")] {
        assert_eq!(place(Some(&project), cwd), project, "{}", cwd.display());
    }
    assert_eq!(place(Some(&sub), &project), sub);
    assert_eq!(place(None, &sub), sub);
    assert_eq!(place(Some(&bed.0.path().join("plain")), &sub), bed.0.path().join("plain"));
}

#[test]
fn who_works_in_another_work_tree_of_the_project_is_checked_there() {
    let bed = Bed::repository();
    bed.git(&["worktree", "add", "-q", "../theirs"]);
    let theirs = bed.0.path().canonicalize().unwrap().join("theirs");
    std::fs::create_dir(theirs.join("deep")).unwrap();
    for cwd in [&theirs, &theirs.join("deep")] {
        assert_eq!(place(Some(&bed.tree()), cwd), theirs);
        assert_eq!(place(Some(&bed.tree().join("sub")), cwd), theirs.join("sub"));
    }
}

#[test]
fn a_result_holds_as_long_as_the_work_tree_is_as_it_was() {
    let bed = Bed::repository();
    let check = bed.counted("echo no; exit 7");
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
fn a_state_that_came_back_brings_its_result_back() {
    let bed = Bed::repository();
    let check = bed.counted("true");
    for text in ["one", "two", "one", "two"] {
        bed.write("tracked", text);
        assert_eq!(bed.run(&check).outcome, Outcome::Passed);
    }
    assert_eq!(bed.runs(), 2);
}

#[test]
fn another_command_and_another_directory_have_results_of_their_own() {
    let bed = Bed::repository();
    let check = bed.counted("true");
    bed.run(&check);
    assert!(!bed.run_in(&bed.tree().join("sub"), &[&check]).remove(0).cached);
    assert!(!bed.run(&bed.counted("true ")).cached);
    assert_eq!(bed.runs(), 3);
}

#[test]
fn a_change_anywhere_in_the_tree_counts_below_it_too() {
    let bed = Bed::repository();
    let (check, sub) = (bed.counted("true"), bed.tree().join("sub"));
    let cached = || bed.run_in(&sub, &[&check]).remove(0).cached;
    assert_eq!((cached(), cached()), (false, true));
    bed.write("new", "above the directory");
    assert_eq!((cached(), cached()), (false, true));
}

#[test]
fn where_git_does_not_see_every_change_nothing_is_kept() {
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
fn where_git_is_told_to_pass_over_files_or_to_filter_them_nothing_is_kept_and_no_filter_runs() {
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
fn what_did_not_end_or_changed_the_tree_is_not_kept() {
    let bed = Bed::repository();
    let slow = Check { timeout: Duration::from_millis(100), ..bed.counted("sleep 1000") };
    bed.run(&slow);
    assert!(!bed.run(&slow).cached);
    let writes = bed.counted("echo more >> tracked");
    bed.run(&writes);
    assert!(!bed.run(&writes).cached);
}

#[test]
fn two_at_once_run_a_check_once() {
    let bed = Bed::repository();
    let check = bed.counted("sleep 0.2; echo no; false");
    let barrier = Barrier::new(4);
    let done: Vec<Checked> = std::thread::scope(|scope| {
        let begin = || {
            barrier.wait();
            bed.run(&check)
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(begin)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(bed.runs(), 1);
    assert_eq!(done.iter().filter(|checked| checked.cached).count(), 3);
    assert!(done.iter().all(|checked| checked.outcome == done[0].outcome));
}

#[test]
fn two_at_once_run_it_one_after_the_other_where_nothing_is_kept() {
    let bed = Bed::new();
    let check = bed.counted("mkdir busy && sleep 0.1 && rmdir busy");
    let done: Vec<Checked> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| bed.run(&check))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(done.iter().all(|checked| checked.outcome == Outcome::Passed), "{done:?}");
    assert_eq!(bed.runs(), 3);
}

#[test]
fn another_run_that_does_not_end_is_not_waited_for_without_end() {
    let bed = Bed::new();
    let check = bed.counted("true");
    let dir = bed.0.path().join("policy");
    let _held = Results::new(&dir).lock(&check.run, &bed.tree(), Duration::ZERO).unwrap().unwrap();
    let checked = run(&[&check], &bed.tree(), &dir, Duration::from_millis(2)).remove(0);
    let why = "other runs of it did not end within 2 ms".to_owned();
    assert_eq!((checked.outcome, bed.runs()), (Outcome::NotBegun { why }, 0));
}

#[test]
fn all_that_stand_in_line_have_their_turn() {
    let bed = Bed::new();
    let check = Check { timeout: Duration::from_secs(1), ..bed.counted("sleep 0.4; exit 1") };
    let fails = || bed.run(&check).outcome == Outcome::Failed { exit: 1, last_lines: Vec::new() };
    let failed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(fails)).collect();
        threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
    });
    assert_eq!((failed, bed.runs()), (4, 4));
}

#[test]
fn a_gatekeeper_without_a_disk_still_runs_checks() {
    let bed = Bed::repository();
    std::fs::write(bed.0.path().join("policy"), "no directory").unwrap();
    assert_eq!(bed.run(&bed.counted("true")).outcome, Outcome::Passed);
}
